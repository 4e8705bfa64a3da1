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
    """Return the doubtful items of a flood whose people are new, in a release of careful judges."""
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
    [of_task] = doubtful_items(rows)
    return of_task


@pytest.mark.parametrize("kind", ["copying", "copying in part", "random"])
@pytest.mark.parametrize("is_separate", [False, True])
def test_careless_new_people_decide_doubtful_items(kind: str, is_separate: bool) -> None:
    doubtful = counted(night(kind, is_separate=is_separate))
    assert doubtful["items"] == 60
    assert doubtful["decided"] >= 50
    assert doubtful["unlike"].startswith("new people agree with ")
    assert ("share too few items" in doubtful["unlike"]) == is_separate


def test_copies_of_a_careful_judge_agree_too_well() -> None:
    assert counted(night("copying a careful judge", n_new=200))["unlike"]


@pytest.mark.parametrize("seed", range(10))
def test_half_careful_new_people_are_as_others(seed: int) -> None:
    doubtful = counted(night("half careful", seed=seed))
    assert (doubtful["unlike"], doubtful["decided"]) == (None, 0)


def test_suspected_people_decide_doubtful_items_whoever_is_new() -> None:
    flood = night("half careful")
    doubtful = counted(flood, suspected=set(range(12, 24)))
    assert doubtful["unlike"] is None
    assert doubtful["decided"] >= 50


def test_few_answers_tell_nothing() -> None:
    assert counted(night("random", n_new=3))["unlike"] is None


def test_no_rows_are_no_tasks() -> None:
    empty = pa.table({"task": pa.array([], pa.string())})
    assert doubtful_items(empty) == []
