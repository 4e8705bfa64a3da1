"""Figures of the experiments show what they are given: curves and histograms."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree.ElementTree import Element

import numpy as np
import numpy.typing as npt
import pytest

from annot_pipeline.report.figures import score_histograms_svg
from annot_pipeline.report.figures.curves import Curve
from studies.figures.correlation_curves import correlation_curves_svg
from studies.figures.surprisal import surprisal_svg
from tests.report.figure_reader import SVG, Figure

NAN = float("nan")

Points = list[tuple[float, float]]


def curves_svg(*curves: Curve, title: str | None = None) -> Figure:
    return Figure(correlation_curves_svg(curves, x_label="iteration", y_label="rho", title=title))


def paths(figure: Figure, part: str) -> list[str]:
    return [p.attrib["d"] for group in figure.parts(part) for p in group.iter(f"{SVG}path")]


def strokes(path: str) -> list[Points]:
    """Points of each stretch of a path, px."""
    return [
        [(float(x), float(y)) for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", stretch)]
        for stretch in path.split("M")[1:]
    ]


def texts(figure: Figure, part: str) -> list[Element]:
    return [text for group in figure.parts(part) for text in group.iter(f"{SVG}text")]


def ticks(figure: Figure, side: str) -> dict[float, float]:
    """Pixels by value, of one side of the one plot of a figure."""
    actual = {}
    for text in texts(figure, "tick"):
        middle = text.get("text-anchor") == "middle"
        if middle == (side == "x"):
            value = float((text.text or "").replace("\u2212", "-").replace(",", ""))
            actual[value] = float(text.attrib["x"]) if middle else float(text.attrib["y"]) - 4
    return actual


def px(figure: Figure, side: str, values: npt.ArrayLike) -> list[float]:
    """Where the axis of the figure puts these values, by its own ticks."""
    (low, at_low), *_, (high, at_high) = sorted(ticks(figure, side).items())
    scale = (at_high - at_low) / (high - low)
    return [at_low + (value - low) * scale for value in np.array(values).tolist()]


def expected(figure: Figure, x: npt.ArrayLike, y: npt.ArrayLike) -> list[object]:
    places = zip(px(figure, "x", x), px(figure, "y", y), strict=True)
    return [pytest.approx(place, abs=0.03) for place in places]


# Correlation curves


X, Y = [1, 2, 3, 4], [0.2, 0.5, 0.6, 0.65]
LOW, HIGH = [0.1, 0.4, 0.5, 0.55], [0.3, 0.55, 0.7, 0.8]


def test_lines_and_bands_lie_where_the_axes_say():
    figure = curves_svg(Curve("DA", X, Y, LOW, HIGH))
    (path,) = paths(figure, "curve")
    assert strokes(path) == [expected(figure, X, Y)]
    assert figure.points("point") == expected(figure, X, Y)
    ((band,),) = map(strokes, paths(figure, "band"))
    assert band == expected(figure, X + X[::-1], LOW + HIGH[::-1])
    edges = [strokes(path) for path in paths(figure, "band-edge")]
    assert edges == [[expected(figure, X, LOW)], [expected(figure, X, HIGH)]]
    assert figure.tips()[-4:] == [
        f"DA at {x}: {y} [{low}, {high}]" for x, y, low, high in zip(X, Y, LOW, HIGH, strict=True)
    ]
    assert figure.words("note") == ["Shaded: 95% intervals."]
    assert list(ticks(figure, "x")) == X


def test_whole_numbers_have_whole_ticks():
    words = curves_svg(Curve("DA", [1, 3, 2], [0, 0.5, 0])).words("tick")
    assert words[-3:] == ["1", "2", "3"]
    words = curves_svg(Curve("DA", [1, 3, 2.5], [0, 0.5, 0])).words("tick")
    assert words[-3:] == ["2.0", "2.5", "3.0"]


def test_points_in_any_order_make_one_line():
    order = [2, 0, 3, 1]
    mixed = Curve("DA", *(np.array(values)[order] for values in (X, Y, LOW, HIGH)))
    assert curves_svg(mixed).svg == curves_svg(Curve("DA", X, Y, LOW, HIGH)).svg


def test_missing_points_are_gaps():
    y = [0.1, 0.2, None, 0.3, NAN, 0.5, 0.6]
    low = [0.0, 0.1, 0.1, 0.2, 0.1, NAN, 0.5]
    figure = curves_svg(
        Curve("DA", [*range(7)], y, low, np.array(low) + 0.2), Curve("no", [1], [None])
    )
    (path,) = paths(figure, "curve")
    assert [len(stroke) for stroke in strokes(path)] == [2, 1, 2]
    assert len(figure.points("point")) == 5  # the lone one too
    assert [len(stroke) for path in paths(figure, "band") for stroke in strokes(path)] == [4]
    bars = [strokes(path) for path in paths(figure, "band-of-one")]
    assert bars == [[expected(figure, [3, 3], [0.2, 0.4])], [expected(figure, [6, 6], [0.5, 0.7])]]
    assert figure.words("label") == ["DA"]
    assert figure.words("note")[1:] == [
        "Not drawn, without a value: 2 points of DA.", "Not drawn, without a value: 1 point of no.",
    ]  # fmt: skip


def test_bands_need_both_ends_in_order():
    for low, high in ((None, None), (LOW, None), (HIGH, LOW), ([NAN] * 4, HIGH)):
        figure = curves_svg(Curve("DA", X, Y, low, high))
        assert not figure.parts("band")
        assert figure.words("note") == []


def six(n: int) -> list[Curve]:
    x = np.arange(n)
    return [
        Curve(
            f"method {k}", x, 0.9 - 0.9 / (2 + 0.2 * k + x), *(np.full(n, v) for v in (0.2, 0.95))
        )
        for k in range(6)
    ]


def test_six_methods_differ_in_colour_dashes_and_marker():
    figure = curves_svg(*six(9))
    lines = [p for group in figure.parts("curve") for p in group.iter(f"{SVG}path")]
    assert len({line.get("stroke") for line in lines}) == 6
    assert len({line.get("stroke-dasharray") for line in lines}) == 6
    shapes = {
        next(group.iter(f"{SVG}path")).attrib["d"] for group in figure.parts("point")
    }  # of their markers
    assert len(shapes) == 6
    samples = [p for group in figure.parts("sample") for p in group.iter(f"{SVG}path")]
    for line in lines:  # each is explained
        assert any(
            s.get("stroke") == line.get("stroke")
            and s.get("stroke-dasharray") == line.get("stroke-dasharray")
            for s in samples
        )


def test_labels_stand_apart_in_the_order_of_the_ends_and_cover_no_line():
    figure = curves_svg(*six(9)[::-1])
    labels = texts(figure, "label")
    assert [label.text for label in labels] == [f"method {n}" for n in range(5, -1, -1)]
    heights = [float(label.attrib["y"]) for label in labels]
    assert all(b - a >= 19.9 for a, b in pairwise(heights))
    assert heights[0] - 4 >= 38  # the top of the plot
    falling = curves_svg(*(Curve(n, [0, 1], [0.9, 0.1]) for n in range(6)))
    lowest = max(float(label.attrib["y"]) - 4 for label in texts(falling, "label"))
    assert lowest <= 38 + 280
    right = max(x for path in paths(figure, "curve") for stroke in strokes(path) for x, _ in stroke)
    assert all(float(label.attrib["x"]) > right + 40 for label in labels)
    far = curves_svg(Curve("low", X, [0, 0.1, 0.1, 0.1]), Curve("high", X, Y))
    heights = [float(label.attrib["y"]) - 4 for label in texts(far, "label")]
    assert heights == pytest.approx(px(far, "y", [0.65, 0.1]), abs=0.03)  # where lines end


def test_the_axis_ends_with_the_data_and_at_one():
    figure = curves_svg(Curve("DA", X, [0.9, 0.99, 1, 1 + 1e-12], [0.8] * 4, [0.99, 1.2, 7, 2]))
    assert min(ticks(figure, "y")) >= 0.75
    assert px(figure, "y", [1]) == [38]  # the top of the plot
    tops = [y for path in paths(figure, "band") for stroke in strokes(path) for _, y in stroke]
    assert min(tops) == pytest.approx(px(figure, "y", [1])[0], abs=0.03)
    assert not figure.parts("zero")
    figure = curves_svg(Curve("DA", [0, 1], [-1, 1]))
    assert (min(ticks(figure, "y")), max(ticks(figure, "y"))) == (-1, 1)
    ((zero,),) = map(strokes, paths(figure, "zero"))
    assert [y for _, y in zero] == pytest.approx(px(figure, "y", [0, 0]), abs=0.03)


def test_long_lines_have_some_markers_and_are_thinned():
    figure = curves_svg(*six(1000))
    assert all(path.count("L") == 999 for path in paths(figure, "curve"))
    assert len(figure.points("point")) == 60
    assert len({x for x, _ in figure.points("point")}) == 60  # none under another
    assert len(curves_svg(*six(40)).points("point")) == 240  # of shorter ones, each
    alone = np.where((np.arange(90) > 60) & (np.arange(90) % 2 == 0), NAN, 0.5)
    assert len(curves_svg(Curve("DA", np.arange(90), alone)).points("point")) >= 14
    y = np.full(5000, 0.5)
    y[2500] = NAN
    figure = curves_svg(Curve("DA", np.arange(5000), y))
    strokes_of = strokes(paths(figure, "curve")[0])
    assert sum(map(len, strokes_of)) == 1000
    assert len(strokes_of) == 2  # the gap stays
    assert figure.words("note")[1:] == ["At most 1,000 points of a line are drawn, evenly spread."]


def test_more_methods_than_looks():
    figure = curves_svg(*six(5), Curve("seventh", X, Y), title="$Title$")
    assert len(paths(figure, "curve")) == 6
    assert figure.words("note")[-1] == "The first 6 of 7 methods are drawn."
    assert figure.words("title") == ["$Title$"]
    assert figure.words("axis") == ["rho", "iteration"]


# Histograms


def test_bars_are_as_high_as_the_shares():
    oracle = [0, 0.1, 0.2, 0.6, 0.6, 0.79, 0.8, 1, 1, 1]
    figure = Figure(
        score_histograms_svg([("oracle", oracle), ("DA", [0.5, None, NAN])], x_label="score")
    )
    assert figure.words("panel") == ["oracle", "DA"]
    assert figure.words("count") == ["n = 10", "n = 1"]
    tips = ["0 to 0.2: 20.0%, n = 2", "0.2 to 0.4: 10.0%, n = 1", "0.6 to 0.8: 30.0%, n = 3",
            "0.8 to 1: 40.0%, n = 4", "0.4 to 0.6: 100.0%, n = 1"]  # fmt: skip
    assert figure.tips() == [f"{'DA' if n == 4 else 'oracle'}, {tip}" for n, tip in enumerate(tips)]
    heights = [bottom - top for _, top, _, bottom in figure.boxes("bar")]
    assert heights == pytest.approx([34, 17, 51, 68, 170], abs=0.02)
    colors = [p.get("fill") for group in figure.parts("bar") for p in group.iter(f"{SVG}path")]
    assert colors == ["#8a8f98"] * 4 + ["#1f82c8"]
    lefts = [left for left, *_ in figure.boxes("bar")]
    assert lefts[:4] == sorted(lefts[:4])
    assert lefts[4] > lefts[3]
    assert figure.words("note") == ["Without a score: 2 items of DA."]
    assert figure.words("key") == ["outline: oracle"]
    ((outline,),) = map(strokes, paths(figure, "outline"))  # in the panel of DA only
    bottom = figure.boxes("bar")[0][3]
    assert [bottom - y for _, y in outline] == pytest.approx(
        [0, 34, 34, 17, 17, 0, 0, 51, 51, 68, 68, 0], abs=0.03
    )


def test_scores_on_an_edge_are_in_the_bin_above_it():
    edges = np.arange(100) / 100
    figure = Figure(score_histograms_svg([("a", edges)], bins=100, x_label="score"))
    assert len(figure.parts("bar")) == 100  # one in each, also .29, which is 28.999... / 100
    assert not figure.parts("outline")
    one = Figure(score_histograms_svg([("a", [1, 0, 0.5])], bins=1, x_label="score"))
    assert one.tips() == ["a, 0 to 1: 100.0%, n = 3"]


def test_many_histograms_and_empty_ones():
    histograms = [(f"m{n}", [n / 20]) for n in range(14)]
    histograms[3] = ("m3", [])
    figure = Figure(score_histograms_svg(histograms, x_label="score", title="Fig. 7"))
    assert figure.words("panel") == [f"m{n}" for n in range(12)]
    assert "no scores" in figure.texts
    assert figure.words("note") == ["The first 12 of 14 methods are drawn."]
    tops = [float(text.attrib["y"]) for text in texts(figure, "panel")]
    assert [tops.count(top) for top in sorted(set(tops))] == [4, 4, 4]


# Surprisal

T = np.linspace(-4, 4, 81)


def panels_of(*names: str) -> list[tuple[str, str, list[Curve]]]:
    return [
        (f"panel {n}", "t", [Curve(name, T, np.tanh(T * (n + k))) for k, name in enumerate(names)])
        for n in range(1, 5)
    ]


def test_panels_form_a_grid():
    figure = Figure(surprisal_svg(panels_of("win", "tie")))
    assert figure.words("panel") == ["panel 1", "panel 2", "panel 3", "panel 4"]
    places = [(float(text.attrib["x"]), float(text.attrib["y"])) for text in texts(figure, "panel")]
    assert places[0][1] == places[1][1] < places[2][1] == places[3][1]
    assert places[0][0] == places[2][0] < places[1][0] == places[3][0]
    assert figure.words("axis") == ["t"] * 4
    assert figure.words("key") == ["win", "tie"]  # once for all
    assert len(figure.parts("zero")) == 8
    lines = [strokes(path)[0] for path in paths(figure, "curve")]
    assert [len(line) for line in lines] == [81] * 8
    for line in lines:
        xs, ys = zip(*line, strict=True)
        assert np.diff(xs) == pytest.approx(np.full(80, np.diff(xs)[0]), abs=0.03)
        assert (np.diff(ys) <= 0).all()  # tanh rises


def test_a_panel_has_its_own_key_where_curves_differ():
    figure = Figure(
        surprisal_svg([("win", "D", [Curve("1 - p", [0, 1], [0.7, 0.8])]), ("tie", "D", []),
                       ("none", "D", [Curve("v", [0, 1], [None, 1]), Curve("w", [None], [1])])])
    )  # fmt: skip
    assert figure.words("key") == ["1 - p", "v"]
    assert figure.texts.count("no values") == 1
    assert figure.words("note") == [
        "Not drawn, without a value: 1 point of v in none.",
        "Not drawn, without a value: 1 point of w in none.",
    ]
    assert figure.words("tick").count("0.0") >= 2  # 0 is on every y axis


def test_notes_are_not_cut_off():
    name = "a name as long as names may be, or so it"
    figure = Figure(surprisal_svg([(name, "t", [Curve(name, [0, 1], [NAN, 1])])]))
    (note,) = figure.words("note")
    assert float(figure.root.attrib["width"]) > 6.6 * len(note)


@pytest.mark.slow
def test_more_panels_and_curves_than_are_drawn():
    curves = [Curve(f"a name too long for its panel {n}", [0, 1], [0, n]) for n in range(8)]
    figure = Figure(surprisal_svg([(f"p{n}", "t", curves[: n + 1]) for n in range(13)]))
    assert len(figure.words("panel")) == 12
    assert figure.words("note")[-1] == "The first 12 of 13 panels are drawn."
    assert figure.words("note")[0] == "The first 6 of 7 curves are drawn in p6."
    rights = {float(t.attrib["x"]) + 7.2 * len(t.text or "") for t in texts(figure, "key")}
    assert max(rights) < float(figure.root.attrib["width"])
