"""Figures show what they are given."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from annot_pipeline.report.figures import (
    comparison_matrix_svg,
    confusion_svg,
    convergence_svg,
    judge_differences_svg,
    p_against_seconds_svg,
    prevalence_svg,
    ranking_svg,
)
from annot_pipeline.report.figures.agreement_intervals import agreement_svg
from annot_pipeline.report.figures.certainty_bands import certainty_svg
from annot_pipeline.report.figures.judge_control import MOST_JUDGES, _shown
from annot_pipeline.report.figures.names import px_of
from tests.report.figure_reader import SVG, Figure, fits, trace

NAN = float("nan")


NO_INTERVALS = "Hollow points: no intervals are known."


INTERVALS = "Lines: 95% intervals, the mean of the other systems held fixed."


def test_convergence_draws_the_gap_of_each_task():
    figure = Figure(convergence_svg(fits(["add-v", "help-v"])))
    lines = [path.attrib["d"] for p in figure.parts("task") for path in p.iter(f"{SVG}path")]
    assert [line.count("L") + 1 for line in lines] == [4, 5]  # as many as steps of the trace
    assert figure.words("label") == ["help-v: 5 iterations, not converged", "add-v: 4 iterations"]
    assert figure.tips() == ["add-v: 4 iterations", "help-v: 5 iterations, not converged"]


def test_convergence_is_on_a_log_scale():
    figure = Figure(convergence_svg([{"task": "t", "trace": [-1000, -100, -10, -1, 0]}]))
    (line,) = (path.attrib["d"] for p in figure.parts("task") for path in p.iter(f"{SVG}path"))
    ys = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", line)]
    assert ys[0] == 36  # 10³ is the top
    assert np.diff(ys) == pytest.approx([260 / 3] * 3, abs=0.01)
    assert figure.words("tick")[:4] == ["10⁰", "10¹", "10²", "10³"]


def test_convergence_of_many_tasks_labels_the_slowest_and_the_unfinished():
    figure = Figure(convergence_svg(fits([f"word-{n}" for n in range(45)])))
    assert len(figure.parts("task")) == 45
    assert set(figure.words("label")) == {
        "word-44: 48 iterations", "word-1: 5 iterations, not converged",
    }  # fmt: skip
    assert len(figure.tips()) == 45


@pytest.mark.slow
def test_convergence_thins_what_would_be_too_much():
    figure = Figure(
        convergence_svg([{"task": str(n), "trace": trace(3000, 0.01)} for n in range(4)])
    )
    lines = [path.attrib["d"] for p in figure.parts("task") for path in p.iter(f"{SVG}path")]
    assert sum(line.count("L") + 1 for line in lines) <= 5000
    assert figure.words("note") == ["At most 1,250 iterations of a task are drawn, evenly spread."]
    figure = Figure(convergence_svg([{"task": n, "trace": trace(3)} for n in range(700)]))
    assert len(figure.parts("task")) == 500
    assert figure.words("note") == ["500 of 700 tasks drawn, those that took longest."]


def test_judges_lie_by_time_and_p():
    figure = Figure(
        p_against_seconds_svg(
            [1, 10, 100, 10], [0.5, 0.05, 1e-10, None],
            ["failed", "undetermined", "passed", "undetermined"], 0.05,
            judges=["a", "b", "c", "d"],
        )
    )  # fmt: skip
    ((x1, y1),), ((x3, y3),) = figure.points("failed"), figure.points("passed")
    (x2, y2), (x4, y4) = figure.points("undetermined")
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.02)  # log scale
    assert x4 == x2
    assert y4 < y1 < y2 < y3  # without p above all, then large p, as in the paper
    # equal steps of the normal quantile: 0, 1.645 and 6.361
    assert (y3 - y1) / (y2 - y1) == pytest.approx(6.3613 / 1.6449, rel=1e-3)
    (level,) = (path for p in figure.parts("level") for path in p.iter(f"{SVG}path"))
    assert level.attrib["d"].split("L")[0].split(" ")[1] == f"{y2:g}"  # alpha is 0.05
    assert "\u03b1 = 0.05" in figure.words("level")
    assert figure.words("key") == ["failed 1", "passed 1", "undetermined 2"]
    assert {"no p", "1", "10", "1 min", "0.5", "10⁻¹⁰"} <= set(figure.words("tick"))
    assert sorted(figure.tips()) == [
        "a: p = 0.5, 1 s", "b: p = 0.05, 10 s", "c: p = 1e-10, 100 s", "d: no p, 10 s",
    ]  # fmt: skip


def test_judges_at_the_ends_of_the_scales():
    figure = Figure(
        p_against_seconds_svg(
            [0, 5, NAN, 5, -1], [0, 1, 0.5, 2, 0.5], ["passed"] + ["failed"] * 4, 0.05
        )
    )
    ((x, _),) = figure.points("passed")
    assert all(x < other for other, _ in figure.points("failed"))
    assert len(figure.points("failed")) == 2  # p = 2 is no p
    assert {"≤ 10⁻¹⁶", "≥ 0.999", "0", "no p"} <= set(figure.words("tick"))
    assert figure.words("note") == ["Not drawn, without a time: 2 judges."]
    assert figure.tips() == []


def test_many_judges_are_sampled():
    n = 12_000
    figure = Figure(
        p_against_seconds_svg(
            np.linspace(1, 9, n), np.linspace(0, 1, n), ["passed"] * n, 0.05, judges=range(n)
        )
    )
    assert len(figure.points("passed")) == MOST_JUDGES
    assert figure.words("note")[0].startswith("2,000 of 12,000 judges shown: those who failed")
    assert figure.words("key") == ["passed 2,000"]
    assert figure.tips() == []


@pytest.mark.parametrize(("n_failed", "n_shown"), [(1, 1), (1_500, 1_500), (15_000, MOST_JUDGES)])
def test_of_many_judges_those_who_failed_are_shown(n_failed, n_shown):
    n = 20_000
    verdicts = ["failed" if 7 * k % n < n_failed else "passed" for k in range(n)]
    p = np.where(np.array(verdicts) == "failed", np.linspace(0.05, 1, n), 0.01)
    svg = p_against_seconds_svg(np.linspace(1, 9, n), p, verdicts, 0.05, judges=range(n))
    figure = Figure(svg)
    assert len(figure.points("failed")) == n_shown
    assert len(figure.points("passed")) == MOST_JUDGES - n_shown
    assert len(svg) < 500_000
    chosen = _shown(p, np.array(verdicts) == "failed")
    of_failed = np.sort(p[np.array(verdicts) == "failed"])[-n_shown:]
    assert np.array_equal(np.sort(p[chosen][p[chosen] > 0.01]), of_failed), "the worst of them"


def test_differences_of_one_judge():
    figure = Figure(judge_differences_svg([0, 2, 4, 10], [-10, 10, 30], "judge 7"))
    assert len(figure.points("ask_again")) == 4
    assert len(figure.points("bad_reference")) == 3
    assert figure.words("title") == ["judge 7"]
    assert figure.words("mean-value") == ["mean 4", "mean 10"]
    assert figure.words("count") == ["n = 4", "n = 3"]
    (_, _), (_, _) = means = figure.points("mean")
    points = dict(
        zip([-10, 10, 30], sorted(x for x, _ in figure.points("bad_reference")), strict=True)
    )
    assert means[1][0] == points[10]
    (d1, d2) = figure.boxes("box")
    scale = (points[30] - points[-10]) / 40
    assert d1[2] - d1[0] == pytest.approx(4 * scale, abs=0.02)  # quartiles 1.5 and 5.5
    assert d2[2] - d2[0] == pytest.approx(20 * scale, abs=0.02)  # 0 and 20
    assert {"0", "\u221210", "30"} <= set(figure.words("tick"))


def test_differences_of_a_judge_with_one_kind_only():
    figure = Figure(judge_differences_svg([], [1, None, NAN, 3], "judge"))
    assert figure.words("count") == ["n = 0", "n = 2"]
    assert len(figure.points("mean")) == 1


def test_many_differences_are_sampled():
    values = np.random.default_rng(0).normal(size=10_000)
    figure = Figure(judge_differences_svg(values, values[:9], "judge"))
    assert len(figure.points("ask_again")) == 2500
    assert figure.words("count") == ["n = 10,000", "n = 9"]
    assert figure.words("note") == ["2,500 of 10,000 points of d1 drawn, evenly spread by value."]


def test_confusion_has_true_classes_in_rows():
    matrix = [[0.9, 0.1], [0.0, 1.0]]
    figure = Figure(confusion_svg(["yes", "no"], [matrix, np.eye(2)], ["judge 1", "judge 2"]))
    assert figure.words("title") == ["judge 1", "judge 2"]
    assert figure.words("on-cell") == [".90", ".10", "0", "1", "1", "0", "0", "1"]
    assert figure.words("row") == ["yes", "no"]  # of the first matrix only
    assert figure.words("column") == ["yes", "no"] * 2
    assert len(figure.boxes("cell")) == 5  # cells of 0 are left empty
    numbers = [t for p in figure.parts("on-cell") for t in p.iter(f"{SVG}text")]
    first, second, third, _ = ((float(t.attrib["x"]), float(t.attrib["y"])) for t in numbers[:4])
    assert first[1] == second[1] < third[1]
    assert first[0] == third[0] < second[0]
    shades = {
        path.get("fill-opacity", "1"): len(re.findall("M", path.attrib["d"]))
        for p in figure.parts("cell")
        for path in p.iter(f"{SVG}path")
    }
    assert set(shades) == {"0.92", "0.2", "1"}  # of .9, .1 and 1
    scale = {
        p.get("fill-opacity", "1") for s in figure.parts("scale") for p in s.iter(f"{SVG}path")
    }
    assert scale >= set(shades)  # the colours are those of the scale


def test_confusion_of_one_judge_with_missing_cells():
    figure = Figure(confusion_svg(["a", "b", "c"], [[1, 0, None], [0.5, 0.5, 0], [NAN] * 3], ["j"]))
    assert len(figure.boxes("missing")) == 4
    assert len(figure.words("on-cell")) == 5
    assert figure.words("note") == ["A dash marks cells without a value."]


def test_confusion_beyond_nine_classes_has_no_numbers():
    figure = Figure(confusion_svg(range(10), np.full((10, 10), 0.1), ["j"]))
    assert figure.words("on-cell") == []
    assert len(figure.boxes("cell")) == 100


def test_confusion_draws_no_more_than_can_be_seen():
    rng = np.random.default_rng(0)
    figure = Figure(confusion_svg(range(30), rng.random((57, 30, 30)), range(57)))
    assert len(figure.words("title")) == 5
    assert len(figure.boxes("cell")) <= 5000
    assert figure.words("note") == ["The first 5 of 57 judges are drawn."]
    figure = Figure(confusion_svg(range(100), rng.random((100, 100)), ["j"]))
    assert figure.words("note") == ["The first 60 of 100 classes are drawn."]
    assert len(figure.boxes("cell")) <= 3600


def test_prevalence_bars_are_as_long_as_the_shares():
    figure = Figure(prevalence_svg(["a", "b"], [0.8, 0.2], [0.5, 0.5], [1.0, None]))
    lengths = {
        part: [right - left for left, _, right, _ in figure.boxes(part)]
        for part in ("prevalence", "vote_share", "plurality")
    }
    whole = lengths["plurality"][0]
    assert lengths["prevalence"] == pytest.approx([0.8 * whole, 0.2 * whole], abs=0.02)
    assert lengths["vote_share"] == pytest.approx([0.5 * whole] * 2, abs=0.02)
    assert len(lengths["plurality"]) == 1
    assert figure.words("label") == ["a", "b"]
    assert figure.words("value") == ["0.800", "0.500", "1.000", "0.200", "0.500", "–"]  # noqa: RUF001
    assert figure.words("key") == ["model's prevalence", "share of votes", "most frequent label"]
    assert len(Figure(prevalence_svg(["a"], [1], [1])).words("key")) == 2


def test_prevalence_bars_end_where_the_axis_says():
    figure = Figure(prevalence_svg(["a", "b"], [0.2, 0.4], [0.35, 0.1]))
    ticks = {t.text: t.get("x") for p in figure.parts("tick") for t in p.iter(f"{SVG}text")}
    ends = [right for _, _, right, _ in figure.boxes("prevalence")]
    assert ends == pytest.approx([float(ticks["0.2"] or 0), float(ticks["0.4"] or 0)], abs=0.02)


def test_prevalence_of_many_classes_shows_the_most_prevalent_in_class_order():
    shares = np.arange(100) / 4950
    figure = Figure(prevalence_svg(range(100), shares, shares))
    assert figure.words("label") == [str(n) for n in range(40, 100)]
    assert figure.words("note") == ["The 60 most prevalent of 100 classes are drawn."]


def test_ranking_keeps_the_order_and_parts_the_clusters():
    figure = Figure(
        ranking_svg(["B", "A", "C"], [0.5, 0.25, -0.5], [0.25, None, -0.75], [0.75, 0.5, -0.25],
                    [1, 1, 2], "z_mean")
    )  # fmt: skip
    assert figure.words("system") == ["B", "A", "C"]
    (b, a, c) = figure.points("system-score")
    assert b[1] < a[1] < c[1]
    assert c[0] < a[0] < b[0]
    assert (b[0] - a[0]) * 4 == pytest.approx(b[0] - c[0], abs=0.05)
    ends = [
        [float(x) for x in re.findall(r"[ML](\S+?) ", path.attrib["d"].replace("L", " L"))]
        for p in figure.parts("interval")
        for path in p.iter(f"{SVG}path")
    ]
    assert len(ends) == 2  # A has no lower end
    assert ends[0] == pytest.approx([a[0], 2 * b[0] - a[0]], abs=0.05)
    assert figure.words("cluster") == ["1", "1", "2"]
    (line,) = (path for p in figure.parts("cluster-line") for path in p.iter(f"{SVG}path"))
    assert a[1] < float(line.attrib["d"].split("L")[0].split(" ")[1]) < c[1]
    assert figure.tips() == [
        "B: 0.5 [0.25, 0.75], cluster 1", "A: 0.25, no interval, cluster 1",
        "C: -0.5 [-0.75, -0.25], cluster 2",
    ]  # fmt: skip
    assert "score by z_mean" in figure.texts


def test_ranking_without_intervals_and_clusters():
    figure = Figure(ranking_svg(["a", "b", "c"], [2, 1, None], None, None, None, "wins"))
    assert len(figure.points("system-score")) == 2
    assert not figure.parts("interval")
    assert not figure.parts("cluster")
    assert figure.words("note") == [NO_INTERVALS, "Without a score: 1 system."]


def test_a_ranking_says_why_it_has_no_intervals():
    def notes(why, low=None):
        high = None if low is None else [2, 2]
        svg = ranking_svg(["a", "b"], [2, 1], low, high, None, "wins", why_no_intervals=why)
        figure = Figure(svg)
        width = float(figure.root.attrib["width"])
        assert all(12 + px_of(note, size=11) <= width for note in figure.words("note"))
        return figure.words("note")

    assert notes("ranking.bootstrap is 0") == ["No intervals: ranking.bootstrap is 0"]
    assert notes("hidden", low=[1, 1]) == [INTERVALS]
    assert notes("<b>&amp; $x$\x00") == ["No intervals: <b>&amp; $x$\ufffd"]
    long = notes("word " * 500)
    assert 2 < len(long) < 5
    assert "…" in " ".join(long)
    assert len(notes("unbroken" * 500)) == 2


def test_intervals_whose_ends_are_crossed_are_not_drawn():
    figure = Figure(ranking_svg(["a", "b"], [2, 1], [3, 0], [1, 2], None, "z"))
    assert len(figure.parts("interval")) == 1


def test_ranking_of_very_many_systems():
    figure = Figure(ranking_svg(range(300), -np.arange(300), None, None, None, "z"))
    assert len(figure.points("system-score")) == 200
    assert figure.words("note") == [NO_INTERVALS, "The first 200 of 300 systems are drawn."]


def hollow(figure: Figure, part: str) -> list[bool]:
    """Whether each point of a part is an outline."""
    return [
        use.get("fill-opacity") == "0" or use.get("fill") == "none"
        for one in figure.parts(part)
        for use in one.iter(f"{SVG}use")
    ]


def test_a_system_without_interval_does_not_look_precise():
    """The second of three is an outline, and the figure says what that means."""
    figure = Figure(
        ranking_svg(["B", "A", "C"], [3, 2, 1], [2.5, None, 0.5], [3.5, None, 1.5], None, "z")
    )
    assert hollow(figure, "system-score") == [False, True, False]
    assert figure.words("note") == [
        INTERVALS,
        "Hollow points: no interval for 1 system.",
    ]


def test_an_agreement_without_interval_does_not_look_precise():
    svg = agreement_svg(["a", "b"], ["alpha", "alpha"], [0.5, 0.4], [0.3, None], [0.7, None])
    figure = Figure(svg)
    assert hollow(figure, "value") == [False]
    assert hollow(figure, "value-without-interval") == [True]
    assert "Hollow points: no interval is known." in figure.words("note")


def test_the_legend_of_certainty_has_the_colours_of_the_bars():
    """What lies under a colour that lets it through counts too: the paper, of both."""
    figure = Figure(certainty_svg(["t"], [[1, 2, 3, 4, 5, 6]], [21], [15]))
    assert not figure.parts("key-ground")

    def fills(part: str) -> list[tuple[str | None, str | None]]:
        paths = [path for e in figure.parts(part) for path in e.iter(f"{SVG}path")]
        return [(path.get("fill"), path.get("fill-opacity")) for path in paths]

    assert fills("key-color") == fills("band")
    assert len(set(fills("band"))) == 6


def test_comparison_has_the_better_system_in_the_row():
    p = np.array([[NAN, 0.0001, 0.02], [0.9999, NAN, 0.3], [0.98, 0.7, NAN]])
    figure = Figure(comparison_matrix_svg(["A", "B", "C"], p, p < 0.05, 0.05))
    assert figure.words("row") == ["A", "B", "C"]
    assert figure.words("column") == figure.words("number") == ["1", "2", "3"]
    assert figure.words("wins") == ["2", "0", "0"]
    assert len(figure.boxes("cell")) == 6
    assert len(figure.boxes("diagonal")) == 3
    ((x_b, y),) = figure.points("on-dark-cell")  # p < .001
    ((x_c, y_c),) = figure.points("on-cell")
    assert y == y_c
    assert x_b < x_c
    _, top, right, bottom = figure.boxes("diagonal")[0]  # of A
    assert top < y < bottom
    assert right < x_b
    assert "p < 0.001" in figure.words("key")
    cells = zip(figure.boxes("cell")[-1], (x_b - 14, y - 14, x_b + 14, y + 14), strict=True)
    assert all(abs(actual - expected) < 1 for actual, expected in cells)  # the dark one is A, B
    shades = [
        path.get("fill-opacity", "1") for q in figure.parts("cell") for path in q.iter(f"{SVG}path")
    ]
    assert shades == ["0.1", "0.4", "1"]


def test_wins_are_marked_whatever_p_says():
    p = np.full((2, 2), 0.01)
    wins = [[False, True], [False, False]]  # by adjusted p, say
    figure = Figure(comparison_matrix_svg(["A", "B"], p, wins, 0.05))
    assert figure.words("wins") == ["1", "0"]
    assert Figure(comparison_matrix_svg(["A", "B"], p, None, 0.05)).words("wins") == ["1", "1"]


def test_sixty_systems_are_all_there():
    rng = np.random.default_rng(0)
    p = rng.random((60, 60))
    figure = Figure(comparison_matrix_svg([f"system {n}" for n in range(60)], p, p < 0.05, 0.05))
    assert len(figure.boxes("cell")) == 60 * 59
    assert len(figure.words("row")) == len(figure.words("wins")) == 60
    wins = (p < 0.05) & ~np.eye(60, dtype=bool)
    assert len(figure.boxes("on-cell")) + len(figure.boxes("on-dark-cell")) == wins.sum()
    assert float(figure.root.attrib["width"]) <= 1024
    assert len(figure.svg) < 300_000
    p = rng.random((100, 100))
    figure = Figure(comparison_matrix_svg(range(100), p, None, 0.05))
    wins = ((p < 0.05) & ~np.eye(100, dtype=bool)).sum(axis=1)
    assert figure.words("wins") == [str(n) for n in wins[:70]]  # over all, not the drawn ones
    assert figure.words("note") == ["The first 70 of 100 systems are drawn."]


def test_pairs_that_were_not_compared_stay_empty():
    p = [[None, 0.01, None], [0.99, None, None], [None, None, None]]
    figure = Figure(comparison_matrix_svg(["A", "B", "C"], p, None, 0.05))
    assert len(figure.boxes("cell")) == 2
    assert figure.words("note") == ["Empty cells: not compared."]


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: p_against_seconds_svg([1], [0.5, 0.5], ["passed"], 0.05), "lengths"),
        (lambda: p_against_seconds_svg([1], [0.5], ["passed"], 0.05, judges=[]), "lengths"),
        (lambda: p_against_seconds_svg([1], [0.5], ["good"], 0.05), "none of passed"),
        (lambda: confusion_svg(["a"], [[1, 0], [0, 1]], ["j"]), "shape"),
        (lambda: confusion_svg(["a", "b"], [[1, 0], [0, 1]], ["j", "k"]), "shape"),
        (lambda: prevalence_svg(["a"], [1], [1, 2]), "1 labels"),
        (lambda: ranking_svg(["a"], [1], [1, 2], None, None, "z"), "1 systems"),
        (lambda: comparison_matrix_svg(["a", "b"], [[1, 0], [0, 1]], [1, 0], 0.05), "shape"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(draw: Callable[[], str], message: str):
    with pytest.raises(ValueError, match=message):
        draw()
