"""Rankings of comparisons that tie, all of them or none."""

from __future__ import annotations

import numpy as np
import pytest

from tests.stages.rankings.ranked import CLEAR, METHODS, column, rows_of, run, table


def test_systems_that_only_tie_are_equal():
    """Their judgments do not vary: nothing tells how far they would."""
    comparisons = table(*[("a", "b", 0)] * 30, *[("b", "c", 0)] * 30)
    for settings in ({}, {"bradley_terry_ties": "half"}, {"regularize": 0.5}):
        actual, pairs, _ = run(comparisons, **settings)
        for method in set(METHODS) - {"wins"}:
            assert column(actual, method, "rank") == [1, 1, 1]
            assert len(set(column(actual, method, "score"))) == 1
            assert column(actual, method, "cluster") == [None] * 3
            assert (
                column(actual, method, "ci_low") == column(actual, method, "ci_high") == [None] * 3
            )
            assert set(column(actual, method, "reason")) == {
                "all comparisons are ties: systems cannot be separated"
            }
        assert column(actual, "wins", "rank") == [None] * 3
        assert column(actual, "wins", "reason") == ["ties only: no share of wins"] * 3
        for row in pairs:
            assert row["p_value"] is None
            assert row["reason"] == (
                "judges and segments agree fully, so the error of the difference is unknown"
            )


def test_a_part_that_only_ties_has_no_interval_beside_one_that_has():
    actual, _, _ = run(table(*rows_of(ab=32, ba=29, ab_=3), *[("c", "d", 0)] * 28))
    for method in ("bradley_terry", "wins_ties_half"):
        low, reason = column(actual, method, "ci_low"), column(actual, method, "reason")
        assert [end is None for end in low] == [False, False, True, True]
        assert ["; all comparisons are ties" in text for text in reason] == [
            False,
            False,
            True,
            True,
        ]


def test_no_ties():
    rows = [row for row in CLEAR if row[2]]
    actual, _, facts = run(table(*rows))
    assert facts["systems_compared"]["t"]["bradley_terry"]["tie_parameter"] is None
    assert column(actual, "wins", "score") == column(actual, "wins_ties_half", "score")
    half, _, _ = run(table(*rows), bradley_terry_ties="half")
    assert column(half, "bradley_terry", "score") == column(actual, "bradley_terry", "score")


def test_ties_outgrow_wins():
    """a beats b and ties it, and never loses: the prior keeps Davidson's strengths finite."""
    rows = [("a", "b", 1)] * 5, [("a", "b", 0)] * 4
    actual, _, _ = run(table(*rows[0], *rows[1]))
    systems = actual["bradley_terry"]
    assert [r["rank"] for r in systems.values()] == [1, 2]
    half, _, _ = run(table(*rows[0], *rows[1]), bradley_terry_ties="half")
    assert half["bradley_terry"]["a"]["score"] == pytest.approx(np.log(7 / 2) / 2, rel=0.1)
    assert systems["a"]["score"] > half["bradley_terry"]["a"]["score"]
