"""Items of a task whose label is asked become slots of HITs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.stages.planning.hit_plan import Question, Slots, TaskItems
from annot_pipeline.stages.planning.plan_tournaments import even_parts

NO_MODEL = "no model labels its items, so nothing tells how probable a label is"


@dataclass(frozen=True, eq=False)
class PlannedLabels:
    """What is asked of a task, and a summary for people; see `plan_hits`."""

    items: TaskItems
    slots: Slots
    summary: dict[str, Any]


def label_slots(
    question: Question,
    names: Sequence[str],
    n_judgments: Codes,
    asked: Codes,
    listed: Mapping[str, dict[str, Any]],
    hit_size: int,
    *,
    role: str,
    summary: dict[str, Any],
    state: bytes,
    control: str = "none",
    probability: Floats | None = None,
) -> PlannedLabels:
    """Return the slots of items, an item once.

    Parameters
    ----------
    question
        What is asked.
    names, n_judgments
        ``(n_items,)`` items of the task, and their judgments.
    asked
        Codes of items, in the order in which they are asked.
    listed
        What item tables say of an item.
    hit_size
        Slots of a HIT at most.
    role, control
        Of all slots.
    summary
        For people.
    state
        What the plan depends on.
    probability
        ``(n_asked,)`` with which each item was drawn; None: by no chance.
    """
    nothing, nobody = np.full(len(names), np.nan), [None] * len(names)
    items = TaskItems(question, names, nobody, nobody, nothing, nothing, n_judgments, listed, state)
    texts = [items.listed_value("text", item) for item in asked.tolist()]
    slots = Slots(
        items=asked,
        roles=[role] * asked.size,
        draw=None,
        controls=[control] * asked.size,
        probability=np.full(asked.size, np.nan) if probability is None else probability,
        texts=[text if text and text.strip() else None for text in texts],
        sizes=np.array(even_parts(asked.size, hit_size), np.int64),
    )
    return PlannedLabels(items, slots, summary)
