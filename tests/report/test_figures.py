"""Figures show what they are given: numbers where the axes say, and words for what is left out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from annot_pipeline.methods.comparisons.comparison_graphs import comparison_graphs
from annot_pipeline.methods.labels.reliability import reliability
from annot_pipeline.report.figures import (
    comparison_matrix_svg,
    confusion_svg,
    convergence_svg,
    effort_saved_svg,
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
from annot_pipeline.report.figures.agreement_intervals import agreement_svg
from annot_pipeline.report.figures.certainty_bands import certainty_svg
from annot_pipeline.report.figures.judge_control import MOST_JUDGES
from annot_pipeline.report.figures.records_by_fate import records_by_fate_svg
from tests.report.figure_reader import SVG, Figure, fits, trace

NAN = float("nan")
NO_INTERVALS = "Hollow points: no intervals are known."
INTERVALS = "Lines: 95% intervals, the mean of the other systems held fixed."


# --- fits ------------------------------------------------------------------------------------


def lines(figure: Figure) -> list[int]:
    """How many points each line of a task has."""
    paths = (path for p in figure.parts("task") for path in p.iter(f"{SVG}path"))
    return [path.attrib["d"].count("L") + 1 for path in paths]


def test_convergence_draws_the_gap_of_each_task():
    figure = Figure(convergence_svg(fits(["add-v", "help-v"])))
    assert sorted(lines(figure)) == [4, 5]  # as many as steps of the trace
    assert "add-v: 4 iterations" in figure.texts
    assert "help-v: 5 iterations, not converged" in figure.texts
    many = Figure(convergence_svg(fits([f"word-{n}" for n in range(45)])))
    assert len(lines(many)) == 45
    assert {text for text in many.texts if text.startswith("word-")} == {
        "word-1: 5 iterations, not converged", "word-44: 48 iterations",
    }  # fmt: skip


@pytest.mark.slow
def test_convergence_thins_what_would_be_too_much():
    long = [{"task": str(n), "trace": trace(3000, 0.01)} for n in range(4)]
    figure = Figure(convergence_svg(long))
    assert sum(lines(figure)) <= 5000
    assert figure.words("note") == ["At most 1,250 iterations of a task are drawn, evenly spread."]
    figure = Figure(convergence_svg([{"task": n, "trace": trace(3)} for n in range(700)]))
    assert len(lines(figure)) == 500
    assert figure.words("note") == ["500 of 700 tasks drawn, those that took longest."]


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


@pytest.mark.parametrize(("n_failed", "n_shown"), [(0, 0), (1_500, 1_500), (15_000, MOST_JUDGES)])
def test_of_many_judges_those_who_failed_are_shown(n_failed, n_shown):
    n = 20_000
    verdicts = ["failed" if 7 * k % n < n_failed else "passed" for k in range(n)]
    p = np.where(np.array(verdicts) == "failed", np.linspace(0.05, 1, n), 0.01)
    figure = Figure(p_against_seconds_svg(np.linspace(1, 9, n), p, verdicts, 0.05))
    assert len(figure.points("failed")) == n_shown
    assert len(figure.points("passed")) == MOST_JUDGES - n_shown
    assert len(figure.svg) < 300_000
    assert figure.words("note")[0].startswith("2,000 of 20,000 judges shown: those who failed")


def test_differences_of_one_judge():
    figure = Figure(judge_differences_svg([0, 2, 4, 10, None], [-10, 10, 30], "judge 7"))
    assert len(figure.points("pair")) == 4 + 3
    assert figure.words("title") == ["judge 7"]
    assert figure.words("mean-value") == ["mean 4", "mean 10"]
    assert [words[-5:] for words in figure.words("count")] == ["n = 4", "n = 3"]
    means = figure.points("mean")
    drawn = sorted(x for x, y in figure.points("pair") if y > (means[0][1] + means[1][1]) / 2)
    assert means[1][0] == drawn[1]
    values = np.random.default_rng(0).normal(size=10_000)
    many = Figure(judge_differences_svg(values, values[:9], "judge"))
    assert len(many.points("pair")) == 2500 + 9
    assert many.words("note") == ["2,500 of 10,000 points of d1 drawn, evenly spread by value."]


def test_confusion_has_true_classes_in_rows():
    matrix = [[0.9, 0.1], [0.0, None]]
    figure = Figure(confusion_svg(["yes", "no"], [matrix, np.eye(2)], ["judge 1", "judge 2"]))
    assert figure.words("title") == ["judge 1", "judge 2"]
    assert figure.words("cell") == [".90", ".10", "0", "1", "0", "0", "1"]
    assert figure.words("row") == ["yes", "no"]  # of the first matrix only
    assert figure.words("column") == ["yes", "no"] * 2
    assert figure.note.endswith("Empty cells have no value.")
    cells = [t for p in figure.parts("cell") for t in p.iter(f"{SVG}text")]
    first, second, third = ((float(t.attrib["x"]), float(t.attrib["y"])) for t in cells[:3])
    assert first[1] == second[1] < third[1]
    assert first[0] == third[0] < second[0]
    assert len(list(figure.root.iter(f"{SVG}image"))) == 2


def test_confusion_draws_no_more_than_can_be_seen():
    rng = np.random.default_rng(0)
    figure = Figure(confusion_svg(range(30), rng.random((57, 30, 30)), range(57)))
    assert len(figure.words("title")) == 5
    assert figure.words("cell") == [], "no numbers beyond nine classes"
    assert figure.words("note")[1:] == ["The first 5 of 57 judges are drawn."]
    figure = Figure(confusion_svg(range(100), rng.random((100, 100)), ["j"]))
    assert figure.words("note")[1:] == ["The first 60 of 100 classes are drawn."]


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
    shares = np.arange(100) / 4950
    many = Figure(prevalence_svg(range(100), shares, shares))
    assert many.words("label") == [str(n) for n in range(40, 100)]
    assert many.words("note") == ["The 60 most prevalent of 100 classes are drawn."]


def test_certainty_of_two_tasks():
    figure = Figure(certainty_svg(["x", "<y>"], [[1, 0, 0, 0, 3, 0], [0] * 6], [4, 0], [3, 0]))
    assert figure.words("certain") == ["75.0%"]
    assert figure.words("task") == ["x", "<y>"]
    assert "decided by an expert" not in figure.texts
    svg = certainty_svg(["x"], [[1, 0, 0, 0, 99_998, 1]], [100_000], [99_999])
    assert Figure(svg).words("certain") == [">99.9%"]
    assert "decided by an expert" in Figure(svg).texts
    assert "certain or decided" in Figure(svg).words("note")[0]


def test_agreement_may_be_below_chance_and_without_interval():
    figure = Figure(agreement_svg(
        ["a", "b", "c"], ["alpha"] * 3, [-0.15, 0.5, NAN], [-0.25, NAN, NAN], [0.1, NAN, NAN],
    ))  # fmt: skip
    assert figure.words("number") == ["\u22120.15", "0.50"]
    assert len(figure.boxes("interval")) == 1
    assert figure.words("task") == ["a, alpha", "b, alpha", "c, alpha"]
    assert figure.words("note")[-1] == "Hollow points: no interval is known."


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


def test_records_of_exports_by_fate():
    counts = {("a.csv", "used"): 60, ("b.csv", "used"): 30, ("b.csv", "rejected"): 10}
    figure = Figure(records_by_fate_svg(counts, {"a.csv": 61}))
    assert figure.words("export") == ["a.csv", "b.csv"]
    assert figure.words("total") == ["60 records in 61 rows", "40 records"]
    assert {"used 90", "rejected 10"} <= {*figure.texts}
    assert figure.root.get("aria-label") == "Records by fate: used 90, rejected 10"


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
        INTERVALS, "Hollow points: no interval for 1 system.", "At the right: the cluster.",
    ]  # fmt: skip


def test_a_ranking_says_what_it_has_not():
    bare = Figure(ranking_svg(["a", "b", "c"], [2, 1, None], None, None, None, "wins"))
    assert len(bare.points("score")) == 2
    assert not bare.boxes("interval")
    assert bare.words("note") == [NO_INTERVALS, "Without a score: 1 system."]
    many = Figure(ranking_svg(range(300), -np.arange(300), None, None, None, "z"))
    assert len(many.points("score")) == 200
    assert many.words("note") == [NO_INTERVALS, "The first 200 of 300 systems are drawn."]
    crossed = Figure(ranking_svg(["a", "b"], [2, 1], [3, 0], [1, 2], None, "z"))
    assert len(crossed.boxes("interval")) == 1

    def notes(why):
        svg = ranking_svg(["a", "b"], [2, 1], None, None, None, "wins", why_no_intervals=why)
        return Figure(svg).words("note")

    assert notes("<b>&amp; $x$\x00") == ["No intervals: <b>&amp; $x$\ufffd"]
    assert 2 < len(notes("word " * 500)) < 8
    assert len(notes("unbroken" * 500)) > 1


def test_a_cell_of_a_comparison_says_whether_the_row_wins():
    p = [[None, 0.01, None], [0.99, None, None], [None, None, None]]
    figure = Figure(comparison_matrix_svg(["A", "B", "C"], p, None, 0.05))
    assert figure.words("row") == ["1. A", "2. B", "3. C"]
    assert figure.words("wins") == ["1", "0", "0"]
    assert len(figure.points("win")) == 1
    assert figure.words("note")[-1] == "Empty cells: not compared."
    p = np.random.default_rng(0).random((100, 100))
    many = Figure(comparison_matrix_svg(range(100), p, None, 0.05))
    wins = ((p < 0.05) & ~np.eye(100, dtype=bool)).sum(axis=1)
    assert many.words("wins") == [str(n) for n in wins[:70]]  # over all, not the drawn ones
    assert many.words("note")[-1] == "The first 70 of 100 systems are drawn."
    assert len(many.svg) < 100_000
    assert many.width <= 1024


def test_a_cell_of_wins_says_its_share():
    wins, ties = [[0, 6, 0], [3, 0, 2], [0, 2, 0]], [[0, 1, 0], [1, 0, 4], [0, 4, 0]]
    figure = Figure(win_matrix_svg(["A", "B", "C"], wins, ties))
    assert figure.words("cell") == ["65", "35", "50", "50"]
    assert figure.words("note")[-1] == "Empty cells: never compared."
    many = Figure(win_matrix_svg([f"s{k}" for k in range(99)], np.ones((99, 99))))
    assert many.words("cell") == []
    assert many.words("note")[-1] == "The first 70 of 99 systems are drawn."
    sizes = [float(t.get("font-size", 12)) for p in many.parts("row") for t in p.iter(f"{SVG}text")]
    assert min(sizes) >= 11


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
    assert figure.words("output")[1::2] == [
        "f 4, rank 1", "f 1, rank 2", "f 1, rank 2", "f \u22123, rank 3", "f \u22124, rank 4",
        "f 1, rank 2",
    ]  # fmt: skip
    assert figure.words("output")[::2] == NAMES
    texts = [t for p in figure.parts("output") for t in p.iter(f"{SVG}text")][::2]
    at = {t.text: float(t.attrib["transform"].rstrip(")").split()[1]) for t in texts}
    assert at["LW"] < at["Google"] == at["Systran"] < at["Moses"] < at["Bing"]
    assert len(figure.parts("preference")) == 4
    assert len(figure.parts("tie")) == 1
    assert figure.words("title") == ["s 1"]
    turned = [(b, a, -o) for a, b, o in reversed(FIGURE_1)]
    assert graph(NAMES, turned, segment="s 1").svg == figure.svg


def test_cycles_are_contradictions():
    assert "#d55e00" not in graph(NAMES, FIGURE_1).svg
    edges = [(0, 1, 1), (1, 2, 1), (2, 0, 1), (2, 3, 0), (5, 3, 1), (3, 4, 1)]
    preferences = graph(NAMES, edges).parts("preference")
    assert sum("#d55e00" in str([e.attrib for e in p.iter()]) for p in preferences) == 3
    assert graph(["only"], []).words("output") == ["only", "f 0, rank 1"]


TABLE_2 = {
    "outputs": 11_292, "collapsed": 4_622, "unique": 6_670, "by_reference": 2_372,
    "by_spread": 668, "asked": 3_630,
}  # fmt: skip


def test_table_2_of_the_paper():
    figure = Figure(effort_saved_svg(TABLE_2))
    assert figure.words("count") == [
        "11,292",
        "\u22124,622 (40.93% of the outputs)",
        "6,670",
        "\u22122,372 (35.56% of the vertices)",
        "\u2212668 (10.01% of the vertices)",
        "3,630 (32.15% of the outputs)",
    ]
    assert figure.words("note") == ["67.85% of asking about every output was saved."]
    counts = {"outputs": 10, "collapsed": 2, "by_reference": 3, "by_spread": 1, "asked": 2}
    unanswered = Figure(effort_saved_svg(counts))
    assert unanswered.words("step")[-2:] == ["not answered", "asked"]
    assert "\u22122 (25.00% of the vertices)" in unanswered.words("count")


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
    many = Figure(seconds_by_length_svg(
        range(1, 101), ["x"], [np.linspace(9, 3, 100)], [range(0, 10**6, 10**4)]
    ))  # fmt: skip
    x = [float(t.attrib["x"]) for p in many.parts("count") for t in p.iter(f"{SVG}text")]
    assert np.diff(x).min() > 40


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
    assert figure.words("note") == ["Outline: oracle.", "Without a score: 2 items of DA."]
    edges = Figure(score_histograms_svg([("a", np.arange(100) / 100)], bins=100, x_label="score"))
    heights = [bottom - top for _, top, _, bottom in edges.boxes("bars")]
    assert max(heights) == min(heights) > 0, "one in each, also .29, which is 28.999... / 100"
    many = Figure(score_histograms_svg([(f"m{n}", [n / 20]) for n in range(14)], x_label="x"))
    assert many.words("panel") == [f"m{n}" for n in range(12)]
    assert many.words("note")[-1] == "The first 12 of 14 methods are drawn."


# --- what does not fit -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: p_against_seconds_svg([1], [0.5, 0.5], ["passed"], 0.05), "lengths"),
        (lambda: p_against_seconds_svg([1], [0.5], ["good"], 0.05), "none of passed"),
        (lambda: confusion_svg(["a"], [[1, 0], [0, 1]], ["j"]), "shape"),
        (lambda: confusion_svg(["a", "b"], [[1, 0], [0, 1]], ["j", "k"]), "shape"),
        (lambda: prevalence_svg(["a"], [1], [1, 2]), "1 labels"),
        (lambda: ranking_svg(["a"], [1], [1, 2], None, None, "z"), "1 systems"),
        (lambda: comparison_matrix_svg(["a", "b"], [[1, 0], [0, 1]], [1, 0], 0.05), "shape"),
        (lambda: win_matrix_svg(["a", "b"], [[0, 1]]), "shape"),
        (lambda: win_matrix_svg(["a", "b"], [[0, -1], [1, 0]]), "negative"),
        (lambda: win_matrix_svg(["a", "b"], [[0, 1], [1, 0]], [[0, 1], [2, 0]]), "symmetric"),
        (lambda: certainty_svg(["x"], np.zeros((2, 6)), [0], [0]), "shape"),
        (lambda: agreement_svg(["a"], ["s"], [1, 2], [1], [1]), "lengths"),
        (lambda: reliability_svg(["a", "b"], []), "2 names, 0 models"),
        (lambda: records_by_fate_svg({("a", "used"): -1}), "not negative"),
        (lambda: segment_graph_svg(["a", "b"], [(0, 1, 1)], [0], [1, -1], [1, 2]), "1 components"),
        (lambda: segment_graph_svg("ab", [(0, 2, 1)], [0, 1], [1, -1], [1, 2]), "edges of 2"),
        (lambda: segment_graph_svg("ab", [(0, 0, 1)], [0, 1], [1, -1], [1, 2]), "edges of 2"),
        (lambda: segment_graph_svg("ab", [(0, 1, 2)], [0, 1], [1, -1], [1, 2]), "edges of 2"),
        (lambda: seconds_by_length_svg(WORDS, TIMED, SECONDS[:1], COUNTS), "2 names"),
        (lambda: seconds_by_length_svg([1], ["x"], [[-3]], [[1]]), "negative"),
        (lambda: seconds_by_length_svg([1], "abcdefg", np.ones((7, 1)), np.ones((7, 1))), "most 6"),
        (lambda: score_histograms_svg([("a", [1.5])], x_label="x"), "outside"),
        (lambda: score_histograms_svg([("a", [1])], bins=0, x_label="x"), "0 bins"),
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
