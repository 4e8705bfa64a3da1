"""Rankings through the pipeline: broken into the comparisons of their outputs."""

from __future__ import annotations

import pytest

from tests.comparison_campaigns.compared import (
    LENIENT,
    RANKING,
    decisions,
    rankings,
    ranks,
    rejected,
    source,
)


def test_a_ranking_gives_all_its_pairs_under_one_number(stage_campaign):
    rows = ["w,s,x,1,1,", "w,s,y,1,4,", "w,s,z,1,4,", "w,s,x,2,2,", "w,s,y,2,1,"]
    built = rankings(stage_campaign, rows)
    actual = built.rows("comparisons")
    first = next(r["ranking"] for r in actual if r["item_b"] == "s/z")
    pairs = {
        (r["item_a"], r["item_b"], r["outcome"], r["ranking"] == first) for r in actual
    }  # fmt: skip
    assert pairs == {
        ("s/x", "s/y", 1, True), ("s/x", "s/z", 1, True), ("s/y", "s/z", 0, True),
        ("s/x", "s/y", -1, False),
    }  # fmt: skip


def test_scores_rank_outputs_too_and_more_is_better(stage_campaign):
    rows = ["w,s,x,1,,90", "w,s,y,1,,20", "w,s,z,1,,20"]
    fields = {k: v for k, v in RANKING.items() if k != "rank"} | {"score": "extra"}
    tasks = [{"name": "*", "kind": "ranking"}]
    built = rankings(stage_campaign, rows, fields=fields, tasks=tasks)
    assert decisions(built) == [("s/x", "s/y", 1), ("s/x", "s/z", 1), ("s/y", "s/z", 0)]
    assert not built.rows("scores")


def test_scores_of_a_ranking_are_compared_and_scored(stage_campaign):
    rows = ["w,s,x,1,,90", "w,s,y,1,,20", "v,s,x,2,,50", "v,s,y,2,,50"]
    fields = {k: v for k, v in RANKING.items() if k != "rank"} | {"score": "extra"}
    built = rankings(stage_campaign, rows, fields=fields)
    assert sorted(decisions(built)) == [("s/x", "s/y", 0), ("s/x", "s/y", 1)]
    scored = {row["item"]: row for row in built.rows("scores")}
    assert scored["s/x"]["n_comparisons"] == 2
    assert scored["s/x"]["raw_mean"] == 70


@pytest.mark.slow
@pytest.mark.parametrize(("n_alone", "compared"), [(1, True), (5, False)])
def test_scored_hits_are_compared_where_half_of_their_judgments_can_be(
    stage_campaign, n_alone, compared
):
    """Chance meetings in HITs of single outputs are no comparison."""
    rows = ["w,s,x,1,,90", "w,s,y,1,,20"]
    rows += [f"w,t{n},x,{n + 2},,50" for n in range(n_alone)]
    fields = {"judge": "judge", "segment": "segment", "system": "system", "hit": "ranking",
              "score": "extra"}  # fmt: skip
    built = rankings(stage_campaign, rows, fields=fields)
    assert bool(built.rows("comparisons")) == compared


@pytest.mark.slow
def test_a_score_does_not_stand_in_for_a_rank(stage_campaign):
    rows = ["w,s,x,1,1,10", "w,s,y,1,,50", "w,s,z,1,3,20"]
    tasks = [{"name": "*", "kind": "ranking"}]
    built = rankings(stage_campaign, rows, fields=RANKING | {"score": "extra"}, tasks=tasks)
    assert decisions(built) == [("s/x", "s/z", 1)]
    (row,) = built.rows("set_aside")
    assert (row["item"], row["reason"]) == ("s/y", "no rank, although others of the task have one")


@pytest.mark.slow
def test_outputs_at_one_position_are_one_output(stage_campaign):
    rows = ["w,s,x,1,2,1", "w,s,y,1,2,1", "w,s,z,1,2,2"]
    built = rankings(stage_campaign, rows, fields=RANKING | {"position": "extra"})
    same = {(r["item_a"], r["item_b"]): r["same_output"] for r in built.rows("comparisons")}
    assert same == {("s/x", "s/y"): True, ("s/x", "s/z"): False, ("s/y", "s/z"): False}


@pytest.mark.slow
def test_a_trial_of_several_outputs_is_no_position_of_one(stage_campaign):
    rows = ["w,s,x,1,1,7", "w,s,y,1,1,7", "w,s,z,1,2,7", "w,t,x,2,1,8", "w,t,y,2,1,8"]
    built = rankings(stage_campaign, rows, fields=RANKING | {"position": "extra"})
    assert not any(r["same_output"] for r in built.rows("comparisons"))


@pytest.mark.slow
def test_a_counter_that_never_differs_within_a_ranking_is_no_position(stage_campaign):
    rows = ["w,s,x,1,1,7", "w,s,y,1,1,7", "w,t,x,2,3,8", "w,t,y,2,3,8"]
    built = rankings(stage_campaign, rows, fields=RANKING | {"position": "extra"})
    assert [r["same_output"] for r in built.rows("comparisons")] == [False, False]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("rank", "reason"),
    [
        ("-1", "rank is -1: not ranked"),
        ("-2", "rank is negative: '-2'"),
        ("1.5", "rank is not a whole number: '1.5'"),
        ("first", "rank is not a number: 'first'"),
        ("", "rank is blank"),
    ],
)
def test_ranks_that_are_none_are_rejected(stage_campaign, rank, reason):
    rows = ["w,s,x,1,1,", "w,s,y,1,2,", f"w,s,z,1,{rank},"]
    built = rankings(stage_campaign, rows, LENIENT)
    assert decisions(built) == [("s/x", "s/y", 1)]
    assert rejected(built) == {reason: 1}


def test_a_ranking_of_one_output_is_set_aside(stage_campaign):
    built = rankings(stage_campaign, ["w,s,x,1,1,", "w,s,y,1,2,", "w,t,x,2,1,"])
    (row,) = built.rows("set_aside")
    assert (row["item"], row["left_out_of"]) == ("t/x", "comparisons")
    assert row["reason"] == "the only ranked output of its ranking"
    (lineage,) = [r for r in built.rows("lineage") if r["item"] == "t/x"]
    assert lineage["judgment_id"] == row["judgment_id"]
    assert set(ranks(built)) == {"s/x", "s/y"}


@pytest.mark.slow
def test_a_ranking_of_which_one_rank_is_left_is_set_aside(stage_campaign):
    built = rankings(stage_campaign, ["w,s,x,1,1,", "w,s,y,1,-1,", "w,s,z,1,-1,"], LENIENT)
    assert [row["item"] for row in built.rows("set_aside")] == ["s/x"]
    assert built.metrics("break_into_comparisons")["without_comparisons"] == {"small": True}


@pytest.mark.slow
def test_without_ranking_and_hit_a_judge_ranks_a_segment_once(stage_campaign):
    fields = {k: v for k, v in RANKING.items() if k != "ranking"}
    rows = ["w,s,x,,1,", "w,s,y,,2,", "v,s,x,,1,", "w,t,y,,1,"]
    tasks = [{"name": "*", "kind": "ranking"}]
    built = rankings(stage_campaign, rows, fields=fields, tasks=tasks)
    assert decisions(built) == [("s/x", "s/y", 1)]
    assert [r["item"] for r in built.rows("set_aside")] == ["s/x", "t/y"]


@pytest.mark.slow
def test_an_output_that_stands_twice_in_a_ranking_counts_with_its_mean(stage_campaign):
    rows = ["w,s,x,1,1,", "w,s,x,1,4,", "w,s,y,1,2,"]
    built = rankings(stage_campaign, rows)
    assert decisions(built) == [("s/x", "s/y", -1)]  # 2.5 against 2
    assert built.metrics("break_into_comparisons")["repeated_outputs"] == {"small": ["s/x"]}


@pytest.mark.slow
def test_rankings_are_numbered_in_the_order_of_submission(stage_campaign):
    fields = RANKING | {"submitted_at": "extra"}
    rows = [
        f"w,s{n},{system},r{n},{rank},2026-01-{day:02d}T00:00:00"
        for n, day in enumerate([3, 1, 2])
        for rank, system in enumerate("xy")
    ]
    built = rankings(stage_campaign, rows, fields=fields)
    actual = {r["ranking"]: r["segment"] for r in built.rows("comparisons")}
    assert [actual[number] for number in sorted(actual)] == ["s1", "s2", "s0"]


@pytest.mark.sampled
@pytest.mark.parametrize("extra", ["ranking", "hit"])
def test_seconds_of_a_ranking_are_shared_by_its_outputs(stage_campaign, extra):
    text = "judge,segment,system,id,rank,seconds\n" + "".join(
        f"w,s,{system},1,{rank},50\n" for rank, system in enumerate("abcde")
    )
    fields = {"judge": "judge", "segment": "segment", "system": "system", extra: "id",
              "rank": "rank", "seconds": "seconds"}  # fmt: skip
    tasks = [{"name": "*", "kind": "ranking"}]
    built = stage_campaign({"a.csv": text}, sources=source(fields), tasks=tasks)
    assert [row["seconds_per_judgment"] for row in built.rows("judges")] == [10]
    times = {r["unit"]: r["mean"] for r in built.rows("comparison_times") if r["lengths"] == "all"}
    assert times["ranking"] == 50


@pytest.mark.slow
def test_more_outputs_than_fit_are_set_aside_with_the_reason(stage_campaign):
    rows = [f"w,s,m{n:04d},1,{n},6" for n in range(1001)] + ["w,t,x,2,1,", "w,t,y,2,2,"]
    built = rankings(stage_campaign, rows)
    assert len(built.rows("comparisons")) == 1
    reasons = {row["reason"] for row in built.rows("set_aside")}
    assert reasons == {"its ranking holds more than 1,000 outputs"}
