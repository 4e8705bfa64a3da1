"""Batches that ask for labels of categorical tasks: by gain, or as the sample of an audit."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.contracts import TEXT
from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.hits.plan_audit import audit_notes, plan_audit
from annot_pipeline.hits.plan_labels import PlannedLabels, plan_labels
from annot_pipeline.runtime.indexing import class_order
from annot_pipeline.stages.build import Build
from annot_pipeline.stages.last_build import last_build
from annot_pipeline.stages.planning.designs import NO_LABELS
from annot_pipeline.stages.planning.hit_plan import HIT_PLAN, CannotPlanError, Question, plan_table
from annot_pipeline.stages.planning.metrics import PlanMetrics
from annot_pipeline.stages.planning.plan_comparisons import NothingLeftError
from annot_pipeline.stages.planning.planning_inputs import Listed, listed_items
from annot_pipeline.storage.releases import Releases
from annot_pipeline.storage.tables import StoredTable, StoredTasks, read_verified, verify_table

AUDIT, LABELS = "audit", "labels"
LABEL_DESIGNS = (AUDIT, LABELS)
"""Designs that are planned here, from a finished build."""
READ = ("labels", "label_distributions", "judge_confusion", "controlled")
"""Tables that are read task by task."""


def design_of(campaign: LoadedCampaign, built: Iterable[str | None] = (None,)) -> str:
    """Return the design that is set, or the one for the kinds of tasks.

    A kind that is not declared is none; those of the last build, if given, are in place of these.
    """
    settings = campaign.settings
    kinds: set[str | None] = {task.kind for task in settings.tasks} or {None}
    if None in kinds:
        kinds = kinds - {None} | {*built}
    is_set = "design" in settings.next_hits.model_fields_set
    if is_set or kinds != {"categorical"} or settings.judges.has_models:
        return settings.next_hits.design
    return LABELS


def plan_label_batch(
    campaign: LoadedCampaign, design: str
) -> tuple[pa.Table, list[Question], pa.Table, PlanMetrics]:
    """Return tasks, a question for each categorical one, the plan, and what to know of it.

    Parameters
    ----------
    campaign
        That was built.
    design
        One of `LABEL_DESIGNS`.

    Raises
    ------
    StoreError
        The last build is not of these exports and settings; of an audit, it is not published.
    """
    settings = campaign.settings
    files = last_build(Build(campaign), "tasks", "item_rows", *READ, command="annot hits")
    release = _release_of(campaign, files["labels"]) if design == AUDIT else None
    by_task = {name: StoredTasks(verify_table(files[name])) for name in READ}
    tasks = read_verified(files["tasks"])
    listed = listed_items(read_verified(files["item_rows"]), tasks, settings)
    metrics = PlanMetrics({}, {}, [], len(listed.homeless()), [], {}, {})
    questions: list[Question] = []
    parts: list[pa.Table] = [HIT_PLAN.empty_table()]
    for row in tasks.to_pylist():
        task = row["task"]
        if row["kind"] != "categorical":
            continue
        tables = {name: rows[task] for name, rows in by_task.items()}
        seen = tables["label_distributions"]["label"].cast(TEXT).unique().to_pylist()
        classes = row["labels"] or class_order(seen)
        if len(classes) < 2:
            metrics.unplanned[task] = NO_LABELS
            continue
        question = Question(task, ask="label", labels=tuple(classes))
        try:
            planned = _planned(question, tables, listed, release, campaign, metrics)
        except CannotPlanError as error:
            metrics.unplanned[task] = str(error)
            metrics.done.extend([task] * isinstance(error, NothingLeftError))
            continue
        questions.append(planned.items.question)
        metrics.validation[task] = planned.summary
        parts.append(
            plan_table(
                planned.items, planned.slots, campaign=settings.campaign, seed=settings.seed,
                gamma=settings.easl.gamma,
            )
        )  # fmt: skip
    return tasks, questions, pa.concat_tables(parts), metrics


def _planned(
    question: Question,
    tables: dict[str, pa.Table],
    listed: Listed,
    release: str | None,
    campaign: LoadedCampaign,
    metrics: PlanMetrics,
) -> PlannedLabels:
    settings, task = campaign.settings, question.task
    if release is None:
        next_hits, own = settings.next_hits, listed.by_task.get(task, {})
        level = settings.labels.certain_at if next_hits.level is None else next_hits.level
        return plan_labels(question, tables, own, next_hits, level, metrics.notes)
    rows = listed.rows(task)
    planned = plan_audit(question, tables["labels"], tables["controlled"], rows, release, settings)
    metrics.notes.extend(audit_notes(task, planned.summary, settings.labels.certain_at))
    return planned


def _release_of(campaign: LoadedCampaign, labels: StoredTable) -> str:
    """Return the newest release, if it has published these labels."""
    release = Releases.for_campaign(campaign).latest()
    for run in release.manifest["runs"] if release else ():
        if release and run["outputs"].get("labels") == labels.sha256:
            return release.version
    version = release.version if release else "gold"
    what = "has not the labels of the last build"
    problem = Problem(version, what, do="annot build, and publish what it makes")
    raise StoreError("an audit is of the newest release", [problem])
