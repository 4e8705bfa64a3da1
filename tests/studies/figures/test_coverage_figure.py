"""Coverage by method: a point for each quantity, and the nominal level."""

from __future__ import annotations

import pytest

from studies.figures.coverage import coverage_svg
from tests.report.figure_reader import SVG, Figure

NAN = float("nan")


def test_points_lie_at_their_shares_beside_the_nominal_level():
    names = ["gpt, model", "<b>\u202e" + "x" * 99, "none"]
    figure = Figure(coverage_svg(names, [[0.0, 1.0], [0.5, NAN], [NAN]], 0.95))
    (first, y), (last, same_y), (middle, lower) = figure.points("quantity")
    assert y == same_y < lower
    assert middle == pytest.approx((first + last) / 2, abs=0.01)
    [line] = figure.parts("nominal")
    [path] = line.iter(f"{SVG}path")
    x = float(path.attrib["d"][1:].split()[0])
    assert x == pytest.approx(first + 0.95 * (last - first), abs=0.01)
    assert figure.words("mean") == ["50.0%", "50.0%", "\u2013"]
    assert max(map(len, figure.words("row"))) <= 48
    assert "<b>" not in figure.svg
    assert "nominal 95%" in figure.texts


def test_many_rows_are_cut_and_the_bytes_are_the_same():
    svg = coverage_svg([f"m{n}" for n in range(70)], [[0.9]] * 70, 0.9)
    figure = Figure(svg)
    assert len(figure.points("quantity")) == 60
    assert figure.words("note")[1] == "The first 60 of 70 rows are drawn."
    assert svg == coverage_svg([f"m{n}" for n in range(70)], [[0.9]] * 70, 0.9)


def test_nothing_and_wrong():
    for names, coverages in ((["a"], [[NAN]]), ([], [])):
        assert Figure(coverage_svg(names, coverages, 0.95)).texts == [
            "nothing to draw: no method has intervals"
        ]
    with pytest.raises(ValueError, match="2 names"):
        coverage_svg("ab", [[1.0]], 0.95)
    with pytest.raises(ValueError, match="no shares"):
        coverage_svg(["a"], [[1.5]], 0.95)
