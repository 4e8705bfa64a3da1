"""The next HITs of every task, by the design that next_hits names.

What cannot be planned is said task by task, and does not stop a build. What does not belong
here: what a HIT of a design holds (plan_easl, plan_controlled_hits, plan_tournaments,
plan_adequacy), files to upload (annot_pipeline.hits).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Campaign
from annot_pipeline.contracts import LABEL_DISTRIBUTIONS, SCORES, TEXT
from annot_pipeline.contracts.item_names import is_earlier
from annot_pipeline.contracts.task_table import ITEM_PROBABILITIES
from annot_pipeline.methods.scores.beta_scores import FRESH
from annot_pipeline.runtime.by_task import ByTask
from annot_pipeline.runtime.indexing import index, is_in
from annot_pipeline.stages.model_judges.answers import listed_probabilities
from annot_pipeline.stages.planning.compared_outputs import ComparedOutputs, Row, compared_outputs
from annot_pipeline.stages.planning.hit_plan import (
    HIT_PLAN,
    CannotPlanError,
    Question,
    Slots,
    TaskItems,
    plan_table,
)
from annot_pipeline.stages.planning.hit_questions import adequacy_of, hit_questions
from annot_pipeline.stages.planning.listed_items import NOWHERE, Listed, declared, listed_items
from annot_pipeline.stages.planning.metrics import PlanMetrics
from annot_pipeline.stages.planning.plan_adequacy import ComparedTask, plan_adequacy
from annot_pipeline.stages.planning.plan_controlled_hits import plan_controlled
from annot_pipeline.stages.planning.plan_easl import plan_easl, with_text
from annot_pipeline.stages.planning.plan_tournaments import NothingLeftError, plan_tournament
from annot_pipeline.stages.planning.plan_validation import ValidationPlan, plan_validation
from annot_pipeline.stages.shared.comparisons import COMPARISONS
from annot_pipeline.stages.shared.equal_outputs import equal_outputs

VOTES = "label_distributions"
PROBABILITIES = "item_probabilities"
BY_TASK = ("scores", "comparisons", "controlled")
"""Tables that are read task by task."""

NEEDED = {
    "easl": ("scores",),
    "controlled": ("scores",),
    "tournament": ("comparisons",),
    "adequacy": ("comparisons", VOTES),
    "validate": ("controlled", PROBABILITIES, VOTES),
}
"""Tables that each design looks at, beside tasks and item rows; others may be empty."""


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


def plan_hits(
    scores: TaskRows | None,
    tasks: pa.Table,
    items: pa.Table,
    *,
    settings: Campaign,
    comparisons: TaskRows | None = None,
    votes: pa.Table | None = None,
    judgments: TaskRows | None = None,
    probabilities: pa.Table | None = None,
    samples: list[pa.Table] | None = None,
    item_texts: pa.Table | None = None,
) -> tuple[pa.Table, PlanMetrics]:
    """Plan the next HITs.

    Parameters
    ----------
    scores
        ``task``, ``item``, ``segment``, ``system``, ``n_judgments``, ``easl_alpha``,
        ``easl_beta``. None: there are none.
    tasks
        As `resolve_tasks` gives it; without judgments those of the item tables are added.
    items
        Rows of the item tables, in order of precedence.
    settings
        ``easl``, ``next_hits``, ``controlled_hits``, ``tasks``, ``campaign``, ``seed``.
    comparisons
        `comparisons.COMPARISONS`: ``task``, ``kept``, ``segment``, ``item_a``, ``item_b``,
        ``system_a``, ``system_b``, ``outcome``, ``same_output``. None: there are none.
    votes
        ``task``, ``item``, ``label``, ``votes``: answers to whether an output is adequate. None:
        there are none.
    judgments, probabilities
        Judgments as `plan_validation` takes them, and `ITEM_PROBABILITIES`. None: there are none.
    samples
        Grows by `SELECTION_PROBABILITIES` of each task whose items are a sample.
    item_texts
        ``task``, ``item``, ``item_version`` of items whose judgments carry a text: nothing is asked
        of earlier texts. None: there are none.

    Returns
    -------
    plan, metrics
        `hit_plan.HIT_PLAN`; and what was planned, what could not be, of which tasks that is
        because they are ``done``, how many listed items are ``homeless``, and what to know.
    """
    comparisons = ByTask(COMPARISONS.empty_table()) if comparisons is None else comparisons
    votes = LABEL_DISTRIBUTIONS.empty() if votes is None else votes
    scores = ByTask(SCORES.empty()) if scores is None else scores
    if item_texts is not None and item_texts.num_rows:
        scores = _CurrentTexts(scores, item_texts)
        judgments = judgments and _CurrentTexts(judgments, item_texts)
    listed = listed_items(items, tasks, settings)
    questions, unplanned = hit_questions(tasks, listed, votes, settings)
    inputs = _PlanningInputs(scores, comparisons, votes, equal_outputs(items), listed, settings)
    of_sample = _Samples(
        judgments,
        ITEM_PROBABILITIES.empty_table() if probabilities is None else probabilities,
        items,
    )
    homeless = len(inputs.homeless(tasks["task"].to_pylist()))
    notes = [NOWHERE.format(homeless)] if homeless else []
    done: list[str] = []
    parts: list[pa.Table] = []
    planned: dict[str, int] = {}
    effort: dict[str, dict[str, int]] = {}
    validation: dict[str, dict[str, Any]] = {}
    for question in questions:
        try:
            if settings.next_hits.design == "validate":
                sample = of_sample.plan(question, inputs, notes)
                task_items, slots = sample.items, sample.slots
                validation[question.task] = sample.summary
                if samples is not None:
                    samples.append(sample.probabilities)
            else:
                task_items, slots = _planned(question, inputs, notes, effort)
        except CannotPlanError as error:
            unplanned[question.task] = str(error)
            if isinstance(error, NothingLeftError):
                done.append(question.task)
            continue
        planned[question.task] = len(slots.hit_sizes)
        parts.append(
            plan_table(
                task_items, slots,
                campaign=settings.campaign, seed=settings.seed, gamma=settings.easl.gamma,
            )
        )  # fmt: skip
    table = pa.concat_tables(parts) if parts else HIT_PLAN.empty_table()
    metrics = PlanMetrics(
        hits=planned,
        unplanned=unplanned,
        done=done,
        homeless=homeless,
        notes=notes,
        adequacy=effort,
        validation=validation,
    )
    return table, metrics


def questions_of(
    tasks: pa.Table, items: pa.Table, votes: pa.Table | None, settings: Campaign
) -> tuple[list[Question], dict[str, str]]:
    """Return the questions of the design, one per task, and why other tasks have none."""
    votes = LABEL_DISTRIBUTIONS.empty() if votes is None else votes
    return hit_questions(tasks, listed_items(items, tasks, settings), votes, settings)


class _PlanningInputs:
    """What is known of all tasks, task by task."""

    def __init__(
        self,
        scores: TaskRows,
        comparisons: TaskRows,
        votes: pa.Table,
        equal: pa.Table,
        listed: Listed,
        settings: Campaign,
    ) -> None:
        self.listed, self.settings = listed, settings
        self._scores, self._comparisons = scores, comparisons
        self.votes = votes
        self._equal = equal.to_pylist()

    def homeless(self, tasks: Iterable[str]) -> set[str]:
        """Return listed items that are of no task, and that no task has judged."""
        unjudged = self.listed.homeless()
        for task in tasks if unjudged else ():
            scores, comparisons = self._scores[task], self._comparisons[task]
            for judged in (scores["item"], comparisons["item_a"], comparisons["item_b"]):
                unjudged -= {*judged.filter(is_in(judged, unjudged)).to_pylist()}
        return unjudged

    def scored(self, question: Question) -> TaskItems:
        """Return items judged for a task, and items listed for it that nobody has judged."""
        return _task_items(question, self._scores[question.task], self.listed)

    def compared(
        self, question: Question, notes: list[str], *, labelled_by: str | None = None
    ) -> ComparedOutputs:
        """Return outputs compared for a task, and those listed for it."""
        task = question.task
        equal: dict[int, list[Row]] = {}
        for row in self._equal:
            if row["task"] in (None, task):
                equal.setdefault(row["group"], []).append(row)
        sources = (task,) if labelled_by is None else (labelled_by, task)
        return compared_outputs(
            question, self._comparisons[task], self.listed.by_task.get(task, {}),
            self.listed.rows(*sources), equal, notes=notes,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Samples:
    """What samples for people are planned from."""

    judgments: TaskRows | None
    probabilities: pa.Table
    items: pa.Table

    def plan(self, question: Question, inputs: _PlanningInputs, notes: list[str]) -> ValidationPlan:
        """Return the sample of a task."""
        if self.judgments is None:
            raise CannotPlanError("it has no judgments yet: let a model judge its items first")
        return plan_validation(
            question, self.judgments[question.task], self.items,
            inputs.listed.rows(question.task),
            listed_probabilities(self.probabilities, question.task), inputs.settings, notes,
        )  # fmt: skip


def _planned(
    question: Question, inputs: _PlanningInputs, notes: list[str], effort: dict[str, dict[str, int]]
) -> tuple[TaskItems, Slots]:
    """Return the HITs of one task."""
    settings = inputs.settings
    match settings.next_hits.design:
        case "easl":
            task_items = with_text(inputs.scored(question), notes)
            return task_items, plan_easl(task_items, settings, notes)
        case "controlled":
            task_items = inputs.scored(question)
            return task_items, plan_controlled(task_items, settings, notes)
        case "tournament":
            outputs = inputs.compared(question, notes)
            return outputs.items, plan_tournament(outputs, settings, notes)
    task = question.task
    compared: list[ComparedTask] = []
    for name in adequacy_of(task, inputs.listed, settings):
        declaration = declared(name, settings)
        about = Question(name, ask="compare")
        outputs = inputs.compared(about, notes, labelled_by=task)
        adequate = declaration.adequacy.adequate if declaration.adequacy else ()
        compared.append(ComparedTask(outputs, declaration.references, adequate))
    plan = plan_adequacy(question, compared, inputs.votes, settings, notes)
    effort[task] = plan.effort
    return plan.items, plan.slots


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
