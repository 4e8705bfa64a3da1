"""Rankings of systems by comparisons: small tasks whose outcome is known, and odd ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from annot_pipeline.config import Easl, Ranking
from annot_pipeline.config.judges import JudgeSettings
from annot_pipeline.methods.comparisons.trueskill import trueskill
from annot_pipeline.methods.rankings.comparison_fit import ORDER_SD, STRENGTH_PRECISION
from annot_pipeline.stages.rankings.ranking_rows import RankingContext
from tests.stages.rankings.ranked import (
    CLEAR,
    DESCRIPTIVE,
    METHODS,
    by_comparisons,
    column,
    dominances,
    rows_of,
    run,
    table,
)

CODES = {"a": 0, "b": 1, "c": 2, "d": 3}


def most_likely(rows, *, shown_first=None, ties: str = "davidson") -> np.ndarray:
    """Strengths of a, b, c (and d), the order effect and Davidson's tie, by a general optimiser."""
    first, second = (np.array([CODES[row[side]] for row in rows]) for side in (0, 1))
    outcome = np.array([row[2] for row in rows])
    n = int(max(first.max(), second.max())) + 1
    order = np.zeros(len(rows)) if shown_first is None else np.asarray(shown_first)

    def loss(x: np.ndarray) -> float:
        half = (x[first] - x[second] + order * x[n]) / 2
        ways = [half, np.full(half.size, x[n + 1] if ties == "davidson" else -np.inf), -half]
        total = np.logaddexp.reduce(ways, axis=0)
        seen = np.where((outcome == 0) & (ties == "davidson"), ways[1], half * outcome)
        prior = STRENGTH_PRECISION * (x[:n] ** 2).sum() + x[n] ** 2 / (2 * ORDER_SD**2)
        return float((total - seen).sum() + prior / 2)

    return minimize(loss, np.zeros(n + 2), method="BFGS", options={"gtol": 1e-8}).x


def test_every_method_ranks_a_clear_case():
    actual, _, facts = run(table(*CLEAR))
    assert list(actual) == METHODS
    for method in METHODS:
        assert column(actual, method, "rank") == [1, 2, 3]
        assert column(actual, method, "component") == [None] * 3
        assert column(actual, method, "headline") == [method == "bradley_terry"] * 3
        for row in actual[method].values():
            assert (row["n_segments"], row["n_judgments"]) == {
                "a": (32, 32), "b": (30, 30), "c": (32, 32)}[row["system"]]  # fmt: skip
    assert column(actual, "wins", "score") == pytest.approx([26 / 30, 15 / 30, 4 / 30])
    assert column(actual, "wins_ties_half", "score") == pytest.approx([27 / 32, 15 / 30, 5 / 32])
    fit = most_likely(CLEAR)
    assert column(actual, "bradley_terry", "score") == pytest.approx(
        (fit[:3] - fit[:3].mean()).tolist(), abs=1e-5
    )
    metrics = facts["systems_compared"]["t"]
    assert metrics["bradley_terry"]["tie_parameter"] == pytest.approx(np.exp(fit[4]), abs=1e-5)
    assert (metrics["comparisons"], metrics["ties"]) == (47, 2)
    assert facts["not_strongly_connected"] == {"t": False}
    first, second, outcome = ([CODES.get(x, x) for x in side] for side in zip(*CLEAR, strict=True))
    assert column(actual, "trueskill", "score") == pytest.approx(
        trueskill(first, second, outcome, n_items=3).mean.tolist()
    )


def test_the_headline_alone_has_tests():
    actual, pairs, _ = run(table(*CLEAR, *CLEAR, *CLEAR))
    assert {row["method"] for row in pairs} == {"bradley_terry"}
    assert len(pairs) == 6
    for row in pairs:
        assert row["ci_low"] < row["difference"] < row["ci_high"]
        t = row["difference"] / row["standard_error"]
        assert row["p_value"] == pytest.approx(stats.t.sf(t, row["degrees_of_freedom"]))
        assert row["effective_judges"] >= 9.5
        assert row["effective_segments"] >= 19.5
        assert row["p_value"] <= row["p_adjusted"]
        assert row["a_beats_b"] == (row["p_adjusted"] < 0.05) == (row["system_a"] < row["system_b"])
        assert row["reason"] is row["sign_p_value"] is row["wmt_p_value"] is None
    assert column(actual, "bradley_terry", "wins") == [2, 1, 0]
    assert column(actual, "bradley_terry", "cluster") == [1, 2, 3]
    for row in actual["bradley_terry"].values():
        assert row["ci_low"] < row["score"] < row["ci_high"]
        assert row["rank_low"] == row["rank"] == row["rank_high"]
        assert row["reason"] is None
    for method in DESCRIPTIVE:
        for name in ("rank_low", "rank_high", "wins", "cluster", "wmt_wins", "wmt_cluster"):
            assert column(actual, method, name) == [None] * 3


def test_the_order_of_showing_is_no_difference_of_systems():
    """a and b are equal, and what is shown first wins three times of four."""
    rows, b_first = [], []
    for n in range(160):
        b_first.append(n % 4 != 0)  # b is shown first more often, and so wins more
        first_wins = n // 4 % 4 < 3
        rows.append(("a", "b", 1 if first_wins != b_first[-1] else -1))
    actual, _, facts = run(table(*rows, b_shown_first=b_first))
    fit = most_likely(rows, shown_first=np.where(b_first, -1, 1))
    assert actual["bradley_terry"]["a"]["score"] == pytest.approx((fit[0] - fit[1]) / 2, abs=1e-5)
    [effect] = facts["systems_compared"]["t"]["bradley_terry"]["order_effects"]
    assert effect["judges"] == "people"
    assert effect["logits"] == pytest.approx(fit[2], abs=1e-5)
    unknown, _, _ = run(table(*rows))
    gaps = [abs(one["bradley_terry"]["a"]["score"]) for one in (actual, unknown)]
    assert gaps[0] < 0.05 < 0.2 < gaps[1]


def test_one_order_only_is_no_effect_of_the_order():
    rows = rows_of(ab=30, ba=10)
    actual, pairs, facts = run(table(*rows, b_shown_first=[False] * len(rows)))
    why = "pairs are shown in one order only: position and system cannot be separated"
    assert {row["reason"] for row in pairs} == {why}
    for name in ("a_beats_b", "p_value", "ci_low", "standard_error", "effective_judges"):
        assert {row[name] for row in pairs} == {None}
    assert all(row["difference"] for row in pairs)
    reference, _, _ = run(table(*rows))
    assert column(actual, "bradley_terry", "score") == column(reference, "bradley_terry", "score")
    metrics = facts["systems_compared"]["t"]["bradley_terry"]
    assert metrics["order_effects"] == []
    assert metrics["inestimable_orders"] == len(rows)
    for row in actual["bradley_terry"].values():
        assert row["reason"] == f"no interval and tests: {why}"
        assert row["cluster"] is row["wins"] is None
    assert set(column(reference, "bradley_terry", "reason")) == {None}
    assert metrics["lopsided"] == ["a", "b"]
    unknown, tested, facts = run(
        table(*rows, b_shown_first=[False] * len(rows)), shown_order="unknown"
    )
    assert unknown == reference, "the tool showed them at random: the listed order is none"
    assert all(row["a_beats_b"] is not None for row in tested)
    assert facts["systems_compared"]["t"]["bradley_terry"]["lopsided"] == []


def test_systems_that_one_judge_shows_in_one_order_are_confounded_and_no_others():
    """People compare a and b in both orders; c is compared by a model alone, and always last."""
    rows = [*rows_of(ab=42, ba=40), *[("a", "c", 1), ("b", "c", -1)] * 20]
    b_first = [n % 2 == 0 for n in range(82)] + [False] * 40
    names = [f"j{n}" for n in range(82)] + ["m"] * 40
    model = JudgeSettings(name="m", kind="model")
    _, pairs, _ = run(table(*rows, b_shown_first=b_first, judge=names), judges=(model,))
    tested = {(p["system_a"], p["system_b"]) for p in pairs if p["a_beats_b"] is not None}
    assert tested == {("a", "b"), ("b", "a")}


def test_no_order_effect_without_a_pair_in_both_orders():
    """a before b, b before c and c before a: a preference for the first moves no difference."""
    rows = rows_of(ab=20, ba=10, bc=20, cb=10, ac=20, ca=10)
    b_first = [row[:2] == ("a", "c") for row in rows]
    _, pairs, facts = run(table(*rows, b_shown_first=b_first))
    assert facts["systems_compared"]["t"]["bradley_terry"]["order_effects"] == []
    assert {row["reason"] for row in pairs} == {None}


def test_a_system_that_never_loses_is_not_last_for_being_shown_first():
    rows = [("a", "b", 0), ("a", "b", 0), ("a", "c", 0), ("b", "c", 1), ("b", "c", 1)] * 8
    actual, pairs, _ = run(table(*rows, b_shown_first=[False] * len(rows)))
    reference, _, _ = run(table(*rows))
    assert column(actual, "bradley_terry", "score") == column(reference, "bradley_terry", "score")
    assert actual["bradley_terry"]["a"]["rank"] < actual["bradley_terry"]["c"]["rank"]
    assert {row["a_beats_b"] for row in pairs} == {None}


@pytest.mark.parametrize("turned", [1, 2])
def test_few_pairs_in_both_orders_do_not_move_the_best_system(turned):
    """It won all of 24 that showed it first, and lost the few that showed it last."""
    rows = [("a", "b", 1), ("a", "c", 1), ("b", "c", 1), ("a", "b", 1), ("b", "c", -1)] * 8
    rows += [("a", "b", -1)] * turned + [("a", "c", -1)]
    b_first = [n >= 40 for n in range(len(rows))]
    actual, _, facts = run(table(*rows, b_shown_first=b_first))
    assert actual["bradley_terry"]["a"]["rank"] == 1
    [effect] = facts["systems_compared"]["t"]["bradley_terry"]["order_effects"]
    assert effect["logits"] > 1


@pytest.mark.slow
def test_each_model_has_an_order_effect_of_its_own():
    """People prefer what is shown first, one model what is shown last."""
    rows, b_first, judge = [], [], []
    for n in range(4_800):
        who = ("ann", "bob", "gpt-1")[n % 3]
        b_first.append(n // 3 % 2 == 0)
        likes_first = (n // 6 % 4 < 3) != (who == "gpt-1")
        rows.append(("a", "b", 1 if likes_first != b_first[-1] else -1))
        judge.append(who)
    comparisons = table(*rows, b_shown_first=b_first, judge=judge)
    settings = [JudgeSettings(name="gpt-*", kind="model")]
    _, _, facts = run(comparisons, judges=settings)
    effects = facts["systems_compared"]["t"]["bradley_terry"]["order_effects"]
    assert [effect["judges"] for effect in effects] == ["people", "model 1"]
    logits = [effect["logits"] for effect in effects]
    assert logits == pytest.approx([np.log(3), -np.log(3)], rel=0.02)
    [together] = run(comparisons)[2]["systems_compared"]["t"]["bradley_terry"]["order_effects"]
    assert 0 < together["logits"] < logits[0] / 2


def test_twice_the_data_has_nearly_the_same_scores():
    """But for the prior, which then counts for half."""
    one, two = run(table(*CLEAR))[0], run(table(*CLEAR, *CLEAR))[0]
    for method in ("wins", "wins_ties_half"):
        assert column(two, method, "score") == pytest.approx(column(one, method, "score"))
    assert column(two, "bradley_terry", "score") == pytest.approx(
        column(one, "bradley_terry", "score"), rel=0.03
    )


def test_the_order_of_rows_within_no_order_changes_no_counts():
    """Rankings numbered otherwise: methods of counts keep their scores, online ones need not."""
    order = np.random.default_rng(2).permutation(len(CLEAR))
    both = table(*CLEAR), table(*[CLEAR[i] for i in order])
    one, two = (run(comparisons, online_rounds=40)[0] for comparisons in both)
    for method in ("bradley_terry", "wins", "wins_ties_half"):
        assert column(two, method, "score") == pytest.approx(column(one, method, "score"))
    assert column(two, "trueskill", "score") != column(one, "trueskill", "score")
    gap = np.subtract(*(column(x, "trueskill_permuted", "score") for x in (one, two)))
    assert abs(gap).max() < 0.02


def test_tasks_are_ranked_apart_with_streams_of_their_own():
    n = len(CLEAR)
    judges = [str(code) for code in range(n)] * 2
    both = table(*CLEAR, *CLEAR, task=["u"] * n + ["t"] * n, judge=judges, segment=judges)
    alone, _, _ = run(table(*CLEAR))
    tables, facts = by_comparisons(both, RankingContext(Ranking(bootstrap=200), Easl(), 1))
    rows = tables["system_rankings"].to_pylist()
    assert [r for r in rows if r["task"] == "t"] == [
        r for of in alone.values() for r in of.values()
    ]
    of_t, of_u = ([r["ci_low"] for r in rows if (r["task"], r["method"]) == (task, "wins")]
                  for task in "tu")  # fmt: skip
    assert None not in of_u
    assert of_u != of_t
    assert list(facts["systems_compared"]) == ["t", "u"]


def test_dropped_judges_and_missing_systems():
    """d was seen by a dropped judge only; what names no two systems is counted."""
    rows = [*CLEAR, ("a", "d", 1), ("a", None, 1), ("a", "a", 1)]
    kept = [True] * len(CLEAR) + [False, True, True]
    actual, pairs, facts = run(table(*rows, kept=kept, item_b=["x"] * len(rows)))
    reference, _, _ = run(table(*CLEAR))
    for method in METHODS:
        assert list(actual[method]) == ["a", "b", "c", "d"]
        for system in "abc":
            row, expected = actual[method][system], reference[method][system]
            numbers = {name for name, value in expected.items() if isinstance(value, float)}
            assert {n: row[n] for n in row.keys() - numbers} == {
                n: expected[n] for n in expected.keys() - numbers
            }
            for name in numbers:
                assert row[name] == pytest.approx(expected[name], rel=1e-9)
        row = actual[method]["d"]
        assert (row["rank"], row["score"], row["n_judgments"]) == (None, None, 0)
        assert row["reason"] == "no comparison of judges kept"
        assert row["component"] is None
    assert facts["comparisons_without_system"] == {"t": 1}
    assert facts["comparisons_of_one_system"] == {"t": 1}
    assert facts["systems_compared"]["t"]["parts"] == 1
    assert all(r["p_value"] is None for r in pairs if "d" in (r["system_a"], r["system_b"]))


def test_no_judge_is_kept_and_no_row_at_all():
    actual, pairs, _ = run(table(*CLEAR, kept=[False] * len(CLEAR)))
    assert actual == {}
    assert pairs == []
    actual, pairs, facts = run(table())
    assert actual == {}
    assert facts["systems_compared"] == {}


def test_dominance_is_a_mean_over_segments():
    """a: 2, 1 and 1; b twice in one segment: -1 and 0, then 1; c: -2."""
    graphs = dominances(
        ("1", "a", 2), ("2", "a", 1), ("3", "a", 1), ("1", "b", -1), ("1", "b", 0), ("2", "b", 1),
        ("1", "c", -2), ("1", "x", 9),
    )  # fmt: skip
    actual, _, _ = run(table(*CLEAR), segment_ranks=graphs)
    assert list(actual) == sorted([*METHODS, "dominance"])
    rows = actual["dominance"]
    assert [r["score"] for r in rows.values()] == pytest.approx([4 / 3, 1 / 4, -2])
    assert [r["n_segments"] for r in rows.values()] == [3, 2, 1]
    assert [r["rank"] for r in rows.values()] == [1, 2, 3]
    assert rows["c"]["reason"] == "no interval: fewer than 20 segments"
    assert (
        "dominance" not in run(table(*CLEAR), segment_ranks=dominances(("1", "a", 1), task="u"))[0]
    )
    without = run(table(*CLEAR), segment_ranks=dominances(("1", "a", 1), ("2", "a", 1)))[0]
    assert without["dominance"]["b"]["reason"] == "no output in a graph of a segment"
    assert without["dominance"]["b"]["rank"] is None


def test_too_many_systems_have_scores_only():
    rankings, pairs, facts = run(table(*CLEAR), online_rounds=40, most_systems=2)
    assert list(rankings) == METHODS
    assert column(rankings, "bradley_terry", "rank") == [None] * 3
    assert column(rankings, "bradley_terry", "score") == [None] * 3
    assert (
        column(rankings, "bradley_terry", "reason") == ["more than 2 systems: no Bradley-Terry"] * 3
    )
    for method in DESCRIPTIVE:
        assert column(rankings, method, "rank") == [1, 2, 3]
    assert not pairs
    assert facts["not_strongly_connected"] == {"t": False}
