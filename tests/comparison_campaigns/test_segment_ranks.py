"""Ranks of segments through the pipeline: dominance, contradictions, parts, equal outputs."""

from __future__ import annotations

import pytest

from tests.comparison_campaigns.compared import (
    FIGURE_1,
    PREFERENCE,
    preferences,
    rankings,
    ranks,
    with_items,
)


def test_the_figure_of_the_paper(stage_campaign):
    built = preferences(stage_campaign, FIGURE_1)
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


@pytest.mark.slow
def test_a_strict_chain_ranks_in_order(stage_campaign):
    text = "judge,segment,a,b,won\nw,s,x,y,left\nw,s,y,z,left\n"
    assert ranks(preferences(stage_campaign, text)) == {"s/x": 1, "s/y": 2, "s/z": 3}


@pytest.mark.slow
def test_a_judge_who_contradicts_himself_is_in_contradiction(stage_campaign):
    text = "judge,segment,a,b,won\nw,s,x,y,left\nw,s,x,y,right\nw,s,y,z,left\n"
    built = preferences(stage_campaign, text)
    assert ranks(built, "in_contradiction") == {"s/x": True, "s/y": True, "s/z": False}
    assert ranks(built) == {"s/x": 1, "s/y": 1, "s/z": 2}


@pytest.mark.slow
def test_the_report_names_segments_in_which_a_judge_contradicts_himself(build_campaign):
    text = "judge,segment,a,b,won\nw,s1,x,y,left\nw,s1,x,y,right\nw,s2,x,y,left\n"
    built = preferences(build_campaign, text)
    report = (built.publication.release.folder / "report.html").read_text()
    section = report.partition("single judges contradict themselves")[2].partition("</section>")[0]
    table = section.partition("</table>")[0]
    assert ">s1</th>" in table
    assert ">s2</th>" not in table


@pytest.mark.slow
def test_a_cycle_is_one_vertex(stage_campaign):
    text = "judge,segment,a,b,won\nw,s,x,y,left\nw,s,y,z,left\nw,s,z,x,left\nw,s,z,u,left\n"
    built = preferences(stage_campaign, text)
    assert ranks(built) == {"s/x": 1, "s/y": 1, "s/z": 1, "s/u": 2}
    assert ranks(built, "dominance") == {"s/x": 1, "s/y": 1, "s/z": 1, "s/u": -3}
    graphs = built.metrics("rank_segments")["segment_graphs"]["small"]
    assert graphs["outputs_in_contradiction"] == 3


MAJORITY = "judge,segment,a,b,won\n" + "u,s,x,y,left\nv,s,x,y,left\nw,s,x,y,right\nw,s,y,z,left\n"


def test_judges_are_pooled_by_the_majority_of_each_pair(stage_campaign):
    built = preferences(stage_campaign, MAJORITY)
    assert ranks(built, "dominance") == {"s/x": 2, "s/y": 0, "s/z": -2}
    assert not any(ranks(built, "in_contradiction").values())


def test_dominance_is_the_mean_over_the_graphs_of_single_judges(stage_campaign):
    built = preferences(stage_campaign, MAJORITY, "ranking.segment_graphs=judge")
    # u and v: x 1, y -1 each; w: y > x and y > z: y 2, x -1, z -1
    assert ranks(built, "dominance") == {"s/x": pytest.approx(1 / 3), "s/y": 0, "s/z": -1}
    assert ranks(built, "n_dominates") == {"s/x": 2, "s/y": 2, "s/z": 0}
    assert ranks(built) == {"s/x": 1, "s/y": 2, "s/z": 3}


@pytest.mark.slow
def test_a_judge_more_is_no_merit(stage_campaign):
    text = "judge,segment,a,b,won\n" + "".join(
        f"w0,s,{a},{b},left\n" for a, b in zip("XbcdY", "bcdY", strict=False)
    )
    text += "".join(f"w{k},s,Y,e{k},left\n" for k in range(1, 10))
    built = preferences(stage_campaign, text, "ranking.segment_graphs=judge")
    actual = ranks(built, "dominance")
    assert actual["s/X"] == 4
    assert actual["s/Y"] == (-4 + 9 * 1) / 10
    assert ranks(built)["s/X"] == 1 < ranks(built)["s/Y"]
    assert sum(actual.values()) != 0  # means, not sums


@pytest.mark.slow
def test_what_is_not_connected_is_ranked_apart(stage_campaign):
    text = "judge,segment,a,b,won\nw,s,x,y,left\nw,s,u,v,right\nw,t,x,y,left\n"
    built = preferences(stage_campaign, text)
    assert ranks(built) == {"s/x": 1, "s/y": 2, "s/v": 1, "s/u": 2, "t/x": 1, "t/y": 2}
    part = ranks(built, "part")
    assert part["s/x"] == part["s/y"] != part["s/u"] == part["s/v"]
    assert built.metrics("rank_segments")["segment_graphs"]["small"]["segments_in_parts"] == 1


@pytest.mark.slow
def test_without_segments_the_task_is_one(stage_campaign):
    text = "judge,segment,a,b,won\nw,,x,y,left\nw,,y,z,left\n"
    fields = {k: v for k, v in PREFERENCE.items() if k != "segment"}
    built = preferences(stage_campaign, text, fields=fields)
    rows = built.rows("segment_ranks")
    assert {row["segment"] for row in rows} == {"small"}
    assert {row["item"]: row["rank"] for row in rows} == {"x": 1, "y": 2, "z": 3}


@pytest.mark.slow
def test_a_thousand_outputs_in_one_segment(stage_campaign):
    rows = [f"w,s,m{n:04d},1,{n},6" for n in range(1000)]
    built = rankings(stage_campaign, rows)
    assert len(built.rows("comparisons")) == 499_500
    actual = ranks(built)
    assert [actual[f"s/m{n:04d}"] for n in (0, 1, 999)] == [1, 2, 1000]
    assert ranks(built, "dominance")["s/m0000"] == 999


@pytest.mark.slow
def test_outputs_that_differ_in_casing_only_are_equal_without_asking(stage_campaign, tmp_path):
    text = "judge,segment,a,b,won\nw,s,x,y,left\n"
    items = with_items(
        tmp_path,
        "segment,system,text\ns,x,Yes.\ns,z,YES.\ns,y,no\ns,u,NO\ns,v,else\nt,a,b\nt,c,B\n",
    )
    built = preferences(stage_campaign, text, items=items)
    assert ranks(built) == {"s/x": 1, "s/z": 1, "s/y": 2, "s/u": 2}
    assert ranks(built, "n_comparisons") == {"s/x": 1, "s/z": 0, "s/y": 1, "s/u": 0}
    assert not any(ranks(built, "in_contradiction").values())


@pytest.mark.sampled
@pytest.mark.parametrize("graphs", ["pooled", "judge"])
def test_votes_for_equal_outputs_are_votes_for_one(stage_campaign, tmp_path, graphs):
    text = "judge,segment,a,b,won\nv,s,A,X,left\nv,s,X,Y,left\nw,s,A,X,left\nw,s,A,B,left\n"
    items = with_items(tmp_path, "segment,system,text\ns,A,Hello\ns,B,hello\ns,X,x\ns,Y,y\n")
    built = preferences(stage_campaign, text, f"ranking.segment_graphs={graphs}", items=items)
    actual = {row["system"]: row for row in built.rows("segment_ranks")}
    for name in ("dominance", "rank", "component", "n_dominates"):
        assert actual["A"][name] == actual["B"][name], name
    assert actual["A"]["rank"] == 1
    assert not actual["A"]["in_contradiction"]
    assert (actual["A"]["n_comparisons"], actual["B"]["n_comparisons"]) == (3, 1)


@pytest.mark.slow
def test_an_item_table_without_systems_leaves_those_of_the_records(stage_campaign, tmp_path):
    text = "judge,segment,a,b,won\nw,s,A,B,left\nw,s,A,C,left\n"
    (tmp_path / "campaign").mkdir()
    (tmp_path / "campaign" / "items.csv").write_text("item,text\ns/B,hello\ns/C,Hello\n")
    listed = {"path": "items.csv", "format": "csv", "fields": {"item": "item", "text": "text"}}
    built = preferences(stage_campaign, text, items=[listed])
    assert {r["item"]: r["system"] for r in built.rows("segment_ranks")} == {
        "s/A": "A", "s/B": "B", "s/C": "C",
    }  # fmt: skip
