"""The next HITs of every task, by the design that next_hits names.

What cannot be planned is said task by task, and does not stop a build. What does not belong
here: what a HIT of a design holds (plan_easl, plan_controlled_hits, plan_tournaments,
plan_adequacy), files to upload (annot_pipeline.hits).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Campaign
from annot_pipeline.contracts import LABELS, TEXT
from annot_pipeline.methods.beta_scores import FRESH
from annot_pipeline.steps.compared_outputs import ComparedOutputs, Row, compared_outputs
from annot_pipeline.steps.comparisons import COMPARISONS
from annot_pipeline.steps.equal_outputs import equal_outputs
from annot_pipeline.steps.hit_plan import (
    HIT_PLAN,
    CannotPlanError,
    Question,
    Slots,
    TaskItems,
    plan_table,
)
from annot_pipeline.steps.hit_questions import adequacy_of, hit_questions
from annot_pipeline.steps.indexing import index
from annot_pipeline.steps.listed_items import NOWHERE, Listed, declared, listed_items
from annot_pipeline.steps.plan_adequacy import ComparedTask, plan_adequacy
from annot_pipeline.steps.plan_controlled_hits import plan_controlled
from annot_pipeline.steps.plan_easl import plan_easl, with_text
from annot_pipeline.steps.plan_tournaments import plan_tournament

CODE_VERSION = "2"

NEEDED = {
    "easl": ("scores",),
    "controlled": ("scores",),
    "tournament": ("comparisons",),
    "adequacy": ("comparisons", "labels"),
}
"""Tables that each design looks at, beside tasks and item rows; others may be empty."""


def plan_hits(
    scores: pa.Table,
    tasks: pa.Table,
    items: pa.Table,
    *,
    settings: Campaign,
    comparisons: pa.Table | None = None,
    labels: pa.Table | None = None,
) -> tuple[pa.Table, dict[str, Any]]:
    """Plan the next HITs.

    Parameters
    ----------
    scores
        ``task``, ``item``, ``segment``, ``system``, ``n_judgments``, ``easl_alpha``,
        ``easl_beta``.
    tasks
        As `resolve_tasks` gives it; without judgments those of the item tables are added.
    items
        Rows of the item tables, in order of precedence.
    settings
        ``easl``, ``next_hits``, ``controlled_hits``, ``tasks``, ``campaign``, ``seed``.
    comparisons
        `comparisons.COMPARISONS`: ``task``, ``kept``, ``segment``, ``item_a``, ``item_b``,
        ``system_a``, ``system_b``, ``outcome``, ``same_output``. None: there are none.
    labels
        ``task``, ``item``, ``label``: answers to whether an output is adequate. None: there are
        none.

    Returns
    -------
    plan, facts
        `hit_plan.HIT_PLAN`; and what was planned, what could not be, and what to know.
    """
    comparisons = COMPARISONS.empty_table() if comparisons is None else comparisons
    labels = LABELS.empty() if labels is None else labels
    listed = listed_items(items, tasks, settings)
    questions, unplanned = hit_questions(tasks, listed, labels, settings)
    known = _Known(scores, comparisons, labels, equal_outputs(items), listed, settings)
    notes = known.homeless()
    parts: list[pa.Table] = []
    planned: dict[str, int] = {}
    effort: dict[str, dict[str, int]] = {}
    for question in questions:
        try:
            found, slots = _planned(question, known, notes, effort)
        except CannotPlanError as error:
            unplanned[question.task] = str(error)
            continue
        planned[question.task] = len(slots.hit_sizes)
        parts.append(
            plan_table(
                found, slots,
                campaign=settings.campaign, seed=settings.seed, gamma=settings.easl.gamma,
            )
        )  # fmt: skip
    table = pa.concat_tables(parts) if parts else HIT_PLAN.empty_table()
    return table, {"hits": planned, "unplanned": unplanned, "notes": notes, "adequacy": effort}


def questions_of(
    tasks: pa.Table, items: pa.Table, labels: pa.Table | None, settings: Campaign
) -> tuple[list[Question], dict[str, str]]:
    """What the design can ask, a question a task, and why other tasks cannot be asked."""
    labels = LABELS.empty() if labels is None else labels
    return hit_questions(tasks, listed_items(items, tasks, settings), labels, settings)


class _Known:
    """What is known of all tasks, task by task."""

    def __init__(
        self,
        scores: pa.Table,
        comparisons: pa.Table,
        labels: pa.Table,
        equal: pa.Table,
        listed: Listed,
        settings: Campaign,
    ) -> None:
        self.listed, self.settings = listed, settings
        self._scores, self._comparisons, self._labels = map(_ByTask, (scores, comparisons, labels))
        self._equal = equal.to_pylist()

    def homeless(self) -> list[str]:
        """A note on listed items that are of no task."""
        judged: set[str] = set()
        for design, columns in (("scores", ("item",)), ("comparisons", ("item_a", "item_b"))):
            if design in NEEDED[self.settings.next_hits.design]:
                table = {"scores": self._scores, "comparisons": self._comparisons}[design].table
                judged.update(*(table[name].cast(TEXT).to_pylist() for name in columns))
        n = self.listed.homeless(judged)
        return [NOWHERE.format(n)] if n else []

    def scored(self, question: Question) -> TaskItems:
        """Items judged for a task, and those listed for it that nobody has judged."""
        return _task_items(question, self._scores.rows(question.task), self.listed)

    def compared(
        self, question: Question, notes: list[str], *, labelled_by: str | None = None
    ) -> ComparedOutputs:
        """Outputs compared for a task, and those listed for it."""
        task = question.task
        equal: dict[int, list[Row]] = {}
        for row in self._equal:
            if row["task"] in (None, task):
                equal.setdefault(row["group"], []).append(row)
        sources = (task,) if labelled_by is None else (labelled_by, task)
        return compared_outputs(
            question, self._comparisons.rows(task), self.listed.of.get(task, {}),
            self.listed.rows(*sources), equal, notes=notes,
        )  # fmt: skip

    def answers(self, task: str) -> Mapping[str, str]:
        """Labels by item."""
        rows = self._labels.rows(task)
        items, labels = (rows[name].cast(TEXT).to_pylist() for name in ("item", "label"))
        return dict(zip(items, labels, strict=True))


@dataclass(frozen=True)
class _ByTask:
    """A table whose rows are taken task by task."""

    table: pa.Table

    def rows(self, task: str) -> pa.Table:
        return self.table.filter(pc.equal(self.table["task"].cast(TEXT), task))


def _planned(
    question: Question, known: _Known, notes: list[str], effort: dict[str, dict[str, int]]
) -> tuple[TaskItems, Slots]:
    """The HITs of one task."""
    settings = known.settings
    match settings.next_hits.design:
        case "easl":
            found = with_text(known.scored(question), notes)
            return found, plan_easl(found, settings, notes)
        case "controlled":
            found = known.scored(question)
            return found, plan_controlled(found, settings, notes)
        case "tournament":
            outputs = known.compared(question, notes)
            return outputs.items, plan_tournament(outputs, settings, notes)
    task = question.task
    compared: list[ComparedTask] = []
    for name in adequacy_of(task, known.listed, settings):
        given = declared(name, settings)
        about = Question(name, ask="compare")
        outputs = known.compared(about, notes, labelled_by=task)
        adequate = given.adequacy.adequate if given.adequacy else ()
        compared.append(ComparedTask(outputs, given.references, adequate))
    plan = plan_adequacy(question, compared, known.answers(task), settings, notes)
    effort[task] = plan.effort
    return plan.items, plan.slots


def _task_items(question: Question, rows: pa.Table, all_listed: Listed) -> TaskItems:
    listed = all_listed.of[question.task]
    judged = rows["item"].cast(TEXT).to_pylist()
    seen = set(judged)
    fresh = [item for item in listed if item not in seen]
    names = index(pa.array([*judged, *fresh], TEXT))
    order = np.argsort(names.codes, kind="stable")  # every item stands once

    def column(name: str, start: float) -> np.ndarray:
        known = pc.fill_null(rows[name], start).to_numpy(zero_copy_only=False)
        return np.concatenate([known, np.full(len(fresh), start)])[order]

    def told(name: str) -> list[str | None]:
        both = rows[name].to_pylist() + [listed[item][name] for item in fresh]
        return [both[place] for place in order.tolist()]

    return TaskItems(
        question=question,
        names=names.names,
        segments=told("segment"),
        systems=told("system"),
        alpha=column("easl_alpha", FRESH),
        beta=column("easl_beta", FRESH),
        n_judgments=column("n_judgments", 0).astype(np.int64),
        listed=all_listed.rows(question.task),
    )
