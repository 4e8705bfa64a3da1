"""Figures of the studies show what they are given, and say what they leave out."""

from __future__ import annotations

import base64
from io import BytesIO

import numpy as np
import pytest

from studies.figures.correlation_curves import correlation_curves_svg
from studies.figures.coverage import coverage_svg
from studies.figures.curves import Curve
from studies.figures.match_quality import match_quality_svg
from studies.figures.rebuilt_ranks import rebuilt_ranks_svg
from tests.report.figure_reader import SVG, Figure

NAN = float("nan")
X, Y = [1, 2, 3, 4], [0.2, 0.5, 0.6, 0.65]
LOW, HIGH = [0.1, 0.4, 0.5, 0.55], [0.3, 0.55, 0.7, 0.8]


def curves_svg(*curves: Curve, title: str | None = None) -> Figure:
    return Figure(correlation_curves_svg(curves, x_label="iteration", y_label="rho", title=title))


def six(n: int) -> list[Curve]:
    x = np.arange(n)
    return [Curve(f"method {k}", x, 0.9 - 0.9 / (2 + 0.2 * k + x)) for k in range(6)]


def test_points_lie_where_their_numbers_say():
    figure = curves_svg(Curve("DA", X, Y, LOW, HIGH))
    (x1, y1), (x2, y2), (x3, y3), (x4, y4) = sorted(figure.points("curve"))
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.02)
    assert x4 - x3 == pytest.approx(x3 - x2, abs=0.02)
    assert (y1 - y2) / 0.3 == pytest.approx((y2 - y3) / 0.1, rel=0.01)
    assert (y1 - y2) / 0.3 == pytest.approx((y3 - y4) / 0.05, rel=0.02)
    assert len(figure.parts("band")) == 1
    assert figure.words("note") == ["Shaded: 95% intervals."]
    order = [2, 0, 3, 1]
    mixed = Curve("DA", *(np.array(values)[order] for values in (X, Y, LOW, HIGH)))
    assert curves_svg(mixed).svg == figure.svg, "points in any order make one line"


def test_missing_points_are_gaps():
    y = [0.1, 0.2, None, 0.3, NAN, 0.5, 0.6]
    figure = curves_svg(Curve("DA", [*range(7)], y), Curve("no", [1], [None]))
    assert len(figure.points("curve")) == 5  # the lone one too
    assert figure.words("note") == [
        "Not drawn, without a value: 2 points of DA.", "Not drawn, without a value: 1 point of no.",
    ]  # fmt: skip
    for low, high in ((None, None), (LOW, None), (HIGH, LOW), ([NAN] * 4, HIGH)):
        bare = curves_svg(Curve("DA", X, Y, low, high))
        assert not bare.parts("band")
        assert bare.words("note") == []


def test_six_methods_differ_in_colour_dashes_and_marker():
    figure = curves_svg(*six(9)[::-1], Curve("seventh", X, Y), title="$Title$")
    lines = [next(group.iter(f"{SVG}path")).attrib["style"] for group in figure.parts("curve")]
    shapes = {e.get("id"): e.get("d") for e in figure.root.iter(f"{SVG}path")}
    uses = [next(group.iter(f"{SVG}use")) for group in figure.parts("curve")]
    markers = {shapes[use.attrib["href"][1:]] for use in uses}
    assert len({*lines}) == len(markers) == 6
    assert [text for text in figure.texts if text.startswith("method")] == [
        f"method {n}" for n in range(5, -1, -1)
    ], "in the order in which they end"
    assert figure.words("note") == ["The first 6 of 7 methods are drawn."]
    assert figure.words("title") == ["$Title$"]


def test_coverage_lies_beside_the_nominal_level():
    names = ["gpt, model", "<b>\u202e" + "x" * 99, "none"]
    figure = Figure(coverage_svg(names, [[0.0, 1.0], [0.5, NAN], [NAN]], 0.95))
    (first, y), (last, same_y), (middle, lower) = figure.points("quantity")
    assert y == same_y < lower
    assert middle == pytest.approx((first + last) / 2, abs=0.01)
    [(x, *_)] = figure.boxes("nominal")
    assert x == pytest.approx(first + 0.95 * (last - first), abs=0.02)
    assert figure.words("mean") == ["50.0%", "50.0%", "\u2013"]
    assert max(map(len, figure.words("row"))) <= 48
    assert "<b>" not in figure.svg
    many = Figure(coverage_svg([f"m{n}" for n in range(70)], [[0.9]] * 70, 0.9))
    assert len(many.points("quantity")) == 60
    assert many.note.endswith("The first 60 of 70 rows are drawn.")


def test_correlations_in_bins_and_shares_with_intervals():
    figure = Figure(rebuilt_ranks_svg(
        [1.0, 1.0, 0.96, 0.95, 0.72, NAN], ["one", "<b>\u202e" + "x" * 99, "none"],
        [0.5, 1, NAN], [0.25, NAN, NAN], [0.75, NAN, NAN], paper_pearson=0.93, paper_right=0.854,
    ))  # fmt: skip
    heights = sorted(bottom - top for _, top, _, bottom in figure.boxes("bins"))[-2:]
    assert heights[1] == pytest.approx(4 * heights[0], abs=0.1)
    assert {"mean 0.926", "paper 0.93", "paper 85.4%"} <= {*figure.texts}
    assert "Without a correlation, for they tie all: 1 of 6 rebuilt." in figure.note
    assert figure.words("value") == ["50.0%", "100.0%", "\u2013"]
    (half, _), (whole, _) = figure.points("share")
    [(low, _, high, _)] = figure.boxes("interval")
    assert half - low == pytest.approx(high - half, abs=0.02)
    assert high - low == pytest.approx(whole - half, abs=0.02)
    assert max(map(len, figure.words("reading"))) <= 30
    negative = Figure(rebuilt_ranks_svg([-0.97, 1.0], [], [], [], []))
    heights = [round(bottom - top) for _, top, _, bottom in negative.boxes("bins")]
    assert sum(height > 0 for height in heights) == 2


def pixels(figure: Figure) -> list[np.ndarray]:
    """The images of a figure without that of its colour bar, as RGBA."""
    from PIL import Image

    images = [image.attrib["href"] for image in figure.root.iter(f"{SVG}image")]
    data = [base64.b64decode(image.partition("data:image/png;base64,")[2]) for image in images]
    return [np.asarray(Image.open(BytesIO(png)).convert("RGBA")) for png in data]


def test_match_quality_is_an_image_of_its_matrix():
    even, diagonal = np.full((40, 40), 0.3), 0.6 * np.eye(40)
    diagonal[3, 5] = NAN
    figure = Figure(match_quality_svg([("iteration 0", even), ("iteration 3", diagonal)]))
    assert figure.words("panel") == ["iteration 0", "iteration 3"]
    first, second = pixels(figure)[:2]
    assert len({*map(tuple, first.reshape(-1, 4).tolist())}) == 1
    assert second.shape == (40, 40, 4)
    assert second[3, 5, 3] == 0, "missing is empty"
    ends = {tuple(second[0, 0].tolist()), tuple(second[0, 1].tolist())}
    assert ends == {(253, 231, 36, 255), (68, 1, 84, 255)}, "the ends of viridis"
    assert figure.note.endswith("Empty: pairs without a match quality.")
    assert {"1", "40"} <= {*figure.texts}
