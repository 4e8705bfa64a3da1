"""Seconds by length: points where they belong, and the counts under them."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.report.figures import seconds_by_length_svg
from tests.report.figure_reader import SVG, Figure

WORDS = [10, 20, 30]
NAMES = ["one comparison", "a ranking"]
SECONDS = [[6.0, 4.0, 3.0], [12.0, 8.0, None]]
COUNTS = [[40, 90, 12_345], [2, 5, 0]]


def test_points_stand_at_their_seconds_and_the_axis_begins_at_0():
    figure = Figure(seconds_by_length_svg(WORDS, NAMES, SECONDS, COUNTS))
    assert sorted(figure.tips()) == sorted(
        [
            *NAMES, "one comparison at 10: 6", "one comparison at 20: 4", "one comparison at 30: 3",
            "a ranking at 10: 12", "a ranking at 20: 8",
        ]
    )  # fmt: skip
    heights = {
        label: float(t.attrib["y"])
        for p in figure.parts("tick") for t in p.iter(f"{SVG}text")
        if (label := t.text or "") and t.get("text-anchor") == "end"
    }  # fmt: skip
    per_second = (heights["0"] - heights["10"]) / 10
    y = {tuple(p): p[1] for p in figure.points("point")}
    actual = sorted((heights["0"] - 4 - v) / per_second for v in y.values())
    assert actual == pytest.approx([3, 4, 6, 8, 12], abs=0.02)


def test_counts_stand_under_their_points():
    figure = Figure(seconds_by_length_svg(WORDS, NAMES, SECONDS, COUNTS))
    assert figure.words("count") == ["40", "90", "12.3k", "2", "5", "0"]
    at = [float(t.attrib["x"]) for p in figure.parts("count") for t in p.iter(f"{SVG}text")]
    ticks = [
        float(t.attrib["x"])
        for p in figure.parts("tick") for t in p.iter(f"{SVG}text")
        if t.get("text-anchor") == "middle"
    ]  # fmt: skip
    assert at == ticks * 2
    assert figure.words("label") == NAMES
    assert "Each point: texts of so many words or fewer." in figure.words("note")


def test_intervals_are_bands_and_lengths_may_come_in_any_order():
    low, high = np.array(SECONDS, float) - 1, np.array(SECONDS, float) + 1
    svg = seconds_by_length_svg(WORDS, NAMES, SECONDS, COUNTS, low=low, high=high)
    figure = Figure(svg)
    assert len(figure.parts("band")) == 2
    assert "Shaded: 95% intervals." in figure.words("note")
    turned = (
        [[row[k] for k in (2, 0, 1)] for row in SECONDS],
        [[row[k] for k in (2, 0, 1)] for row in COUNTS],
    )
    back = seconds_by_length_svg(
        [30, 10, 20], NAMES, *turned, low=low[:, [2, 0, 1]], high=high[:, [2, 0, 1]]
    )
    assert back == svg


def test_many_lengths_do_not_touch():
    words = list(range(1, 101))
    svg = seconds_by_length_svg(words, ["x"], [np.linspace(9, 3, 100)], [range(0, 10**6, 10**4)])
    figure = Figure(svg)
    x = [float(t.attrib["x"]) for p in figure.parts("count") for t in p.iter(f"{SVG}text")]
    assert np.diff(x).min() > 40
    assert len(figure.points("point")) > 0


def test_hostile_names():
    names = ["<script>$\\frac{1}{2}$", "\u202e" + "y" * 9999]
    svg = seconds_by_length_svg(WORDS, names, SECONDS, COUNTS)
    assert "<script>" not in svg
    assert all(len(text) < 60 for text in Figure(svg).words("label"))


def test_nothing_and_wrong():
    for svg in (
        seconds_by_length_svg([], [], [], []),
        seconds_by_length_svg([1, 2], ["x"], [[None, None]], [[0, 0]]),
        seconds_by_length_svg([None], ["x"], [[3]], [[1]]),
    ):
        assert Figure(svg).texts[0].startswith("nothing to draw: ")
    with pytest.raises(ValueError, match="2 names and 3 lengths"):
        seconds_by_length_svg(WORDS, NAMES, SECONDS[:1], COUNTS)
    with pytest.raises(ValueError, match="negative"):
        seconds_by_length_svg([1], ["x"], [[-3]], [[1]])
    with pytest.raises(ValueError, match="series"):
        seconds_by_length_svg([1], "abcdefg", np.ones((7, 1)), np.ones((7, 1)))
