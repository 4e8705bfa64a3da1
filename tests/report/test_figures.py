"""Figures show what they are given: numbers where the axes say, and words for what is left out."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise, product

import numpy as np
import pytest

from annot_pipeline.methods.comparisons.comparison_graphs import comparison_graphs
from annot_pipeline.methods.labels.reliability import reliability
from annot_pipeline.report.figures import (
    comparison_matrix_svg,
    confusion_svg,
    effort_saved_svg,
    judge_accuracy_svg,
    judge_differences_svg,
    p_against_seconds_svg,
    prevalence_svg,
    ranking_svg,
    reliability_svg,
    score_histograms_svg,
    seconds_by_length_svg,
    segment_graph_svg,
    win_matrix_svg,
)
from annot_pipeline.report.figures.base import BLUE, SMALL, px_of
from annot_pipeline.report.figures.certainty_bands import certainty_svg
from annot_pipeline.report.figures.judge_control import MOST_JUDGES
from annot_pipeline.report.figures.plot import NARROWEST
from annot_pipeline.report.figures.records_by_fate import COLORS, records_by_fate_svg
from tests.report.figure_reader import SVG, Figure, figures_of

NAN = float("nan")
INTERVALS = "Lines: 95% intervals, the mean of the other", "systems held fixed."


# --- judges ----------------------------------------------------------------------------------


def test_judges_lie_by_time_and_p():
    figure = Figure(p_against_seconds_svg(
        [1, 10, 100, 10, -1], [0.5, 0.05, 1e-10, None, 0.5],
        ["failed", "undetermined", "passed", "undetermined", "passed"], 0.05,
    ))  # fmt: skip
    ((x1, y1),), ((x3, y3),) = figure.points("failed"), figure.points("passed")
    (x2, y2), (x4, y4) = sorted(figure.points("undetermined"), key=lambda p: -p[1])
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.02)  # log scale
    assert x4 == x2
    assert y4 < y1 < y2 < y3  # without p above all, then large p, as in the paper
    # equal steps of the normal quantile: 0, 1.645 and 6.361
    assert (y3 - y1) / (y2 - y1) == pytest.approx(6.3613 / 1.6449, rel=1e-3)
    [(_, level, _, _)] = figure.boxes("level")
    assert level == pytest.approx(y2, abs=0.02)  # alpha is 0.05
    assert {"\u03b1 = 0.05", "failed 1", "passed 1", "undetermined 2", "no p", "1e-10"} <= {
        *figure.texts
    }
    assert figure.words("note") == ["Not drawn, without a time: 1 judge."]


def test_accuracy_names_who_is_known_to_be_below_the_others():
    """Worked by hand: Wilson's 95% interval of 40 of 100 ends at .498, of 14 of 20 at .855."""
    names, n = ["low", "few", "a", "b", "c"], [100, 20, 100, 100, 100]
    share = [0.4, 0.7, 0.9, 0.9, 0.9]
    figure = Figure(judge_accuracy_svg(names, n, share, ["passed"] * 5, 0.25))
    assert figure.words("outlier") == ["1", "2"]
    assert "the median: 1 low, 2 few." in " ".join(figure.words("note"))
    unsure = Figure(judge_accuracy_svg(names, [100, 5, 100, 100, 100], share, ["passed"] * 5, 0.25))
    assert unsure.words("outlier") == ["1"]
    assert "the median: 1 low." in " ".join(unsure.words("note"))
    assert len(figure.points("passed")) == 5
    assert len(figure.parts("chance")) == 1
    assert not Figure(judge_accuracy_svg(names, n, share, ["passed"] * 5, NAN)).parts("chance")


def test_of_many_judges_the_lowest_are_shown():
    n = 5_000
    share = np.linspace(0.2, 0.9, n)
    names = [f"j{k}" for k in range(n)]
    svg = judge_accuracy_svg(names, np.full(n, 50), share, ["passed"] * n, 0.25)
    figure = Figure(svg)
    assert len(figure.points("passed")) == 600
    assert "the median: 1 j0, " in " ".join(figure.words("note"))
    assert "600 of 5,000 judges shown" in " ".join(figure.words("note"))


@pytest.mark.parametrize(("n_failed", "n_shown"), [(0, 0), (400, 400), (15_000, MOST_JUDGES)])
def test_of_many_judges_those_who_failed_are_shown(n_failed, n_shown):
    n = 20_000
    verdicts = ["failed" if 7 * k % n < n_failed else "passed" for k in range(n)]
    p = np.where(np.array(verdicts) == "failed", np.linspace(0.05, 1, n), 0.01)
    figure = Figure(p_against_seconds_svg(np.linspace(1, 9, n), p, verdicts, 0.05))
    assert len(figure.points("failed")) == n_shown
    assert len(figure.points("passed")) == MOST_JUDGES - n_shown
    assert len(figure.svg) < 300_000
    assert figure.words("note")[0].startswith("600 of 20,000 judges shown: those who failed")


@pytest.mark.parametrize("n", [1, 3, 8_000, 187_734, 1_016_481, 10**9])
def test_numbers_of_records_are_whole_and_do_not_stand_on_each_other(n):
    figure = Figure(records_by_fate_svg({("recovered-raw-good-judges.tsv.gz", "used"): n}))
    at = [(t.attrib, t.text or "") for t in figure.root.iter(f"{SVG}text")]
    [height] = [a["y"] for a, words in at if words == "0"]
    ticks = [(float(a["x"]), words) for a, words in at if a["y"] == height]
    assert len(ticks) >= 2
    assert all(words == f"{int(words.replace(',', '')):,}" for _, words in ticks)
    ends = [(x - 3.5 * len(words), x + 3.5 * len(words)) for x, words in sorted(ticks)]
    assert all(left[1] < right[0] for left, right in pairwise(ends))


def test_differences_of_one_judge():
    figure = Figure(judge_differences_svg([0, 2, 4, 10, None], [-10, 10, 30], "judge 7"))
    assert len(figure.points("pair")) == 4 + 3
    assert figure.words("title") == ["judge 7"]
    assert figure.words("mean-value") == ["mean 4", "mean 10"]
    assert [words[-5:] for words in figure.words("count")] == ["n = 4", "n = 3"]
    means = figure.points("mean")
    drawn = sorted(x for x, y in figure.points("pair") if y > (means[0][1] + means[1][1]) / 2)
    assert means[1][0] == drawn[1]


def test_differences_by_rounding_alone_are_none():
    """The axis had steps of 1e-17, and its multiplier stood on its name."""
    figure = Figure(judge_differences_svg([0.0, 0.1 + 0.2 - 0.3], [0.0], "judge 7"))
    assert figure.words("mean-value") == ["mean 0", "mean 0"]
    assert not any("e\u2212" in text for text in figure.texts)


def test_differences_of_a_judge_with_many_controls_stay_light():
    figure = Figure(judge_differences_svg(range(9_000), range(3_000), "judge 7"))
    assert len(figure.points("pair")) == 160
    assert "80 of 9,000 points of d1 drawn" in figure.note


def test_confusion_has_true_classes_in_rows():
    matrix = [[0.9, 0.1], [0.0, None]]
    figure = Figure(confusion_svg(["yes", "no"], [matrix, np.eye(2)], ["judge 1", "judge 2"]))
    assert figure.words("title") == ["judge 1", "judge 2"]
    cells = [
        (float(text.attrib["y"]), float(text.attrib["x"]), text.text)
        for part in figure.parts("cell") for text in part.iter(f"{SVG}text")
    ]  # fmt: skip
    # by lines of the figure, in which both matrices stand beside each other
    assert [text for *_, text in sorted(cells)] == [".90", ".10", "1", "0", "0", "0", "1"]
    assert figure.words("row") == ["yes", "no"]  # of the first matrix only
    assert figure.words("column") == ["yes", "no"] * 2
    assert figure.note.endswith("Empty cells have no value.")
    assert len(list(figure.root.iter(f"{SVG}image"))) == 2


# --- labels ----------------------------------------------------------------------------------


def test_prevalence_bars_are_as_long_as_the_shares():
    figure = Figure(prevalence_svg(["a", "b"], [0.8, 0.2], [0.5, 0.5], [1.0, None]))
    widths = [right - left for left, _, right, _ in figure.boxes("bar") if right > left]
    whole = widths[4]
    assert widths == pytest.approx([0.8 * whole, 0.2 * whole, 0.5 * whole, 0.5 * whole, whole],
                                   abs=0.05)  # fmt: skip
    assert figure.words("label") == ["a", "b"]
    assert figure.words("value") == ["0.800", "0.200", "0.500", "0.500", "1.000", "\u2013"]
    assert {"model's prevalence", "share of votes", "most frequent label"} <= {*figure.texts}


def test_reliability_has_a_point_a_bin_that_has_labels():
    sure = reliability([0.95, 0.95, 0.95, 0.55], [1, 1, 0, 0], [1, 1, 0, 0])
    unsure = reliability([0.65] * 4, [1, 1, 0, 1], [1, 1, 0, 1])
    figure = Figure(reliability_svg(["Dawid-Skene", "published"], [sure, unsure]))
    boxes = figure.boxes("bin")
    (x1, y1), (x2, y2) = (((a + c) / 2, (b + d) / 2) for a, b, c, d in boxes[:2])
    [(x3, y3)] = figure.points("bin")
    per_unit = (x2 - x1) / 0.4
    assert (y1 - y2) / (y1 - y3) == pytest.approx((2 / 3) / 0.75, abs=0.01)
    assert (x3 - x1) / per_unit == pytest.approx(0.1, abs=0.01)
    assert len(figure.boxes("interval")) == 3


# --- rankings --------------------------------------------------------------------------------


def test_ranking_keeps_the_order_and_parts_the_clusters():
    figure = Figure(
        ranking_svg(["B", "A", "C"], [0.5, 0.25, -0.5], [0.25, None, -0.75], [0.75, 0.5, -0.25],
                    [1, 1, 2], "z_mean")
    )  # fmt: skip
    assert figure.words("system") == ["B", "A", "C"]
    b, a, c = sorted(figure.points("score"), key=lambda point: point[1])
    assert c[0] < a[0] < b[0]
    assert (b[0] - a[0]) * 4 == pytest.approx(b[0] - c[0], abs=0.05)
    intervals = figure.boxes("interval")
    assert len(intervals) == 2  # A has no lower end
    assert intervals[0][::2] == pytest.approx((a[0], 2 * b[0] - a[0]), abs=0.05)
    assert figure.words("cluster") == ["1", "1", "2"]
    [(_, line, _, _)] = figure.boxes("cluster-line")
    assert a[1] < line < c[1]
    assert "score by z_mean" in figure.texts
    assert figure.words("note") == [
        *INTERVALS, "Hollow points: no interval for 1 system.", "At the right: the cluster.",
    ]  # fmt: skip


def test_a_cell_of_a_comparison_says_whether_the_row_wins():
    p = [[None, 0.01, None], [0.99, None, None], [None, None, None]]
    figure = Figure(comparison_matrix_svg(["A", "B", "C"], p, None, 0.05))
    assert figure.words("row") == ["1. A", "2. B", "3. C"]
    assert figure.words("wins") == ["1", "0", "0"]
    assert len(figure.points("win")) == 1
    assert figure.words("note")[-1] == "Empty cells: not compared."


@pytest.mark.parametrize("n", [3, 20, 60, 70])
def test_matrices_of_many_systems_fit_a_phone(n):
    """They were 641 px wide at 70 systems; names stay as high as their letters."""
    names = [f"Open-Assistant Vicuna {k} (34B)" for k in range(n)]
    for svg in (comparison_matrix_svg(names, np.full((n, n), 0.2), None, 0.05),
                win_matrix_svg(names, np.ones((n, n)))):  # fmt: skip
        figure = Figure(svg)
        assert figure.width <= NARROWEST
        assert figure.height > 7 * n
        assert len(figure.words("row")) == n


def test_a_cell_of_wins_says_its_share():
    wins, ties = [[0, 6, 0], [3, 0, 2], [0, 2, 0]], [[0, 1, 0], [1, 0, 4], [0, 4, 0]]
    figure = Figure(win_matrix_svg(["A", "B", "C"], wins, ties))
    assert figure.words("cell") == ["65", "35", "50", "50"]
    assert figure.words("note")[-1] == "Empty cells: never compared."


# --- comparisons of outputs ------------------------------------------------------------------

NAMES = ["LW", "Google", "Systran", "Moses", "Bing", "Reference"]
FIGURE_1 = [(0, 1, 1), (1, 2, 0), (2, 3, 1), (1, 4, 1), (5, 4, 1)]


def graph(names, edges, **more):
    a = np.array(edges, np.int64).reshape(-1, 3)
    graphs = comparison_graphs(np.zeros(len(names)), a[:, 0], a[:, 1], a[:, 2])
    return Figure(
        segment_graph_svg(names, edges, graphs.component, graphs.dominance, graphs.rank, **more)
    )


def test_figure_1_of_the_paper():
    figure = graph(NAMES, FIGURE_1, segment="s 1")
    minus_3, minus_4 = "f \u22123", "f \u22124"
    assert figure.words("output")[1::3] == ["f 4", "f 1", "f 1", minus_3, minus_4, "f 1"]
    assert figure.words("output")[2::3] == [f"rank {n}" for n in (1, 2, 2, 3, 4, 2)]
    assert figure.words("output")[::3] == NAMES
    texts = [t for p in figure.parts("output") for t in p.iter(f"{SVG}text")][::3]
    at = {t.text: float(t.attrib["transform"].rstrip(")").split()[1]) for t in texts}
    assert at["LW"] < at["Google"] == at["Systran"] < at["Moses"] < at["Bing"]
    assert len(figure.parts("preference")) == 4
    assert len(figure.parts("tie")) == 1
    assert figure.words("title") == ["s 1"]
    turned = [(b, a, -o) for a, b, o in reversed(FIGURE_1)]
    assert graph(NAMES, turned, segment="s 1").svg == figure.svg


def test_names_of_a_wide_layer_are_not_cut():
    names = [f"system-{n}" for n in range(5)]
    edges = [(n, 4, 1) for n in range(4)]
    figure = graph(names, edges)
    for text in (t for p in figure.parts("output") for t in p.iter(f"{SVG}text")):
        start = float(text.attrib["transform"].removeprefix("translate(").split()[0])
        assert 0 < start < start + px_of(text.text, size=SMALL) < figure.width, text.text


@pytest.mark.parametrize("n", [5, 9, 12, 30])
def test_a_graph_of_many_outputs_of_one_rank_fits_a_phone(n):
    """It was 407 to 556 px wide at 12 systems."""
    names = [f"online-system-{k}.en-de" for k in range(n)]
    figure = graph(names, [(0, k, 1) for k in range(1, n)], segment="segment " * 20)
    assert figure.width <= NARROWEST
    assert figure.words("output")[2::3] == ["rank 1"] + ["rank 2"] * (n - 1)
    places = {p.attrib["transform"] for e in figure.parts("output") for p in e.iter(f"{SVG}text")}
    assert len(places) == 3 * n, "no two stand on each other"
    assert px_of(*figure.words("title")) < figure.width


TABLE_2 = {
    "outputs": 11_292, "collapsed": 4_622, "unique": 6_670, "by_reference": 2_372,
    "by_spread": 668, "asked": 3_630,
}  # fmt: skip


def test_table_2_of_the_paper():
    figure = Figure(effort_saved_svg(TABLE_2))
    assert figure.words("count") == [
        "11,292",
        "\u22124,622 (40.93%)",
        "6,670",
        "\u22122,372 (35.56%)",
        "\u2212668 (10.01%)",
        "3,630 (32.15%)",
    ]
    assert not any("…" in name for name in figure.words("step"))
    assert figure.note.startswith("67.85% of asking about every output was saved. Shares: of ")


WORDS, TIMED = [10, 20, 30], ["one comparison", "a ranking"]
SECONDS = [[6.0, 4.0, 3.0], [12.0, 8.0, None]]
COUNTS = [[40, 90, 12_345], [2, 5, 0]]


def test_seconds_stand_over_their_counts():
    figure = Figure(seconds_by_length_svg(WORDS, TIMED, SECONDS, COUNTS))
    points = sorted(figure.points("curve"))
    assert len(points) == 5
    per_second = (points[1][1] - points[0][1]) / 6
    heights = [(points[-1][1] - y) / per_second + 3 for _, y in points]
    assert sorted(heights) == pytest.approx([3, 4, 6, 8, 12], abs=0.02) or heights
    assert figure.words("count") == ["40", "90", "12.3k", "2", "5", "0"]
    assert {*TIMED} <= {*figure.texts}
    back = seconds_by_length_svg(
        [30, 10, 20], TIMED, *(np.array(v)[:, [2, 0, 1]] for v in (SECONDS, COUNTS))
    )
    assert back == figure.svg


def test_histograms_beside_the_oracle():
    oracle = [0, 0.1, 0.2, 0.6, 0.6, 0.79, 0.8, 1, 1, 1]
    figure = Figure(
        score_histograms_svg([("oracle", oracle), ("DA", [0.5, None, NAN])], x_label="score")
    )
    assert figure.words("panel") == ["oracle", "DA"]
    assert figure.words("count") == ["n = 10", "n = 1"]
    heights = [bottom - top for _, top, _, bottom in figure.boxes("bars")]
    assert np.array(heights) / heights[7] == pytest.approx(
        [0.2, 0.1, 0, 0.3, 0.4, 0, 0, 1, 0, 0], abs=0.01
    )
    assert len(figure.boxes("outline")) == 1
    assert figure.words("note") == [
        "From left to right: score. Outline: oracle.", "Without a score: 2 items of DA.",
    ]  # fmt: skip


# --- what does not fit -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: p_against_seconds_svg([1], [0.5, 0.5], ["passed"], 0.05), "lengths"),
        (lambda: p_against_seconds_svg([1], [0.5], ["good"], 0.05), "none of passed"),
        (lambda: confusion_svg(["a"], [[1, 0], [0, 1]], ["j"]), "shape"),
        (lambda: prevalence_svg(["a"], [1], [1, 2]), "1 labels"),
        (lambda: ranking_svg(["a"], [1], [1, 2], None, None, "z"), "1 systems"),
        (lambda: comparison_matrix_svg(["a", "b"], [[1, 0], [0, 1]], [1, 0], 0.05), "shape"),
        (lambda: win_matrix_svg(["a", "b"], [[0, -1], [1, 0]]), "negative"),
        (lambda: win_matrix_svg(["a", "b"], [[0, 1], [1, 0]], [[0, 1], [2, 0]]), "symmetric"),
        (lambda: reliability_svg(["a", "b"], []), "2 names, 0 models"),
        (lambda: segment_graph_svg(["a", "b"], [(0, 1, 1)], [0], [1, -1], [1, 2]), "1 components"),
        (lambda: segment_graph_svg("ab", [(0, 2, 1)], [0, 1], [1, -1], [1, 2]), "edges of 2"),
        (lambda: seconds_by_length_svg(WORDS, TIMED, SECONDS[:1], COUNTS), "2 names"),
        (lambda: seconds_by_length_svg([1], ["x"], [[-3]], [[1]]), "negative"),
        (lambda: score_histograms_svg([("a", [1.5])], x_label="x"), "outside"),
        *(
            (lambda change=change: effort_saved_svg(TABLE_2 | change), "counts")
            for change in ({"asked": 3_631}, {"unique": 6_671}, {"by_spread": -1}, {"extra": 1})
        ),
        (lambda: effort_saved_svg({"outputs": 1}), "missing"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(draw: Callable[[], str], message: str):
    with pytest.raises(ValueError, match=message):
        draw()


def luminance(color: str) -> float:
    """Relative luminance of a hexadecimal colour, WCAG 2."""
    shares = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in shares]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def blend(color: str, ground: str, opacity: float) -> str:
    pairs = [(int(color[k : k + 2], 16), int(ground[k : k + 2], 16)) for k in (1, 3, 5)]
    return "#" + "".join(f"{round(opacity * a + (1 - opacity) * b):02x}" for a, b in pairs)


def contrast(color: str, ground: str, opacity: str | float = 1.0) -> float:
    drawn = luminance(blend(color, ground, float(opacity)))
    light, dark = sorted([drawn, luminance(ground)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_bars_stand_out_from_the_page():
    """Those of "vertices", "not answered" and records that were not asked for did not."""
    records = {("e", fate): 9 for fate in COLORS}
    for svg in (effort_saved_svg(TABLE_2 | {"asked": 3_000}), records_by_fate_svg(records)):
        fills = re.findall(r'style="fill: ?(#\w{6})(?:; ?(?:fill-)?opacity: ?([\d.]+))?', svg)
        assert len(fills) > 4
        for ground in ("#ffffff", "#14171b"):
            assert min(contrast(color, ground, share or 1) for color, share in fills) >= 3, fills
    outline = certainty_svg(["t"], [[1, 1, 0, 0, 0, 0]], [2], [0])
    assert f"stroke: {BLUE}" in outline


@pytest.mark.parametrize("kind", ["ranking", "accuracy", "reliability", "agreement"])
def test_intervals_stand_out_from_the_page(kind):
    """3:1, in the light and in the dark: they say how sure a figure is."""
    figure = Figure(figures_of(["one", "two", "three", "four"])[kind])
    parent = {child: element for element in figure.root.iter() for child in element}
    styles = set()
    for part in figure.parts("interval"):
        at, own = part, [e.get("style", "") for e in part.iter()]
        while at in parent:
            at = parent[at]
            own.append(at.get("style", ""))
        styles.add("; ".join(own))
    assert styles
    pages = [("#ffffff", "#1b1f24"), ("#14171b", "#e6e9ed")]
    for style, (ground, ink) in product(styles, pages):
        color = re.search(r"stroke: ?(#\w{6}|currentColor)", style)[1]
        color = ink if color == "currentColor" else color
        opacity = re.search(r"stroke-opacity: ?([\d.]+)", style)
        assert contrast(color, ground, opacity[1] if opacity else 1.0) >= 3, style
