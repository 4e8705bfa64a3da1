"""Figures of little or nothing: no exception, no warning, and a sentence where it is needed."""

from __future__ import annotations

import re

import numpy as np
import pytest

from annot_pipeline.methods.labels.reliability import reliability
from annot_pipeline.report.figures import (
    comparison_matrix_svg,
    confusion_svg,
    effort_saved_svg,
    judge_differences_svg,
    p_against_seconds_svg,
    prevalence_svg,
    ranking_svg,
    reliability_svg,
    seconds_by_length_svg,
    segment_graph_svg,
    win_matrix_svg,
)
from annot_pipeline.report.figures.agreement_intervals import agreement_svg
from annot_pipeline.report.figures.certainty_bands import certainty_svg
from annot_pipeline.report.figures.effort_saved import COUNTED
from annot_pipeline.report.figures.records_by_fate import records_by_fate_svg
from tests.report.figure_reader import Figure

NAN = float("nan")

NOTHING = {
    "control": lambda: p_against_seconds_svg([], [], [], 0.05),
    "differences": lambda: judge_differences_svg([], [], "judge"),
    "differences of None": lambda: judge_differences_svg([None], [NAN], "judge"),
    "confusion": lambda: confusion_svg([], [], []),
    "prevalence": lambda: prevalence_svg([], [], []),
    "prevalence of None": lambda: prevalence_svg(["a"], [None], [NAN]),
    "ranking": lambda: ranking_svg([], [], None, None, None, "z"),
    "ranking of None": lambda: ranking_svg(["a"], [None], None, None, None, "z"),
    "wins": lambda: win_matrix_svg([], np.zeros((0, 0))),
    "wins of a system over itself": lambda: win_matrix_svg(["a", "b"], [[5, 0], [0, 5]]),
    "certainty": lambda: certainty_svg(["x"], np.zeros((1, 6)), [3], [0]),
    "agreement": lambda: agreement_svg(["a"], ["s"], [None], [None], [None]),
    "reliability": lambda: reliability_svg(["votes"], [reliability(*[np.empty(0)] * 3)]),
    "records": lambda: records_by_fate_svg({}),
    "segment": lambda: segment_graph_svg([], [], [], [], []),
    "effort": lambda: effort_saved_svg(dict.fromkeys(COUNTED, 0)),
    "seconds": lambda: seconds_by_length_svg([], [], [], []),
    "seconds of nothing": lambda: seconds_by_length_svg([1, 2], ["x"], [[None] * 2], [[0, 0]]),
    "comparison": lambda: comparison_matrix_svg([], [], [], 0.05),
    "comparison of NaN": lambda: comparison_matrix_svg(["a", "b"], [[NAN] * 2] * 2, None, 0.05),
}


@pytest.mark.parametrize("case", NOTHING)
def test_nothing_to_draw_is_said(case):
    figure = Figure(NOTHING[case]())
    assert " ".join(figure.texts).startswith("nothing to draw: ")
    assert figure.height < 60


LITTLE = {
    "no p": lambda: p_against_seconds_svg([3, 4], [None, NAN], [None, "untested"], 0.05),
    "all at 0 s": lambda: p_against_seconds_svg([0, 0], [1, 0], ["failed", "passed"], 0.05),
    "all times": lambda: p_against_seconds_svg(
        [1e-99, 1e99, np.inf], [0, 1, 1e-300], ["passed"] * 3, 0.05
    ),
    "one pair": lambda: judge_differences_svg([1], [], "j"),
    "equal pairs": lambda: judge_differences_svg([0, 0], [0, 0], "j"),
    "huge differences": lambda: judge_differences_svg([1e99, -1e99], [np.inf, 1e308], "j"),
    "nearly no differences": lambda: judge_differences_svg([1e-320], [0], "j"),
    "no value": lambda: confusion_svg(["a", "b"], [[NAN] * 2] * 2, ["j"]),
    "beyond 1": lambda: confusion_svg(["a", "b"], [[7, -3], [1e-12, 1 + 1e-12]], ["j"]),
    "no shares": lambda: prevalence_svg(["a", "b"], [0, 0], [0, 0]),
    "tiny shares": lambda: prevalence_svg(["a", "b"], [1e-12, 1e-300], [0, None]),
    "equal systems": lambda: ranking_svg(["a"] * 3, [0] * 3, [0] * 3, [0] * 3, [1] * 3, "z"),
    "crossed ends": lambda: ranking_svg(["a"], [1], [2], [0], [None], None),
    "far systems": lambda: ranking_svg(["a", "b"], [1e99, -1e99], [NAN, -1e300], None, [2, 1], "z"),
    "p of 0": lambda: comparison_matrix_svg(["a", "b"], np.zeros((2, 2)), None, 0),
}  # fmt: skip


@pytest.mark.parametrize("case", LITTLE)
def test_little_to_draw_is_drawn(case):
    figure = Figure(LITTLE[case]())
    assert "nothing to draw" not in figure.svg
    assert not re.search(r"[\" ,(-](nan|inf)\b", figure.svg.lower())
    assert 100 < figure.width < 1100
    assert figure.height < 1000
