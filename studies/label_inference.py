"""Labels of one task in memory, inferred as a build does."""

from __future__ import annotations

from annot_pipeline.runtime.task_partitions import TaskResult
from annot_pipeline.stages.labels.infer_labels import LabelSettings, fit_tasks, label_tables
from annot_pipeline.stages.labels.label_items import JudgedTask


def infer_labels(task: JudgedTask, settings: LabelSettings) -> TaskResult:
    """Return the tables and metrics of `label_tables` for a task of one block."""
    [fitted] = fit_tasks([task], settings)
    [rows] = task.judgments.map(lambda block: block)
    return label_tables(task.name, rows, fitted, is_first=True)
