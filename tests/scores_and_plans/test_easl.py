"""EASL through the pipeline: scales, criteria, ranks of systems."""

from __future__ import annotations

import pytest

from tests.scores_and_plans.scored import SCALAR, build, row, scores, text_of


def test_easl_is_the_mean_on_the_scale(stage_campaign):
    rows = [row("j1", "a", 60), row("j2", "a", 80), row("j1", "b", -50), row("j2", "c", 100)]
    tasks = [{"name": "*", "kind": "scalar", "scale": [-100, 100]}]
    actual = scores(build(stage_campaign, rows, tasks=tasks))
    assert actual["a"]["easl_alpha"] == pytest.approx(1 + 0.8 + 0.9)
    assert actual["a"]["easl_beta"] == pytest.approx(1 + 0.2 + 0.1)
    assert actual["a"]["easl_score"] == pytest.approx(0.85)
    assert actual["a"]["raw_mean"] == 70
    assert actual["b"]["easl_score"] == 0.25
    assert actual["c"]["easl_score"] == 1


@pytest.mark.slow
def test_a_reversed_criterion_counts_the_other_way_round(stage_campaign):
    rows = [row("j1", "a", 20, control="robotic"), row("j2", "a", 90, control="fluency")]
    tasks = [{**SCALAR[0], "criteria": {"fluency": {}, "robotic": {"reverse": True}}}]
    sources = {"judge": "judge", "item": "item", "score": "score", "criterion": "control"}
    built = stage_campaign(
        {"a.csv": text_of(rows)},
        sources=[{"path": "exports/*.csv", "format": "csv", "fields": sources}],
        tasks=tasks,
    )
    assert scores(built)["a"]["easl_alpha"] == pytest.approx(1 + 0.8 + 0.9)


def test_without_a_scale_there_is_no_easl_and_a_reason(stage_campaign):
    built = build(stage_campaign, [row("j1", "a", 3), row("j2", "a", 4)], tasks=[])
    actual = scores(built)["a"]
    assert actual["easl_score"] is None
    assert actual["reason"] == (
        "no EASL score: the task declares no scale, and its scores imply none; "
        "no comparison: neither HIT nor ranking is mapped"
    )
    assert built.metrics("plan_hits")["unplanned"] == {
        "small": "it declares no scale; write scale: [lowest, highest] under tasks"
    }


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("given_", "score"),
    [
        ((0, 50), 0.25), ((0, 100), 0.5), ((0.2, 0.6), 0.4), ((0, 1), 0.5), ((11, 12), 0.115),
        ((1, 5), None), ((-1, 50), None), ((0, 101), None), ((0, 10), None),
    ],
)  # fmt: skip
def test_a_scale_is_assumed_where_scores_tell_it_and_that_is_said(given_, score, stage_campaign):
    rows = [row(f"j{n}", "a", answer) for n, answer in enumerate(given_)]
    built = build(stage_campaign, rows, tasks=[])
    actual = scores(built)["a"]["easl_score"]
    assert actual == (None if score is None else pytest.approx(score))
    (gate,) = (g for g in built.runs["settle_judgments"].gates if g.name == "assumed_scales")
    assert gate.level == ("pass" if score is None else "warn")
    scale = built.rows("tasks")[0]
    assert scale["scale_low"] is None, "nothing else assumes it"


@pytest.mark.slow
def test_systems_are_ranked_by_easl_where_there_is_a_scale(stage_campaign):
    rows = [
        row(f"j{n}", f"s{n}/{system}", score, segment=f"s{n}", system=system)
        for n in range(4)
        for system, score in (("A", 80), ("B", 40 + n))
    ]
    fields = ("segment", "system")
    ranked = build(stage_campaign, rows, fields=fields).rows("system_rankings")
    easl = {r["system"]: r for r in ranked if r["method"] == "easl"}
    assert easl["A"]["score"] == pytest.approx(0.8)
    assert easl["B"]["score"] == pytest.approx(0.415)
    assert [easl[s]["rank"] for s in "AB"] == [1, 2]
    rows = [answer | {"score": answer["score"] - 100} for answer in rows]
    without = build(stage_campaign, rows, fields=fields, tasks=[]).rows("system_rankings")
    assert {r["method"] for r in without} == {
        "adjusted", "adjusted_scaled", "filtered_mean", "raw_mean", "z_mean"
    }  # fmt: skip
