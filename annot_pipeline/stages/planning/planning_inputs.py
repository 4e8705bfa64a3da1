"""What is known of all tasks when HITs are planned, task by task."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Campaign
from annot_pipeline.contracts import LABEL_DISTRIBUTIONS, SCORES, TEXT
from annot_pipeline.contracts.name_key import is_earlier
from annot_pipeline.contracts.task_table import ITEM_PROBABILITIES
from annot_pipeline.methods.scores.easl import FRESH
from annot_pipeline.runtime.indexing import ByTask, index, is_in
from annot_pipeline.stages.planning.compared_outputs import ComparedOutputs, Row, compared_outputs
from annot_pipeline.stages.planning.hit_plan import Question, TaskItems
from annot_pipeline.stages.planning.listed_items import Listed
from annot_pipeline.stages.shared.comparisons import COMPARISONS
from annot_pipeline.stages.shared.output_comparisons import equal_outputs

VOTES = "label_distributions"
PROBABILITIES = "item_probabilities"
BY_TASK = {"scores": "scores", "comparisons": "comparisons", "controlled": "judgments"}
"""Tables that are read task by task, with their names in `PlanningTables`."""
WHOLE = {
    "tasks": "tasks", "item_rows": "items", "item_texts": "item_texts", VOTES: "votes",
    PROBABILITIES: "probabilities",
}  # fmt: skip
"""Tables that are read as a whole, with their names in `PlanningTables`."""


class TaskRows(Protocol):
    """A table whose rows are had task by task, such as `ByTask`."""

    def __getitem__(self, task: str) -> pa.Table: ...


class _CurrentTexts:
    """Rows of a table by task, without those of earlier texts of items."""

    def __init__(self, rows: TaskRows, item_texts: pa.Table) -> None:
        self._rows = rows
        self._earlier: dict[str, set[str]] = {}
        for row in item_texts.to_pylist():
            if is_earlier(row["item"], row["item_version"]):
                self._earlier.setdefault(row["task"], set()).add(row["item"])

    def __getitem__(self, task: str) -> pa.Table:
        rows = self._rows[task]
        is_earlier_text = is_in(rows["item"], self._earlier.get(task, ()))
        return rows.filter(pc.invert(pc.fill_null(is_earlier_text, False)))


@dataclass(frozen=True, eq=False)
class PlanningTables:
    """The tables that HITs are planned from; empty where there are no rows yet.

    Parameters
    ----------
    tasks
        As `resolve_tasks` gives it; without judgments those of the item tables are added.
    items
        Rows of the item tables, in order of precedence.
    scores
        ``task``, ``item``, ``segment``, ``system``, ``n_judgments``, ``easl_alpha``,
        ``easl_beta``.
    comparisons
        `comparisons.COMPARISONS`: ``task``, ``kept``, ``segment``, ``item_a``, ``item_b``,
        ``system_a``, ``system_b``, ``outcome``, ``same_output``.
    votes
        ``task``, ``item``, ``label``, ``votes``: answers to whether an output is adequate.
    judgments
        As `plan_validation` takes them; None before the first.
    probabilities
        `ITEM_PROBABILITIES`.
    item_texts
        ``task``, ``item``, ``item_version`` of items whose judgments carry a text: nothing is asked
        of earlier texts.
    """

    tasks: pa.Table
    items: pa.Table
    scores: TaskRows = field(default_factory=lambda: ByTask(SCORES.empty()))
    comparisons: TaskRows = field(default_factory=lambda: ByTask(COMPARISONS.empty_table()))
    votes: pa.Table = field(default_factory=LABEL_DISTRIBUTIONS.empty)
    judgments: TaskRows | None = None
    probabilities: pa.Table = field(default_factory=ITEM_PROBABILITIES.empty_table)
    item_texts: pa.Table | None = None

    def of_current_texts(self) -> PlanningTables:
        """Return the tables without scores and judgments of earlier texts of items."""
        if self.item_texts is None or not self.item_texts.num_rows:
            return self
        judgments = self.judgments and _CurrentTexts(self.judgments, self.item_texts)
        return replace(
            self, scores=_CurrentTexts(self.scores, self.item_texts), judgments=judgments
        )


class PlanningInputs:
    """What is known of all tasks, task by task."""

    def __init__(
        self,
        tables: PlanningTables,
        listed: Listed,
        settings: Campaign,
    ) -> None:
        self.tables, self.listed, self.settings = tables, listed, settings
        self.notes: list[str] = []
        self._equal = equal_outputs(tables.items).to_pylist()

    def homeless(self, tasks: Iterable[str]) -> set[str]:
        """Return listed items that are of no task, and that no task has judged."""
        unjudged = self.listed.homeless()
        for task in tasks if unjudged else ():
            scores, comparisons = self.tables.scores[task], self.tables.comparisons[task]
            for judged in (scores["item"], comparisons["item_a"], comparisons["item_b"]):
                unjudged -= {*judged.filter(is_in(judged, unjudged)).to_pylist()}
        return unjudged

    def scored(self, question: Question) -> TaskItems:
        """Return items judged for a task, and items listed for it that nobody has judged."""
        return _task_items(question, self.tables.scores[question.task], self.listed)

    def compared(self, question: Question, *, labelled_by: str | None = None) -> ComparedOutputs:
        """Return outputs compared for a task, and those listed for it."""
        task = question.task
        equal: dict[int, list[Row]] = {}
        for row in self._equal:
            if row["task"] in (None, task):
                equal.setdefault(row["group"], []).append(row)
        sources = (task,) if labelled_by is None else (labelled_by, task)
        return compared_outputs(
            question, self.tables.comparisons[task], self.listed.by_task.get(task, {}),
            self.listed.rows(*sources), equal, notes=self.notes,
        )  # fmt: skip


def _task_items(question: Question, rows: pa.Table, all_listed: Listed) -> TaskItems:
    listed = all_listed.by_task[question.task]
    judged = rows["item"].cast(TEXT).to_pylist()
    judged_items = set(judged)
    fresh = [item for item in listed if item not in judged_items]
    names = index(pa.array([*judged, *fresh], TEXT))
    order = np.argsort(names.codes, kind="stable")  # every item stands once

    def column(name: str, start: float) -> np.ndarray:
        values = pc.fill_null(rows[name], start).to_numpy(zero_copy_only=False)
        return np.concatenate([values, np.full(len(fresh), start)])[order]

    def names_of(name: str) -> list[str | None]:
        both = rows[name].to_pylist() + [listed[item][name] for item in fresh]
        return [both[position] for position in order.tolist()]

    return TaskItems(
        question=question,
        names=names.names,
        segments=names_of("segment"),
        systems=names_of("system"),
        alpha=column("easl_alpha", FRESH),
        beta=column("easl_beta", FRESH),
        n_judgments=column("n_judgments", 0).astype(np.int64),
        listed=all_listed.rows(question.task),
    )
