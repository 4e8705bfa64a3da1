"""Comparisons that scores within a HIT imply, through the pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annot_pipeline.methods.comparisons.bounded_ra import bounded_ra
from annot_pipeline.methods.comparisons.trueskill import trueskill
from tests.scores_and_plans.scored import SCALAR, build, row, scores, text_of


def pairs_by_hand(rows, margin=0.0):
    """Every pair of one judge, HIT and segment, in the order that METHODS.md states."""
    hits: dict[Any, list[dict[str, Any]]] = {}
    for r in rows:
        hits.setdefault((r["judge"], r["hit"], r["segment"]), []).append(r)
    actual = []
    for hit in sorted(hits.values(), key=lambda h: max(r["submitted_at"] for r in h)):
        hit.sort(key=lambda r: r["item"])
        for n, x in enumerate(hit):
            for y in hit[n + 1 :]:
                apart = x["score"] - y["score"]
                actual.append((x["item"], y["item"], 0 if abs(apart) <= margin else np.sign(apart)))
    return actual


def hits_at_random(n_hits=12):
    rng = np.random.default_rng(8)
    rows = []
    for hit in range(n_hits):
        segment = f"s{rng.integers(3)}"
        for item in rng.choice(6, 4, replace=False):
            when = f"2026-01-{28 - hit:02}T10:00:00Z"
            answer = row(f"j{hit % 3}", f"{segment}-{item}", int(rng.integers(0, 11)) * 10)
            rows.append(answer | {"hit": f"h{hit}", "segment": segment, "submitted_at": when})
    return rows


@pytest.mark.sampled
@pytest.mark.parametrize("margin", [0, 10])
def test_online_scores_are_those_of_the_pairs_in_order(margin, stage_campaign):
    rows = hits_at_random()
    built = build(
        stage_campaign, rows, f"easl.margin={margin}", fields=("hit", "segment", "submitted_at")
    )
    actual = scores(built)
    names = sorted(actual)
    pairs = pairs_by_hand(rows, margin)
    first = np.array([names.index(x) for x, _, _ in pairs])
    second = np.array([names.index(y) for _, y, _ in pairs])
    outcome = np.array([o for _, _, o in pairs], int)
    bounded = bounded_ra(first, second, outcome, n_items=len(names))
    skill = trueskill(first, second, outcome, n_items=len(names))
    for n, name in enumerate(names):
        assert actual[name]["ra_score"] == bounded.score[n]
        assert actual[name]["trueskill_mean"] == skill.mean[n]
        assert actual[name]["trueskill_sd"] == skill.sd[n]
        assert actual[name]["n_comparisons"] == sum(name in pair[:2] for pair in pairs)
        assert actual[name]["reason"] is None


@pytest.mark.slow
def test_the_order_of_rows_and_files_does_not_count(stage_campaign):
    rows = hits_at_random()
    fields = ("hit", "segment", "submitted_at")
    first = build(stage_campaign, rows, fields=fields).table("scores")
    shuffled = [rows[n] for n in np.random.default_rng(1).permutation(len(rows))]
    assert build(stage_campaign, shuffled, fields=fields).table("scores").equals(first)


def test_items_of_other_segments_are_not_compared(stage_campaign):
    rows = [row("j", "a", 1, hit="h", segment="s"), row("j", "b", 2, hit="h", segment="t")]
    actual = scores(build(stage_campaign, rows, fields=("hit", "segment")))
    assert {r["reason"] for r in actual.values()} == {
        "no comparison: no other item of its segment in a HIT"
    }
    assert actual["a"]["ra_score"] is None
    assert actual["a"]["n_comparisons"] == 0


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(("n", "compared"), [(20, True), (21, False)])
def test_without_segments_a_hit_of_20_items_is_compared(n, compared, stage_campaign):
    rows = [row("j", f"i{k:02}", k, hit="h") for k in range(n)]
    actual = scores(build(stage_campaign, rows, fields=("hit",)))
    assert actual["i00"]["n_comparisons"] == (n - 1 if compared else 0)
    assert actual["i00"]["reason"] == (
        None
        if compared
        else "no comparison: no segment is mapped, and its HITs hold more than 20 items"
    )


def test_a_hit_with_too_many_items_of_a_segment_compares_none_and_says_why(stage_campaign):
    rows = [row("j", f"{s}{k}", k % 101, hit="h", segment=s) for s, n in (("x", 4), ("y", 1_001))
            for k in range(n)]  # fmt: skip
    actual = scores(build(stage_campaign, rows, fields=("hit", "segment")))
    assert [actual[f"x{k}"]["n_comparisons"] for k in range(4)] == [3] * 4
    assert actual["y0"]["n_comparisons"] == 0
    assert actual["y0"]["reason"] == (
        "no comparison: its HITs hold more than 1,000 items of its segment"
    )


def test_controls_repeats_and_judges_who_failed_compare_nothing(stage_campaign):
    rows = []
    for judge, copies in (("good", 5), ("bad", 60)):
        hit = {"hit": f"h-{judge}", "segment": "s"}
        scored = {k: 60 + k if judge == "good" else 90 - k for k in range(3)}
        rows += [row(judge, f"i{k}", scored[k], control="none", **hit) for k in scored]
        rows += [
            row(judge, f"i{k}", copies + 10 * k, control="bad_reference", **hit) for k in (0, 1, 2)
        ]
    rows.append(row("good", "i0", 99, control="ask_again", hit="h-good", segment="s"))
    source = {
        "path": "exports/*.csv", "format": "csv",
        "fields": {n: n for n in ("judge", "item", "score", "hit", "segment", "control")},
    }  # fmt: skip
    built = stage_campaign(
        {"a.csv": text_of(rows)}, "quality.alpha=0.01", sources=[source], tasks=SCALAR
    )
    verdicts = {r["judge"]: r["verdict"] for r in built.rows("judges")}
    assert sorted(verdicts.values()) == ["failed", "passed"]
    actual = scores(built)
    assert [actual[f"i{k}"]["n_comparisons"] for k in range(3)] == [2, 2, 2]
    assert actual["i2"]["ra_score"] > actual["i1"]["ra_score"] > actual["i0"]["ra_score"]
    assert actual["i0"]["easl_score"] == pytest.approx((0.60 + 0.99) / 2), "a repeat counts here"


@pytest.mark.slow
def test_equal_and_missing_times_and_two_judges_of_one_hit(stage_campaign):
    """By submitted_at, then the least judgment id; without a time last; never across judges."""
    rows = []
    answers = {
        ("j1", "h1", "2026-01-02T00:00:00Z"): {"a": 10, "b": 90},
        ("j2", "h1", "2026-01-02T00:00:00Z"): {"a": 90, "b": 10},
        ("j3", "h2", ""): {"a": 50, "b": 50},
        ("j4", "h3", "2026-01-01T00:00:00Z"): {"a": 20, "b": 30},
    }
    for (judge, hit, when), given in answers.items():
        rows += [
            row(judge, item, score, hit=hit, segment="s", submitted_at=when)
            for item, score in given.items()
        ]
    built = build(stage_campaign, rows, fields=("hit", "segment", "submitted_at"))
    ids: dict[str, str] = {}
    for r in built.rows("controlled"):
        ids[r["judge"]] = min(ids.get(r["judge"], "~"), r["judgment_id"])
    second, third = sorted(("j1", "j2"), key=lambda judge: ids[judge])
    outcome = {"j1": -1, "j2": 1, "j3": 0, "j4": -1}
    order = ["j4", second, third, "j3"]
    n = len(order)
    expected = trueskill(
        np.zeros(n, int), np.ones(n, int), np.array([outcome[j] for j in order]), n_items=2
    )
    actual = scores(built)
    assert [actual[i]["n_comparisons"] for i in "ab"] == [4, 4]
    assert [actual[i]["trueskill_mean"] for i in "ab"] == expected.mean.tolist()


@pytest.mark.slow
def test_a_scale_of_another_task_makes_no_ties(stage_campaign):
    rows = [
        row("j", f"{task}-{k}", score, hit=task, segment="s", system=task)
        for task, given_ in (("a", (0.31, 0.34)), ("b", (0, 1e12)))
        for k, score in enumerate(given_)
    ]
    fields = {n: n for n in ("judge", "item", "score", "hit", "segment")} | {"task": "system"}
    tasks = [
        {"name": "a", "kind": "scalar", "scale": [0, 1]},
        {"name": "b", "kind": "scalar", "scale": [0, 1e12]},
    ]
    source = {"path": "exports/*.csv", "format": "csv", "fields": fields}
    actual = scores(stage_campaign({"a.csv": text_of(rows)}, sources=[source], tasks=tasks))
    assert actual["a-1"]["ra_score"] > actual["a-0"]["ra_score"]
