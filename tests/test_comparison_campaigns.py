"""Preferences and rankings through the pipeline: comparisons, ranks of segments, adequacy."""

from __future__ import annotations

import random
from typing import Any

import pytest

pytestmark = pytest.mark.reports

PAIR = {"judge": "judge", "segment": "segment", "system_a": "a", "system_b": "b"}
WORDS = {"column": "won", "map": {"left": "a", "right": "b", "same": "tie"}}
PREFERENCE = PAIR | {"preference": WORDS}
RANKING = {name: name for name in ("judge", "segment", "system", "ranking", "rank")}

FIGURE_1 = """judge,segment,a,b,won
w,s,LW,Google,left
w,s,Google,Systran,same
w,s,Systran,Moses,left
w,s,Google,Bing,left
w,s,Reference,Bing,left
"""


def source(fields: dict[str, Any], path: str = "exports/*.csv") -> list[dict[str, Any]]:
    return [{"path": path, "format": "csv", "fields": fields}]


def preferences(build_campaign, text, *sets, fields=PREFERENCE, **more):
    return build_campaign({"a.csv": text}, *sets, sources=source(fields), **more)


def rankings(build_campaign, rows, *sets, fields=RANKING, **more):
    text = "judge,segment,system,ranking,rank,extra\n" + "".join(f"{row}\n" for row in rows)
    return build_campaign({"a.csv": text}, *sets, sources=source(fields), **more)


def decisions(built) -> list[tuple[str, str, int]]:
    return [(r["item_a"], r["item_b"], r["outcome"]) for r in built.rows("comparisons")]


def ranks(built, name="rank") -> dict[str, Any]:
    return {row["item"]: row[name] for row in built.rows("segment_ranks")}


def rejected(built) -> dict[str, int]:
    rows = built.facts("settle_judgments")["rejections"]
    return {row["reason"]: row["records"] for row in rows}


LENIENT = "gates.rejected_share.error=1"

# --- comparisons ---------------------------------------------------------------------------


def test_a_preference_is_one_comparison_with_the_items_in_order(build_campaign):
    text = "judge,segment,a,b,won\nw,s,y,x,left\nv,s,x,y,left\nu,s,x,y,same\n"
    built = preferences(build_campaign, text)
    rows = built.rows("comparisons")
    assert {(r["judge"], r["item_a"], r["item_b"], r["outcome"]) for r in rows} == {
        ("w", "s/x", "s/y", -1), ("v", "s/x", "s/y", 1), ("u", "s/x", "s/y", 0),
    }  # fmt: skip
    assert {r["judge"]: r["b_shown_first"] for r in rows} == {"w": True, "v": False, "u": False}
    assert {(r["system_a"], r["system_b"]) for r in rows} == {("x", "y")}
    assert len({r["ranking"] for r in rows}) == 3
    assert not any(r["same_output"] for r in rows)


def test_an_unknown_outcome_is_a_rejected_row_and_never_a_tie(build_campaign):
    text = "judge,segment,a,b,won\nw,s,x,y,left\nw,s,x,y,both bad\nw,s,x,y,\n"
    built = preferences(build_campaign, text, LENIENT)
    assert decisions(built) == [("s/x", "s/y", 1)]
    assert rejected(built) == {"preference has no match: ''; 'both bad'": 2}
    assert len(built.rows("lineage")) == 3


def test_an_outcome_that_is_none_without_a_map_is_rejected(build_campaign):
    text = "judge,segment,a,b,won\nw,s,x,y,a\nw,s,x,y,A\nw,s,x,y,draw\n"
    built = preferences(build_campaign, text, LENIENT, fields=PAIR | {"preference": "won"})
    assert decisions(built) == [("s/x", "s/y", 1)]
    assert sum(rejected(built).values()) == 2


def test_an_item_against_itself_is_rejected(build_campaign):
    text = "judge,segment,a,b,won\nw,s,x,x,left\nw,s,x,y,left\n"
    built = preferences(build_campaign, text, LENIENT)
    assert decisions(built) == [("s/x", "s/y", 1)]
    assert rejected(built) == {"item_a and item_b are the same": 1}


def test_ranks_of_pairs_say_who_is_better(build_campaign):
    text = "judge,segment,a,b,r1,r2,id\n" + "".join(
        f"w,s,x,y,{one},{two},{n}\n"
        for n, (one, two) in enumerate([(1, 2), (5, 2), (3, 3), (-1, 1), (1, -1), (1, -7), (0, 1)])
    )
    fields = PAIR | {"rank_a": "r1", "rank_b": "r2", "ranking": "id"}
    built = preferences(build_campaign, text, LENIENT, fields=fields)
    assert sorted(outcome for _, _, outcome in decisions(built)) == [-1, 0, 1, 1]
    assert rejected(built) == {
        "rank_a is -1: not ranked": 1, "rank_b is -1: not ranked": 1, "rank_b is negative: '-7'": 1,
    }  # fmt: skip
    assert {r["b_shown_first"] for r in built.rows("comparisons")} == {None}


def test_a_ranking_gives_all_its_pairs_under_one_number(build_campaign):
    rows = ["w,s,x,1,1,", "w,s,y,1,4,", "w,s,z,1,4,", "w,s,x,2,2,", "w,s,y,2,1,"]
    built = rankings(build_campaign, rows)
    found = built.rows("comparisons")
    first = next(r["ranking"] for r in found if r["item_b"] == "s/z")
    pairs = {
        (r["item_a"], r["item_b"], r["outcome"], r["ranking"] == first) for r in found
    }  # fmt: skip
    assert pairs == {
        ("s/x", "s/y", 1, True), ("s/x", "s/z", 1, True), ("s/y", "s/z", 0, True),
        ("s/x", "s/y", -1, False),
    }  # fmt: skip


def test_scores_rank_outputs_too_and_more_is_better(build_campaign):
    rows = ["w,s,x,1,,90", "w,s,y,1,,20", "w,s,z,1,,20"]
    fields = {k: v for k, v in RANKING.items() if k != "rank"} | {"score": "extra"}
    tasks = [{"name": "*", "kind": "ranking"}]
    built = rankings(build_campaign, rows, fields=fields, tasks=tasks)
    assert decisions(built) == [("s/x", "s/y", 1), ("s/x", "s/z", 1), ("s/y", "s/z", 0)]
    assert not built.rows("scores")


def test_outputs_at_one_position_are_one_output(build_campaign):
    rows = ["w,s,x,1,2,1", "w,s,y,1,2,1", "w,s,z,1,2,2"]
    built = rankings(build_campaign, rows, fields=RANKING | {"position": "extra"})
    same = {(r["item_a"], r["item_b"]): r["same_output"] for r in built.rows("comparisons")}
    assert same == {("s/x", "s/y"): True, ("s/x", "s/z"): False, ("s/y", "s/z"): False}


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
def test_ranks_that_are_none_are_rejected(build_campaign, rank, reason):
    rows = ["w,s,x,1,1,", "w,s,y,1,2,", f"w,s,z,1,{rank},"]
    built = rankings(build_campaign, rows, LENIENT)
    assert decisions(built) == [("s/x", "s/y", 1)]
    assert rejected(built) == {reason: 1}


def test_a_ranking_of_one_output_is_set_aside(build_campaign):
    built = rankings(build_campaign, ["w,s,x,1,1,", "w,s,y,1,2,", "w,t,x,2,1,"])
    (row,) = built.rows("set_aside")
    assert (row["item"], row["left_out_of"]) == ("t/x", "comparisons")
    assert row["reason"] == "the only ranked output of its ranking"
    (lineage,) = [r for r in built.rows("lineage") if r["item"] == "t/x"]
    assert lineage["judgment_id"] == row["judgment_id"]
    assert set(ranks(built)) == {"s/x", "s/y"}


def test_a_ranking_of_which_one_rank_is_left_is_set_aside(build_campaign):
    built = rankings(build_campaign, ["w,s,x,1,1,", "w,s,y,1,-1,", "w,s,z,1,-1,"], LENIENT)
    assert [row["item"] for row in built.rows("set_aside")] == ["s/x"]
    assert built.facts("break_into_comparisons")["without_comparisons"] == ["small"]


def test_without_ranking_and_hit_a_judge_ranks_a_segment_once(build_campaign):
    fields = {k: v for k, v in RANKING.items() if k != "ranking"}
    rows = ["w,s,x,,1,", "w,s,y,,2,", "v,s,x,,1,", "w,t,y,,1,"]
    tasks = [{"name": "*", "kind": "ranking"}]
    built = rankings(build_campaign, rows, fields=fields, tasks=tasks)
    assert decisions(built) == [("s/x", "s/y", 1)]
    assert [r["item"] for r in built.rows("set_aside")] == ["s/x", "t/y"]


def test_an_output_that_stands_twice_in_a_ranking_counts_with_its_mean(build_campaign):
    rows = ["w,s,x,1,1,", "w,s,x,1,4,", "w,s,y,1,2,"]
    built = rankings(build_campaign, rows)
    assert decisions(built) == [("s/x", "s/y", -1)]  # 2.5 against 2
    assert built.facts("break_into_comparisons")["repeated_outputs"] == ["s/x"]


def test_rankings_are_numbered_in_the_order_of_submission(build_campaign):
    fields = RANKING | {"submitted_at": "extra"}
    rows = [
        f"w,s{n},{system},r{n},{rank},2026-01-{day:02d}T00:00:00"
        for n, day in enumerate([3, 1, 2])
        for rank, system in enumerate("xy")
    ]
    built = rankings(build_campaign, rows, fields=fields)
    found = {r["ranking"]: r["segment"] for r in built.rows("comparisons")}
    assert [found[number] for number in sorted(found)] == ["s1", "s2", "s0"]


def test_neither_rows_nor_files_nor_threads_have_an_order(build_campaign):
    rng = random.Random(3)
    rows = [
        f"j{rng.randrange(4)},s{rng.randrange(6)},{a},{b},{rng.choice(('left', 'right', 'same'))}"
        for _ in range(200)
        for a, b in [rng.sample("vwxyz", 2)]
    ]
    head = "judge,segment,a,b,won\n"
    hashes = []
    for _ in range(2):
        text = "".join(f"{row}\n" for row in rows)
        built = build_campaign({"a.csv": head + text}, sources=source(PREFERENCE))
        hashes.append({k: v for k, v in built.hashes().items() if k != "lineage"})
        rng.shuffle(rows)
    assert hashes[0] == hashes[1]


def test_scores_of_a_ranking_are_compared_and_scored(build_campaign):
    rows = ["w,s,x,1,,90", "w,s,y,1,,20", "v,s,x,2,,50", "v,s,y,2,,50"]
    fields = {k: v for k, v in RANKING.items() if k != "rank"} | {"score": "extra"}
    built = rankings(build_campaign, rows, fields=fields)
    assert sorted(decisions(built)) == [("s/x", "s/y", 0), ("s/x", "s/y", 1)]
    scored = {row["item"]: row for row in built.rows("scores")}
    assert scored["s/x"]["n_comparisons"] == 2
    assert scored["s/x"]["raw_mean"] == 70


@pytest.mark.parametrize(("n_alone", "compared"), [(1, True), (5, False)])
def test_scored_hits_are_compared_where_half_of_their_judgments_can_be(
    build_campaign, n_alone, compared
):
    """Chance meetings in HITs of single outputs are no comparison."""
    rows = ["w,s,x,1,,90", "w,s,y,1,,20"]
    rows += [f"w,t{n},x,{n + 2},,50" for n in range(n_alone)]
    fields = {"judge": "judge", "segment": "segment", "system": "system", "hit": "ranking",
              "score": "extra"}  # fmt: skip
    built = rankings(build_campaign, rows, fields=fields)
    assert bool(built.rows("comparisons")) == compared


# --- ranks of segments ---------------------------------------------------------------------


def test_the_figure_of_the_paper(build_campaign):
    built = preferences(build_campaign, FIGURE_1)
    f = {name.removeprefix("s/"): value for name, value in ranks(built, "dominance").items()}
    assert f == {"LW": 4, "Google": 1, "Systran": 1, "Reference": 1, "Moses": -3, "Bing": -4}
    place = {name.removeprefix("s/"): value for name, value in ranks(built).items()}
    assert place == {"LW": 1, "Google": 2, "Systran": 2, "Reference": 2, "Moses": 3, "Bing": 4}
    component = ranks(built, "component")
    assert component["s/Google"] == component["s/Systran"]
    assert len(set(component.values())) == 5
    assert not any(ranks(built, "in_contradiction").values())
    assert set(ranks(built, "adequacy_source").values()) == {"unknown"}
    assert set(ranks(built, "harmonized_rank").values()) == {None}
    assert ranks(built, "n_comparisons")["s/Google"] == 3


def test_a_strict_chain_ranks_in_order(build_campaign):
    text = "judge,segment,a,b,won\nw,s,x,y,left\nw,s,y,z,left\n"
    assert ranks(preferences(build_campaign, text)) == {"s/x": 1, "s/y": 2, "s/z": 3}


def test_a_judge_who_contradicts_himself_is_in_contradiction(build_campaign):
    text = "judge,segment,a,b,won\nw,s,x,y,left\nw,s,x,y,right\nw,s,y,z,left\n"
    built = preferences(build_campaign, text)
    assert ranks(built, "in_contradiction") == {"s/x": True, "s/y": True, "s/z": False}
    assert ranks(built) == {"s/x": 1, "s/y": 1, "s/z": 2}


def test_a_cycle_is_one_vertex(build_campaign):
    text = "judge,segment,a,b,won\nw,s,x,y,left\nw,s,y,z,left\nw,s,z,x,left\nw,s,z,u,left\n"
    built = preferences(build_campaign, text)
    assert ranks(built) == {"s/x": 1, "s/y": 1, "s/z": 1, "s/u": 2}
    assert ranks(built, "dominance") == {"s/x": 1, "s/y": 1, "s/z": 1, "s/u": -3}
    graphs = built.facts("rank_segments")["segment_graphs"]["small"]
    assert graphs["outputs_in_contradiction"] == 3


MAJORITY = "judge,segment,a,b,won\n" + "u,s,x,y,left\nv,s,x,y,left\nw,s,x,y,right\nw,s,y,z,left\n"


def test_judges_are_pooled_by_the_majority_of_each_pair(build_campaign):
    built = preferences(build_campaign, MAJORITY)
    assert ranks(built, "dominance") == {"s/x": 2, "s/y": 0, "s/z": -2}
    assert not any(ranks(built, "in_contradiction").values())


def test_dominance_is_the_mean_over_the_graphs_of_single_judges(build_campaign):
    built = preferences(build_campaign, MAJORITY, "ranking.segment_graphs=judge")
    # u and v: x 1, y -1 each; w: y > x and y > z: y 2, x -1, z -1
    assert ranks(built, "dominance") == {"s/x": pytest.approx(1 / 3), "s/y": 0, "s/z": -1}
    assert ranks(built, "n_dominates") == {"s/x": 2, "s/y": 2, "s/z": 0}
    assert ranks(built) == {"s/x": 1, "s/y": 2, "s/z": 3}


def test_what_is_not_connected_is_ranked_apart(build_campaign):
    text = "judge,segment,a,b,won\nw,s,x,y,left\nw,s,u,v,right\nw,t,x,y,left\n"
    built = preferences(build_campaign, text)
    assert ranks(built) == {"s/x": 1, "s/y": 2, "s/v": 1, "s/u": 2, "t/x": 1, "t/y": 2}
    part = ranks(built, "part")
    assert part["s/x"] == part["s/y"] != part["s/u"] == part["s/v"]
    assert built.facts("rank_segments")["segment_graphs"]["small"]["segments_in_parts"] == 1


def test_without_segments_the_task_is_one(build_campaign):
    text = "judge,segment,a,b,won\nw,,x,y,left\nw,,y,z,left\n"
    fields = {k: v for k, v in PREFERENCE.items() if k != "segment"}
    built = preferences(build_campaign, text, fields=fields)
    rows = built.rows("segment_ranks")
    assert {row["segment"] for row in rows} == {"small"}
    assert {row["item"]: row["rank"] for row in rows} == {"x": 1, "y": 2, "z": 3}


def test_items_without_systems_and_segments_are_ranked_themselves(build_campaign):
    text = "judge,segment,a,b,won\nw,,x,y,left\n"
    fields = {"judge": "judge", "item_a": "a", "item_b": "b", "preference": WORDS}
    built = preferences(build_campaign, text, fields=fields)
    assert [(r["system_a"], r["system_b"]) for r in built.rows("comparisons")] == [("x", "y")]


def test_a_thousand_outputs_in_one_segment(build_campaign):
    rows = [f"w,s,m{n:04d},1,{n},6" for n in range(1000)]
    built = rankings(build_campaign, rows)
    assert len(built.rows("comparisons")) == 499_500
    found = ranks(built)
    assert [found[f"s/m{n:04d}"] for n in (0, 1, 999)] == [1, 2, 1000]
    assert ranks(built, "dominance")["s/m0000"] == 999


def test_more_outputs_than_fit_are_set_aside_with_the_reason(build_campaign):
    rows = [f"w,s,m{n:04d},1,{n},6" for n in range(1001)] + ["w,t,x,2,1,", "w,t,y,2,2,"]
    built = rankings(build_campaign, rows)
    assert len(built.rows("comparisons")) == 1
    reasons = {row["reason"] for row in built.rows("set_aside")}
    assert reasons == {"its ranking holds more than 1,000 outputs"}


# --- equal outputs, adequacy ---------------------------------------------------------------

ITEMS = {"path": "items.csv", "format": "csv",
         "fields": {"segment": "segment", "system": "system", "text": "text"}}  # fmt: skip


def with_items(tmp_path, text: str) -> list[dict[str, Any]]:
    (tmp_path / "campaign").mkdir(exist_ok=True)
    (tmp_path / "campaign" / "items.csv").write_text(text)
    return [ITEMS]


def test_outputs_that_differ_in_casing_only_are_equal_without_asking(build_campaign, tmp_path):
    text = "judge,segment,a,b,won\nw,s,x,y,left\n"
    items = with_items(
        tmp_path,
        "segment,system,text\ns,x,Yes.\ns,z,YES.\ns,y,no\ns,u,NO\ns,v,else\nt,a,b\nt,c,B\n",
    )
    built = preferences(build_campaign, text, items=items)
    assert ranks(built) == {"s/x": 1, "s/z": 1, "s/y": 2, "s/u": 2}
    assert ranks(built, "n_comparisons") == {"s/x": 1, "s/z": 0, "s/y": 1, "s/u": 0}
    assert not any(ranks(built, "in_contradiction").values())


ADEQUACY = [
    {"name": "pref", "kind": "pairwise", "references": ["Reference"],
     "adequacy": {"task": "good", "adequate": ["yes"]}},
    {"name": "good", "kind": "categorical", "labels": ["yes", "no"]},
]  # fmt: skip


def adequacy(build_campaign, answers: str, *sets):
    sources = [
        *source(PREFERENCE | {"task": {"value": "pref"}}, "exports/a.csv"),
        *source({"task": {"value": "good"}, "judge": "judge", "segment": "segment",
                 "system": "system", "label": "label"}, "exports/b.csv"),
    ]  # fmt: skip
    labels = "judge,segment,system,label\n" + answers
    return build_campaign({"a.csv": FIGURE_1, "b.csv": labels}, *sets, sources=sources,
                          tasks=ADEQUACY)  # fmt: skip


def test_adequacy_spreads_from_answers_and_references(build_campaign):
    """Section 3.2's example: LW is inadequate, so is all that it dominates."""
    built = adequacy(build_campaign, "w,s,LW,no\n")
    found = {
        row["system"]: (row["adequate"], row["adequacy_source"])
        for row in built.rows("segment_ranks")
    }
    spread = (False, "spread")
    assert found == {
        "LW": (False, "asked"), "Reference": (True, "reference"), "Google": spread,
        "Systran": spread, "Moses": spread, "Bing": spread,
    }  # fmt: skip
    # the reference goes first: its own rank was 2
    place = {row["system"]: row["harmonized_rank"] for row in built.rows("segment_ranks")}
    assert place == {"Reference": 1, "LW": 1, "Google": 2, "Systran": 2, "Moses": 3, "Bing": 4}
    effort = built.facts("rank_segments")["adequacy"]["pref"]
    assert {k: effort[k] for k in ("n_outputs", "n_vertices", "n_by_reference", "n_by_spread",
                                   "n_asked", "n_differ")} == {
        "n_outputs": 6, "n_vertices": 5, "n_by_reference": 1, "n_by_spread": 3, "n_asked": 1,
        "n_differ": 1,
    }  # fmt: skip


def test_adequacy_of_what_is_not_asked_yet_is_unknown(build_campaign):
    built = adequacy(build_campaign, "w,s,LW,yes\nw,s,Moses,no\n")
    found = {row["system"]: row["adequacy_source"] for row in built.rows("segment_ranks")}
    assert found == {"LW": "asked", "Moses": "asked", "Reference": "reference",
                     "Google": "unknown", "Systran": "unknown", "Bing": "unknown"}  # fmt: skip
    assert set(ranks(built, "harmonized_rank").values()) == {None}


def test_an_adequacy_task_without_labels_is_said(build_campaign):
    tasks = [ADEQUACY[0] | {"adequacy": {"task": "goood", "adequate": ["yes"]}, "name": "small"}]
    built = preferences(build_campaign, FIGURE_1, tasks=tasks)
    assert built.facts("rank_segments")["adequacy_without_labels"] == ["small: goood"]


def test_an_answer_counts_as_it_is_and_a_draw_is_none(build_campaign):
    """One answer an output is what questions of adequacy often get: no model may turn it."""
    text = "judge,segment,a,b,won\n" + "".join(f"w,s{n},x,y,left\n" for n in range(12))
    labels = "judge,segment,system,label\n" + "".join(
        f"j{n % 3},s{n},x,{'yes' if n % 3 else 'no'}\n" for n in range(12)
    )
    labels += "k,s1,x,no\n"
    sources = [
        *source(PREFERENCE | {"task": {"value": "pref"}}, "exports/a.csv"),
        *source({"task": {"value": "good"}, "judge": "judge", "segment": "segment",
                 "system": "system", "label": "label"}, "exports/b.csv"),
    ]  # fmt: skip
    built = build_campaign({"a.csv": text, "b.csv": labels}, sources=sources, tasks=ADEQUACY)
    found = {r["segment"]: r["adequate"] for r in built.rows("segment_ranks") if r["system"] == "x"}
    expected: dict[str, bool | None] = {f"s{n}": n % 3 > 0 for n in range(12)}
    assert found == expected | {"s1": None}


def test_a_trial_of_several_outputs_is_no_position_of_one(build_campaign):
    rows = ["w,s,x,1,1,7", "w,s,y,1,1,7", "w,s,z,1,2,7", "w,t,x,2,1,8", "w,t,y,2,1,8"]
    built = rankings(build_campaign, rows, fields=RANKING | {"position": "extra"})
    assert not any(r["same_output"] for r in built.rows("comparisons"))


def test_a_counter_that_never_differs_within_a_ranking_is_no_position(build_campaign):
    rows = ["w,s,x,1,1,7", "w,s,y,1,1,7", "w,t,x,2,3,8", "w,t,y,2,3,8"]
    built = rankings(build_campaign, rows, fields=RANKING | {"position": "extra"})
    assert [r["same_output"] for r in built.rows("comparisons")] == [False, False]


def test_a_judge_more_is_no_merit(build_campaign):
    text = "judge,segment,a,b,won\n" + "".join(
        f"w0,s,{a},{b},left\n" for a, b in zip("XbcdY", "bcdY", strict=False)
    )
    text += "".join(f"w{k},s,Y,e{k},left\n" for k in range(1, 10))
    built = preferences(build_campaign, text, "ranking.segment_graphs=judge")
    found = ranks(built, "dominance")
    assert found["s/X"] == 4
    assert found["s/Y"] == (-4 + 9 * 1) / 10
    assert ranks(built)["s/X"] == 1 < ranks(built)["s/Y"]
    assert sum(found.values()) != 0  # means, not sums


@pytest.mark.parametrize("graphs", ["pooled", "judge"])
def test_votes_for_equal_outputs_are_votes_for_one(build_campaign, tmp_path, graphs):
    text = "judge,segment,a,b,won\nv,s,A,X,left\nv,s,X,Y,left\nw,s,A,X,left\nw,s,A,B,left\n"
    items = with_items(tmp_path, "segment,system,text\ns,A,Hello\ns,B,hello\ns,X,x\ns,Y,y\n")
    built = preferences(build_campaign, text, f"ranking.segment_graphs={graphs}", items=items)
    found = {row["system"]: row for row in built.rows("segment_ranks")}
    for name in ("dominance", "rank", "component", "n_dominates"):
        assert found["A"][name] == found["B"][name], name
    assert found["A"]["rank"] == 1
    assert not found["A"]["in_contradiction"]
    assert (found["A"]["n_comparisons"], found["B"]["n_comparisons"]) == (3, 1)


def test_an_item_table_without_systems_leaves_those_of_the_records(build_campaign, tmp_path):
    text = "judge,segment,a,b,won\nw,s,A,B,left\nw,s,A,C,left\n"
    (tmp_path / "campaign").mkdir()
    (tmp_path / "campaign" / "items.csv").write_text("item,text\ns/B,hello\ns/C,Hello\n")
    listed = {"path": "items.csv", "format": "csv", "fields": {"item": "item", "text": "text"}}
    built = preferences(build_campaign, text, items=[listed])
    assert {r["item"]: r["system"] for r in built.rows("segment_ranks")} == {
        "s/A": "A", "s/B": "B", "s/C": "C",
    }  # fmt: skip


def test_what_lacks_a_system_is_set_aside_not_lost(build_campaign, tmp_path):
    items = with_items(tmp_path, "item,segment,system\nx,s,X\ny,s,Y\nz,s,\n")
    items = [items[0] | {"fields": {"item": "item", "segment": "segment", "system": "system"}}]
    text = "judge,segment,a,b,won\nw,,x,y,left\nw,,x,z,left\nw,,x,q,left\n"
    fields = {"judge": "judge", "item_a": "a", "item_b": "b", "preference": WORDS}
    built = preferences(build_campaign, text, fields=fields, items=items)
    assert {(r["item"], r["left_out_of"], r["reason"]) for r in built.rows("set_aside")} == {
        ("x | z", "system_rankings", "no system is named"),
        ("x | q", "system_rankings", "no system is named"),
        ("x | q", "segment_ranks", "no segment is named"),
    }  # fmt: skip
    assert built.facts("break_into_comparisons")["unplaced"] == 3


def test_a_score_does_not_stand_in_for_a_rank(build_campaign):
    rows = ["w,s,x,1,1,10", "w,s,y,1,,50", "w,s,z,1,3,20"]
    tasks = [{"name": "*", "kind": "ranking"}]
    built = rankings(build_campaign, rows, fields=RANKING | {"score": "extra"}, tasks=tasks)
    assert decisions(built) == [("s/x", "s/z", 1)]
    (row,) = built.rows("set_aside")
    assert (row["item"], row["reason"]) == ("s/y", "no rank, where others of the task have one")


@pytest.mark.parametrize("extra", ["ranking", "hit"])
def test_seconds_of_a_ranking_are_shared_by_its_outputs(build_campaign, extra):
    text = "judge,segment,system,id,rank,seconds\n" + "".join(
        f"w,s,{system},1,{rank},50\n" for rank, system in enumerate("abcde")
    )
    fields = {"judge": "judge", "segment": "segment", "system": "system", extra: "id",
              "rank": "rank", "seconds": "seconds"}  # fmt: skip
    tasks = [{"name": "*", "kind": "ranking"}]
    built = build_campaign({"a.csv": text}, sources=source(fields), tasks=tasks)
    assert [row["seconds_per_judgment"] for row in built.rows("judges")] == [10]
    times = {r["unit"]: r["mean"] for r in built.rows("comparison_times") if r["lengths"] == "all"}
    assert times["ranking"] == 50


def test_one_name_in_two_segments_is_answered_in_both(build_campaign):
    text = "judge,segment,a,b,won\nw,s,x,y,left\nw,t,x,y,left\n"
    labels = "judge,segment,system,label\nw,s,x,no\n"
    fields = {"judge": "judge", "segment": "segment", "item_a": "a", "item_b": "b",
              "preference": WORDS, "task": {"value": "pref"}}  # fmt: skip
    answers = {"task": {"value": "good"}, "judge": "judge", "item": "system", "label": "label"}
    sources = [*source(fields, "exports/a.csv"), *source(answers, "exports/b.csv")]
    built = build_campaign({"a.csv": text, "b.csv": labels}, sources=sources, tasks=ADEQUACY)
    assert [row["adequate"] for row in built.rows("segment_ranks")] == [False] * 4


def test_the_report_names_segments_in_which_a_judge_contradicts_himself(build_campaign):
    text = "judge,segment,a,b,won\nw,s1,x,y,left\nw,s1,x,y,right\nw,s2,x,y,left\n"
    built = preferences(build_campaign, text)
    report = (built.publication.release.folder / "report.html").read_text()
    section = report.partition("single judges contradict themselves")[2].partition("</section>")[0]
    table = section.partition("</table>")[0]
    assert ">s1</th>" in table
    assert ">s2</th>" not in table
