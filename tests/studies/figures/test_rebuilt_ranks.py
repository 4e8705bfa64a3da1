"""Histogram of correlations, and shares with their intervals."""

from __future__ import annotations

import pytest

from studies.figures.rebuilt_ranks import rebuilt_ranks_svg
from tests.report.figure_reader import Figure

NAN = float("nan")


def test_bins_hold_their_share():
    r = [1.0, 1.0, 0.96, 0.95, 0.72, NAN]
    figure = Figure(rebuilt_ranks_svg(r, [], [], [], [], paper_pearson=0.93))
    assert [tip for tip in figure.tips() if "%" in tip] == [
        "0.70 to 0.75: 20.0%", "0.95 to 1.00: 80.0%",
    ]  # fmt: skip
    heights = sorted(bottom - top for _, top, _, bottom in figure.boxes("bin"))
    assert heights[1] == pytest.approx(4 * heights[0], abs=0.1)
    assert "mean 0.926" in figure.words("key")
    assert "paper 0.93" in figure.words("key")
    assert figure.words("note")[0] == "Without a correlation, for they tie all: 1 of 6 rebuilt."
    assert len(figure.parts("paper")) == len(figure.parts("mean")) == 1


def test_shares_stand_in_their_place():
    figure = Figure(
        rebuilt_ranks_svg(
            [0.5], ["one", "<b>\u202e" + "x" * 99, "none"], [0.5, 1, NAN], [0.25, NAN, NAN],
            [0.75, NAN, NAN], paper_right=0.854,
        )
    )  # fmt: skip
    assert figure.words("value") == ["50.0%", "100.0%", "\u2013"]
    (half, _), (whole, _) = figure.points("share")
    (low, high) = sorted(
        float(x)
        for part in figure.parts("interval")
        for path in part.iter("{http://www.w3.org/2000/svg}path")
        for x in [p.split()[0] for p in path.attrib["d"][1:].split("L")]
    )
    assert half - low == pytest.approx(high - half, abs=0.02)
    assert high - low == pytest.approx(whole - half, abs=0.02)
    assert max(map(len, figure.words("reading"))) <= 30
    assert "<b>" not in figure.svg


def test_negative_correlations_are_drawn_too():
    figure = Figure(rebuilt_ranks_svg([-0.97, 1.0], [], [], [], []))
    assert len(figure.boxes("bin")) == 2
    assert figure.svg == rebuilt_ranks_svg([-0.97, 1.0], [], [], [], [])


def test_nothing_and_wrong():
    assert Figure(rebuilt_ranks_svg([NAN], [], [], [], [])).texts == [
        "nothing to draw: no ranking has a correlation"
    ]
    with pytest.raises(ValueError, match="2 names"):
        rebuilt_ranks_svg([1], "ab", [1], [1], [1])
    with pytest.raises(ValueError, match="no correlations"):
        rebuilt_ranks_svg([1.5], [], [], [], [])
