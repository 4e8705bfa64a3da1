"""Traces of scores, comparisons, rankings and decisions."""

from __future__ import annotations

from statistics import fmean, stdev
from typing import Any

import pytest

from annot_pipeline.audit.trace.documents import trace
from tests.audit.test_trace import LENIENT, asked
from tests.full_campaign import LABELS, TASK

Row = dict[str, Any]


def source(*columns: str, **fields: Any) -> list[Row]:
    named = {column: column for column in columns} | fields
    return [{"path": "exports/*.csv", "format": "csv", "fields": named}]


OPEN = {"privacy": {"pseudonymize": False}}

# --- scores --------------------------------------------------------------------------------


def scores_text() -> str:
    """Two honest judges, one who scores degraded copies higher, each with six pairs."""
    rows = ["judge,system,segment,hit,control,score"]
    for judge, worse in (("a", -20), ("b", -25), ("careless", 5)):
        for segment in range(6):
            score = 50 + 4 * segment + (10 if judge == "b" else 0)
            for control, given in (("none", score), ("bad_reference", score + worse + segment)):
                rows.append(f"{judge},X,s{segment},h{judge},{control},{given}")
    return "\n".join(rows) + "\n"


@pytest.mark.slow
def test_weights_and_what_is_left_without_a_judge(build_campaign):
    fields = source("judge", "system", "segment", "hit", "control", "score")
    scale = [{"name": "*", "kind": "scalar", "scale": [0, 100]}]
    built = build_campaign({"a.csv": scores_text()}, sources=fields, tasks=scale, **OPEN)
    (actual,) = asked(built, "s2/X")
    score = actual["score"]
    assert (actual["segment"], actual["system"]) == ("s2", "X")
    assert (score["raw_mean"], score["n_judgments"]) == (fmean([58, 68]), 2)
    fates = [(j["judge"], j["control"], j["fate"], j["weight"]) for j in actual["judgments"]]
    assert fates == [
        ("a", "none", "used", 0.5),
        ("b", "none", "used", 0.5),
        ("a", "bad_reference", "control", None),
        ("b", "bad_reference", "control", None),
        ("careless", "none", "judge_failed", None),
        ("careless", "bad_reference", "judge_failed", None),
    ]
    assert all("failed (paired_t, p = " in j["reason"] for j in actual["judgments"][4:])
    dropped = [row for row in actual["judges"] if row["dropped"]]
    assert [(r["judge"], r["verdict"], r["test"], r["n_pairs"]) for r in dropped] == [
        ("careless", "failed", "paired_t", 6)
    ]
    z = {j["judge"]: j["z"] for j in actual["judgments"] if j["fate"] == "used"}
    given = [50 + 4 * s + e for s in range(6) for e in (0, -20 + s)]
    assert z["a"] == pytest.approx((58 - fmean(given)) / stdev(given))
    for row, other, mean in zip(actual["without_judge"], "ba", (68, 58), strict=True):
        assert (row["n_judgments"], row["n_left"], row["raw_mean"]) == (1, 1, mean)
        assert (row["change"], row["easl_score"]) == (mean - 63, mean / 100)
        assert row["z_mean"] == pytest.approx(z[other], rel=1e-12)
    assert [row["judge"] for row in actual["without_judge"]] == ["a", "b"]
    assert {r["system"] for r in actual["system_rankings"]} == {"X"}
    assert actual["flipped_by"] == []


@pytest.mark.slow
def test_criteria_weigh_alike_and_reversed_ones_are_turned(build_campaign):
    """fluency 80 and 60; robotic 30, reversed: 70; (70 + 70) / 2."""
    text = "judge,item,criterion,score\n" + "".join(
        f"{judge},{item},{criterion},{score + shift}\n"
        for item, shift in (("i", 0), ("k", 5))
        for judge, criterion, score in (
            ("a", "fluency", 80), ("b", "fluency", 60), ("a", "robotic", 30),
        )
    )  # fmt: skip
    task = {
        "name": "*",
        "kind": "scalar",
        "scale": [0, 100],
        "criteria": {"fluency": {}, "robotic": {"reverse": True}},
    }
    fields = source("judge", "item", "criterion", "score")
    built = build_campaign({"a.csv": text}, sources=fields, tasks=[task], **OPEN)
    (actual,) = asked(built, "i")
    assert actual["score"]["raw_mean"] == 70
    weights = {(j["judge"], j["criterion"]): j["weight"] for j in actual["judgments"]}
    assert weights == {("a", "fluency"): 0.25, ("b", "fluency"): 0.25, ("a", "robotic"): 0.5}
    left = {
        r["judge"]: (r["n_judgments"], r["raw_mean"], r["change"]) for r in actual["without_judge"]
    }
    assert left == {"a": (2, 60, -10), "b": (1, 75, 5)}
    easl = {r["judge"]: r["easl_score"] for r in actual["without_judge"]}
    assert easl == {"a": pytest.approx(0.6), "b": pytest.approx(0.75)}
    assert actual["score"]["easl_score"] == pytest.approx(0.7)


# --- comparisons and rankings --------------------------------------------------------------

VOTES = """judge,segment,a,b,won
u,s,x,y,a
v,s,x,y,a
w,s,y,x,a
u,s,y,z,tie
w,s,y,z,maybe
"""


@pytest.mark.slow
def test_an_item_of_pairs_and_the_pair_itself(build_campaign):
    fields = source("judge", "segment", system_a="a", system_b="b", preference="won")
    built = build_campaign({"a.csv": VOTES}, LENIENT, sources=fields, **OPEN)
    (actual,) = asked(built, "s/y")
    assert sorted((j["judge"], j["answer"]) for j in actual["judgments"]) == [
        ("u", "a tie with s/z"),
        ("u", "worse than s/x"),
        ("v", "worse than s/x"),
        ("w", "better than s/x"),
    ]
    assert [(r["judge"], r["fate"], r["source_row"]) for r in actual["other_records"]] == [
        ("w", "rejected", 5)
    ]
    assert [(r["item"], r["rank"]) for r in actual["segment_ranks"]] == [("s/y", 2)]
    assert {r["system"] for r in actual["system_rankings"]} == {"y"}
    rows = [p["source_row"] for j in actual["judgments"] for p in j["places"]]
    assert sorted(rows) == [1, 2, 3, 4]
    for pair in ("s/x | s/y", "s/y | s/x"):  # in either order
        (both,) = asked(built, pair)
        assert sorted((j["judge"], j["answer"]) for j in both["judgments"]) == [
            ("u", "s/x is better"), ("v", "s/x is better"), ("w", "s/y is better"),
        ]  # fmt: skip
        assert sorted(r["item"] for r in both["segment_ranks"]) == ["s/x", "s/y"]
    (tie,) = asked(built, "s/y | s/z")
    assert [j["answer"] for j in tie["judgments"]] == ["a tie"]
    assert [r["fate"] for r in tie["other_records"]] == ["rejected"]
    (other,) = asked(built, "s/x")
    assert other["other_records"] == []


@pytest.mark.slow
def test_ranks_of_two_items_in_a_row(build_campaign):
    text = "judge,segment,a,b,ra,rb\nu,s,x,y,1,3\nv,s,x,y,2,2\nw,s,x,y,4,1\n"
    fields = source("judge", "segment", system_a="a", system_b="b", rank_a="ra", rank_b="rb")
    built = build_campaign(
        {"a.csv": text}, sources=fields, tasks=[{"name": "*", "kind": "pairwise"}], **OPEN
    )
    (actual,) = asked(built, "s/x")
    assert [(j["judge"], j["answer"]) for j in actual["judgments"]] == [
        ("u", "better than s/y"), ("v", "a tie with s/y"), ("w", "worse than s/y"),
    ]  # fmt: skip


@pytest.mark.slow
def test_the_ranks_that_were_given_beside(build_campaign):
    text = "judge,segment,ranking,system,rank\n" + "".join(
        f"{judge},s,{ranking},{system},{rank}\n"
        for judge, ranking, order in (("u", 1, "xyz"), ("v", 2, "zxy"), ("u", 3, "yx"))
        for rank, system in enumerate(order, 1)
    )
    fields = source("judge", "segment", "ranking", "system", "rank")
    built = build_campaign({"a.csv": text}, sources=fields, **OPEN)
    (actual,) = asked(built, "s/x")
    beside = {
        (j["judge"], j["answer"], tuple((b["rank"], b["system"]) for b in j["beside"]))
        for j in actual["judgments"]
    }
    assert beside == {
        ("u", "rank 1", ((1, "x"), (2, "y"), (3, "z"))),
        ("v", "rank 2", ((1, "z"), (2, "x"), (3, "y"))),
        ("u", "rank 2", ((1, "y"), (2, "x"))),
    }
    assert [(r["item"], r["rank"]) for r in actual["segment_ranks"]] == [("s/x", 1)]


# --- decisions -----------------------------------------------------------------------------


def test_a_decision_stands_beside_what_the_model_says(full_release):
    (actual,) = trace(full_release, "item #0: 'x' | `y` *z*", TASK)
    label = actual["label"]
    assert (label["label"], label["adjudicated"]) == (LABELS[2], True)
    assert (label["model_label"], label["adjudication_reason"]) == (LABELS[0], 'said: "so"')
    assert label["adjudicated_at"] == "2024-06-01T00:00:00+00:00"
    decision = [j for j in actual["judgments"] if j["fate"] == "adjudication"]
    assert [(j["judge"], j["answer"], j["evidence"]) for j in decision] == [
        (label["adjudicator"], LABELS[2], None)
    ]
    assert [p["source_row"] for j in decision for p in j["places"]] == [33]
    assert label["adjudicator"] not in {r["judge"] for r in actual["without_judge"]}
    assert len(actual["without_judge"]) == 4
