"""A plan of HITs: a table of slots, read task by task and HIT by HIT."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.exports.hit_bookkeeping import DamagedError, Hit, Slot
from annot_pipeline.steps.hit_plan import HIT_PLAN, Question

SHOWN = ("task", "hit", "slot", "item", "segment", "system", "control", "text", "source")
"""What files are made of; the other columns of a plan are for its log."""

ROWS_AT_ONCE = 1 << 14


@dataclass(frozen=True)
class PlannedHit:
    """A HIT: its bookkeeping, and by slot the text that is shown and the source above it."""

    hit: Hit
    texts: tuple[str, ...]
    sources: tuple[str | None, ...]


@dataclass(frozen=True)
class TaskPlan:
    """The slots of one task.

    Parameters
    ----------
    question
        What is asked.
    slots
        The task's rows of the plan.
    n_slots
        Slots of a HIT; all HITs of a task have as many.
    has_sources
        Whether any slot has a source.
    """

    question: Question
    slots: pa.Table
    n_slots: int
    has_sources: bool

    @property
    def n_hits(self) -> int:
        """How many HITs there are."""
        return int(self.slots.num_rows // self.n_slots)

    def hits(self) -> Iterator[PlannedHit]:
        """The HITs, one after the other.

        Raises
        ------
        ValueError
            The rows are not sorted, or a HIT is not as its task's HITs are.
        """
        seen: set[str] = set()
        rows = (
            row
            for batch in self.slots.to_batches(max_chunksize=ROWS_AT_ONCE)
            for row in batch.to_pylist()
        )
        for hit, group in itertools.groupby(rows, key=lambda row: row["hit"]):
            slots = list(group)
            numbers = [row["slot"] for row in slots]
            if hit in seen or numbers != list(range(1, self.n_slots + 1)):
                what = "apart" if hit in seen else f"{numbers}, not 1 to {self.n_slots}"
                raise ValueError(f"slots of {hit} of {self.question.task} are {what}")
            seen.add(hit)
            yield self._hit(hit, slots)

    def _hit(self, hit: str, slots: Sequence[Mapping[str, Any]]) -> PlannedHit:
        question = self.question
        try:
            planned = Hit(
                question.task,
                hit,
                question.scale,
                question.criteria,
                tuple(
                    Slot(row["item"], row["segment"], row["system"], row["control"])
                    for row in slots
                ),
            )
        except DamagedError as error:
            raise ValueError(f"{hit} of {question.task}: {error}") from None
        return PlannedHit(
            planned,
            tuple(row["item"] if row["text"] is None else row["text"] for row in slots),
            tuple(row["source"] for row in slots),
        )


def task_plans(plan: pa.Table, questions: Sequence[Question]) -> list[TaskPlan]:
    """The plan, task by task.

    Parameters
    ----------
    plan
        A row a slot (`SHOWN`); the slots of a HIT stand together in their order, and so do the
        HITs of a task. HITs are written in the order in which they stand.
    questions
        What is asked, a question a task.

    Raises
    ------
    ValueError
        The plan is not sorted, or a task in it has no question.
    """
    plan = plan.select(SHOWN).cast(pa.schema([HIT_PLAN.field(name) for name in SHOWN]))
    asked = {question.task: question for question in questions}
    found: list[TaskPlan] = []
    start = 0
    for counted in pc.value_counts(plan["task"].combine_chunks()).to_pylist():
        task, n_rows = counted["values"], counted["counts"]
        slots = plan.slice(start, n_rows)
        start += n_rows
        if pc.count_distinct(slots["task"], mode="all").as_py() != 1:
            raise ValueError("the plan is not sorted by task")
        if task not in asked:
            raise ValueError(f"no question is given for task {task}")
        n_slots = pc.max(slots["slot"]).as_py()
        has_sources = slots["source"].null_count < n_rows
        found.append(TaskPlan(asked[task], slots, n_slots, has_sources))
    return found
