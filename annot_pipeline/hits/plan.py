"""A plan of HITs: a table of slots, read task by task and HIT by HIT."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.exports.hit_bookkeeping import DamagedError, Hit, Slot
from annot_pipeline.stages.planning.hit_plan import HIT_PLAN, SAMPLED, Question

SHOWN = (
    "task", "hit", "slot", "item", "segment", "system", "item_b", "system_b", "control", "text",
    "text_b", "source", "role", "probability",
)  # fmt: skip
"""What files are made of; the other columns of a plan are for its log."""

PREFERRED: tuple[tuple[str, str], ...] = (
    ("a", "Text A is better"), ("tie", "About equal"), ("b", "Text B is better"),
)  # fmt: skip
"""What forms offer where two texts are compared, in this order: A is the one shown first."""

ROWS_AT_ONCE = 1 << 14


@dataclass(frozen=True)
class PlannedHit:
    """A HIT: its bookkeeping, and by slot the text that is shown and the source above it.

    Where texts are compared, ``texts_b`` are the second ones; else there are none.
    """

    hit: Hit
    texts: tuple[str, ...]
    sources: tuple[str | None, ...]
    texts_b: tuple[str, ...] = ()


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
        Slots of the largest HIT; where scores are asked all have as many.
    has_sources
        Whether any slot has a source.
    """

    question: Question
    slots: pa.Table
    n_slots: int
    has_sources: bool

    @property
    def n_hits(self) -> int:
        """Return how many HITs there are."""
        return int(pc.sum(pc.equal(self.slots["slot"], 1)).as_py())

    def hits(self) -> Iterator[PlannedHit]:
        """Yield the HITs, one after the other.

        Raises
        ------
        ValueError
            The rows are not sorted, or a HIT is not as its task's HITs are.
        """
        hit_ids: set[str] = set()
        rows = (
            row
            for batch in self.slots.to_batches(max_chunksize=ROWS_AT_ONCE)
            for row in batch.to_pylist()
        )
        for hit, group in itertools.groupby(rows, key=lambda row: row["hit"]):
            slots = list(group)
            numbers = [row["slot"] for row in slots]
            last = self.n_slots if self.question.ask == "score" else len(numbers)
            if hit in hit_ids or numbers != list(range(1, last + 1)):
                what = "apart" if hit in hit_ids else f"{numbers}, not 1 to {last}"
                raise ValueError(f"slots of {hit} of {self.question.task} are {what}")
            hit_ids.add(hit)
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
                    Slot(
                        item=row["item"],
                        segment=row["segment"],
                        system=row["system"],
                        control=row["control"],
                        control_of=question.sample,
                        item_b=row["item_b"],
                        system_b=row["system_b"],
                        selection_probability=(
                            row["probability"] if row["role"] == SAMPLED else None
                        ),
                    )
                    for row in slots
                ),
                question.ask,
                question.labels,
            )
        except DamagedError as error:
            raise ValueError(f"{hit} of {question.task}: {error}") from None
        return PlannedHit(
            planned,
            _texts(slots, "item", "text"),
            tuple(row["source"] for row in slots),
            _texts(slots, "item_b", "text_b") if question.ask == "compare" else (),
        )


def _texts(slots: Sequence[Mapping[str, Any]], item: str, text: str) -> tuple[str, ...]:
    """Return what is shown: the texts, or the name of an item that has none."""
    return tuple(row[item] if row[text] is None else row[text] for row in slots)


def scale_of(question: Question) -> tuple[float, float]:
    """Return the scale of a question that asks for scores.

    Raises
    ------
    ValueError
        It does not.
    """
    if question.scale is None:
        raise ValueError(f"{question.task} asks for no score")
    return question.scale


def task_plans(plan: pa.Table, questions: Sequence[Question]) -> list[TaskPlan]:
    """Split the plan by task.

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
    questions_by_task = {question.task: question for question in questions}
    plans: list[TaskPlan] = []
    start = 0
    for counted in pc.value_counts(plan["task"].combine_chunks()).to_pylist():
        task, n_rows = counted["values"], counted["counts"]
        slots = plan.slice(start, n_rows)
        start += n_rows
        if pc.count_distinct(slots["task"], mode="all").as_py() != 1:
            raise ValueError("the plan is not sorted by task")
        if task not in questions_by_task:
            raise ValueError(f"no question is given for task {task}")
        n_slots = pc.max(slots["slot"]).as_py()
        has_sources = slots["source"].null_count < n_rows
        plans.append(TaskPlan(questions_by_task[task], slots, n_slots, has_sources))
    return plans
