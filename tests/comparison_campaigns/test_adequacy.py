"""Adequacy through the pipeline: asked, of references, spread over the graph."""

from __future__ import annotations

import pytest

from tests.comparison_campaigns.compared import (
    FIGURE_1,
    PREFERENCE,
    WORDS,
    preferences,
    ranks,
    source,
)

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


def test_adequacy_spreads_from_answers_and_references(stage_campaign):
    """Section 3.2's example: LW is inadequate, so is all that it dominates."""
    built = adequacy(stage_campaign, "w,s,LW,no\n")
    actual = {
        row["system"]: (row["adequate"], row["adequacy_source"])
        for row in built.rows("segment_ranks")
    }
    spread = (False, "spread")
    assert actual == {
        "LW": (False, "asked"), "Reference": (True, "reference"), "Google": spread,
        "Systran": spread, "Moses": spread, "Bing": spread,
    }  # fmt: skip
    # the reference goes first: its own rank was 2
    place = {row["system"]: row["harmonized_rank"] for row in built.rows("segment_ranks")}
    assert place == {"Reference": 1, "LW": 1, "Google": 2, "Systran": 2, "Moses": 3, "Bing": 4}
    effort = built.metrics("rank_segments")["adequacy"]["pref"]
    assert {k: effort[k] for k in ("n_outputs", "n_vertices", "n_by_reference", "n_by_spread",
                                   "n_asked", "n_differ")} == {
        "n_outputs": 6, "n_vertices": 5, "n_by_reference": 1, "n_by_spread": 3, "n_asked": 1,
        "n_differ": 1,
    }  # fmt: skip


@pytest.mark.slow
def test_adequacy_of_what_is_not_asked_yet_is_unknown(stage_campaign):
    built = adequacy(stage_campaign, "w,s,LW,yes\nw,s,Moses,no\n")
    actual = {row["system"]: row["adequacy_source"] for row in built.rows("segment_ranks")}
    assert actual == {"LW": "asked", "Moses": "asked", "Reference": "reference",
                     "Google": "unknown", "Systran": "unknown", "Bing": "unknown"}  # fmt: skip
    assert set(ranks(built, "harmonized_rank").values()) == {None}


def test_an_adequacy_task_without_labels_is_said(stage_campaign):
    tasks = [ADEQUACY[0] | {"adequacy": {"task": "goood", "adequate": ["yes"]}, "name": "small"}]
    built = preferences(stage_campaign, FIGURE_1, tasks=tasks)
    assert built.metrics("rank_segments")["adequacy_without_labels"] == {"small": "goood"}


def test_an_answer_counts_as_it_is_and_a_draw_is_none(stage_campaign):
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
    built = stage_campaign({"a.csv": text, "b.csv": labels}, sources=sources, tasks=ADEQUACY)
    actual = {
        r["segment"]: r["adequate"] for r in built.rows("segment_ranks") if r["system"] == "x"
    }
    expected: dict[str, bool | None] = {f"s{n}": n % 3 > 0 for n in range(12)}
    assert actual == expected | {"s1": None}


@pytest.mark.slow
def test_one_name_in_two_segments_is_answered_in_both(stage_campaign):
    text = "judge,segment,a,b,won\nw,s,x,y,left\nw,t,x,y,left\n"
    labels = "judge,segment,system,label\nw,s,x,no\n"
    fields = {"judge": "judge", "segment": "segment", "item_a": "a", "item_b": "b",
              "preference": WORDS, "task": {"value": "pref"}}  # fmt: skip
    answers = {"task": {"value": "good"}, "judge": "judge", "item": "system", "label": "label"}
    sources = [*source(fields, "exports/a.csv"), *source(answers, "exports/b.csv")]
    built = stage_campaign({"a.csv": text, "b.csv": labels}, sources=sources, tasks=ADEQUACY)
    assert [row["adequate"] for row in built.rows("segment_ranks")] == [False] * 4
