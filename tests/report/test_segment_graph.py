"""A segment's graph: the paper's Figure 1, contradictions, and who stands above whom."""

from __future__ import annotations

from itertools import pairwise
from xml.etree.ElementTree import Element

import numpy as np
import pytest

from annot_pipeline.methods.comparisons.comparison_graphs import comparison_graphs
from annot_pipeline.report.figures import segment_graph_svg
from annot_pipeline.report.figures.theme import VERMILLION
from tests.report.figure_reader import SVG, Figure

NAMES = ["LW", "Google", "Systran", "Moses", "Bing", "Reference"]
FIGURE_1 = [(0, 1, 1), (1, 2, 0), (2, 3, 1), (1, 4, 1), (5, 4, 1)]


def draw(names, edges, **more):
    a = np.array(edges, np.int64).reshape(-1, 3)
    graphs = comparison_graphs(np.zeros(len(names)), a[:, 0], a[:, 1], a[:, 2])
    return segment_graph_svg(names, edges, graphs.component, graphs.dominance, graphs.rank, **more)


def texts(figure: Figure, part: str) -> list[Element]:
    return [t for p in figure.parts(part) for t in p.iter(f"{SVG}text")]


def test_figure_1_of_the_paper():
    figure = Figure(draw(NAMES, FIGURE_1, segment="s 1"))
    assert figure.words("name") == ["LW", "Google", "Systran", "Reference", "Moses", "Bing"]
    assert figure.words("member") == ["LW", "Google", "Systran", "Reference", "Moses", "Bing"]
    assert figure.words("dominance") == [
        "f 4, rank 1", "f 1, rank 2", "f 1, rank 2", "f \u22123, rank 3", "f \u22124, rank 4",
    ]  # fmt: skip
    assert len(figure.boxes("component")) == 5, "Google and Systran are one vertex"
    tips = figure.tips()
    assert "Google ties with Systran" in tips
    assert "Reference is better than Bing" in tips
    assert "Google, Systran: f 1, rank 2" in tips
    assert len(figure.parts("preference")) == 4
    assert len(figure.parts("tie")) == 1
    assert len(figure.parts("dominates")) == 4
    assert "contradiction" not in figure.svg
    assert figure.words("title") == ["s 1"]
    assert figure.words("note") == [
        "f: outputs dominated minus outputs that dominate, all judges pooled."
    ]


def test_a_better_rank_stands_above():
    figure = Figure(draw(NAMES, FIGURE_1))
    said = texts(figure, "dominance")
    ranks = [int((t.text or "").rpartition(" ")[2]) for t in said]
    height = [float(t.attrib["y"]) for t in said]
    for one in range(len(said)):
        for other in range(len(said)):
            if ranks[one] < ranks[other]:
                assert height[one] < height[other]
    assert height[1] == height[2], "equal ranks stand side by side"


def ends(line: Element) -> tuple[tuple[float, float], tuple[float, float]]:
    (path,) = line.iter(f"{SVG}path")
    points = [tuple(map(float, p.split())) for p in path.attrib["d"][1:].split("L")]
    return points[0], points[-1]  # type: ignore[return-value]


def test_arrows_lead_from_the_better_to_the_worse():
    figure = Figure(draw(["best", "worst"], [(1, 0, -1)]))
    discs = dict(zip(figure.words("name"), figure.points("output"), strict=True))
    (line,) = figure.parts("preference")
    start, end = ends(line)
    near = [
        min(discs, key=lambda name: np.hypot(*np.subtract(discs[name], p))) for p in (start, end)
    ]
    assert near == ["best", "worst"]
    assert len(figure.parts("head")) == 3  # this one, the one at the right, the key's


def test_cycles_are_contradictions():
    edges = [(0, 1, 1), (1, 2, 1), (2, 0, 1), (2, 3, 0), (5, 3, 1), (3, 4, 1)]
    figure = Figure(draw(NAMES, edges))
    assert "contradiction" in figure.words("key")

    def stroke(part: str) -> dict[str, bool]:
        return {
            (p.find(f"{SVG}title").text or "").partition(":")[0]: VERMILLION in str(  # type: ignore[union-attr]
                [e.attrib for e in p.iter(f"{SVG}path")]
            )
            for p in figure.parts(part)
        }  # fmt: skip

    assert stroke("preference") == {
        "LW is better than Google": True, "Google is better than Systran": True,
        "Systran is better than LW": True, "Reference is better than Moses": False,
        "Moses is better than Bing": False,
    }  # fmt: skip
    assert stroke("tie") == {"Systran ties with Moses": True}
    assert "LW, Google, Systran, Moses: f 0, rank 2, a contradiction" in figure.tips()


def test_both_directions_and_a_tie_stay_apart():
    figure = Figure(draw(["a", "b"], [(0, 1, 1), (1, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 1)]))
    lines = [*figure.parts("preference"), *figure.parts("tie")]
    tips = [line.find(f"{SVG}title").text for line in lines]  # type: ignore[union-attr]
    assert sorted(tips) == [
        "a is better than b: 2 comparisons", "a ties with b: 2 comparisons",
        "b is better than a",
    ]  # fmt: skip
    across = sorted(ends(line)[0][0] for line in lines)  # the circle's line is upright
    assert np.diff(across).min() > 6


def test_an_arrow_that_follows_from_others_is_left_out_at_the_right():
    figure = Figure(draw(["a", "b", "c"], [(0, 1, 1), (1, 2, 1), (0, 2, 1)]))
    assert len(figure.parts("preference")) == 3
    assert len(figure.parts("dominates")) == 2


def test_no_edge_passes_over_a_box():
    rng = np.random.default_rng(5)
    worth = rng.permutation(14)
    pairs = {tuple(sorted(rng.choice(14, 2, replace=False).tolist())) for _ in range(22)}
    edges = [(a, b, int(np.sign(worth[a] - worth[b]))) for a, b in sorted(pairs)]
    figure = Figure(draw([f"output {k}" for k in range(14)], edges))
    boxes = figure.boxes("component")
    for line in figure.parts("dominates"):
        (path,) = line.iter(f"{SVG}path")
        points = [tuple(map(float, p.split())) for p in path.attrib["d"][1:].split("L")]
        for (x0, y0), (x1, y1) in pairwise(points):
            for t in np.linspace(0, 1, 60):
                x, y = x0 + t * (x1 - x0), y0 + t * (y1 - y0)
                inside = [b for b in boxes if b[0] < x < b[2] and b[1] + 1 < y < b[3] - 1]
                assert not inside


def test_of_many_outputs_the_largest_components_are_drawn():
    names = [f"s{k}" for k in range(40)]
    ties = [(30, 31, 0), (31, 32, 0)]
    chain = [(k, k + 1, 1) for k in range(29)]
    figure = Figure(draw(names, [*ties, *chain]))
    drawn = figure.words("name")
    assert len(drawn) == 16
    assert {"s30", "s31", "s32", "s0", "s12"} <= set(drawn)
    assert figure.words("note")[1:] == [
        "Left out: 24 outputs in 24 smaller components; f and ranks count all outputs."
    ]
    cycle = Figure(draw(names[:20], [(k, (k + 1) % 20, 1) for k in range(20)]))
    assert cycle.words("note")[1:] == [
        "Left out: 4 outputs of the largest component; f and ranks count all outputs."
    ]


def test_names_may_hold_anything():
    names = ["<b>$x$ & co", "\u202e\x00evil", "w" * 300, ""]
    edges = [(0, 1, 1), (1, 2, 0), (2, 3, 1)]
    svg = draw(names, edges, segment="<i>")
    assert "<b>" not in svg
    assert "<i>" not in svg
    figure = Figure(svg)
    assert set(figure.words("name")) == set(figure.words("member"))
    assert max(map(len, figure.words("name"))) < 30
    assert svg == draw(names, edges, segment="<i>")
    width = float(figure.root.attrib["width"])
    assert all(0 <= float(t.attrib["x"]) <= width for t in figure.root.iter(f"{SVG}text"))


def test_the_order_of_comparisons_changes_nothing():
    turned = [(b, a, -o) for a, b, o in reversed(FIGURE_1)]
    assert draw(NAMES, turned) == draw(NAMES, FIGURE_1)


def test_little():
    assert Figure(draw([], [])).texts == ["nothing to draw: the segment has no outputs"]
    assert Figure(draw(["only"], [])).words("dominance") == ["f 0, rank 1"]
    alone = Figure(draw(["a", "b"], []))
    assert alone.words("member") == ["a", "b"]
    assert not alone.parts("preference")
    assert "the 2 parts" in alone.words("note")[1]


@pytest.mark.parametrize(
    ("edges", "components", "rank", "message"),
    [
        ([(0, 1, 1)], [0], [1, 2], "1 components"),
        ([(0, 2, 1)], [0, 1], [1, 2], "edges of 2 outputs"),
        ([(0, 0, 1)], [0, 1], [1, 2], "edges of 2 outputs"),
        ([(0, 1, 2)], [0, 1], [1, 2], "edges of 2 outputs"),
        ([(0, 1, -1)], [0, 1], [1, 2], "do not follow"),
        ([(0, 1, 0)], [0, 1], [1, 2], "do not follow"),
    ],
)
def test_what_does_not_fit(edges, components, rank, message):
    with pytest.raises(ValueError, match=message):
        segment_graph_svg(["a", "b"], edges, components, [1, -1], rank)
