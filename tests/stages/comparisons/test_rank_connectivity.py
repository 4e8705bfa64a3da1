"""Rankings of comparisons that are not connected, or not strongly: parts, chains, rounds."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.stages.comparisons import rank_by_comparisons as rank_module
from tests.stages.comparisons.ranked import METHODS, column, rows_of, run, table


def test_a_strict_chain_is_ranked_and_says_why_it_has_no_score():
    for ties in ("davidson", "half"):
        found, pairs, facts = run(
            table(*[("a", "b", 1)] * 4, *[("b", "c", 1)] * 4), bradley_terry_ties=ties
        )
        rows = found["bradley_terry"]
        assert [r["rank"] for r in rows.values()] == [1, 2, 3]
        assert [r["score"] for r in rows.values()] == [None] * 3
        assert [r["ci_low"] for r in rows.values()] == [None] * 3
        assert [r["component"] for r in rows.values()] == [None] * 3
        for name, row in rows.items():
            assert "not strongly connected; ranked by the order" in row["reason"]
            assert f"({name})" in row["reason"]
        assert facts["not_strongly_connected"] == {"t": True}
        assert facts["systems_compared"]["t"]["components"] == [["a"], ["b"], ["c"]]
        assert (
            facts["systems_compared"]["t"]["bradley_terry"]["rounds_without_finite_estimate"] == 200
        )
        of = {(r["system_a"], r["system_b"]): r for r in pairs if r["method"] == "bradley_terry"}
        assert of["a", "c"]["difference"] is None
        assert of["a", "c"]["p_value"] == 1 / 2**4


def test_a_chain_of_components_has_scores_within():
    found, _, _ = run(
        table(*[("a", "b", 1)] * 6, *[("a", "b", -1)] * 3, *[("b", "c", 1)] * 4, ("a", "c", 1))
    )
    rows = found["bradley_terry"]
    assert [r["rank"] for r in rows.values()] == [1, 2, 3]
    assert rows["a"]["score"] == pytest.approx(np.log(2) / 2)
    assert rows["b"]["score"] == pytest.approx(-np.log(2) / 2)
    assert rows["c"]["score"] is None
    assert "score within its component and interval" in rows["a"]["reason"]
    assert "(a, b)" in rows["a"]["reason"]


def test_without_a_total_order_ranks_hold_in_components():
    """a beats both b and c, which never met; regularised, all have a score."""
    comparisons = table(*[("a", "b", 1)] * 4, *[("a", "c", 1)] * 3)
    found, pairs, _ = run(comparisons)
    rows = found["bradley_terry"]
    assert [r["component"] for r in rows.values()] == [1, 2, 3]
    assert [r["rank"] for r in rows.values()] == [1, 1, 1]
    assert all("ranked within component" in r["reason"] for r in rows.values())
    assert found["wins"]["a"]["component"] is None
    assert all(r["p_value"] is None for r in pairs if r["method"] == "bradley_terry")
    found, _, _ = run(comparisons, regularize=0.5)
    rows = found["bradley_terry"]
    assert [r["rank"] for r in rows.values()] == [1, 3, 2]
    assert [r["component"] for r in rows.values()] == [None] * 3
    assert rows["b"]["reason"] == "fewer than 6 rankings: no cluster"
    assert rows["b"]["ci_low"] < rows["b"]["score"] < 0


def test_parts_are_ranked_apart_by_every_method():
    halves = [(x, y, o) for x, y in (("a", "b"), ("c", "d")) for o in (0, -1, 1, 1, 1, 1)]
    found, pairs, facts = run(table(*halves))
    assert facts["systems_compared"]["t"]["parts"] == 2
    for method in METHODS:
        assert column(found, method, "component") == [1, 1, 2, 2]
        assert column(found, method, "rank") == [1, 2, 1, 2]
        assert max(column(found, method, "rank_high")) <= 2
        assert max(column(found, method, "cluster")) <= 2
        for row in found[method].values():
            assert "2 parts" in row["reason"]
            assert ("(a, b)" if row["system"] in "ab" else "(c, d)") in row["reason"]
    for row in pairs:
        across = (row["system_a"] in "ab") != (row["system_b"] in "ab")
        assert (row["p_value"] is None) == (row["difference"] is None) == across
        assert not (across and row["a_beats_b"])


def test_tasks_without_finite_scores_are_named_where_they_were_asked_for(monkeypatch):
    """Not where there are too many systems, nor where regularising makes them finite."""
    chain = table(("a", "b", 1), ("b", "c", 1))
    assert run(chain)[2]["not_strongly_connected"] == {"t": True}
    assert run(chain, regularize=0.5)[2]["not_strongly_connected"] == {"t": False}
    parts = table(*rows_of(ab=2, ba=1, cd=2, dc=1))  # each with finite scores
    assert run(parts)[2]["not_strongly_connected"] == {"t": False}
    assert run(parts)[2]["systems_compared"]["t"]["parts"] == 2
    monkeypatch.setattr(rank_module, "MOST_SYSTEMS", 2)
    assert run(chain)[2]["not_strongly_connected"] == {"t": False}


def test_rounds_that_lose_their_connection_are_counted_and_spoil_the_interval():
    """One loss of a in eight: a third of the rounds has none, and no finite estimate."""
    rows = [*[("a", "b", 1)] * 7, ("a", "b", -1)]
    found, _, facts = run(table(*rows), bootstrap=1000)
    row = found["bradley_terry"]["a"]
    weak = facts["systems_compared"]["t"]["bradley_terry"]["rounds_without_finite_estimate"]
    assert weak == pytest.approx(1000 * (7 / 8) ** 8, rel=0.15)
    assert row["score"] == pytest.approx(np.log(7) / 2)
    assert row["ci_low"] is None
    assert row["reason"] == (
        f"no finite interval: {weak} of 1,000 rounds have no finite estimate of it"
    )
    assert (row["rank_low"], row["rank_high"]) == (1, 1)
    assert row["cluster"] == 1


def test_intervals_are_of_systems_that_rounds_leave_connected():
    """d, which lost to each once, won but one comparison: a third of the rounds has no such win."""
    clear = rows_of(ab=30, ba=14, bc=30, cb=15, ac=20, ca=9)
    odd = [*[(x, "d", 1) for x in "abcabc"], ("c", "d", -1)]
    found, _, facts = run(table(*clear, *odd), bootstrap=1000)
    alone, _, _ = run(table(*clear), bootstrap=1000)
    rows = found["bradley_terry"]
    weak = facts["systems_compared"]["t"]["bradley_terry"]["rounds_without_finite_estimate"]
    assert weak == pytest.approx(1000 / np.e, rel=0.15)
    assert rows["d"]["ci_low"] is rows["d"]["ci_high"] is None
    assert rows["d"]["score"] < 0
    assert rows["d"]["reason"] == (
        f"no finite interval: {weak} of 1,000 rounds have no finite estimate of it"
    )
    for name in "abc":
        row, before = rows[name], alone["bradley_terry"][name]
        assert row["reason"] is None
        assert row["ci_low"] < row["score"] < row["ci_high"]
        width, usual = (r["ci_high"] - r["ci_low"] for r in (row, before))
        assert width == pytest.approx(usual, rel=0.15)


def test_a_system_that_never_won_takes_no_interval_from_the_others():
    """d lost all: it has no score; a, b and c have scores within their component, and intervals."""
    clear = rows_of(ab=30, ba=14, bc=30, cb=15, ac=20, ca=9)
    found, _, facts = run(table(*clear, *[(x, "d", 1) for x in "abcabc"]))
    alone, _, _ = run(table(*clear))
    rows = found["bradley_terry"]
    assert facts["not_strongly_connected"] == {"t": True}
    assert column(found, "bradley_terry", "rank") == [1, 2, 3, 4]
    assert rows["d"]["score"] is rows["d"]["ci_low"] is None
    assert rows["d"]["reason"].startswith("no finite score and interval: the comparisons are not")
    for name in "abc":
        row, before = rows[name], alone["bradley_terry"][name]
        assert row["score"] == pytest.approx(before["score"])
        assert row["ci_low"] < row["score"] < row["ci_high"]
        assert row["reason"].startswith("score within its component: the comparisons are not")
        width, usual = (r["ci_high"] - r["ci_low"] for r in (row, before))
        assert width == pytest.approx(usual, rel=0.15)
