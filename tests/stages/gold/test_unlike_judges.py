"""New people who agree otherwise than the people of the newest release do."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from annot_pipeline.stages.gold.metrics import DoubtfulItems
from annot_pipeline.stages.gold.unlike_judges import doubtful_items
from studies.simulators.floods import Flood, FloodParams, draw_flood


def night(kind: str, *, is_separate: bool = False, n_new: int = 60, seed: int = 17) -> Flood:
    params = FloodParams(
        kind, 0.5, is_later=True, is_separate=is_separate, n_classes=4, n_new=n_new
    )  # fmt: skip
    return draw_flood(params, np.random.default_rng(seed))


def counted(flood: Flood, suspected: set[int] = frozenset()) -> DoubtfulItems:
    """Return what is found in a flood whose people are new; the careful judges are known."""
    answers = [*zip(
        flood.items.tolist(), flood.labels.tolist(), flood.judges.tolist(), strict=True
    )]  # fmt: skip
    n_new = Counter((i, c) for i, c, j in answers if j >= flood.n_judges)
    n_others = Counter((i, c) for i, c, j in answers if j < flood.n_judges)
    n_suspected = Counter((i, c) for i, c, j in answers if j in suspected)
    cells = sorted({*n_new, *n_others})
    rows = pa.table({
        "task": ["t"] * len(cells), "item": [f"i{i:03}" for i, _ in cells],
        "label": [str(c) for _, c in cells],
        "n_new": [n_new[cell] for cell in cells], "n_others": [n_others[cell] for cell in cells],
        "n_suspected": [n_suspected[cell] for cell in cells],
        "is_checked": [i >= flood.n_before for i, _ in cells],
    })  # fmt: skip
    [found] = doubtful_items(rows)
    return found


@pytest.mark.parametrize("kind", ["copying", "copying in part", "random"])
@pytest.mark.parametrize("is_separate", [False, True])
def test_careless_new_people_decide_doubtful_items(kind: str, is_separate: bool) -> None:
    found = counted(night(kind, is_separate=is_separate))
    assert found["items"] == 60
    assert found["decided"] >= 50
    assert found["unlike"].startswith("new people agree with ")
    assert ("share too few items" in found["unlike"]) == is_separate


def test_copies_of_a_careful_judge_agree_too_well() -> None:
    assert counted(night("copying a careful judge", n_new=200))["unlike"]


@pytest.mark.parametrize("seed", range(10))
def test_half_careful_new_people_are_as_others(seed: int) -> None:
    found = counted(night("half careful", seed=seed))
    assert (found["unlike"], found["decided"]) == (None, 0)


def test_suspected_people_decide_doubtful_items_whoever_is_new() -> None:
    flood = night("half careful")
    found = counted(flood, suspected=set(range(12, 24)))
    assert found["unlike"] is None
    assert found["decided"] >= 50


def test_few_answers_tell_nothing() -> None:
    assert counted(night("random", n_new=3))["unlike"] is None


def test_no_rows_are_no_tasks() -> None:
    empty = pa.table({"task": pa.array([], pa.string())})
    assert doubtful_items(empty) == []
