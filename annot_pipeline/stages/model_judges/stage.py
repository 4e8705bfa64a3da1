"""Model judges, task by task: validation against people, bias, and corrected estimates.

Methods load in the work that needs them: most campaigns declare no model.
"""

from __future__ import annotations

from annot_pipeline.contracts import ESTIMATES, JUDGE_BIAS, JUDGE_VALIDATION, VALIDATION_CONFUSION
from annot_pipeline.runtime.context import StageContext, StageOutput
from annot_pipeline.runtime.stage import Stage
from annot_pipeline.runtime.task_partitions import TaskData, TaskResult, TaskWork, run_by_task
from annot_pipeline.stages.model_judges.metrics import ModelJudgeMetrics

ANSWER_COLUMNS = (
    "task", "item", "item_a", "item_b", "segment", "document", "system", "system_a",
    "system_b", "criterion", "judge_id", "judge_kind", "judge", "fate", "control", "label",
    "score", "preference", "strength", "rank_a", "rank_b", "ranking", "hit", "truth",
    "submitted_at", "seconds", "hit_seconds", "judgment_id", "selection_probability",
)  # fmt: skip
"""Columns of judgments that say who answered what, and when."""
TABLES = (JUDGE_VALIDATION, VALIDATION_CONFUSION, JUDGE_BIAS, ESTIMATES)


def measure_model_judges(context: StageContext) -> StageOutput[ModelJudgeMetrics]:
    """Measure the models of all tasks, and the bias of all judges who compare."""
    has_models = context.campaign.settings.judges.has_models
    kinds = ("categorical", "scalar", "pairwise") if has_models else ("pairwise",)
    work = TaskWork(
        inputs=("controlled",),
        finish=_measure,
        schemas={table.name: table.schema for table in TABLES},
        kinds={"controlled": kinds},
        whole=("item_rows", "item_probabilities"),
    )
    return run_by_task(context, work).output(ModelJudgeMetrics)


def _measure(task: TaskData, _: None) -> TaskResult:
    from annot_pipeline.stages.model_judges.answers import listed_probabilities
    from annot_pipeline.stages.model_judges.measure_task import measure_task

    task.progress(f"model judges: {task.name}")
    measured = measure_task(
        task["controlled"], task.declared, task["item_rows"], task.settings,
        probabilities=listed_probabilities(task["item_probabilities"], task.name),
    )  # fmt: skip
    return {
        table.name: table.from_columns(
            {
                name: [row.get(name) for row in measured.rows.get(table.name, ())]
                for name in table.schema.names
            }
        )
        for table in TABLES
    }, {name: value for name, value in measured.metrics.items() if value}


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
