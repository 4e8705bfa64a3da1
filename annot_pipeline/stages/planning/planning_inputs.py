"""Inputs of planning HITs, task by task, with what item tables say of items."""

from __future__ import annotations

import fnmatch
import re
from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Campaign, TaskSettings
from annot_pipeline.contracts import LABEL_DISTRIBUTIONS, SCORES, TEXT
from annot_pipeline.contracts.name_key import is_earlier
from annot_pipeline.contracts.task_table import ITEM_PROBABILITIES
from annot_pipeline.methods.scores.easl import FRESH
from annot_pipeline.runtime.indexing import ByTask, index, is_in
from annot_pipeline.stages.planning.compared_outputs import ComparedOutputs, Row, compared_outputs
from annot_pipeline.stages.planning.hit_plan import Question, TaskItems
from annot_pipeline.stages.shared.comparisons import COMPARISONS
from annot_pipeline.stages.shared.output_comparisons import equal_outputs

PATTERN = re.compile(r"[*?[]")
"""In the name of an entry under tasks: it is for several tasks."""

NOWHERE = (
    "listed items left out, because there are several tasks and their table does not map task: {:,}"
)


@dataclass(frozen=True)
class Listed:
    """Rows of the item tables by item: those that name a task, and those that name none.

    The first row of an item wins. Where there is only one task, the latter are its own; a task
    that only says whether outputs of others are adequate is none of its own. ``n_homes`` counts
    the tasks that they could be of.
    """

    by_task: dict[str, dict[str, Row]]
    common: dict[str, Row]
    n_homes: int

    def rows(self, *tasks: str) -> Mapping[str, Row]:
        """Return the row of each item, of the first task that lists it, else of any."""
        own = [self.by_task[task] for task in tasks if task in self.by_task]
        return ChainMap[str, Row](*own, self.common)

    def labelled_in(self, task: str, settings: Campaign) -> list[str]:
        """Return the tasks whose outputs a task of adequacy labels."""
        labelling = labelled_by(self.by_task, settings)
        return [name for name, labelled_task in labelling.items() if labelled_task == task]

    def homeless(self) -> set[str]:
        """Return listed items that belong to no task unless judged, as there are several."""
        if self.n_homes < 2:
            return set()
        return self.common.keys() - {item for rows in self.by_task.values() for item in rows}


def listed_items(items: pa.Table, tasks: pa.Table, settings: Campaign) -> Listed:
    """Return the rows of the item tables by task and item.

    Parameters
    ----------
    items
        Rows of the item tables, in order of precedence.
    tasks
        As `resolve_tasks` gives it; without judgments those of the item tables are added.
    settings
        ``campaign``: the task of exports that map none; ``tasks``.
    """
    rows = items.to_pylist()
    judged = set(tasks["task"].to_pylist())
    named = {row["task"] for row in rows}
    declared_homes = _declared_homes(settings) if None in named and not judged else set()
    if len(declared_homes) == 1:
        named |= declared_homes
    by_task: dict[str, dict[str, Row]] = {task: {} for task in judged | named - {None}}
    common: dict[str, Row] = {}
    for row in rows:
        (common if row["task"] is None else by_task[row["task"]]).setdefault(row["item"], row)
    homes = (
        by_task.keys() - labelled_by(by_task, settings).values() or by_task.keys()
    ) | declared_homes
    if len(homes) == 1:
        only = by_task[next(iter(homes))]
        only |= {item: row for item, row in common.items() if item not in only}
    return Listed(by_task, common, len(homes))


def _declared_homes(settings: Campaign) -> set[str]:
    """Return the tasks that items without a task may belong to, before any judgment.

    Those that campaign.yaml names; among several the one that has the campaign's own name, as
    exports that map no task have. Patterns name none, and a task of adequacy has no items of its
    own. Where none is named, all is one task with the campaign's name.
    """
    labelling = {task.adequacy.task for task in settings.tasks if task.adequacy}
    named = {task.name for task in settings.tasks if not PATTERN.search(task.name)} - labelling
    return {settings.campaign} if settings.campaign in named or not named else named


def labelled_by(tasks: Iterable[str], settings: Campaign) -> dict[str, str]:
    """Return, for each task that declares adequacy, the task that labels its outputs."""
    adequacies = {name: declared(name, settings).adequacy for name in sorted(tasks)}
    return {
        name: adequacy.task
        for name, adequacy in adequacies.items()
        if adequacy and adequacy.task != name
    }


def declared(task: str, settings: Campaign) -> TaskSettings:
    """Return the settings of a task: the first pattern that matches its name."""
    none = TaskSettings(name=task)
    return next((s for s in settings.tasks if fnmatch.fnmatchcase(task, s.name)), none)


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
