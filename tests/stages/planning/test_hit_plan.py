"""The table of a plan: HITs of any size, one or two outputs a slot, ids that say what is shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from annot_pipeline.stages.planning.hit_plan import HIT_PLAN, Question, Slots, TaskItems, plan_table

NAMES = ["p/x", "p/y", "q/x", "q/y", "q/z"]
COMPARE = Question("t", ask="compare")


def items(question: Question, known: bytes = b"") -> TaskItems:
    n = len(NAMES)
    listed = {name: {"source": f"source of {name[0]}"} for name in NAMES}
    return TaskItems(
        question, NAMES, [name[0] for name in NAMES], [name[2] for name in NAMES],
        np.full(n, np.nan), np.full(n, np.nan), np.arange(n), listed, known,
    )  # fmt: skip


def pairs(first: list[int], second: list[int], sizes: list[int]) -> Slots:
    n = len(first)
    return Slots(
        items=np.array(first), roles=["bracket"] * n, draw=None, controls=["none"] * n,
        probability=np.full(n, np.nan), texts=[f"{NAMES[i]}!" for i in first],
        sizes=np.array(sizes), items_b=np.array(second),
        texts_b=[f"{NAMES[i]}!" for i in second],
    )  # fmt: skip


def planned(slots: Slots, question: Question = COMPARE, **known: bytes) -> pa.Table:
    return plan_table(items(question, **known), slots, campaign="c", seed=1, gamma=0.1)


SLOTS = pairs([1, 4, 2], [0, 2, 3], [1, 2])


def test_hits_of_any_size_and_two_outputs_a_slot() -> None:
    table = planned(SLOTS)
    assert table.schema == HIT_PLAN
    names = ("slot", "item", "segment", "system", "item_b", "system_b", "text", "text_b", "source")
    assert [tuple(row[name] for name in names) for row in table.to_pylist()] == [
        (1, "p/y", "p", "y", "p/x", "x", "p/y!", "p/x!", "source of p"),
        (1, "q/z", "q", "z", "q/x", "x", "q/z!", "q/x!", "source of q"),
        (2, "q/x", "q", "x", "q/y", "y", "q/x!", "q/y!", "source of q"),
    ]
    hits = table["hit"].to_pylist()
    assert hits[0] != hits[1] == hits[2]
    for name in ("easl_alpha", "easl_beta", "gamma", "draw", "probability"):
        assert table[name].null_count == 3, name
    assert table["n_judgments"].to_pylist() == [1, 4, 2]


def test_single_outputs_have_no_second() -> None:
    one = replace(SLOTS, items_b=None, texts_b=None)
    table = planned(one, Question("t", ask="label", labels=("yes", "no")))
    for name in ("item_b", "system_b", "text_b"):
        assert table[name].null_count == 3, name


def ids(slots: Slots, question: Question = COMPARE, **known: bytes) -> list[str]:
    return list(dict.fromkeys(planned(slots, question, **known)["hit"].to_pylist()))


def test_an_id_says_what_is_shown() -> None:
    first, second = ids(SLOTS)
    assert ids(SLOTS) == [first, second]
    assert ids(pairs([0, 4, 2], [1, 2, 3], [1, 2]))[0] != first, "who stands first"
    assert ids(pairs([1, 4, 2], [0, 2, 4], [1, 2])) [1] != second, "the second output"  # fmt: skip
    assert ids(replace(SLOTS, texts_b=["p/x?", "q/x!", "q/y!"]))[0] != first, "the second text"
    assert not {first, second} & {*ids(SLOTS, known=b"another night")}
    single = replace(SLOTS, items_b=None, texts_b=None)
    yes_no, no_yes = (Question("t", ask="label", labels=x) for x in (("y", "n"), ("n", "y")))
    assert not {*ids(single, yes_no)} & {*ids(single, no_yes)}


def test_ids_of_scores_are_those_of_earlier_releases() -> None:
    """Of HITs that are out already: made by the code before there were other questions."""
    question = Question("t", (0.0, 100.0), ("f",))
    of = replace(items(question), alpha=np.arange(5) + 1.0, beta=np.full(5, 2.0))
    slots = Slots(
        items=np.array([[0, 1], [3, 2]]), roles=["a"] * 4, draw=None,
        controls=["none", "ask_again", "none", "none"], probability=np.full((2, 2), np.nan),
        texts=["A", None, "C é", "D"],
    )  # fmt: skip
    table = plan_table(of, slots, campaign="c", seed=1, gamma=0.1)
    assert table["hit"].to_pylist() == EARLIER
    assert table["slot"].to_pylist() == [1, 2, 1, 2]


EARLIER = ["4d32dea71cefd45c"] * 2 + ["d31f087ebdc5014f"] * 2


@pytest.mark.parametrize("given", [{"scale": (0, 1)}, {"scale": (0, 1), "criteria": ("a",)}])
def test_scores_need_not_be_named(given: Any) -> None:
    assert Question("t", **given).ask == "score"
