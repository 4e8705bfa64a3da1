"""Tournaments: how many pairs, that they connect, and what is not asked."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from zlib import crc32

import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from annot_pipeline.methods.planning.tournament import n_comparisons
from annot_pipeline.stages.planning.plan_comparisons import even_parts
from tests.stages.planning.planned_comparisons import (
    answered,
    comparison,
    listed,
    planned,
    settings,
)

TOURNAMENT = settings("tournament")

BY_HAND = {1: 0, 2: 1, 3: 3, 4: 3, 5: 6, 6: 6, 7: 7, 8: 7, 9: 11, 10: 11, 11: 12, 12: 12}
"""f(n) = ceil(n/2) + f(ceil(n/2)); 6 for 5 and 6 is in the paper, section 3.1."""


def pairs(plan):
    return [frozenset((row["item"], row["item_b"])) for row in plan]


def worth(row):
    return crc32(row["item"].encode())


def n_parts(items, asked):
    """Parts of a graph, by another implementation's code."""
    place = {row["item"]: n for n, row in enumerate(items)}
    edges = [[place[item] for item in pair] for pair in asked]
    first, second = zip(*edges, strict=True) if edges else ((), ())
    graph = coo_array(([1] * len(edges), (first, second)), (len(items), len(items)))
    return connected_components(graph.tocsr(), directed=False)[0]


@pytest.mark.parametrize("n", range(2, 13))
def test_from_scratch_so_many_pairs_connect_n_outputs(n):
    items = listed([n])
    plan, metrics = planned(items, campaign=TOURNAMENT)
    asked = pairs(plan)
    assert len(asked) == BY_HAND[n]
    assert len(set(asked)) == len(asked), "no pair twice, for others are left"
    assert all(len(pair) == 2 for pair in asked)
    assert n_parts(items, asked) == 1
    assert metrics.hits == {"mt": 1}
    assert {row["role"] for row in plan} == {"bracket"}
    assert [row["slot"] for row in plan] == list(range(1, len(plan) + 1))


def test_a_slot_shows_both_texts_their_systems_and_the_source():
    items = listed([4])
    known = {row["item"]: row for row in items}
    for slot in planned(items, campaign=TOURNAMENT)[0]:
        a, b = known[slot["item"]], known[slot["item_b"]]
        assert (slot["text"], slot["system"]) == (a["text"], a["system"])
        assert (slot["text_b"], slot["system_b"]) == (b["text"], b["system"])
        assert (slot["segment"], slot["source"]) == ("s0000", "source 0")
        assert (slot["control"], slot["probability"], slot["easl_alpha"]) == ("none", None, None)


def test_which_output_stands_first_is_chance():
    plan, _ = planned(listed([2] * 400), campaign=TOURNAMENT)
    in_order = sum(row["item"] < row["item_b"] for row in plan)
    assert 150 < in_order < 250


@pytest.mark.parametrize("seed", range(6))
def test_a_bracket_goes_on_from_what_is_answered(seed):
    items = listed([6])
    chosen = settings("tournament").model_copy(update={"seed": seed})
    whole, _ = planned(items, campaign=chosen)
    for n_back in range(1, 6):
        back = answered(whole[:n_back], items, worth)
        plan, _ = planned(items, back, campaign=chosen)
        before = [frozenset((row["item_a"], row["item_b"])) for row in back]
        sets = n_parts(items, before)
        assert not set(pairs(plan)) & set(before), "nothing is asked twice"
        if sets > 1:
            assert {row["role"] for row in plan} == {"bracket"}
            assert len(plan) == n_comparisons(sets)
        assert n_parts(items, [*before, *pairs(plan)]) == 1


def test_what_a_judge_said_who_failed_is_asked_again():
    items = listed([2])
    kept = comparison(items[0], items[1], 1)
    assert planned(items, [kept], campaign=TOURNAMENT)[0] == []
    plan, _ = planned(items, [kept | {"kept": False}], campaign=TOURNAMENT)
    assert pairs(plan) == [frozenset(("s0000/x0000", "s0000/x0001"))]


def test_outputs_equal_but_for_case_are_asked_about_once():
    items = listed([6])
    for row, text in zip(items, ("Das Haus.", "das haus. ", "DAS HAUS.", "", None, " "),
                         strict=True):  # fmt: skip
        row["text"] = text
    items += [row | {"item": f"{row['item']}b", "text": "Haus"} for row in items[:1]]
    plan, metrics = planned(items, campaign=TOURNAMENT)
    assert pairs(plan) == [frozenset(("s0000/x0000", "s0000/x0000b"))]
    assert metrics.notes == [
        "mt: 3 outputs without a text are left out; list them, with text, under items",
        "mt: 2 outputs are equal to another of their segment except in case: ties, and not asked "
        "about",
    ]


def test_equal_outputs_of_two_segments_are_no_ties():
    items = listed([2, 2], text=None)
    for row in items:
        row["text"] = row["system"]
    assert len(planned(items, campaign=TOURNAMENT)[0]) == 2


def test_an_answer_about_an_equal_output_counts_for_both():
    items = listed([3])
    items[1]["text"] = items[0]["text"].upper()
    for compared in items[:2]:
        plan, metrics = planned(items, [comparison(compared, items[2], 1)], campaign=TOURNAMENT)
        assert plan == []
        assert metrics.unplanned == {"mt": "all 1 segments are connected: nothing is left to ask"}


def test_one_output_of_two_systems_is_not_asked_about():
    items = listed([3])
    same = comparison(items[0], items[1], 0, same_output=True)
    plan, _ = planned(items, [same], campaign=TOURNAMENT)
    assert len(plan) == 1
    assert items[2]["item"] in (plan[0]["item"], plan[0]["item_b"])


# --- the one comparison more ---------------------------------------------------------------


def figure_1():
    """Figure 1 of the paper: the reference was only held against the worst translation."""
    items = listed([6])
    lw, google, systran, moses, bing, reference = items
    said = [
        comparison(lw, google, 1), comparison(google, systran, 0), comparison(systran, moses, 1),
        comparison(google, bing, 1), comparison(reference, bing, 1),
    ]  # fmt: skip
    return items, said


def test_the_isolated_best_are_compared_as_section_45_says():
    items, said = figure_1()
    plan, metrics = planned(items, said, campaign=TOURNAMENT)
    assert pairs(plan) == [frozenset((items[0]["item"], items[5]["item"]))]
    assert plan[0]["role"] == "top_pair"
    assert metrics.hits == {"mt": 1}
    for outcome in (1, 0, -1):
        more = [*said, comparison(items[0], items[5], outcome)]
        assert planned(items, more, campaign=TOURNAMENT)[0] == []


def test_after_a_bracket_the_best_are_compared_once_and_not_again():
    """Three pairs of four outputs can leave two best; with eight, one more may leave others."""
    extra = 0
    for seed in range(8):
        chosen = settings("tournament").model_copy(update={"seed": seed})
        items = listed([8] * 5)
        said = []
        nights = []
        for _ in range(4):
            plan, _ = planned(items, said, campaign=chosen)
            said += answered(plan, items, worth)
            nights.append(Counter((row["segment"], row["role"]) for row in plan))
        assert set(nights[0].values()) == {7}
        assert set(nights[1].values()) <= {1}
        assert {role for _, role in nights[1]} <= {"top_pair"}
        assert nights[2] == nights[3] == {}
        extra += len(nights[1])
    assert extra > 10, "else nothing was tested"


# --- which segments ------------------------------------------------------------------------


def test_segments_with_the_fewest_comparisons_come_first():
    items = listed([4, 4, 4])
    of = {segment: [r for r in items if r["segment"] == segment] for segment in
          ("s0000", "s0001", "s0002")}  # fmt: skip
    said = [comparison(*of["s0000"][:2], 1), comparison(*of["s0000"][2:], 1),
            comparison(*of["s0001"][:2], 1)]  # fmt: skip
    plan, _ = planned(items, said, campaign=TOURNAMENT)
    assert list(dict.fromkeys(row["segment"] for row in plan)) == ["s0002", "s0001", "s0000"]
    plan, metrics = planned(items, said, campaign=settings("tournament", segments=2))
    assert list(dict.fromkeys(row["segment"] for row in plan)) == ["s0002", "s0001"]
    assert metrics.notes == ["mt: 1 of 3 segments wait for the next batch; next_hits.segments is 2"]


def test_comparisons_of_equal_outputs_count_once():
    items = listed([4, 4])
    items[1]["text"] = items[0]["text"].upper()
    a, equal, b, _, *others = items
    said = [comparison(a, b, 1), comparison(equal, b, 1), comparison(a, equal, 0),
            comparison(others[0], others[1], 1), comparison(others[1], others[2], 1)]  # fmt: skip
    plan, _ = planned(items, said, campaign=TOURNAMENT)
    assert [row["segment"] for row in plan] == ["s0000", "s0001"]


def test_a_cap_takes_segments_at_random():
    plan, _ = planned(listed([2] * 100), campaign=settings("tournament", segments=50))
    low = sum(row["segment"] < "s0050" for row in plan)
    assert len(plan) == 50
    assert 10 < low < 40


def test_a_hit_is_a_segment_and_large_ones_are_split_evenly():
    items = listed([3, 22, 5])
    plan, metrics = planned(items, campaign=settings("tournament", hit_size=10))
    hits = {}
    for row in plan:
        hits.setdefault(row["hit"], set()).add(row["segment"])
    assert all(len(segments) == 1 for segments in hits.values())
    sizes = Counter(row["hit"] for row in plan)
    by_segment = {}
    for hit, (segment,) in hits.items():
        by_segment.setdefault(segment, []).append(sizes[hit])
    n = n_comparisons(22)
    assert n == 23
    assert by_segment == {"s0000": [3], "s0001": [8, 8, 7], "s0002": [6]}
    assert metrics.hits == {"mt": 5}


@pytest.mark.parametrize(
    ("n", "most", "sizes"),
    [(1, 1, [1]), (20, 20, [20]), (21, 20, [11, 10]), (7, 3, [3, 2, 2]), (3, 1, [1, 1, 1])],
)
def test_even_parts(n, most, sizes):
    assert even_parts(n, most) == sizes


def test_a_thousand_outputs_of_one_segment_fit_into_hits():
    plan, metrics = planned(listed([1000]), campaign=TOURNAMENT)
    assert len(plan) == n_comparisons(1000) == 500 + 250 + 125 + 63 + 32 + 16 + 8 + 4 + 2 + 1
    assert n_parts(listed([1000]), pairs(plan)) == 1
    assert max(Counter(row["hit"] for row in plan).values()) <= 20
    assert metrics.hits == {"mt": 51}


def test_segments_of_one_output_and_tasks_without_segments():
    plan, metrics = planned(listed([1, 2]), campaign=TOURNAMENT)
    assert len(plan) == 1
    assert metrics.notes == ["mt: 1 of 2 segments have fewer than two outputs to compare"]
    plan, metrics = planned(listed([3, 2], segment=None), campaign=TOURNAMENT)
    assert len(plan) == BY_HAND[5]
    assert metrics.notes == ["mt: no segment is mapped: all its outputs are treated as one segment"]
    items = [*listed([2]), {"item": "y", "text": "y"}]
    plan, metrics = planned(items, campaign=TOURNAMENT)
    assert len(plan) == 1
    assert metrics.notes == [
        "mt: 1 outputs without a segment are left out, because others have one"
    ]
    plan, metrics = planned(listed([1]), campaign=TOURNAMENT)
    assert metrics.unplanned == {
        "mt": "no segment has two outputs to compare; list more under items"
    }


def test_names_are_shown_where_no_output_has_a_text():
    plan, metrics = planned(listed([2], text=None), campaign=TOURNAMENT)
    assert [(row["text"], row["text_b"]) for row in plan] == [(None, None)]
    assert metrics.notes == [
        "mt: no output has a text: judges see its name, which may reveal the system; map text "
        "under items"
    ]


def test_an_output_without_a_text_connects_others_but_is_not_asked_about():
    items = listed([4])
    items[1]["text"] = None
    said = [comparison(items[0], items[1], 1), comparison(items[1], items[2], 1)]
    plan, _ = planned(items, said, campaign=TOURNAMENT)
    assert len(plan) == 1, "0 and 2 are connected by 1; 3 is left"
    assert items[3]["item"] in (plan[0]["item"], plan[0]["item_b"])
    assert items[1]["item"] not in (plan[0]["item"], plan[0]["item_b"])


# --- which tasks ---------------------------------------------------------------------------


def test_tasks_are_planned_by_their_kind_judged_or_only_listed():
    kinds = {"r": "ranking", "p": "pairwise", "s": "scalar", "c": "categorical"}
    tasks = [{"name": name, "kind": kind} for name, kind in kinds.items()]
    items = [row for name in (*kinds, "unknown") for row in listed([2], task=name)]
    plan, metrics = planned(items, campaign=settings("tournament", tasks))
    assert [row["task"] for row in plan] == ["p", "r"]
    assert metrics.unplanned == {}
    guessed = [{"task": "unknown", "kind": "ranking", "guessed": True}]
    plan, _ = planned(items, campaign=settings("tournament", tasks), tasks=guessed)
    assert [row["task"] for row in plan] == ["p", "r", "unknown"]


def test_items_of_no_task_are_said():
    items = [*listed([2], task="p"), *listed([2], task="r"), {"item": "z", "text": "z"}]
    tasks = [{"name": "*", "kind": "pairwise"}]
    _, metrics = planned(items, campaign=settings("tournament", tasks))
    assert metrics.notes == [
        "listed items left out, because there are several tasks and their table does not map "
        "task: 1"
    ]


# --- the same plan, and another ------------------------------------------------------------


def test_the_same_whatever_the_order_of_rows():
    items = listed([5, 6, 7])
    said = [comparison(*pair, n % 3 - 1) for n, pair in enumerate(combinations(items[:4], 2))]
    plan, metrics = planned(items, said, campaign=TOURNAMENT)
    turned = planned(items[::-1], said[::-1], campaign=TOURNAMENT)
    assert turned == (plan, metrics)


def test_state_and_hits_are_new_as_soon_as_a_comparison_counts():
    items = listed([6, 6])
    said = [comparison(items[0], items[1], 1)]
    states, hits = [], []
    for rows in (
        [],
        said,
        [said[0] | {"outcome": -1}],
        [said[0] | {"outcome": 0}],
        said * 2,
        [*said, comparison(items[0], items[2], 1)],
    ):
        plan, _ = planned(items, rows, campaign=TOURNAMENT)
        states.append({row["state"] for row in plan})
        hits.append({row["hit"] for row in plan})
    assert all(len(state) == 1 for state in states)
    assert len(set.union(*states)) == len(states)
    assert sum(map(len, hits)) == len(set.union(*hits))
    unkept = [said[0] | {"kept": False}]
    none = planned(items, campaign=TOURNAMENT, tasks=[{"task": "mt", "kind": "pairwise"}])
    assert planned(items, unkept, campaign=TOURNAMENT) == none, "what does not count changes none"


def test_another_seed_asks_other_pairs():
    items = listed([6] * 5)
    other = TOURNAMENT.model_copy(update={"seed": 18})
    first, second = (planned(items, campaign=campaign)[0] for campaign in (TOURNAMENT, other))
    assert set(pairs(first)) != set(pairs(second))


@pytest.mark.slow
def test_thousands_of_segments():
    items = listed([6] * 3000)
    plan, metrics = planned(items, campaign=TOURNAMENT)
    assert len(plan) == 3000 * 6
    assert metrics.hits == {"mt": 3000}
    assert n_parts(items, pairs(plan)) == 3000
