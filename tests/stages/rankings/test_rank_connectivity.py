"""Rankings of comparisons that are not connected, or not strongly: parts and chains."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from tests.stages.rankings.ranked import METHODS, column, rows_of, run, table


def test_a_strict_chain_is_ranked_and_says_why_it_has_no_score():
    """The order is tested by signs: four judges of four prefer a."""
    for ties in ("davidson", "half"):
        actual, pairs, facts = run(
            table(*[("a", "b", 1)] * 4, *[("b", "c", 1)] * 4), bradley_terry_ties=ties
        )
        rows = actual["bradley_terry"]
        assert [r["rank"] for r in rows.values()] == [1, 2, 3]
        for name in ("score", "ci_low", "component", "rank_low", "cluster"):
            assert [r[name] for r in rows.values()] == [None] * 3
        for name, row in rows.items():
            assert "not strongly connected; ranked by the order" in row["reason"]
            assert f"({name})" in row["reason"]
        assert facts["not_strongly_connected"] == {"t": True}
        assert facts["systems_compared"]["t"]["components"] == [["a"], ["b"], ["c"]]
        of = {(r["system_a"], r["system_b"]): r for r in pairs}
        for row in of.values():
            assert row["difference"] is row["p_value"] is row["a_beats_b"] is None
            assert row["reason"].startswith("one side never lost to the other, or comparisons do")
        by_signs = binomtest(4, 4, alternative="greater").pvalue
        assert of["a", "b"]["sign_p_value"] == of["b", "c"]["sign_p_value"] == by_signs
        assert of["b", "a"]["sign_p_value"] == 1
        assert of["a", "c"]["sign_p_value"] is None, "nobody compared them"


def test_a_chain_of_components_has_scores_within():
    """a and b beat each other; what c lost says nothing of these two."""
    rows = [("a", "b", 1)] * 60 + [("a", "b", -1)] * 30
    actual, _, _ = run(table(*rows, *[("b", "c", 1)] * 4, ("a", "c", 1)))
    alone, _, _ = run(table(*rows))
    systems = actual["bradley_terry"]
    assert [r["rank"] for r in systems.values()] == [1, 2, 3]
    for name in "ab":
        assert systems[name]["score"] == alone["bradley_terry"][name]["score"]
        assert systems[name]["ci_low"] == pytest.approx(alone["bradley_terry"][name]["ci_low"])
    assert systems["a"]["score"] == pytest.approx(np.log(2) / 2, rel=0.01)
    assert systems["c"]["score"] is None
    assert systems["a"]["reason"].startswith("score within its component: the comparisons are not")
    assert "(a, b)" in systems["a"]["reason"]
    assert systems["c"]["reason"].startswith("no finite score and interval: the comparisons are")
    assert [r["cluster"] for r in systems.values()] == [None] * 3


def test_without_a_total_order_ranks_count_systems_known_to_be_better():
    """a beats both b and c, which never met; regularised, all have a score."""
    comparisons = table(*[("a", "b", 1)] * 4, *[("a", "c", 1)] * 3)
    actual, pairs, _ = run(comparisons)
    rows = actual["bradley_terry"]
    assert [r["component"] for r in rows.values()] == [None] * 3
    assert [r["rank"] for r in rows.values()] == [1, 2, 2]
    assert [r["score"] for r in rows.values()] == [None] * 3
    for name, row in rows.items():
        assert f"of which this is ({name}), have no total order: rank is 1 + the" in row["reason"]
    assert actual["wins"]["a"]["component"] is None
    assert all(r["p_value"] is None for r in pairs)
    actual, pairs, _ = run(comparisons, regularize=0.5)
    rows = actual["bradley_terry"]
    assert [r["rank"] for r in rows.values()] == [1, 3, 2]
    assert [r["component"] for r in rows.values()] == [None] * 3
    assert rows["b"]["score"] < rows["c"]["score"] < 0 < rows["a"]["score"]
    assert rows["b"]["ci_low"] is None, "virtual comparisons are no data"
    assert all(r["p_value"] is None for r in pairs)


@pytest.mark.parametrize(
    ("wins", "expected"),
    [
        ({"ab": 2, "ac": 2, "ad": 1}, [1, 2, 2, 2]),
        ({"ab": 2, "cd": 1, "ac": 1, "ad": 1}, [1, 2, 2, 3]),
        ({"ac": 1, "bc": 1, "cd": 1}, [1, 1, 3, 4]),
        ({"ab": 2, "ba": 1, "ac": 1, "cd": 2, "dc": 1, "ae": 1}, [1, 2, 3, 4, 3]),
    ],
)
def test_ranks_follow_chains_of_wins(wins, expected):
    """Ties share a rank, and a system of a component is better by its score in it."""
    actual, _, _ = run(table(*rows_of(**wins)))
    assert column(actual, "bradley_terry", "rank") == expected
    reasons = column(actual, "bradley_terry", "reason")
    assert all("no total order" in reason for reason in reasons)


def test_parts_are_ranked_apart_by_every_method():
    halves = [(x, y, o) for x, y in (("a", "b"), ("c", "d")) for o in (0, -1, 1, 1, 1, 1) * 3]
    actual, pairs, facts = run(table(*halves))
    assert facts["systems_compared"]["t"]["parts"] == 2
    for method in METHODS:
        assert column(actual, method, "component") == [1, 1, 2, 2]
        assert column(actual, method, "rank") == [1, 2, 1, 2]
        for row in actual[method].values():
            assert "2 parts" in row["reason"]
            assert ("(a, b)" if row["system"] in "ab" else "(c, d)") in row["reason"]
    assert max(column(actual, "bradley_terry", "rank_high")) <= 2
    for row in pairs:
        across = (row["system_a"] in "ab") != (row["system_b"] in "ab")
        assert (row["p_value"] is None) == (row["difference"] is None) == across
        assert not (across and row["a_beats_b"])


def test_tasks_without_finite_scores_are_named_where_they_were_asked_for():
    """Not where there are too many systems, nor where regularising makes them finite."""
    chain = table(("a", "b", 1), ("b", "c", 1))
    assert run(chain)[2]["not_strongly_connected"] == {"t": True}
    assert run(chain, regularize=0.5)[2]["not_strongly_connected"] == {"t": False}
    parts = table(*rows_of(ab=2, ba=1, cd=2, dc=1))  # each with finite scores
    assert run(parts)[2]["not_strongly_connected"] == {"t": False}
    assert run(parts)[2]["systems_compared"]["t"]["parts"] == 2
    assert run(chain, most_systems=2)[2]["not_strongly_connected"] == {"t": False}


def test_a_cycle_of_equal_wins_has_equal_scores():
    actual, pairs, _ = run(table(*rows_of(ab=8, bc=8, ca=8)))
    rows = actual["bradley_terry"]
    assert [r["rank"] for r in rows.values()] == [1, 1, 1]
    assert [r["score"] for r in rows.values()] == pytest.approx([0, 0, 0], abs=1e-9)
    assert [(r["rank_low"], r["rank_high"]) for r in rows.values()] == [(1, 3)] * 3
    assert all(r["p_value"] == pytest.approx(0.5) for r in pairs)
