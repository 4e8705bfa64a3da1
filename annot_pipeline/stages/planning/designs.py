"""The designs of HITs, what each asks, and the next HITs of every task by the design named.

A new design is an entry of `DESIGNS`, a name in `config.sections` and a module that plans a task.

What cannot be planned is said task by task, and does not stop a build.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Campaign
from annot_pipeline.contracts import TEXT
from annot_pipeline.contracts.task_table import scale_of
from annot_pipeline.runtime.indexing import class_order
from annot_pipeline.stages.model_judges.answers import listed_probabilities
from annot_pipeline.stages.planning.hit_plan import (
    HIT_PLAN,
    CannotPlanError,
    PlannedTask,
    Question,
    plan_table,
)
from annot_pipeline.stages.planning.metrics import PlanMetrics
from annot_pipeline.stages.planning.plan_comparisons import (
    ComparedTask,
    NothingLeftError,
    plan_adequacy,
    plan_tournament,
)
from annot_pipeline.stages.planning.plan_scores import plan_controlled, plan_easl, with_text
from annot_pipeline.stages.planning.plan_validation import plan_validation
from annot_pipeline.stages.planning.planning_inputs import (
    NOWHERE,
    PROBABILITIES,
    VOTES,
    Listed,
    PlanningInputs,
    PlanningTables,
    declared,
    labelled_by,
    listed_items,
)

COMPARED_KINDS = ("pairwise", "ranking")
"""Kinds of tasks whose outputs a tournament compares."""

VALIDATED_KINDS = ("categorical", "scalar", "pairwise")
"""Kinds of tasks whose models people can validate."""

NO_MODEL = "no judge is declared as a model; write judges: [{name: ..., kind: model}]"
NO_LABELS = "it declares no labels; write labels: [...] under tasks"

Questions = tuple[list[Question], dict[str, str]]


class AskedTasks:
    """The tasks that a design may ask about.

    Parameters
    ----------
    tasks
        As `resolve_tasks` gives it.
    listed
        What item tables say; tasks that only they name are as campaign.yaml declares them.
    votes
        ``task``, ``label``: classes of a task that declares none.
    settings
        ``tasks``, ``judges``.
    """

    def __init__(
        self, tasks: pa.Table, listed: Listed, votes: pa.Table, settings: Campaign
    ) -> None:
        self.rows: dict[str, dict[str, Any]] = {row["task"]: row for row in tasks.to_pylist()}
        self.listed, self.votes, self.settings = listed, votes, settings
        self.names = sorted(listed.by_task)

    def kind(self, name: str) -> str | None:
        """Return the kind of a task."""
        if name in self.rows:
            kind: str | None = self.rows[name]["kind"]
            return kind
        return declared(name, self.settings).kind

    def seen(self, name: str) -> list[str]:
        """Return the classes that a task was answered with."""
        of_task = self.votes.filter(pc.equal(self.votes["task"].cast(TEXT), name))
        labels: list[str] = pc.unique(of_task["label"].cast(TEXT)).to_pylist()
        return labels


def about_scores(tasks: AskedTasks) -> Questions:
    """Return a question for each scalar task."""
    return _asked(tasks, [name for name in tasks.names if tasks.kind(name) == "scalar"])


def about_comparisons(tasks: AskedTasks) -> Questions:
    """Return a question for each task whose outputs are compared."""
    names = [name for name in tasks.names if tasks.kind(name) in COMPARED_KINDS]
    return [Question(name, ask="compare") for name in names], {}


def about_sampled_items(tasks: AskedTasks) -> Questions:
    """Return a question for each task that models judge, and people can."""
    names = [n for n in tasks.names if n in tasks.rows and tasks.kind(n) in VALIDATED_KINDS]
    if not tasks.settings.judges.has_models:
        return [], dict.fromkeys(names, NO_MODEL)
    return _asked(tasks, names)


def _asked(tasks: AskedTasks, names: Sequence[str]) -> Questions:
    questions: list[Question] = []
    unplanned: dict[str, str] = {}
    for name in names:
        kind = tasks.kind(name)
        if kind == "pairwise":
            questions.append(Question(name, ask="compare"))
        elif kind == "categorical":
            labels = tasks.rows[name]["labels"] or class_order(tasks.seen(name))
            if len(labels) < 2:
                unplanned[name] = NO_LABELS
            else:
                questions.append(Question(name, ask="label", labels=tuple(labels)))
        else:
            scale, criteria = _scale_and_criteria(name, tasks)
            if scale is None:
                unplanned[name] = "it declares no scale; write scale: [lowest, highest] under tasks"
            else:
                questions.append(Question(name, scale, criteria))
    return questions, unplanned


def about_adequacy(tasks: AskedTasks) -> Questions:
    """Return a question for each task that labels the outputs of others as adequate."""
    settings = tasks.settings
    questions: list[Question] = []
    unplanned: dict[str, str] = {}
    for name in sorted(set(labelled_by(tasks.listed.by_task, settings).values())):
        kind = tasks.kind(name)
        row = tasks.rows.get(name)
        classes_given = row["labels"] if row else declared(name, settings).labels
        adequacies = [
            declared(compared, settings).adequacy
            for compared in tasks.listed.labelled_in(name, settings)
        ]
        adequate = list(dict.fromkeys(c for a in adequacies if a for c in a.adequate))
        strange = [label for label in adequate if classes_given and label not in classes_given]
        classes = classes_given or class_order(list({*adequate, *tasks.seen(name)}))
        if kind not in (None, "categorical"):
            unplanned[name] = f"it is {kind}, and adequacy is asked with labels (kind: categorical)"
        elif strange:
            unplanned[name] = f"it has no label {', '.join(strange)}, which adequacy.adequate names"
        elif len(classes) < 2:
            unplanned[name] = NO_LABELS
        else:
            questions.append(Question(name, ask="label", labels=tuple(classes)))
    return questions, unplanned


def _scale_and_criteria(
    name: str, tasks: AskedTasks
) -> tuple[tuple[float, float] | None, tuple[str, ...]]:
    if name not in tasks.rows:
        declaration = declared(name, tasks.settings)
        return declaration.scale, tuple(declaration.criteria)
    row = tasks.rows[name]
    has_scale = row["scale_low"] is not None and row["scale_high"] is not None
    return (
        scale_of(row) if has_scale else None,
        tuple(criterion["criterion"] for criterion in row["criteria"] or ()),
    )


SCORED = "HITs are planned for tasks of kind scalar; name the kind under tasks, or list items"


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
    return plan_adequacy(question, compared, inputs.tables.votes, inputs.settings, inputs.notes)


def _validate(question: Question, inputs: PlanningInputs) -> PlannedTask:
    task, tables = question.task, inputs.tables
    if tables.judgments is None:
        raise CannotPlanError("it has no judgments yet: let a model judge its items first")
    return plan_validation(
        question,
        tables.judgments[task],
        tables.items,
        inputs.listed.rows(task),
        listed_probabilities(tables.probabilities, task),
        inputs.settings,
        inputs.notes,
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
    return table, PlanMetrics(planned, unplanned, done, homeless, inputs.notes, effort, validation)


def questions_of(tables: PlanningTables, settings: Campaign) -> Questions:
    """Return the questions of the design, one per task, and why other tasks have none."""
    listed = listed_items(tables.items, tables.tasks, settings)
    asked = AskedTasks(tables.tasks, listed, tables.votes, settings)
    return design_of(settings).questions(asked)
