"""Questions of adequacy: which are asked, in which order, and how many answers it takes."""

from __future__ import annotations

from collections import Counter
from zlib import crc32

import pytest

from tests.stages.planning.planned_comparisons import (
    answered,
    comparison,
    listed,
    planned,
    settings,
)

GOOD = {"name": "good", "kind": "categorical", "labels": ["yes", "fair", "no"]}
MT = {
    "name": "mt",
    "kind": "pairwise",
    "references": ["x0005"],
    "adequacy": {"task": "good", "adequate": ["yes", "fair"]},
}
ADEQUACY = settings("adequacy", [MT, GOOD])
TASKS = [{"task": "mt", "kind": "pairwise"}]


def label(item, answer, task="good"):
    return {"task": task, "item": item, "label": answer}


def asked(plan):
    return [int(row["item"][-1]) for row in plan]


def figure_1():
    """Figure 1 of the paper: 0 LW, 1 Google, 2 Systran, 3 Moses, 4 Bing, 5 Reference."""
    items = listed([6])
    lw, google, systran, moses, bing, reference = items
    said = [
        comparison(lw, google, 1), comparison(google, systran, 0), comparison(systran, moses, 1),
        comparison(google, bing, 1), comparison(reference, bing, 1),
    ]  # fmt: skip
    return items, said


def test_the_most_dominant_is_asked_first_and_an_inadequate_one_settles_all_below():
    items, said = figure_1()
    plan, metrics = planned(items, said, campaign=ADEQUACY)
    assert asked(plan) == [0], "LW; what it dominates may follow from its answer"
    assert metrics.adequacy == {
        "good": {"asked": 1, "answered": 0, "by_reference": 1, "by_spread": 0, "left": 4}
    }
    assert plan[0]["task"] == "good"
    assert (plan[0]["text"], plan[0]["source"], plan[0]["role"]) == (
        "text 0 of 0", "source 0", "adequacy",
    )  # fmt: skip
    assert plan[0]["item_b"] is None
    plan, metrics = planned(items, said, [label(items[0]["item"], "no")], campaign=ADEQUACY)
    assert plan == [], "section 3.2: Google, Systran, Moses, Bing are inadequate"
    assert metrics.unplanned == {
        "good": "all 6 outputs compared have a label: 1 answered, 5 inferred"
    }


def test_of_an_adequate_one_nothing_follows_for_those_below():
    items, said = figure_1()
    labels = [label(items[0]["item"], "fair")]
    plan, metrics = planned(items, said, labels, campaign=ADEQUACY)
    assert asked(plan) == [1], "Google, which ties with Systran: one question"
    assert metrics.notes == [
        "good: 1 outputs are asked about; 1 are answered, 1 adequate by a reference, 0 labelled by "
        "what dominates or ties with them, 3 left"
    ]
    labels.append(label(items[1]["item"], "yes"))
    assert asked(planned(items, said, labels, campaign=ADEQUACY)[0]) == [3, 4]


@pytest.mark.parametrize("references", [["x0005"], [], ["x0001", "x0003"]])
def test_night_after_night_all_get_the_labels_of_one_who_knows(references):
    """By hand: the greedy order of the paper, one question at a time, asks the same outputs."""
    items = listed([6] * 30)
    mt = MT | {"references": references}
    said = []
    for _ in range(2):
        plan, _ = planned(items, said, campaign=settings("tournament", [mt]))
        said += answered(plan, items, worth)
    known = {row["item"]: row for row in items}
    truth = {row["item"]: "no" if worth(row) < 60 else "yes" for row in items}
    labels = []
    for _ in range(8):
        plan, metrics = planned(items, said, labels, campaign=settings("adequacy", [mt, GOOD]))
        if not plan:
            break
        labels += [label(row["item"], truth[row["item"]]) for row in plan]
    assert metrics.unplanned["good"].startswith("all 180 outputs compared have a label")
    answers = {row["item"] for row in labels}
    assert len(answers) == len(labels), "nothing is asked twice"
    assert answers == greedy(items, said, references, truth)
    assert len(labels) < len(items)
    assert not {known[item]["system"] for item in answers} & set(references)


def worth(row):
    """No two outputs of a segment are worth the same: without ties, dominance is plain."""
    return crc32(row["item"].encode()) % 100 + int(row["item"][-1]) / 10


def greedy(items, said, references, truth):
    """Section 3.2, segment by segment, with sets and loops. Comparisons have no cycles."""
    below = {row["item"]: set() for row in items}
    for row in said:
        winner, loser = row["item_a"], row["item_b"]
        if row["outcome"] < 0:
            winner, loser = loser, winner
        below[winner].add(loser)
    for _ in range(6):
        for of in below.values():
            of |= {further for item in of for further in below[item]}
    is_reference = {row["item"]: row["system"] in references for row in items}
    labelled = {
        item for item, of in below.items() if is_reference[item] or any(map(is_reference.get, of))
    }
    actual = set()
    for item in sorted(below, key=lambda item: -len(below[item])):
        if item not in labelled:
            actual.add(item)
            labelled.add(item)
            if truth[item] == "no":
                labelled |= below[item]
    return actual


@pytest.mark.parametrize(
    ("answers", "next_", "answered"),
    [
        ([("no", 1)], [], 1),
        ([("no", 2), ("yes", 1)], [], 1),
        ([("no", 1), ("yes", 1)], [0], 0),
        ([("no", 2), ("yes", 1), ("fair", 1)], [0], 0),
        ([("no", 2), ("yes", 1), ("fair", 2)], [1], 1),
        ([("no", 0), ("yes", 0)], [0], 0),
    ],
)
def test_the_majority_of_votes_counts_and_a_draw_is_asked_again(answers, next_, answered):
    """yes and fair both say adequate; Dawid-Skene has no say."""
    items, said = figure_1()
    votes = [label(items[0]["item"], answer) | {"votes": n} for answer, n in answers]
    plan, metrics = planned(items, said, votes, campaign=ADEQUACY)
    assert asked(plan) == next_
    assert metrics.done == ([] if next_ else ["good"])
    if next_:
        assert metrics.adequacy["good"]["answered"] == answered
    first, _ = planned(items, said, campaign=ADEQUACY)
    if [row["item"] for row in plan] == [row["item"] for row in first] and any(
        n for _, n in answers
    ):
        assert plan[0]["hit"] != first[0]["hit"], "another HIT, or answers could not be told apart"


def test_an_answer_is_about_the_item_wherever_it_stands():
    """Two segments that share the name of an item."""
    items = listed([2, 2])
    items[2]["item"] = items[0]["item"]
    said = [comparison(items[0], items[1], 1), comparison(items[2], items[3], 1)]
    _, metrics = planned(items[:2], said, [label(items[0]["item"], "no")], campaign=ADEQUACY)
    assert metrics.unplanned == {
        "good": "all 4 outputs compared have a label: 2 answered, 2 inferred"
    }


def test_hits_are_segments_those_that_may_settle_most_first():
    items = listed([3, 5, 4])
    said = []
    for segment in ("s0000", "s0001", "s0002"):
        of = [row for row in items if row["segment"] == segment]
        said += [comparison(of[0], other, 1) for other in of[1:]]
    more = listed([2])
    for row in more:
        row["segment"], row["item"] = "s0001", row["item"].replace("s0000/x", "s0001/y")
    said.append(comparison(more[0], more[1], 1))
    mt = MT | {"references": []}
    plan, _ = planned([*items, *more], said, campaign=settings("adequacy", [mt, GOOD]))
    assert [row["item"] for row in plan] == [
        "s0001/x0000", "s0001/y0000", "s0002/x0000", "s0000/x0000",
    ]  # fmt: skip
    assert list(Counter(row["hit"] for row in plan).values()) == [2, 1, 1]
    assert [row["slot"] for row in plan] == [1, 2, 1, 1]
    chosen = settings("adequacy", [mt, GOOD], segments=2, hit_size=1)
    plan, metrics = planned([*items, *more], said, campaign=chosen)
    assert [row["segment"] for row in plan] == ["s0001", "s0001", "s0002"]
    assert metrics.hits == {"good": 3}
    assert metrics.notes[0] == (
        "good: 1 of 3 segments wait for the next batch; next_hits.segments is 2"
    )
    assert metrics.adequacy["good"] == {
        "asked": 3, "answered": 0, "by_reference": 0, "by_spread": 0, "left": 11,
    }  # fmt: skip


def test_of_a_tie_the_output_with_a_text_is_shown():
    items = listed([3])
    items[0]["text"] = None
    said = [comparison(items[0], items[1], 0), comparison(items[1], items[2], 1)]
    plan, _ = planned(items, said, campaign=ADEQUACY)
    assert asked(plan) == [1]
    items[1]["text"], items[2]["text"] = " ", "a text"
    _, metrics = planned(items, said, campaign=ADEQUACY)
    assert metrics.unplanned == {"good": "3 outputs are without a label, but have no text to show"}


def test_what_is_not_compared_is_left_out_and_said():
    items = listed([2, 3])
    said = [comparison(items[0], items[1], 1)]
    plan, metrics = planned(items, said, campaign=ADEQUACY)
    assert asked(plan) == [0]
    assert metrics.notes[0] == (
        "good: 3 outputs of mt have no comparison yet and are left out; next_hits.design: "
        "tournament asks for them"
    )
    _, metrics = planned(items, campaign=ADEQUACY)
    assert metrics.unplanned == {
        "good": "no output is compared yet; next_hits.design: tournament asks for comparisons"
    }
    assert metrics.done == []


def test_what_nothing_can_compare_is_not_promised_to_be_asked():
    """Without a text, alone, alone but for an equal one: tournaments ask for none of them."""
    items = listed([3, 1, 2, 2, 2])
    items[2]["text"] = None
    items[5]["text"] = items[4]["text"].upper()
    items[7]["text"] = " "
    said = [comparison(items[0], items[1], 1)]
    _, metrics = planned(items, said, campaign=ADEQUACY)
    left_out = [note for note in metrics.notes if "comparison" in note]
    assert left_out == [
        "good: 2 outputs of mt have no comparison yet and are left out; next_hits.design: "
        "tournament asks for them",
        "good: 2 outputs of mt without a text have no comparison and are left out",
        "good: 4 outputs of mt without another output in their segment to compare with have no "
        "comparison and are left out",
    ]
    plan, _ = planned(items, said, campaign=settings("tournament", [MT]))
    assert {row["segment"] for row in plan} == {"s0004"}, "as the notes say"


def test_an_output_equal_to_a_reference_but_for_case_is_adequate():
    items = listed([6])
    items[0]["text"] = items[5]["text"].upper()
    said = [comparison(items[5], items[1], 1), comparison(items[1], items[2], 1)]
    plan, metrics = planned(items, said, campaign=ADEQUACY)
    assert asked(plan) == [1]
    assert metrics.adequacy["good"]["by_reference"] == 2


def test_comparisons_of_equal_outputs_are_pooled_as_segment_ranks_does():
    """0 and 1 are equal: 2 wins once, they win twice, so 2 is below, and asked last."""
    items = listed([3])
    items[1]["text"] = items[0]["text"].upper()
    said = [
        comparison(items[0], items[2], 1), comparison(items[0], items[2], 1),
        comparison(items[1], items[2], -1), comparison(items[0], items[1], -1),
    ]  # fmt: skip
    votes = [label(items[0]["item"], "yes")]
    plan, metrics = planned(items, said, votes, campaign=ADEQUACY)
    assert asked(plan) == [2]
    assert metrics.adequacy["good"] == {
        "asked": 1, "answered": 1, "by_reference": 0, "by_spread": 1, "left": 0,
    }  # fmt: skip


def test_scored_outputs_that_were_compared_can_be_labelled():
    items = listed([3])
    said = [comparison(items[0], items[1], 1), comparison(items[1], items[2], 1)]
    tasks = [MT | {"kind": "scalar"}, GOOD]
    known = [{"task": "mt", "kind": "scalar"}]
    plan, _ = planned(items, said, campaign=settings("adequacy", tasks), tasks=known)
    assert asked(plan) == [0]


# --- tasks ---------------------------------------------------------------------------------


def test_two_tasks_that_one_task_labels():
    items = [*listed([2], task="p"), *listed([2, 2], task="q")]
    said = [
        comparison(items[0], items[1], 1, task="p"), comparison(items[3], items[2], 1, task="q"),
        comparison(items[4], items[5], 1, task="q"),
    ]  # fmt: skip
    both = [
        {"name": "p", "kind": "pairwise", "adequacy": {"task": "good", "adequate": ["yes"]}},
        {"name": "q", "kind": "pairwise", "adequacy": {"task": "good", "adequate": ["fair"]}},
    ]
    known = [{"task": name, "kind": "pairwise"} for name in "pq"]
    campaign = settings("adequacy", [*both, GOOD])
    plan, metrics = planned(items, said, campaign=campaign, tasks=known)
    assert [row["item"] for row in plan] == ["s0000/x0000", "s0000/x0001", "s0001/x0000"]
    assert {row["task"] for row in plan} == {"good"}
    labels = [label(row["item"], "fair") for row in plan]
    plan, metrics = planned(items, said, labels, campaign=campaign, tasks=known)
    # of p, x0 and x1 are inadequate; of q, x0, x1 and the other x0 are adequate
    assert [row["item"] for row in plan] == ["s0001/x0001"]
    said[1] = comparison(items[2], items[3], 1, task="q")
    _, metrics = planned(items, said, campaign=campaign, tasks=known)
    assert metrics.notes[0] == (
        "good: 1 outputs have the name of another and are not asked about separately: name items "
        "so that tasks and segments do not share them"
    )


@pytest.mark.parametrize(
    ("tasks", "labels", "says"),
    [
        ([MT, GOOD | {"kind": "scalar", "labels": None}], [],
         "it is scalar, and adequacy is asked with labels (kind: categorical)"),
        ([MT, GOOD | {"labels": ["yes", "no"]}], [],
         "it has no label fair, which adequacy.adequate names"),
        ([MT | {"adequacy": {"task": "good", "adequate": ["yes"]}}], [],
         "it declares no labels; write labels: [...] under tasks"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_said(tasks, labels, says):
    items, said = figure_1()
    plan, metrics = planned(items, said, labels, campaign=settings("adequacy", tasks))
    assert plan == []
    assert metrics.unplanned == {"good": says}


def test_labels_to_choose_from_are_those_declared_or_seen():
    from annot_pipeline.stages.planning.designs import AskedTasks, about_adequacy
    from annot_pipeline.stages.planning.planning_inputs import Listed
    from tests.stages.planning.planned_comparisons import tasks_table, votes_table

    mt = {"task": "mt", "kind": "pairwise"}
    listed_ = Listed({"mt": {}, "good": {}}, {}, 1)

    def asked_with(tasks, known, labels):
        campaign = settings("adequacy", tasks)
        votes = votes_table(labels)
        questions, _ = about_adequacy(AskedTasks(tasks_table(*known), listed_, votes, campaign))
        return [(q.task, q.ask, q.labels) for q in questions]

    declared = [("good", "label", ("yes", "fair", "no"))]
    assert asked_with([MT, GOOD], [mt], []) == declared
    assert asked_with([MT], [mt, {"task": "good", "kind": "categorical",
                                  "labels": ["yes", "fair", "no"]}], []) == declared  # fmt: skip
    seen = [label("x", "no"), label("y", "yes"), label("z", "other", task="else")]
    assert asked_with([MT], [mt], seen) == [("good", "label", ("fair", "no", "yes"))]


def test_a_pattern_that_matches_the_labelling_task_itself_is_no_loop():
    items, said = figure_1()
    tasks = [GOOD, MT | {"name": "*"}]
    known = [*TASKS, {"task": "good", "kind": "categorical", "labels": GOOD["labels"]}]
    labels = [label(items[0]["item"], "yes")]
    plan, _ = planned(items, said, labels, campaign=settings("adequacy", tasks), tasks=known)
    assert asked(plan) == [1], "items that name no task are still those of mt"


def test_tables_of_no_task_stay_with_the_outputs_once_labels_have_come_back():
    """The item table names no task; the labelling task is no second home for its rows."""
    items = listed([2, 2])
    said = [comparison(items[0], items[1], 1)]
    known = [*TASKS, {"task": "good", "kind": "categorical"}]
    campaign = settings("tournament", [MT, GOOD])
    plan, metrics = planned(items, said, campaign=campaign, tasks=known)
    assert [row["segment"] for row in plan] == ["s0001"]
    assert metrics.notes == []


# --- the same plan, and another ------------------------------------------------------------


def test_the_same_whatever_the_order_of_rows():
    items = listed([6] * 4)
    tournament = settings("tournament", [MT])
    said = answered(planned(items, campaign=tournament)[0], items, worth)
    labels = [label(row["item"], "fair") for row in items[::5]]
    actual = planned(items, said, labels, campaign=ADEQUACY)
    assert planned(items[::-1], said[::-1], labels[::-1], campaign=ADEQUACY) == actual
    assert len(actual[0]) > 4


def test_state_and_hits_are_new_as_soon_as_a_comparison_or_an_answer_counts():
    items, said = figure_1()
    far = listed([6, 2])[6:]
    items += far
    said.append(comparison(far[0], far[1], 1))
    states, hits = [], []
    for comparisons, labels in (
        (said, []),
        ([*said, said[0]], []),
        (said, [label(far[1]["item"], "no")]),
        (said, [label(far[1]["item"], "yes")]),
    ):
        plan, _ = planned(items, comparisons, labels, campaign=ADEQUACY)
        assert asked(plan)[0] == 0
        states.append({row["state"] for row in plan})
        hits.append({row["hit"] for row in plan})
    assert len(set.union(*states)) == len(states)
    assert sum(map(len, hits)) == len(set.union(*hits))


@pytest.mark.slow
def test_thousands_of_segments():
    items = listed([6] * 2000)
    tournament = settings("tournament", [MT])
    said = answered(planned(items, campaign=tournament)[0], items, worth)
    plan, metrics = planned(items, said, campaign=ADEQUACY)
    assert len(plan) > 2000
    counts = metrics.adequacy["good"]
    assert sum(counts.values()) == len(items)
    assert counts["asked"] == len(plan)
