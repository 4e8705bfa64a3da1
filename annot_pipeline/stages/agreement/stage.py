"""Agreement of judges, task by task: on labels, scores and preferences.

Methods load in the work that needs them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from annot_pipeline.contracts import AGREEMENT
from annot_pipeline.runtime.context import StageContext, StageOutput
from annot_pipeline.runtime.partitions import InputPartition
from annot_pipeline.runtime.stage import Stage
from annot_pipeline.runtime.task_partitions import (
    TaskData,
    TaskResult,
    TaskWork,
    has_many,
    run_by_task,
    several_files,
)
from annot_pipeline.stages.agreement.metrics import AgreementMetrics


def measure_agreement_of_tasks(context: StageContext) -> StageOutput[AgreementMetrics]:
    """Measure the agreement of the judges of all tasks."""
    work = TaskWork(
        inputs=("controlled", "standardized", "judge_scores", "control_pairs", "comparisons"),
        finish=_measure,
        schemas={AGREEMENT.name: AGREEMENT.schema},
        kinds={"controlled": ("categorical",)},
        is_large=_is_large,
    )
    return run_by_task(context, work).output(AgreementMetrics)


def _is_large(
    context: StageContext, inputs: InputPartition, tasks: Sequence[Mapping[str, Any]]
) -> bool:
    return several_files(context, inputs, tasks) or has_many(
        context, inputs, tasks, table="controlled", kind="categorical", fates=("used",)
    )


def _measure(task: TaskData, _: None) -> TaskResult:
    from annot_pipeline.stages.agreement.measure_agreement import measure_agreement

    task.progress(f"agreement of {task.name}")
    return measure_agreement(task)


MEASURE_AGREEMENT = Stage(
    "measure_agreement",
    "Measures agreement on labels, scores and preferences, between judges and within judges.",
    inputs={
        "controlled": ("task", "item", "judge", "label", "control", "fate"),
        "standardized": (
            "task", "item", "criterion", "judge", "control", "kept", "score", "z",
        ),
        "control_pairs": (), "judge_tests": ("task", "judge", "dropped"),
        "judge_scores": ("task", "judge", "mean", "sd"), "tasks": (),
        "comparisons": (),
    },
    outputs=("agreement",),
    settings=("agreement", "standardize.arithmetic", "seed"),
    code_version="12",  # a judge who repeats an answer agrees with nobody by that
    work=measure_agreement_of_tasks,
)  # fmt: skip
