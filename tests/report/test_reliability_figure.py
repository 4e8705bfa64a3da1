"""The reliability diagram: points where they belong, sized by their labels."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.labels.reliability import reliability
from annot_pipeline.report.figures import reliability_svg
from annot_pipeline.report.how_calibrated import how_calibrated
from annot_pipeline.report.sections.certainty import HOW
from tests.report.figure_reader import Figure

SURE = reliability([0.95, 0.95, 0.95, 0.55], [1, 1, 0, 0], [1, 1, 0, 0])
UNSURE = reliability([0.65] * 4, [1, 1, 0, 1], [1, 1, 0, 1])


def test_a_point_a_bin_that_has_labels():
    figure = Figure(reliability_svg(["raw", "calibrated"], [SURE, UNSURE]))
    assert sorted(figure.tips()) == [
        "calibrated: 4 labels of probability 0.650, 0.750 right",
        "raw: 1 labels of probability 0.550, 0.000 right",
        "raw: 3 labels of probability 0.950, 0.667 right",
    ]
    points = figure.points("bin")
    assert len(points) == len(figure.parts("interval")) == 3
    (x1, y1), (x2, y2) = sorted(points)[0], sorted(points)[-1]
    per_unit = (x2 - x1) / 0.4
    assert (y1 - y2) / per_unit == pytest.approx(2 / 3, abs=0.01)


def test_what_cannot_be_drawn():
    nothing = reliability(*[np.empty(0)] * 3)
    assert "no label whose truth is known" in reliability_svg(["raw"], [nothing])
    with pytest.raises(ValueError, match="2 names, 1 models"):
        reliability_svg(["a", "b"], [SURE])


@pytest.mark.parametrize(
    ("settings", "says"),
    [({"pooling": "held_out", "temper": "held_out"}, "held_out"),
     ({"pooling": "none", "temper": 1.0}, "off"), ({"pooling": 0, "temper": 1}, "off"), ({}, "off"),
     ({"pooling": 3.0, "temper": 1.0}, "given")],
)  # fmt: skip
def test_the_report_says_how_certainty_came_about(settings, says):
    assert how_calibrated(settings) == says
    assert HOW[says]
