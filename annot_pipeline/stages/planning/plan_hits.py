"""The next HITs of every task, by the design that next_hits names.

What cannot be planned is said task by task, and does not stop a build. What does not belong
here: what a HIT of a design holds (designs), files to upload (annot_pipeline.hits).
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from annot_pipeline.config import Campaign
from annot_pipeline.stages.planning.designs import design_of
from annot_pipeline.stages.planning.hit_plan import (
    HIT_PLAN,
    CannotPlanError,
    plan_table,
)
from annot_pipeline.stages.planning.hit_questions import AskedTasks, Questions
from annot_pipeline.stages.planning.listed_items import NOWHERE, listed_items
from annot_pipeline.stages.planning.metrics import PlanMetrics
from annot_pipeline.stages.planning.plan_tournaments import NothingLeftError
from annot_pipeline.stages.planning.planning_inputs import PlanningInputs, PlanningTables


def plan_hits(
    tables: PlanningTables, settings: Campaign, samples: list[pa.Table] | None = None
) -> tuple[pa.Table, PlanMetrics]:
    """Plan the next HITs.

    Parameters
    ----------
    tables
        What is known.
    settings
        ``easl``, ``next_hits``, ``controlled_hits``, ``tasks``, ``campaign``, ``seed``.
    samples
        Grows by `SELECTION_PROBABILITIES` of each task whose items are a sample.

    Returns
    -------
    plan, metrics
        `hit_plan.HIT_PLAN`; and what was planned, what could not be, of which tasks that is
        because they are ``done``, how many listed items are ``homeless``, and what to know.
    """
    design = design_of(settings)
    tables = tables.of_current_texts()
    listed = listed_items(tables.items, tables.tasks, settings)
    questions, unplanned = design.questions(
        AskedTasks(tables.tasks, listed, tables.votes, settings)
    )
    inputs = PlanningInputs(tables, listed, settings)
    homeless = len(inputs.homeless(tables.tasks["task"].to_pylist()))
    if homeless:
        inputs.notes.append(NOWHERE.format(homeless))
    done: list[str] = []
    parts: list[pa.Table] = []
    planned: dict[str, int] = {}
    effort: dict[str, dict[str, int]] = {}
    validation: dict[str, dict[str, Any]] = {}
    for question in questions:
        try:
            plan = design.plan(question, inputs)
        except CannotPlanError as error:
            unplanned[question.task] = str(error)
            if isinstance(error, NothingLeftError):
                done.append(question.task)
            continue
        planned[question.task] = len(plan.slots.hit_sizes)
        if plan.effort is not None:
            effort[question.task] = dict(plan.effort)
        if plan.summary is not None:
            validation[question.task] = dict(plan.summary)
        if plan.probabilities is not None and samples is not None:
            samples.append(plan.probabilities)
        parts.append(
            plan_table(
                plan.items, plan.slots,
                campaign=settings.campaign, seed=settings.seed, gamma=settings.easl.gamma,
            )
        )  # fmt: skip
    table = pa.concat_tables(parts) if parts else HIT_PLAN.empty_table()
    metrics = PlanMetrics(
        hits=planned,
        unplanned=unplanned,
        done=done,
        homeless=homeless,
        notes=inputs.notes,
        adequacy=effort,
        validation=validation,
    )
    return table, metrics


def questions_of(tables: PlanningTables, settings: Campaign) -> Questions:
    """Return the questions of the design, one per task, and why other tasks have none."""
    listed = listed_items(tables.items, tables.tasks, settings)
    asked = AskedTasks(tables.tasks, listed, tables.votes, settings)
    return design_of(settings).questions(asked)
