"""Labels of items: votes, label models, what experts decided, and calibration."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import partial

import pyarrow as pa

from annot_pipeline.contracts import votes_text
from annot_pipeline.contracts.stage_metrics import TaskMetrics
from annot_pipeline.errors import counted
from annot_pipeline.runtime.context import StageContext, StageOutput
from annot_pipeline.runtime.large_tasks import BLOCKS, block_partitions, has_blocks
from annot_pipeline.runtime.partitions import Partition
from annot_pipeline.runtime.stage import Stage
from annot_pipeline.runtime.task_partitions import (
    TaskRows,
    WholeTasks,
    run_by_task,
    throttle_progress,
)
from annot_pipeline.stages.labels.label_prior import LabelPrior, label_priors
from annot_pipeline.stages.labels.metrics import CalibrationMetrics, LabelMetrics


def infer_label_tables(context: StageContext) -> StageOutput[LabelMetrics]:
    """Infer the labels of all categorical tasks."""
    task_output = run_by_task(
        context, _infer_labels, "controlled", kinds={"controlled": ("categorical",)},
        read_by_stage=("items", "judge_tests"), task_values=label_priors(context),
        large=partial(_labels_in_blocks, context),
    )  # fmt: skip
    if (folder := context.folder / BLOCKS).exists():
        from annot_pipeline.stages.labels.em_checkpoints import forget_checkpoints

        forget_checkpoints(context, folder)
        shutil.rmtree(folder, ignore_errors=True)  # workers that timed out may still write there
    if new := task_output.metrics["decided_new_classes"]:
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


def _labels_in_blocks(context: StageContext, whole: WholeTasks) -> list[Partition]:
    """Return the partitions of a task that is too large for one job."""
    inputs, tasks = whole.inputs, whole.small["tasks"]
    if not has_blocks(context, inputs, "controlled", "categorical", tasks, ("used",)):
        return []
    from annot_pipeline.stages.labels.label_blocks import labels_in_blocks

    [name] = inputs.tasks
    prior: LabelPrior = whole.task_values[name]
    makes = partial(labels_in_blocks, context, whole.folder(context), inputs, tasks, prior)
    return block_partitions(
        context, len(inputs.files["controlled"].files), whole.fingerprint, makes
    )


def _infer_labels(inputs: TaskRows) -> tuple[Mapping[str, pa.Table], TaskMetrics]:
    from annot_pipeline.stages.labels.infer_labels import LabelSettings, infer_labels

    settings = inputs.settings
    # truths are the same for all tasks; weights too, except that large tasks have none
    prior = max(
        inputs.task_values.values(), key=lambda prior: len(prior.weights), default=LabelPrior()
    )
    return infer_labels(
        inputs["controlled"],
        inputs["tasks"],
        LabelSettings(
            settings.dawid_skene_params, settings.labels.certain_at, settings.judges.declared
        ),
        truths=prior.truths,
        shared_weights=prior.shared_weights,
        doubted={name: prior.doubted for name, prior in inputs.task_values.items()},
        progress=throttle_progress(inputs.progress),
    )


def check_label_calibration(context: StageContext) -> StageOutput[CalibrationMetrics]:
    """Check probabilities of labels against the truth of items."""
    task_output = run_by_task(
        context, _check_calibration, "label_distributions", "label_evidence", whole=("items",)
    )
    wrong = task_output.metrics["wrong_certain_labels"]
    return task_output.output(CalibrationMetrics, wrong_certain_labels=[*wrong.values()])


def _check_calibration(inputs: TaskRows) -> tuple[Mapping[str, pa.Table], TaskMetrics]:
    from annot_pipeline.stages.labels.check_calibration import (
        check_calibration,
        truths_of_no_class,
        wrong_certain_labels,
    )

    distributions, items = inputs["label_distributions"], inputs["items"]
    certain_at = inputs.settings.labels.certain_at
    table = check_calibration(inputs["label_evidence"], distributions, items, certain_at)
    return {"label_calibration": table}, {
        "wrong_certain_labels": wrong_certain_labels(table, certain_at),
        "truths_of_no_class": truths_of_no_class(distributions, items),
    }


INFER_LABELS = Stage(
    "infer_labels",
    "Counts votes and fits the label model to categorical tasks; experts' decisions override it.",
    inputs={
        "controlled": (
            "task", "item", "judge", "judge_id", "label", "votes", "control", "fate",
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
    code_version="19",  # no label of doubted judges is certain
    work=infer_label_tables,
    kinds=frozenset({"parquet", "numpy"}),
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
    code_version="7",  # tasks labelled by votes are left out
    work=check_label_calibration,
    kinds=frozenset({"parquet", "numpy"}),
)  # fmt: skip
