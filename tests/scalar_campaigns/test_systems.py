"""Scores through the whole pipeline: systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import permutations
from statistics import fmean, stdev
from typing import Any

import pytest
from scipy import stats

from tests.conftest import Built
from tests.scalar_campaigns.judged import (
    CAREFUL,
    CARELESS,
    FOUR,
    Row,
    bad,
    by,
    fates,
    hit_of,
    of,
    outputs,
)

METHODS = ("filtered_mean", "raw_mean", "z_mean")
REPEAT = "no interval: judges judge several segments, see the headline"


def ranking(built: Built, method: str, task: str = "small") -> dict[str, Row]:
    rows = [r for r in built.rows("system_rankings") if (r["task"], r["method"]) == (task, method)]
    return by(rows, "system")


def comparisons(built: Built, method: str) -> dict[tuple[str, str], Row]:
    rows = [row for row in built.rows("system_comparisons") if row["method"] == method]
    return by(rows, "system_a", "system_b")


def rank_sum(first: Sequence[float], second: Sequence[float]) -> float:
    p = stats.mannwhitneyu(
        first, second, alternative="greater", use_continuity=True, method="asymptotic"
    ).pvalue
    return float(p)


def holm(p: Mapping[Any, float]) -> dict[Any, float]:
    adjusted, least = {}, 0.0
    for n, key in enumerate(sorted(p, key=p.__getitem__)):
        least = max(least, min(1.0, p[key] * (len(p) - n)))
        adjusted[key] = least
    return adjusted


@pytest.mark.sampled
@pytest.mark.parametrize("correction", ["none", "holm"])
def test_rankings_as_worked_out_by_hand(correction: str, stage: Any) -> None:
    """Two judges of different scales; a third, who likes degraded copies, gives the reverse."""
    turns = {"ann": lambda x: x, "bob": lambda x: x / 2 - 10, "eve": lambda x: 100 - x}
    raw = {
        judge: {s: [float(turn(x)) for x in xs] for s, xs in FOUR.items()}
        for judge, turn in turns.items()
    }
    degraded = {"ann": [10 + n for n in range(6)], "bob": [1 + n for n in range(6)]}
    copies = degraded | {"eve": [90 - n * n for n in range(6)]}
    rows = [row for judge, given in raw.items() for row in outputs(given, judge)]
    rows += [
        {
            "judge": judge,
            "system": "a",
            "segment": f"s{n}",
            "score": score,
            "control": "bad_reference",
        }
        for judge, scores in copies.items()
        for n, score in enumerate(scores)
    ]
    built = stage(rows, ranking={"correction": correction, "bootstrap": 50})
    assert {j["judge"]: j["verdict"] for j in built.rows("judges")} == {
        "ann": "passed",
        "bob": "passed",
        "eve": "failed",
    }
    z = {}
    for judge, low in degraded.items():
        all_scores = [x for xs in raw[judge].values() for x in xs] + low
        m, sd = fmean(all_scores), stdev(all_scores)
        z[judge] = {s: [(x - m) / sd for x in xs] for s, xs in raw[judge].items()}
    kept = {judge: raw[judge] for judge in degraded}
    for method, given in zip(METHODS, (kept, raw, z), strict=True):
        cells = {s: [fmean(given[judge][s][n] for judge in given) for n in range(6)] for s in FOUR}
        order = sorted(FOUR, key=lambda s: -fmean(cells[s]))
        p = {(s, t): rank_sum(cells[s], cells[t]) for s, t in permutations(FOUR, 2)}
        adjusted = holm(p)
        decisive = adjusted if correction == "holm" else p
        wins = {s: sum(decisive[s, t] < 0.05 for t in FOUR if t != s) for s in FOUR}
        cluster, clusters = 1, {}
        for place, s in enumerate(order):  # WMT's rule: own wins = systems below
            clusters[s] = cluster
            cluster += wins[s] == len(order) - place - 1
        actual = ranking(built, method)
        for s in FOUR:
            row = actual[s]
            assert row["score"] == pytest.approx(fmean(cells[s]))
            assert (row["rank"], row["wmt_wins"]) == (order.index(s) + 1, wins[s]), (method, s)
            assert row["wmt_cluster"] == clusters[s], (method, s)
            assert (row["n_segments"], row["n_judgments"]) == (6, 6 * len(given))
            assert not row["headline"]
            for name in ("ci_low", "rank_low", "wins", "cluster"):
                assert row[name] is None
            assert row["reason"] == REPEAT
        pairs = comparisons(built, method)
        assert pairs.keys() == p.keys()
        for key, row in pairs.items():
            assert row["wmt_p_value"] == pytest.approx(p[key]), (method, key)
            assert row["wmt_p_adjusted"] == pytest.approx(adjusted[key]), (method, key)
            assert row["wmt_a_beats_b"] == (decisive[key] < 0.05)
            assert row["p_value"] is row["a_beats_b"] is row["ci_low"] is None
            difference = fmean(cells[key[0]]) - fmean(cells[key[1]])
            assert row["difference"] == pytest.approx(difference)
    assert [ranking(built, "z_mean")[s]["wmt_cluster"] for s in "abcd"] == (
        [1, 2, 2, 3] if correction == "none" else [1, 1, 1, 2]
    )
    for system, row in ranking(built, "adjusted").items():
        assert row["headline"]
        every = [x for judge in kept for x in kept[judge][system]]
        assert row["score"] == pytest.approx(fmean(every)), "all judges judged all outputs"
        assert row["reason"].startswith("fewer than 4 judges: intervals and tests speak of these")


def test_a_systems_score_is_the_mean_over_segments_not_judgments(stage: Any) -> None:
    """A segment judged three times weighs no more; a repeat counts, a control does not."""
    rows = outputs({"x": [10, 40]}) + outputs({"x": [20]}, "bob") + outputs({"x": [60]}, "eve")
    rows += [
        of("s1", 60, control="ask_again"),
        of("s1", 100, control="good_reference"),
        bad("s1", 0),
    ]
    row = ranking(stage(rows), "raw_mean")["x"]
    assert (row["score"], row["n_segments"], row["n_judgments"]) == (40, 2, 5)


@pytest.mark.slow
def test_the_only_system_and_the_only_segment(stage: Any) -> None:
    rows = [row | {"task": "one system"} for row in outputs({"x": [10, 40, 20]})]
    rows += [row | {"task": "one segment"} for row in outputs({"x": [10], "y": [40, 60]})]
    rows += [row | {"task": "one of both"} for row in outputs({"x": [10]})]
    built = stage(rows)
    (x,) = ranking(built, "raw_mean", "one system").values()
    assert (x["rank"], x["wmt_wins"], x["wmt_cluster"], x["n_segments"]) == (1, 0, 1, 3)
    (x,) = ranking(built, "adjusted", "one system").values()
    assert (x["rank"], x["score"]) == (1, pytest.approx(70 / 3))
    assert x["ci_low"] is x["rank_low"] is x["cluster"] is None
    assert x["reason"] == "the only system of the task: nothing to compare it with"
    few = ranking(built, "adjusted", "one segment")
    for row in few.values():
        assert row["ci_low"] is row["rank_low"] is row["wins"] is None
        assert row["reason"].startswith("no interval and tests: ")
    assert (few["x"]["rank"], few["y"]["rank"]) == (2, 1)
    (alone,) = ranking(built, "raw_mean", "one of both").values()
    assert (alone["rank"], alone["score"], alone["ci_low"]) == (1, 10, None)
    tasks = Counter(row["task"] for row in built.rows("system_comparisons"))
    assert tasks == {"one segment": 2 * 5}, "nothing to compare in the others"


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["wmt", "all_beat_all", "min_wins"])
def test_equal_means_have_equal_ranks(rule: str, stage: Any) -> None:
    """1 2 2 4, in the order of names, also where sums in another order differ in the last digit."""
    scores = {
        "d": [90.1, 90.2, 90.3, 95, 96],
        "b": [50.1, 50.2, 50.3, 60, 70],
        "c": [70, 50.3, 60, 50.2, 50.1],
        "a": [1, 2, 3, 4, 5],
    }
    built = stage(outputs(scores), ranking={"cluster_rule": rule, "bootstrap": 20})
    for method in METHODS:
        rows = list(ranking(built, method).values())
        assert [row["system"] for row in rows] == ["a", "b", "c", "d"], "sorted by the key"
        assert [row["rank"] for row in rows] == [4, 2, 2, 1]
        assert rows[1]["score"] == pytest.approx(rows[2]["score"], abs=1e-12)
        assert [row["wmt_cluster"] for row in rows] == [3, 2, 2, 1]
        pair = comparisons(built, method)
        assert pair["b", "c"]["wmt_p_value"] == pair["c", "b"]["wmt_p_value"] > 0.5
        assert not pair["b", "c"]["wmt_a_beats_b"]
    rows = list(ranking(built, "adjusted").values())
    assert [row["rank"] for row in rows] == [4, 2, 2, 1]


@pytest.mark.slow
def test_all_scores_equal(stage: Any) -> None:
    built = stage(outputs({"x": [50] * 4, "y": [50] * 4}))
    for row in ranking(built, "raw_mean").values():
        assert (row["rank"], row["wmt_wins"], row["wmt_cluster"], row["score"]) == (1, 0, 1, 50)
    for row in comparisons(built, "raw_mean").values():
        assert (row["wmt_p_value"], row["difference"], row["wmt_a_beats_b"]) == (1, 0, False)
    for row in ranking(built, "z_mean").values():
        assert (row["rank"], row["score"], row["wmt_cluster"]) == (None,) * 3
        assert row["n_segments"] == 0
        assert row["reason"]
    for row in ranking(built, "adjusted").values():
        assert (row["rank"], row["score"]) == (1, 50)
        assert row["ci_low"] is row["wins"] is row["cluster"] is None
        assert "judges and segments agree fully" in row["reason"]
    for row in comparisons(built, "adjusted").values():
        assert (row["difference"], row["p_value"], row["a_beats_b"]) == (0, None, None)
        assert row["reason"].startswith("judges and segments agree fully")


def test_a_system_judged_by_failed_judges_only(stage: Any) -> None:
    rows = hit_of("careful", CAREFUL, system="x") + hit_of("careless", CARELESS, system="y")
    built = stage(rows)
    assert ranking(built, "raw_mean")["y"]["score"] == pytest.approx(fmean(a for a, _ in CARELESS))
    for method in ("filtered_mean", "z_mean"):
        actual = ranking(built, method)
        assert actual["y"]["reason"] == "no judgment that this method can use"
        assert actual["y"]["n_segments"] == actual["y"]["n_judgments"] == 0
        for name in ("rank", "score", "ci_low", "ci_high", "wmt_wins", "wmt_cluster"):
            assert actual["y"][name] is None, name
        assert (actual["x"]["rank"], actual["x"]["wmt_cluster"]) == (1, 1)
        pair = comparisons(built, method)["x", "y"]
        for name in ("wmt_p_value", "wmt_p_adjusted", "difference", "wmt_a_beats_b"):
            assert pair[name] is None
    actual = ranking(built, "adjusted")
    assert actual["y"]["reason"] == "no judgment of judges kept"
    assert actual["y"]["rank"] is actual["y"]["score"] is None
    assert actual["x"]["rank"] == 1


@pytest.mark.slow
def test_rows_that_name_no_system_or_segment(stage: Any) -> None:
    """Scored, but ranked only where there is a system; an item alone is its own segment."""
    rows = [
        {"item": "i1", "judge": "ann", "segment": "s1", "system": "x", "score": 10},
        {"item": "i2", "judge": "ann", "segment": "", "system": "x", "score": 30},
        {"item": "i2", "judge": "bob", "segment": "", "system": "x", "score": 50},
        {"item": "i3", "judge": "ann", "segment": "s1", "system": "", "score": 90},
        {"item": "i4", "judge": "ann", "segment": "", "system": " ", "score": 70},
        {"item": "i5", "judge": "ann", "segment": "s1", "system": "", "score": 0,
         "control": "bad_reference"},
        {"item": "i6", "judge": "ann", "segment": "s1", "system": "y", "score": 20},
    ]  # fmt: skip
    built = stage(rows, quality={"test": "none"})
    actual = ranking(built, "raw_mean")
    assert {s: (r["score"], r["n_segments"], r["n_judgments"]) for s, r in actual.items()} == {
        "x": (25, 2, 3),
        "y": (20, 1, 1),
    }
    aside = [r for r in built.rows("set_aside") if r["left_out_of"] == "system_rankings"]
    assert [(row["item"], row["reason"]) for row in aside] == [
        ("i3", "no system is named"),
        ("i4", "no system is named"),
    ]
    assert by(built.rows("scores"), "item").keys() == {"i1", "i2", "i3", "i4", "i6"}


@pytest.mark.slow
def test_items_without_systems_are_scored_but_not_ranked(stage: Any) -> None:
    built = stage([{"item": f"i{k}", "judge": "ann", "score": k} for k in range(4)])
    assert built.table("scores").num_rows == 4
    assert not built.rows("system_rankings")
    assert not built.rows("set_aside"), "nobody asked for a ranking"


def test_a_row_without_segment_or_system_where_they_make_the_item(stage: Any) -> None:
    rows = outputs({"x": [10, 20]})
    rows += [
        of("", 30, judge="a"),
        of("s1", 40, judge="b", system=""),
        of(" ", 50, judge="c", system="\t"),
    ]
    actual = fates(stage(rows), "judge")
    assert all(actual[judge] == ("rejected", "item is blank") for judge in "abc")
