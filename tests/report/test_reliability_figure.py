"""The reliability diagram: points where they belong, sized by their labels."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from annot_pipeline.contracts import GOLD
from annot_pipeline.methods.labels.reliability import reliability
from annot_pipeline.report.contents import Contents
from annot_pipeline.report.figures import reliability_svg
from annot_pipeline.report.sections.certainty import certainty
from tests.report.figure_reader import Figure

SURE = reliability([0.95, 0.95, 0.95, 0.55], [1, 1, 0, 0], [1, 1, 0, 0])
UNSURE = reliability([0.65] * 4, [1, 1, 0, 1], [1, 1, 0, 1])


def test_a_point_a_bin_that_has_labels():
    figure = Figure(reliability_svg(["Dawid-Skene", "published"], [SURE, UNSURE]))
    assert sorted(figure.tips()) == [
        "Dawid-Skene: 1 labels of probability 0.550, 0.000 right",
        "Dawid-Skene: 3 labels of probability 0.950, 0.667 right",
        "published: 4 labels of probability 0.650, 0.750 right",
    ]
    points = figure.points("bin")
    assert len(points) == len(figure.parts("interval")) == 3
    (x1, y1), (x2, y2) = sorted(points)[0], sorted(points)[-1]
    per_unit = (x2 - x1) / 0.4
    assert (y1 - y2) / per_unit == pytest.approx(2 / 3, abs=0.01)


def test_what_cannot_be_drawn():
    nothing = reliability(*[np.empty(0)] * 3)
    assert "no label whose truth is known" in reliability_svg(["votes"], [nothing])
    with pytest.raises(ValueError, match="2 names, 1 models"):
        reliability_svg(["a", "b"], [SURE])


@pytest.mark.parametrize(
    ("label_model", "says"),
    [
        ("hierarchical", "averaged over how far judges repeat each other"),
        ("dawid_skene", "Dawid-Skene's own"),
        ("mace", "see label_model"),
        ("one_coin", "see label_model"),
    ],
)
def test_the_report_says_how_certainty_came_about(label_model, says):
    counts = {
        "task": "t", "label": "yes", "band": 2, "certain": False, "adjudicated": False,
        "as_model": True, "right": None, "n": 4,
    }  # fmt: skip
    tables = {name: GOLD[name].empty() for name in ("label_calibration", "prevalence")}
    tables["label_counts"] = pa.Table.from_pylist([counts])
    settings = {"label_model": label_model, "labels": {"certain_at": 0.9}}
    html = certainty(Contents({"settings": settings, "convergence": [], "facts": {}}, tables, {}))
    assert says in html.replace("&#x27;", "'")
    assert ("err independently" in html) == (label_model != "hierarchical")
    assert "0.9 or more: at most 10% of such labels should be wrong" in html
