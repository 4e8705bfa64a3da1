"""Rankings of systems by comparisons: small tasks whose outcome is known, and odd ones."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from annot_pipeline.config import Easl, Ranking
from annot_pipeline.contracts import SYSTEM_COMPARISONS, SYSTEM_RANKINGS
from annot_pipeline.methods.bradley_terry import bradley_terry
from annot_pipeline.methods.trueskill import TrueSkillParams, trueskill
from annot_pipeline.steps.comparing import (
    comparison_scores,
    online_scores,
    ranking_rows,
    task_comparisons,
)
from annot_pipeline.steps.comparing import rank_by_comparisons as rank_module
from annot_pipeline.steps.comparing.comparisons import COMPARISONS
from annot_pipeline.steps.comparing.rank_by_comparisons import rank_by_comparisons

METHODS = [
    "bounded_ra", "bradley_terry", "trueskill", "trueskill_permuted", "wins", "wins_ties_half",
]  # fmt: skip
ONLINE = METHODS[:1] + METHODS[2:4]


def table(*rows: tuple[Any, ...], **columns: list[Any]) -> pa.Table:
    """Rows of (system a, system b, outcome), each a ranking, segment and judge of its own."""
    n = len(rows)
    a, b, outcome = zip(*rows, strict=True) if rows else ((), (), ())
    each = [str(i) for i in range(n)]
    given = {
        "task": ["t"] * n, "judge": each, "kept": [True] * n, "segment": each, "item_a": a,
        "item_b": b, "system_a": a, "system_b": b, "outcome": outcome,
        "same_output": [False] * n, "ranking": list(range(n)), "judgment_id": each,
    } | columns  # fmt: skip
    arrays = [
        pa.nulls(n, f.type) if f.name not in given else
        pa.array(given[f.name], pa.string()).cast(f.type) if pa.types.is_dictionary(f.type) else
        pa.array(given[f.name], f.type)
        for f in COMPARISONS
    ]  # fmt: skip
    return pa.Table.from_arrays(arrays, schema=COMPARISONS)


def run(comparisons: pa.Table, *, segment_ranks=None, seed: int = 1, **settings: Any):
    ranking = Ranking(**({"bootstrap": 200, "online_rounds": 40} | settings))
    tables, facts = rank_by_comparisons(
        comparisons, ranking=ranking, easl=Easl(), seed=seed, segment_ranks=segment_ranks
    )
    json.dumps(facts, allow_nan=False)
    assert tables["system_rankings"].schema == SYSTEM_RANKINGS.schema
    assert tables["system_comparisons"].schema == SYSTEM_COMPARISONS.schema
    for declared in (SYSTEM_RANKINGS, SYSTEM_COMPARISONS):
        rows = tables[declared.name].to_pylist()
        keys = [tuple(row[k] for k in declared.key) for row in rows]
        assert keys == sorted(set(keys))
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in tables["system_rankings"].to_pylist():
        found.setdefault(row["method"], {})[row["system"]] = row
    return found, tables["system_comparisons"].to_pylist(), facts


def column(found, method: str, name: str) -> list[Any]:
    return [row[name] for row in found[method].values()]


def rows_of(**counts: int) -> list[tuple[str, str, int]]:
    """``ab=3`` wins of a, ``ba=1`` of b, ``ab_=2`` ties; mixed, for some methods look at order."""
    rows = []
    for name, n in counts.items():
        a, b = sorted(name[:2])
        rows += [(a, b, 0 if name.endswith("_") else 1 if name[0] == a else -1)] * n
    return [rows[i] for i in np.random.default_rng(5).permutation(len(rows))]


CLEAR = rows_of(ab=12, ba=3, bc=12, cb=3, ac=14, ac_=2, ca=1)


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
    assert facts["disconnected_tasks"] == facts["not_strongly_connected"] == []
    assert len(pairs) == len(METHODS) * 6
    codes = {"a": 0, "b": 1, "c": 2}
    first, second, outcome = ([codes.get(x, x) for x in side] for side in zip(*CLEAR, strict=True))
    assert column(found, "trueskill", "score") == pytest.approx(
        trueskill(first, second, outcome, n_items=3).mean.tolist()
    )


def test_pairs_are_tested_by_rounds():
    _, pairs, _ = run(table(*CLEAR))
    of = {(r["method"], r["system_a"], r["system_b"]): r for r in pairs}
    for method in METHODS:
        better, worse = of[method, "a", "c"], of[method, "c", "a"]
        rounds = 40 if method in ONLINE else 200
        assert better["p_value"] == pytest.approx(1 / (1 + rounds))
        assert worse["p_value"] == 1
        assert better["a_beats_b"]
        assert not worse["a_beats_b"]
        assert better["difference"] == -worse["difference"]
        assert better["p_adjusted"] == pytest.approx(min(1, 6 * better["p_value"]), rel=0.5)
        assert better["p_adjusted"] > better["p_value"]


def test_the_level_and_the_correction_decide_who_beats_whom():
    beats = []
    for settings in ({}, {"alpha": 0.001}, {"alpha": 0.02}, {"correction": "holm", "alpha": 0.02}):
        found, pairs, _ = run(table(*CLEAR), **settings)
        row = next(
            r for r in pairs if (r["method"], r["system_a"], r["system_b"]) == ("wins", "a", "c")
        )
        assert 0.001 < row["p_value"] < 0.02 < row["p_adjusted"] < 0.05
        beats.append(row["a_beats_b"])
        assert found["wins"]["a"]["wins"] == (0 if not beats[-1] else 2)
    assert beats == [True, False, True, False]


def test_holm_needs_rounds():
    """Six tests at .05: 1 / 121 is enough, 1 / 120 is not, and that is said."""
    for rounds, says in ((119, "119 rounds are too few"), (120, None)):
        found, _, _ = run(table(*CLEAR), correction="holm", bootstrap=rounds)
        row = found["wins"]["a"]
        assert (row["wins"] > 0) == (says is None)
        assert (row["reason"] is None) == (says is None)
        assert says is None or row["reason"].startswith(says)


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
        assert facts["not_strongly_connected"] == ["t"]
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
    assert facts["disconnected_tasks"] == ["t"]
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


def test_one_comparison_has_ranks_and_no_interval():
    found, pairs, _ = run(table(("a", "b", 1)))
    for method in METHODS:
        assert column(found, method, "rank") == [1, 2]
        for row in found[method].values():
            assert row["ci_low"] is row["rank_low"] is row["wins"] is row["cluster"] is None
            assert "fewer than two rankings: no interval" in row["reason"]
    assert all(r["p_value"] is None and not r["a_beats_b"] for r in pairs)


def test_one_judge_has_no_interval_over_judges():
    comparisons = table(*CLEAR, judge=["j"] * len(CLEAR))
    found, _, _ = run(comparisons, resample_comparisons="judges")
    for method in METHODS:
        assert column(found, method, "rank") == [1, 2, 3]
        assert column(found, method, "reason") == ["fewer than two judges: no interval"] * 3
    found, _, _ = run(comparisons)
    assert found["wins"]["a"]["ci_low"] is not None


def test_what_is_drawn_decides_the_width():
    """Rankings of ten equal comparisons vary more than comparisons alone; so do segments."""
    rows = [("a", "b", 1 if i % 3 else -1) for i in range(20) for _ in range(10)]
    tens = [i // 10 for i in range(200)]
    width = {}
    for name, columns, settings in (
        ("alone", {}, {}),
        ("rankings", {"ranking": tens}, {}),
        ("segments", {"segment": [str(t) for t in tens]}, {"resample_comparisons": "segments"}),
        ("no segment", {"segment": [None] * 200}, {"resample_comparisons": "segments"}),
    ):
        row = run(table(*rows, **columns), **settings)[0]["wins"]["a"]
        width[name] = row["ci_high"] - row["ci_low"]
    assert width["rankings"] > 2 * width["alone"]
    assert width["segments"] == pytest.approx(width["rankings"], rel=0.3)
    assert width["no segment"] == pytest.approx(width["alone"], rel=0.3)


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
    assert facts["comparisons_without_system"] == 1
    assert facts["comparisons_of_one_system"] == 1
    assert all(r["p_value"] is None for r in pairs if "d" in (r["system_a"], r["system_b"]))


def test_no_judge_is_kept_and_no_row_at_all():
    found, pairs, _ = run(table(*CLEAR, kept=[False] * len(CLEAR)))
    assert found == {}
    assert pairs == []
    found, pairs, facts = run(table())
    assert found == {}
    assert facts["compared_tasks"] == 0


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


def test_the_seed_moves_rounds_only():
    one, two = run(table(*CLEAR), seed=1)[0], run(table(*CLEAR), seed=2)[0]
    for method in set(METHODS) - {"trueskill_permuted"}:
        assert column(one, method, "score") == column(two, method, "score")
        assert column(one, method, "ci_low") != column(two, method, "ci_low")


def test_without_rounds():
    found, pairs, _ = run(table(*CLEAR), bootstrap=0, online_rounds=0)
    assert list(found) == [m for m in METHODS if m != "trueskill_permuted"]
    assert found["wins"]["a"]["reason"] == "ranking.bootstrap is 0: no interval"
    assert found["trueskill"]["a"]["reason"] == "ranking.online_rounds is 0: no interval"
    for method in found:
        assert column(found, method, "rank") == [1, 2, 3]
        assert column(found, method, "cluster") == [None] * 3
    assert all(r["p_value"] is None and r["difference"] is not None for r in pairs)


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


def test_tasks_without_finite_scores_are_named_where_they_were_asked_for(monkeypatch):
    """Not where there are too many systems, nor where regularising makes them finite."""
    chain = table(("a", "b", 1), ("b", "c", 1))
    assert run(chain)[2]["not_strongly_connected"] == ["t"]
    assert run(chain, regularize=0.5)[2]["not_strongly_connected"] == []
    parts = table(*rows_of(ab=2, ba=1, cd=2, dc=1))  # each with finite scores
    assert run(parts)[2]["not_strongly_connected"] == []
    assert run(parts)[2]["disconnected_tasks"] == ["t"]
    monkeypatch.setattr(rank_module, "MOST_SYSTEMS", 2)
    assert run(chain)[2]["not_strongly_connected"] == []


def test_a_large_task_gets_fewer_online_rounds(monkeypatch):
    monkeypatch.setattr(online_scores, "MOST_UPDATES", 2 * len(CLEAR) * 60)
    assert run(table(*CLEAR), online_rounds=100)[2]["systems_compared"]["t"]["online_rounds"] == 60
    assert run(table(*CLEAR), online_rounds=50)[2]["systems_compared"]["t"]["online_rounds"] == 50
    monkeypatch.setattr(online_scores, "MOST_UPDATES", 1)
    assert run(table(*CLEAR), online_rounds=100)[2]["systems_compared"]["t"]["online_rounds"] == 40


def dominances(*rows: tuple[str, str, int], task: str = "t") -> pa.Table:
    segment, system, dominance = zip(*rows, strict=True)
    return pa.table(
        {"task": [task] * len(rows), "segment": segment, "system": system, "dominance": dominance}
    )


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


def test_clusters_are_of_ranges_that_do_not_overlap():
    """a far above b and c, which are all but equal."""
    rows = rows_of(ab=40, ba=3, ac=40, ca=3, bc=21, cb=20)
    found, _, _ = run(table(*rows))
    for method in METHODS:
        assert column(found, method, "cluster") == [1, 2, 2]
        assert found[method]["a"]["wins"] == 2
        ends = {(r["rank_low"], r["rank_high"]) for r in found[method].values()}
        assert ends == {(1, 1), (2, 3)}


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


def test_the_level_of_all_systems_together_is_no_part_of_trueskills_interval():
    """Every round has the mean of the score, part by part, over the systems that it draws."""
    rows = rows_of(ab=12, ba=5, ab_=4, ac=9, de=4, ed=2)
    codes = {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4}
    first, second, outcome = (
        np.array([codes.get(x, x) for x in side]) for side in zip(*rows, strict=True)
    )
    alone = np.arange(len(rows))
    task = task_comparisons.TaskComparisons(
        names=list(codes), first=first, second=second, outcome=outcome, ranking=alone, unit=alone,
        segment=alone, dominance=None, units="rankings", seed=[1],
    )  # fmt: skip
    for found in online_scores.trueskill_scores(
        task, Ranking(online_rounds=40), TrueSkillParams(mean=0.5), lambda _: None
    ):
        for part in (slice(0, 3), slice(3, 5)):
            gaps = found.rounds[:, part] - found.score[part]
            assert np.nanmean(gaps, axis=1) == pytest.approx(np.zeros(40), abs=1e-9)
            assert np.nanstd(gaps) > 0.01
            if found.method == "trueskill_permuted":
                assert found.score[part].mean() == pytest.approx(0.5)


def test_a_system_that_is_not_drawn_stays_where_it_is():
    """c won its only two comparisons: one round in eight draws neither, and a is no first then."""
    found, _, _ = run(table(*rows_of(ab=12, ba=5, ca=2)))
    for method in ("wins", "wins_ties_half"):
        assert column(found, method, "rank") == [2, 3, 1]
        assert column(found, method, "rank_low") == [2, 2, None]
        assert column(found, method, "cluster") == [1, 1, None]
        assert found[method]["c"]["reason"] == "fewer than 6 rankings: no cluster"


@pytest.mark.parametrize("n", [2, 4, 5, 6, 12])
@pytest.mark.parametrize("units", ["rankings", "judges", "segments"])
def test_units_that_agree_say_no_more_than_two_to_the_minus_n(n, units):
    """n units of two preferences each, all of them for a."""
    rows = [("a", "b", 1)] * (2 * n)
    unit = [i // 2 for i in range(2 * n)]
    each = {"ranking": unit, "judge": [str(u) for u in unit], "segment": [str(u) for u in unit]}
    found, pairs, _ = run(table(*rows, **each), resample_comparisons=units)
    for row in pairs:
        rounds = 40 if row["method"] in ONLINE else 200
        if row["system_a"] == "a":
            assert row["p_value"] == pytest.approx(max(1 / 2**n, 1 / (1 + rounds)))
            assert row["p_adjusted"] == pytest.approx(min(1, 2 * row["p_value"]))
            assert row["a_beats_b"] == (n >= 5)
        else:
            assert row["p_value"] == 1
    for method in METHODS:
        of = [column(found, method, name) for name in ("rank_low", "rank_high", "cluster")]
        assert of == [[None, None] if n < 6 else [1, 2]] * 3
        assert column(found, method, "wins") == [int(n >= 5), 0]
        for reason in column(found, method, "reason"):
            assert (f"fewer than 6 {units}: no cluster" in (reason or "")) == (n < 6)


def test_a_pair_has_the_units_of_the_system_with_fewer():
    """c has three comparisons; a and b, with 30 and more, keep their clusters."""
    found, pairs, _ = run(table(*rows_of(ab=30, ba=1, bc=2, ac=1)))
    p = {(r["system_a"], r["system_b"]): r["p_value"] for r in pairs if r["method"] == "wins"}
    assert p["a", "b"] == pytest.approx(1 / 201)
    assert p["a", "c"] == p["b", "c"] == 1 / 2**3
    assert column(found, "wins", "cluster") == [1, 2, None]
    assert column(found, "wins", "rank_high")[2] is None


def test_dominance_is_of_so_many_segments():
    graphs = dominances(*[(str(s), n, d) for s in range(4) for n, d in (("a", 1), ("b", -1))])
    found, pairs, _ = run(table(*CLEAR), segment_ranks=graphs)
    assert found["dominance"]["a"]["reason"] == "fewer than 6 segments: no cluster"
    p = {(r["system_a"], r["system_b"]): r["p_value"] for r in pairs if r["method"] == "dominance"}
    assert p["a", "b"] == 1 / 2**4


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
    assert facts["not_strongly_connected"] == ["t"]
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
