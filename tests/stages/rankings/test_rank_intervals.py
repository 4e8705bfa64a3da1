"""Intervals, tests and clusters of comparisons, and what is too little for them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.stages.rankings.ranked import CLEAR, DESCRIPTIVE, METHODS, column, rows_of, run, table

REPEAT = "no interval: judges judge several segments, see the headline"


def test_shares_of_wins_have_intervals_where_segments_are_all_that_repeats():
    """A judge for each comparison: draws of segments; a judge for ten: the headline alone."""
    rows = rows_of(ab=60, ba=40)
    actual, _, _ = run(table(*rows), bootstrap=2000)
    row = actual["wins"]["a"]
    width = 2 * 1.96 * np.sqrt(0.6 * 0.4 / 100)
    assert row["ci_high"] - row["ci_low"] == pytest.approx(width, rel=0.1)
    assert row["reason"] is None
    few_judges = [str(n // 10) for n in range(100)]
    actual, _, _ = run(table(*rows, judge=few_judges))
    assert actual["wins"]["a"]["ci_low"] is None
    assert actual["wins"]["a"]["reason"] == REPEAT
    assert actual["bradley_terry"]["a"]["ci_low"] is not None


def test_judgments_of_one_segment_are_drawn_together():
    """Ten equal comparisons of each of 40 segments vary as 40 do, by new judges each."""
    rows = [("a", "b", 1 if n % 3 else -1) for n in range(40) for _ in range(10)]
    segment = [str(n) for n in range(40) for _ in range(10)]
    together, _, _ = run(table(*rows, segment=segment))
    alone, _, _ = run(table(*rows))
    for method in ("wins", "bradley_terry"):
        widths = [one[method]["a"]["ci_high"] - one[method]["a"]["ci_low"]
                  for one in (together, alone)]  # fmt: skip
        assert widths[0] == pytest.approx(np.sqrt(10) * widths[1], rel=0.2)


def test_ten_judges_who_agree_are_no_ten_times_the_data():
    """24 prompts for a, 16 for b: the exact sign test over prompts has p = .134."""
    rows = [("a", "b", 1 if n < 24 else -1) for n in range(40) for _ in range(10)]
    prompts = [str(n) for n in range(40) for _ in range(10)]
    judges = [str(n) for _ in range(40) for n in range(10)]
    _, pairs, _ = run(table(*rows, segment=prompts, judge=judges))
    p = {(r["system_a"], r["system_b"]): r["p_value"] for r in pairs}
    assert 0.08 < p["a", "b"] < 0.15
    assert not any(r["a_beats_b"] for r in pairs)


def test_the_level_decides_who_beats_whom_and_holm_always():
    _, pairs, _ = run(table(*CLEAR))
    row = next(r for r in pairs if (r["system_a"], r["system_b"]) == ("b", "c"))
    p, p_adjusted = row["p_value"], row["p_adjusted"]
    assert p < p_adjusted
    for alpha in (p_adjusted * 0.99, p_adjusted * 1.01):
        actual, pairs, _ = run(table(*CLEAR), alpha=alpha, correction="none")
        row = next(r for r in pairs if (r["system_a"], r["system_b"]) == ("b", "c"))
        assert row["a_beats_b"] == (alpha > p_adjusted)
        assert actual["bradley_terry"]["b"]["wins"] == int(alpha > p_adjusted)


def test_without_rounds():
    actual, pairs, _ = run(table(*CLEAR), bootstrap=0)
    assert list(actual) == METHODS
    assert actual["wins"]["a"]["reason"] == "ranking.bootstrap is 0: no interval"
    for method in DESCRIPTIVE:
        assert column(actual, method, "rank") == [1, 2, 3]
        assert column(actual, method, "ci_low") == [None] * 3
    assert column(actual, "bradley_terry", "rank_low") == [1, 1, 2]
    assert len(pairs) == 6


def test_random_orders_are_asked_for():
    actual, _, _ = run(table(*CLEAR, *CLEAR, *CLEAR), online_rounds=40)
    assert list(actual) == sorted([*METHODS, "trueskill_permuted"])
    assert column(actual, "trueskill_permuted", "rank") == [1, 2, 3]
    assert column(actual, "trueskill_permuted", "cluster") == [None] * 3
    assert column(actual, "trueskill_permuted", "wmt_cluster") == [1, 2, 3]
    assert column(actual, "trueskill", "wmt_cluster") == [None] * 3


def test_one_comparison_has_ranks_and_no_interval():
    actual, pairs, _ = run(table(("a", "b", 1)))
    for method in METHODS:
        assert column(actual, method, "rank") == [1, 2]
        for row in actual[method].values():
            assert row["ci_low"] is row["rank_low"] is row["wins"] is row["cluster"] is None
            assert row["reason"]
    assert all(r["p_value"] is None and not r["a_beats_b"] for r in pairs)


@pytest.mark.parametrize("n", [3, 9, 10, 30])
def test_few_judges_are_said_to_be_few(n):
    """Fewer than four: these judges only; fewer than ten: no clusters."""
    rows = [("a", "b", 1 if (k + j) % 4 else -1) for k in range(40) for j in range(n)]
    segment, judge = ([str(pair[at]) for pair in np.ndindex(40, n)] for at in (0, 1))
    actual, pairs, facts = run(table(*rows, segment=segment, judge=judge))
    for pair in pairs:
        assert ("these judges only" in (pair["reason"] or "")) == (n < 4)
    row = actual["bradley_terry"]["a"]
    assert row["ci_low"] is not None
    assert row["wins"] == 1
    assert ("these judges only" in (row["reason"] or "")) == (n < 4)
    assert ("no clusters: they need 10 effective judges" in (row["reason"] or "")) == (n < 10)
    assert row["cluster"] == (None if n < 10 else 1)
    metrics = facts["systems_compared"]["t"]["bradley_terry"]
    assert (metrics["judges"], metrics["pairs"]) == (n, 1)
    assert metrics["confirmed"] == int(n >= 10)


@pytest.mark.slow
def test_very_many_systems_with_few_comparisons_each():
    """A ring of 500 systems, each compared with the next by three judges of their own."""
    n = 500
    names = [f"s{k:03}" for k in range(n)]
    rows = []
    for k in range(n):
        a, b = sorted((names[k], names[(k + 1) % n]))
        rows += [(a, b, outcome) for outcome in (1, -1, (k % 3) - 1)]
    actual, pairs, _ = run(table(*rows))
    scores = np.array(column(actual, "bradley_terry", "score"), float)
    assert np.isfinite(scores).all()
    assert len(pairs) == n * (n - 1)
    low = np.array([r["ci_low"] for r in pairs], float)
    high = np.array([r["ci_high"] for r in pairs], float)
    has_interval = np.isfinite(low)
    assert (low[has_interval] < high[has_interval]).all()
    assert all(r["reason"] for r, has in zip(pairs, has_interval, strict=True) if not has)
    assert not any(r["a_beats_b"] for r in pairs)
