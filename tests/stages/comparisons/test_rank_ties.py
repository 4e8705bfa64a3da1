"""Rankings of comparisons that tie, all of them or none."""

from __future__ import annotations

import numpy as np
import pytest

from tests.stages.comparisons.ranked import CLEAR, METHODS, column, rows_of, run, table


def test_systems_that_only_tie_are_equal():
    """Their scores are exactly equal in every round: an interval of width 0 would say too much."""
    comparisons = table(*[("a", "b", 0)] * 6, *[("b", "c", 0)] * 6)
    for settings in ({}, {"bradley_terry_ties": "half"}, {"regularize": 0.5}):
        found, pairs, facts = run(comparisons, **settings)
        for method in set(METHODS) - {"wins"}:
            assert column(found, method, "rank") == [1, 1, 1]
            assert len(set(column(found, method, "score"))) == 1
            assert column(found, method, "cluster") == [1, 1, 1]
            assert column(found, method, "ci_low") == column(found, method, "ci_high") == [None] * 3
            assert set(column(found, method, "reason")) == {
                "only ties: nothing tells systems apart, no interval"
            }
        assert column(found, "wins", "rank") == [None] * 3
        assert column(found, "wins", "reason") == ["ties only: no share of wins"] * 3
        nu = facts["systems_compared"]["t"]["bradley_terry"]["tie_parameter"]
        assert nu == ("infinite" if not settings else pytest.approx(12 / 0.75) if
                      "regularize" in settings else None)  # fmt: skip
        for row in pairs:
            assert row["p_value"] == (None if row["method"] == "wins" else 1)


def test_a_part_that_only_ties_has_no_interval_beside_one_that_has():
    found, _, _ = run(table(*rows_of(ab=12, ba=9, ab_=3), *[("c", "d", 0)] * 8))
    for method in set(METHODS) - {"wins"}:
        low, reason = column(found, method, "ci_low"), column(found, method, "reason")
        assert [end is None for end in low] == [False, False, True, True]
        assert ["; only ties: nothing" in text for text in reason] == [False, False, True, True]


def test_no_ties():
    rows = [row for row in CLEAR if row[2]]
    found, _, facts = run(table(*rows))
    assert facts["systems_compared"]["t"]["bradley_terry"]["tie_parameter"] == 0
    assert column(found, "wins", "score") == column(found, "wins_ties_half", "score")


def test_ties_outgrow_wins():
    """a beats b and ties it, and never loses: ranks, and Davidson's model has no score."""
    found, _, _ = run(table(*[("a", "b", 1)] * 5, *[("a", "b", 0)] * 4))
    rows = found["bradley_terry"]
    assert [r["rank"] for r in rows.values()] == [1, 2]
    assert rows["a"]["score"] is None
    assert "ties outgrow wins" in rows["a"]["reason"]
    found, _, _ = run(table(*[("a", "b", 1)] * 5, *[("a", "b", 0)] * 4), bradley_terry_ties="half")
    assert found["bradley_terry"]["a"]["score"] == pytest.approx(np.log(7 / 2) / 2)
