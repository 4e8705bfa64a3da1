"""Model judges, task by task: validation against people, bias, and corrected estimates.

Methods load in the work that needs them: most campaigns declare no model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from annot_pipeline.contracts import ESTIMATES, JUDGE_BIAS, JUDGE_VALIDATION, VALIDATION_CONFUSION
from annot_pipeline.contracts.stage_metrics import TaskMetrics
from annot_pipeline.runtime.by_task import ByTask
from annot_pipeline.runtime.context import StageContext, StageOutput
from annot_pipeline.runtime.stage import Stage
from annot_pipeline.runtime.task_partitions import TaskRows, run_by_task, throttle_progress
from annot_pipeline.stages.model_judges.metrics import ModelJudgeMetrics

ANSWER_COLUMNS = (
    "task", "item", "item_a", "item_b", "segment", "document", "system", "system_a",
    "system_b", "criterion", "judge_id", "judge_kind", "judge", "fate", "control", "label",
    "score", "preference", "strength", "rank_a", "rank_b", "ranking", "hit", "truth",
    "submitted_at", "seconds", "hit_seconds", "judgment_id", "selection_probability",
)  # fmt: skip
"""Columns of judgments that say who answered what, and when."""
METRICS = ("unvalidated", "constant", "biased_samples", "several_versions", "model_labels")
TABLES = (JUDGE_VALIDATION, VALIDATION_CONFUSION, JUDGE_BIAS, ESTIMATES)


def measure_model_judges(context: StageContext) -> StageOutput[ModelJudgeMetrics]:
    """Measure the models of all tasks, and the bias of all judges who compare."""
    has_models = context.campaign.settings.judges.has_models
    kinds = ("categorical", "scalar", "pairwise") if has_models else ("pairwise",)
    output = run_by_task(
        context,
        _measure,
        "controlled",
        kinds={"controlled": kinds},
        whole=("item_rows", "item_probabilities"),
    )
    return output.output(ModelJudgeMetrics)


def _measure(inputs: TaskRows) -> tuple[Mapping[str, pa.Table], TaskMetrics]:
    from annot_pipeline.stages.model_judges.answers import listed_probabilities
    from annot_pipeline.stages.model_judges.measure_task import measure_task

    rows: dict[str, list[dict[str, Any]]] = {table.name: [] for table in TABLES}
    metrics: TaskMetrics = {name: {} for name in METRICS}
    report = throttle_progress(inputs.progress)
    judgments = ByTask(inputs["controlled"])
    for task in inputs["tasks"].to_pylist():
        report(f"model judges: {task['task']}")
        measured = measure_task(
            judgments[task["task"]], task, inputs["item_rows"], inputs.settings,
            probabilities=listed_probabilities(inputs["item_probabilities"], task["task"]),
        )  # fmt: skip
        for name, more in measured.rows.items():
            rows[name] += more
        for name, value in measured.metrics.items():
            if value:
                metrics[name][task["task"]] = value
    return {
        table.name: table.from_columns(
            {name: [row.get(name) for row in rows[table.name]] for name in table.schema.names}
        )
        for table in TABLES
    }, metrics


MEASURE_MODEL_JUDGES = Stage(
    "measure_model_judges",
    "Compares models with people, corrects model estimates, and measures the bias of judges.",
    inputs={
        "controlled": ANSWER_COLUMNS,
        "tasks": ("task", "kind", "scale_low"),
        "item_rows": ("item", "segment", "document", "system", "place", "truth", "text"),
        "item_probabilities": (),
    },
    outputs=tuple(table.name for table in TABLES),
    settings=("judges", "ranking.shown_order", "seed"),
    code_version="4",  # no order effect without a pair in both orders
    work=measure_model_judges,
    kinds=frozenset({"parquet", "numpy"}),
)  # fmt: skip
