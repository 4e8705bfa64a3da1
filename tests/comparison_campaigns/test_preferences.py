"""Preferences through the pipeline: each is one comparison, or rejected with the reason."""

from __future__ import annotations

import random

import pytest

from annot_pipeline.stages.registry import GOLD_MADE
from tests.comparison_campaigns.compared import (
    LENIENT,
    PAIR,
    PREFERENCE,
    WORDS,
    decisions,
    preferences,
    rejected,
    source,
    with_items,
)


def test_a_preference_is_one_comparison_with_the_items_in_order(stage_campaign):
    text = "judge,segment,a,b,won\nw,s,y,x,left\nv,s,x,y,left\nu,s,x,y,same\n"
    built = preferences(stage_campaign, text)
    rows = built.rows("comparisons")
    assert {(r["judge"], r["item_a"], r["item_b"], r["outcome"]) for r in rows} == {
        ("w", "s/x", "s/y", -1), ("v", "s/x", "s/y", 1), ("u", "s/x", "s/y", 0),
    }  # fmt: skip
    assert {r["judge"]: r["b_shown_first"] for r in rows} == {"w": True, "v": False, "u": False}
    assert {(r["system_a"], r["system_b"]) for r in rows} == {("x", "y")}
    assert len({r["ranking"] for r in rows}) == 3
    assert not any(r["same_output"] for r in rows)


def test_an_unknown_outcome_is_a_rejected_row_and_never_a_tie(stage_campaign):
    text = "judge,segment,a,b,won\nw,s,x,y,left\nw,s,x,y,both bad\nw,s,x,y,\n"
    built = preferences(stage_campaign, text, LENIENT)
    assert decisions(built) == [("s/x", "s/y", 1)]
    assert rejected(built) == {"preference has no match: ''; 'both bad'": 2}
    assert len(built.rows("lineage")) == 3


@pytest.mark.slow
def test_an_outcome_that_is_none_without_a_map_is_rejected(stage_campaign):
    text = "judge,segment,a,b,won\nw,s,x,y,a\nw,s,x,y,A\nw,s,x,y,draw\n"
    built = preferences(stage_campaign, text, LENIENT, fields=PAIR | {"preference": "won"})
    assert decisions(built) == [("s/x", "s/y", 1)]
    assert sum(rejected(built).values()) == 2


@pytest.mark.slow
def test_an_item_against_itself_is_rejected(stage_campaign):
    text = "judge,segment,a,b,won\nw,s,x,x,left\nw,s,x,y,left\n"
    built = preferences(stage_campaign, text, LENIENT)
    assert decisions(built) == [("s/x", "s/y", 1)]
    assert rejected(built) == {"item_a and item_b are the same": 1}


def test_ranks_of_pairs_say_who_is_better(stage_campaign):
    text = "judge,segment,a,b,r1,r2,id\n" + "".join(
        f"w,s,x,y,{one},{two},{n}\n"
        for n, (one, two) in enumerate([(1, 2), (5, 2), (3, 3), (-1, 1), (1, -1), (1, -7), (0, 1)])
    )
    fields = PAIR | {"rank_a": "r1", "rank_b": "r2", "ranking": "id"}
    built = preferences(stage_campaign, text, LENIENT, fields=fields)
    assert sorted(outcome for _, _, outcome in decisions(built)) == [-1, 0, 1, 1]
    assert rejected(built) == {
        "rank_a is -1: not ranked": 1, "rank_b is -1: not ranked": 1, "rank_b is negative: '-7'": 1,
    }  # fmt: skip
    assert {r["b_shown_first"] for r in built.rows("comparisons")} == {None}


def test_items_without_systems_and_segments_are_ranked_themselves(stage_campaign):
    text = "judge,segment,a,b,won\nw,,x,y,left\n"
    fields = {"judge": "judge", "item_a": "a", "item_b": "b", "preference": WORDS}
    built = preferences(stage_campaign, text, fields=fields)
    assert [(r["system_a"], r["system_b"]) for r in built.rows("comparisons")] == [("x", "y")]


def test_what_lacks_a_system_is_set_aside_not_lost(stage_campaign, tmp_path):
    items = with_items(tmp_path, "item,segment,system\nx,s,X\ny,s,Y\nz,s,\n")
    items = [items[0] | {"fields": {"item": "item", "segment": "segment", "system": "system"}}]
    text = "judge,segment,a,b,won\nw,,x,y,left\nw,,x,z,left\nw,,x,q,left\n"
    fields = {"judge": "judge", "item_a": "a", "item_b": "b", "preference": WORDS}
    built = preferences(stage_campaign, text, fields=fields, items=items)
    assert {(r["item"], r["left_out_of"], r["reason"]) for r in built.rows("set_aside")} == {
        ("x | z", "system_rankings", "no system is named"),
        ("x | q", "system_rankings", "no system is named"),
        ("x | q", "segment_ranks", "no segment is named"),
    }  # fmt: skip
    assert built.metrics("break_into_comparisons")["unplaced"] == {"small": 3}


@pytest.mark.slow
def test_neither_rows_nor_files_nor_threads_have_an_order(stage_campaign):
    rng = random.Random(3)
    rows = [
        f"j{rng.randrange(4)},s{rng.randrange(6)},{a},{b},{rng.choice(('left', 'right', 'same'))}"
        for _ in range(200)
        for a, b in [rng.sample("vwxyz", 2)]
    ]
    head = "judge,segment,a,b,won\n"
    actual = []
    for _ in range(2):
        text = "".join(f"{row}\n" for row in rows)
        built = stage_campaign({"a.csv": head + text}, sources=source(PREFERENCE))
        actual.append({name: built.table(name) for name in GOLD_MADE if name != "lineage"})
        rng.shuffle(rows)
    assert actual[0] == actual[1]
