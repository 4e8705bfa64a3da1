"""Rankings of systems by comparisons: small tasks whose outcome is known, and odd ones."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.config import Easl, Ranking
from annot_pipeline.methods.comparisons.bradley_terry import bradley_terry
from annot_pipeline.methods.comparisons.trueskill import trueskill
from annot_pipeline.stages.comparisons import (
    comparison_scores,
    online_scores,
    ranking_rows,
    task_comparisons,
)
from annot_pipeline.stages.comparisons.rank_by_comparisons import rank_by_comparisons
from tests.stages.comparisons.ranked import CLEAR, METHODS, column, dominances, run, table


def test_every_method_ranks_a_clear_case():
    found, pairs, facts = run(table(*CLEAR))
    assert list(found) == METHODS
    for method in METHODS:
        assert column(found, method, "rank") == [1, 2, 3]
        assert column(found, method, "reason") == [None] * 3
        assert column(found, method, "component") == [None] * 3
        for row in found[method].values():
            assert row["ci_low"] < row["score"] < row["ci_high"]
            assert row["rank_low"] <= row["rank"] <= row["rank_high"]
            assert (row["n_segments"], row["n_judgments"]) == {
                "a": (32, 32), "b": (30, 30), "c": (32, 32)}[row["system"]]  # fmt: skip
    assert column(found, "wins", "score") == pytest.approx([26 / 30, 15 / 30, 4 / 30])
    assert column(found, "wins_ties_half", "score") == pytest.approx([27 / 32, 15 / 30, 5 / 32])
    fit = bradley_terry([0, 0, 1], [1, 2, 2], [12, 14, 12], [0, 2, 0], [3, 1, 3], n_systems=3)
    assert column(found, "bradley_terry", "score") == pytest.approx(fit.score.tolist())
    assert facts["systems_compared"]["t"]["bradley_terry"]["tie_parameter"] == pytest.approx(
        fit.tie_parameter
    )
    assert (
        facts["systems_compared"]["t"]["comparisons"],
        facts["systems_compared"]["t"]["ties"],
    ) == (47, 2)
    assert facts["not_strongly_connected"] == {"t": False}
    assert len(pairs) == len(METHODS) * 6
    codes = {"a": 0, "b": 1, "c": 2}
    first, second, outcome = ([codes.get(x, x) for x in side] for side in zip(*CLEAR, strict=True))
    assert column(found, "trueskill", "score") == pytest.approx(
        trueskill(first, second, outcome, n_items=3).mean.tolist()
    )


def test_twice_the_data_has_the_same_scores():
    one, two = run(table(*CLEAR))[0], run(table(*CLEAR, *CLEAR))[0]
    for method in ("bradley_terry", "wins", "wins_ties_half"):
        assert column(two, method, "score") == pytest.approx(column(one, method, "score"))


def test_the_order_of_rows_within_no_order_changes_no_counts():
    """Rankings numbered otherwise: methods of counts keep their scores, online ones need not."""
    order = np.random.default_rng(2).permutation(len(CLEAR))
    one, two = run(table(*CLEAR))[0], run(table(*[CLEAR[i] for i in order]))[0]
    for method in ("bradley_terry", "wins", "wins_ties_half"):
        assert column(two, method, "score") == pytest.approx(column(one, method, "score"))
    assert column(two, "trueskill", "score") != column(one, "trueskill", "score")
    gap = np.subtract(*(column(x, "trueskill_permuted", "score") for x in (one, two)))
    assert abs(gap).max() < 0.02


def test_the_seed_moves_rounds_only():
    one, two = run(table(*CLEAR), seed=1)[0], run(table(*CLEAR), seed=2)[0]
    for method in set(METHODS) - {"trueskill_permuted"}:
        assert column(one, method, "score") == column(two, method, "score")
        assert column(one, method, "ci_low") != column(two, method, "ci_low")


def test_tasks_are_ranked_apart_with_streams_of_their_own():
    both = table(*CLEAR, *CLEAR, task=["u"] * len(CLEAR) + ["t"] * len(CLEAR))
    alone, _, _ = run(table(*CLEAR))
    tables, facts = rank_by_comparisons(
        both, ranking=Ranking(bootstrap=200, online_rounds=40), easl=Easl(), seed=1
    )
    rows = tables["system_rankings"].to_pylist()
    assert [r for r in rows if r["task"] == "t"] == [
        r for of in alone.values() for r in of.values()
    ]
    of_u = [r["ci_low"] for r in rows if r["task"] == "u"]
    assert of_u != [r["ci_low"] for r in rows if r["task"] == "t"]
    assert list(facts["systems_compared"]) == ["t", "u"]


def test_dropped_judges_and_missing_systems():
    """d was seen by a dropped judge only; what names no two systems is counted."""
    rows = [*CLEAR, ("a", "d", 1), ("a", None, 1), ("a", "a", 1)]
    kept = [True] * len(CLEAR) + [False, True, True]
    found, pairs, facts = run(table(*rows, kept=kept, item_b=["x"] * len(rows)))
    reference, _, _ = run(table(*CLEAR))
    for method in METHODS:
        assert list(found[method]) == ["a", "b", "c", "d"]
        for system in "abc":
            assert found[method][system] == reference[method][system]
        row = found[method]["d"]
        assert (row["rank"], row["score"], row["n_judgments"]) == (None, None, 0)
        assert row["reason"] == "no comparison of judges kept"
        assert row["component"] is None
    assert facts["comparisons_without_system"] == {"t": 1}
    assert facts["comparisons_of_one_system"] == {"t": 1}
    assert all(r["p_value"] is None for r in pairs if "d" in (r["system_a"], r["system_b"]))


def test_no_judge_is_kept_and_no_row_at_all():
    found, pairs, _ = run(table(*CLEAR, kept=[False] * len(CLEAR)))
    assert found == {}
    assert pairs == []
    found, pairs, facts = run(table())
    assert found == {}
    assert facts["systems_compared"] == {}


def test_dominance_is_a_mean_over_segments():
    """a: 2, 1 and 1; b twice in one segment: -1 and 0, then 1; c: -2."""
    graphs = dominances(
        ("1", "a", 2), ("2", "a", 1), ("3", "a", 1), ("1", "b", -1), ("1", "b", 0), ("2", "b", 1),
        ("1", "c", -2), ("1", "x", 9),
    )  # fmt: skip
    found, pairs, _ = run(table(*CLEAR), segment_ranks=graphs)
    assert list(found) == sorted([*METHODS, "dominance"])
    rows = found["dominance"]
    assert [r["score"] for r in rows.values()] == pytest.approx([4 / 3, 1 / 4, -2])
    assert [r["n_segments"] for r in rows.values()] == [3, 2, 1]
    assert [r["rank"] for r in rows.values()] == [1, 2, 3]
    assert rows["c"]["reason"] == "fewer than two segments: no interval"
    assert 1 <= rows["a"]["ci_low"] <= 4 / 3 <= rows["a"]["ci_high"] <= 2
    assert {r["p_value"] is None for r in pairs if r["method"] == "dominance"} == {True, False}
    assert (
        "dominance" not in run(table(*CLEAR), segment_ranks=dominances(("1", "a", 1), task="u"))[0]
    )
    without = run(table(*CLEAR), segment_ranks=dominances(("1", "a", 1), ("2", "a", 1)))[0]
    assert without["dominance"]["b"]["reason"] == "no output in a graph of a segment"
    assert without["dominance"]["b"]["rank"] is None


def test_dominance_is_of_so_many_segments():
    graphs = dominances(*[(str(s), n, d) for s in range(4) for n, d in (("a", 1), ("b", -1))])
    found, pairs, _ = run(table(*CLEAR), segment_ranks=graphs)
    assert found["dominance"]["a"]["reason"] == "fewer than 6 segments: no cluster"
    p = {(r["system_a"], r["system_b"]): r["p_value"] for r in pairs if r["method"] == "dominance"}
    assert p["a", "b"] == 1 / 2**4


def test_too_many_systems_have_scores_only(monkeypatch):
    for module in (task_comparisons, online_scores, comparison_scores, ranking_rows):
        monkeypatch.setattr(module, "MOST_SYSTEMS", 2)
    found, pairs, _ = run(table(*CLEAR))
    assert list(found) == METHODS
    for method, says in (
        ("bradley_terry", "no Bradley-Terry"), ("trueskill_permuted", "no random orders"),
    ):  # fmt: skip
        assert column(found, method, "rank") == column(found, method, "score") == [None] * 3
        assert column(found, method, "reason") == [f"more than 2 systems: {says}"] * 3
    for method in ("bounded_ra", "trueskill", "wins", "wins_ties_half"):
        assert column(found, method, "rank") == [1, 2, 3]
        assert all("systems: no interval" in r for r in column(found, method, "reason"))
    assert not pairs


def test_a_large_task_gets_fewer_online_rounds(monkeypatch):
    monkeypatch.setattr(online_scores, "MOST_UPDATES", 2 * len(CLEAR) * 60)
    assert run(table(*CLEAR), online_rounds=100)[2]["systems_compared"]["t"]["online_rounds"] == 60
    assert run(table(*CLEAR), online_rounds=50)[2]["systems_compared"]["t"]["online_rounds"] == 50
    monkeypatch.setattr(online_scores, "MOST_UPDATES", 1)
    assert run(table(*CLEAR), online_rounds=100)[2]["systems_compared"]["t"]["online_rounds"] == 40
