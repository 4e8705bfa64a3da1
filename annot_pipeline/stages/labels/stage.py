"""Labels of items: votes, label models, what experts decided, and calibration.

Methods load in the work that needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from annot_pipeline.contracts import LABEL_CALIBRATION, votes_text
from annot_pipeline.errors import counted
from annot_pipeline.runtime.context import StageContext, StageOutput
from annot_pipeline.runtime.stage import Stage
from annot_pipeline.runtime.task_partitions import (
    LargeTaskData,
    TaskData,
    TaskResult,
    TaskWork,
    has_many,
    run_by_task,
)
from annot_pipeline.stages.labels.label_prior import label_priors
from annot_pipeline.stages.labels.metrics import CalibrationMetrics, LabelMetrics

if TYPE_CHECKING:
    from annot_pipeline.methods.labels.label_em import EMState
    from annot_pipeline.methods.labels.model_fits import Watch
    from annot_pipeline.stages.labels.infer_labels import FittedTask


def infer_label_tables(context: StageContext) -> StageOutput[LabelMetrics]:
    """Infer the labels of all categorical tasks."""
    from annot_pipeline.stages.labels.em_checkpoints import forget_checkpoints
    from annot_pipeline.stages.labels.infer_labels import SCHEMAS

    work = TaskWork(
        inputs=("controlled",),
        finish=_label,
        schemas=SCHEMAS,
        prepare=_fit,
        only=("categorical",),
        kinds={"controlled": ("categorical",)},
        read_by_stage=("items", "judge_tests"),
        is_large=partial(has_many, table="controlled", kind="categorical", fates=("used",)),
        blocks="controlled",
    )
    task_output = run_by_task(context, work, label_priors(context), on_end=forget_checkpoints)
    if new := task_output.metric("decided_new_classes"):
        from annot_pipeline.stages.labels.adjudicate import new_classes_in_words

        task_output.metrics["decided_new_classes"] = {
            task: new_classes_in_words(decided) for task, decided in new.items()
        }
    output = task_output.output(LabelMetrics)
    metrics = output.metrics
    if metrics.items:
        n_items, n_tasks = sum(metrics.items.values()), len(metrics.items)
        most = max(metrics.iterations.values(), default=0)
        context.progress(
            f"{counted(n_items, 'item')} labelled in {counted(n_tasks, 'task')}"
            + (f"; the label model took up to {counted(most, 'iteration')}" if most else "")
        )
    if metrics.anonymous_votes:
        votes = votes_text(metrics.anonymous_votes)
        context.progress(f"by majority of votes, without a model: {votes}")
    adjudications = metrics.adjudications.values()
    if adjudications:
        decided = sum(row["decided"] for row in adjudications)
        overridden = sum(row["overridden"] for row in adjudications)
        context.progress(f"{decided:,} items adjudicated, {overridden:,} against the model")
    return output


def _fit(tasks: Sequence[TaskData]) -> list[FittedTask]:
    """Fit the label model to tasks of one block, or to one large task."""
    from annot_pipeline.stages.labels.em_checkpoints import watch_blocks
    from annot_pipeline.stages.labels.infer_labels import LabelSettings, fit_tasks
    from annot_pipeline.stages.labels.label_items import CODED, JudgedTask

    if not tasks:
        return []
    first, settings = tasks[0], tasks[0].settings
    if isinstance(first, LargeTaskData):
        watch = watch_blocks(first.context, first.folder.name, first.name)
    else:
        watch = _progress_watch(first.progress, len(tasks))
    # weights are the same for all tasks, except that large tasks have none
    prior = max((task.value for task in tasks), key=lambda prior: len(prior.weights))
    return fit_tasks(
        [
            JudgedTask(
                task.name, task.blocks("controlled", CODED), task.declared["labels"],
                bool(task.declared["by_votes"]), task.value.truths, task.value.doubted,
            )
            for task in tasks
        ],
        LabelSettings(
            settings.dawid_skene_params, settings.labels.certain_at, settings.judges.declared
        ),
        shared_weights=prior.shared_weights,
        watch=watch,
    )  # fmt: skip


def _label(task: TaskData, fitted: Any) -> TaskResult:
    from annot_pipeline.stages.labels.infer_labels import label_tables

    return label_tables(task.name, task["controlled"], fitted, is_first=task.is_first)


def _progress_watch(progress: Callable[[str], None], n_tasks: int) -> Watch:
    """Return what reports the progress of each fit."""

    def watch(fitted: str) -> tuple[None, Callable[[int, EMState], None]]:
        def on_iteration(n_ended: int, state: EMState) -> None:
            if state.iteration % 25 == 0:
                progress(f"{fitted}: iteration {state.iteration}, {n_ended}/{n_tasks} tasks ended")

        return None, on_iteration

    return watch


def check_label_calibration(context: StageContext) -> StageOutput[CalibrationMetrics]:
    """Check probabilities of labels against the truth of items."""
    work = TaskWork(
        inputs=("label_distributions", "label_evidence"),
        finish=_check,
        schemas={LABEL_CALIBRATION.name: LABEL_CALIBRATION.schema},
        whole=("items",),
    )
    output = run_by_task(context, work)
    wrong = [*output.metric("wrong_certain_labels").values()]
    return output.output(CalibrationMetrics, wrong_certain_labels=wrong)


def _check(task: TaskData, _: None) -> TaskResult:
    from annot_pipeline.stages.labels.check_calibration import check_calibration

    table, metrics = check_calibration(
        task.name, task["label_evidence"], task["label_distributions"], task["items"],
        task.settings.labels.certain_at,
    )  # fmt: skip
    return {LABEL_CALIBRATION.name: table}, metrics


INFER_LABELS = Stage(
    "infer_labels",
    "Counts votes and fits the label model to categorical tasks; experts' decisions override it.",
    inputs={
        "controlled": (
            "task", "item", "judge", "judge_id", "label", "votes", "control", "control_of", "fate",
            "submitted_at", "why",
        ),
        "tasks": ("task", "kind", "by_votes", "labels"),
        "items": ("item", "truth"),
        "judge_tests": ("task", "judge", "uncertain"),
    },
    outputs=(
        "labels", "label_distributions", "prevalence", "judge_confusion", "judge_figures",
        "label_fits", "label_evidence",
    ),
    settings=("label_model", "labels", "judges", "dawid_skene"),
    code_version="28",  # models share more mistakes than people
    work=infer_label_tables,
)  # fmt: skip

CHECK_CALIBRATION = Stage(
    "check_calibration",
    "Compares label probabilities with held-out labels and the truth in item tables.",
    inputs={
        "label_evidence": (),
        "label_distributions": (
            "task", "item", "label", "probability", "dawid_skene_probability", "votes",
        ),
        "items": ("item", "truth"),
    },
    outputs=("label_calibration",),
    settings=("labels",),
    code_version="9",  # certificates by audits
    work=check_label_calibration,
)  # fmt: skip
