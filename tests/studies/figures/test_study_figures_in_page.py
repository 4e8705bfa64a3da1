"""Figures of the studies are as safe in a page as all others, and say what they cannot draw."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from annot_pipeline.report.figures import score_histograms_svg
from studies.figures.correlation_curves import correlation_curves_svg
from studies.figures.coverage import coverage_svg
from studies.figures.curves import Curve
from studies.figures.match_quality import match_quality_svg
from studies.figures.rebuilt_ranks import rebuilt_ranks_svg
from studies.figures.surprisal import surprisal_svg
from tests.report.figure_reader import Figure
from tests.report.test_figures_in_page import HOSTILE, HOSTILE_SETTINGS, KNOWN_TAGS, Page
from tests.studies.figures.test_study_figures import curves_svg

NAN = float("nan")


def figures_of(names: list[str]) -> dict[str, str]:
    """Every kind, with these names wherever a name can be."""
    x = np.arange(5)
    curves = [Curve(name, x, x / (5 + n), x / 9, x / 4) for n, name in enumerate(names)]
    curves[1] = Curve(names[1], [1], [None])
    matrix = np.abs(np.sin(np.add.outer(x, x)))
    return {
        "correlation": correlation_curves_svg(
            curves, x_label=names[0], y_label=names[1], title=names[2]
        ),
        "histograms": score_histograms_svg(
            [(name, [0.1 * n / len(names), None]) for n, name in enumerate(names)],
            x_label=names[0], title=names[1],
        ),
        "match": match_quality_svg([(name, matrix) for name in names], title=names[1]),
        "surprisal": surprisal_svg([(name, name, curves[n:]) for n, name in enumerate(names)]),
        "surprisal of one": surprisal_svg([(names[0], names[1], curves)]),
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("order", [HOSTILE, HOSTILE[::-1]], ids=["forth", "back"])
def test_hostile_names_are_texts_and_nothing_else(order):
    for kind, svg in figures_of(order).items():
        figure = Figure(svg)
        assert set(Page(f"<html>{svg}</html>").tags) <= KNOWN_TAGS, kind
        assert len(max(figure.texts, key=len)) < 150, kind
        assert not re.search(r"[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff\u202e]", svg), kind
        assert 100 < figure.width < 1100


@pytest.mark.slow
def test_figures_fit_into_a_page():
    everything = [Figure(svg) for svg in figures_of([f"name {n}" for n in range(12)]).values()]
    ids = [i for figure in everything for i in figure.ids]
    assert len(ids) == len(set(ids))
    for figure in everything:
        assert set(figure.references) <= set(figure.ids)
        assert not re.search(r"<\?|<!|class=|<metadata", figure.svg)
        assert len(figure.root.attrib["aria-label"]) > 20


@pytest.mark.slow
def test_the_same_bytes_every_time():
    import matplotlib

    expected = figures_of(["a", "b", "$c$", "系"])
    with ThreadPoolExecutor(4) as pool:
        for again in pool.map(figures_of, [["a", "b", "$c$", "系"]] * 4):
            assert again == expected
    settings = dict(line.split(": ", 1) for line in HOSTILE_SETTINGS.split("\n") if line)
    del settings["backend"]
    with matplotlib.rc_context(settings):
        assert figures_of(["a", "b", "$c$", "系"]) == expected


NOTHING = {
    "no curves": lambda: correlation_curves_svg([], x_label="x", y_label="y"),
    "no points": lambda: correlation_curves_svg([Curve("a", [], [])], x_label="x", y_label="y"),
    "NaN only": lambda: correlation_curves_svg(
        [Curve("a", [1, NAN], [NAN, 1])], x_label="x", y_label="y"
    ),
    "no histograms": lambda: score_histograms_svg([], x_label="x"),
    "no scores": lambda: score_histograms_svg([("a", []), ("b", [NAN])], x_label="x"),
    "no matrices": lambda: match_quality_svg([]),
    "empty matrices": lambda: match_quality_svg([("a", []), ("b", np.empty((0, 0)))]),
    "matrices of NaN": lambda: match_quality_svg([("a", [[NAN] * 2] * 2)]),
    "no coverage": lambda: coverage_svg([], [], 0.95),
    "coverage of NaN": lambda: coverage_svg(["a"], [[NAN]], 0.95),
    "no correlations": lambda: rebuilt_ranks_svg([NAN], [], [], [], []),
    "no panels": lambda: surprisal_svg([]),
    "empty panels": lambda: surprisal_svg([("a", "t", []), ("b", "t", [Curve("a", [], [])])]),
}


@pytest.mark.parametrize("case", NOTHING)
def test_nothing_to_draw_is_said(case):
    figure = Figure(NOTHING[case]())
    assert " ".join(figure.texts).startswith("nothing to draw: ")
    assert figure.height < 50


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: curves_svg(Curve("DA", [1, 2], [0.5])), r"curve DA: .* shapes \[\(2,\), \(1,\)"),
        (lambda: curves_svg(Curve("DA", [1, 2], [0.5, 1.01])), r"curve DA: 1 values .*\[1.01\]"),
        (lambda: score_histograms_svg([("a", [0.5, 1.5])], x_label="x"), r"histogram a.*\[1.5\]"),
        (lambda: match_quality_svg([("a", [[0.5, 1]])]), r"matrix a: shape \(1, 2\)"),
        (lambda: match_quality_svg([("a", [[1]]), ("b", np.eye(2))]), r"sizes: \[1, 2\]"),
        (lambda: surprisal_svg([("a", "t", [Curve("v", [1, 2], [3])])]), "curve v"),
        (lambda: coverage_svg("ab", [[1.0]], 0.95), "2 names"),
        (lambda: coverage_svg(["a"], [[1.5]], 0.95), "no shares"),
        (lambda: rebuilt_ranks_svg([1], "ab", [1], [1], [1]), "2 names"),
        (lambda: rebuilt_ranks_svg([1.5], [], [], [], []), "no correlations"),
    ],
)
def test_what_does_not_fit_is_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
