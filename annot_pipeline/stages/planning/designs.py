"""The designs of HITs: what each asks about, looks at, and how it chooses the next batch.

A new design is an entry of `DESIGNS`, a name in `config.next_hits` and a module that plans a task.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from annot_pipeline.config import Campaign
from annot_pipeline.stages.model_judges.answers import listed_probabilities
from annot_pipeline.stages.planning.hit_plan import CannotPlanError, Question, Slots, TaskItems
from annot_pipeline.stages.planning.hit_questions import (
    AskedTasks,
    Questions,
    about_adequacy,
    about_comparisons,
    about_sampled_items,
    about_scores,
)
from annot_pipeline.stages.planning.listed_items import declared
from annot_pipeline.stages.planning.plan_adequacy import ComparedTask, plan_adequacy
from annot_pipeline.stages.planning.plan_controlled_hits import plan_controlled
from annot_pipeline.stages.planning.plan_easl import plan_easl, with_text
from annot_pipeline.stages.planning.plan_tournaments import plan_tournament
from annot_pipeline.stages.planning.plan_validation import plan_validation
from annot_pipeline.stages.planning.planning_inputs import PROBABILITIES, VOTES, PlanningInputs

SCORED = "HITs are planned for tasks of kind scalar; name the kind under tasks, or list items"


@dataclass(frozen=True, eq=False)
class PlannedTask:
    """The next HITs of a task.

    Parameters
    ----------
    items, slots
        What is asked about, and where in which HIT.
    effort
        Of adequacy: how many questions the comparisons save.
    summary, probabilities
        Of a sample: what it is for, and `SELECTION_PROBABILITIES`.
    """

    items: TaskItems
    slots: Slots
    effort: Mapping[str, int] | None = None
    summary: Mapping[str, Any] | None = None
    probabilities: pa.Table | None = None


@dataclass(frozen=True)
class Design:
    """How the next batch is chosen.

    Parameters
    ----------
    tasks
        What it asks about, for messages.
    needs
        Tables that it looks at, beside tasks and item rows; others may be empty.
    questions
        Returns a question for each task that it is for, and why others cannot be asked.
    plan
        Plans the HITs of a task; raises CannotPlanError.
    do
        What to do where there is no such task.
    """

    tasks: str
    needs: tuple[str, ...]
    questions: Callable[[AskedTasks], Questions]
    plan: Callable[[Question, PlanningInputs], PlannedTask]
    do: str = SCORED


def _easl(question: Question, inputs: PlanningInputs) -> PlannedTask:
    items = with_text(inputs.scored(question), inputs.notes)
    return PlannedTask(items, plan_easl(items, inputs.settings, inputs.notes))


def _controlled(question: Question, inputs: PlanningInputs) -> PlannedTask:
    items = inputs.scored(question)
    return PlannedTask(items, plan_controlled(items, inputs.settings, inputs.notes))


def _tournament(question: Question, inputs: PlanningInputs) -> PlannedTask:
    outputs = inputs.compared(question)
    return PlannedTask(outputs.items, plan_tournament(outputs, inputs.settings, inputs.notes))


def _adequacy(question: Question, inputs: PlanningInputs) -> PlannedTask:
    compared: list[ComparedTask] = []
    for name in inputs.listed.labelled_in(question.task, inputs.settings):
        declaration = declared(name, inputs.settings)
        outputs = inputs.compared(Question(name, ask="compare"), labelled_by=question.task)
        adequate = declaration.adequacy.adequate if declaration.adequacy else ()
        compared.append(ComparedTask(outputs, declaration.references, adequate))
    plan = plan_adequacy(question, compared, inputs.tables.votes, inputs.settings, inputs.notes)
    return PlannedTask(plan.items, plan.slots, effort=plan.effort)


def _validate(question: Question, inputs: PlanningInputs) -> PlannedTask:
    task, tables = question.task, inputs.tables
    if tables.judgments is None:
        raise CannotPlanError("it has no judgments yet: let a model judge its items first")
    sample = plan_validation(
        question, tables.judgments[task], tables.items, inputs.listed.rows(task),
        listed_probabilities(tables.probabilities, task), inputs.settings, inputs.notes,
    )  # fmt: skip
    return PlannedTask(
        sample.items, sample.slots, summary=sample.summary, probabilities=sample.probabilities
    )


DESIGNS: Mapping[str, Design] = {
    "easl": Design("scalar task", ("scores",), about_scores, _easl),
    "controlled": Design("scalar task", ("scores",), about_scores, _controlled),
    "tournament": Design(
        "pairwise or ranking task", ("comparisons",), about_comparisons, _tournament,
        "name the kind (pairwise, ranking) under tasks, or list items",
    ),
    "adequacy": Design(
        "task of adequacy", ("comparisons", VOTES), about_adequacy, _adequacy,
        "under tasks, write adequacy: {task: ..., adequate: [...]} where outputs are compared",
    ),
    "validate": Design(
        "task of labels, scores or comparisons", ("controlled", PROBABILITIES, VOTES),
        about_sampled_items, _validate,
        "let a model judge the items first, and declare it: judges: [{name: ..., kind: model}]",
    ),
}  # fmt: skip
"""By the names of ``next_hits.design``; those of labels are planned by `annot hits` alone."""


def design_of(settings: Campaign) -> Design:
    """Return how a build plans the next batch."""
    return DESIGNS.get(settings.next_hits.design, DESIGNS["easl"])
