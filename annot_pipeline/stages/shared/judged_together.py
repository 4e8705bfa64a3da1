"""Scores of items that their judge scored beside others; of a large task, found by queries.

Online methods and comparisons see no other scores, and take those of a whole task in order.
"""

from __future__ import annotations

import pyarrow as pa

from annot_pipeline.methods.comparisons.implied_comparisons import MOST_ITEMS
from annot_pipeline.runtime.task_partitions import LargeTaskData, TaskData
from annot_pipeline.storage.tables import verify_table


def judged_together(task: TaskData) -> pa.Table:
    """Return ``standardized`` of a task; of a large one, what was scored beside another item."""
    if not isinstance(task, LargeTaskData):
        return task["standardized"]
    return _query(task, "gold/judged_together").select(task.context.columns["standardized"])


def crowded_hits(task: TaskData) -> pa.Table | None:
    """Return ``judge``, ``hit`` of HITs that `judged_together` leaves out: they are too large.

    None: it leaves none out.
    """
    return _query(task, "gold/crowded_hits") if isinstance(task, LargeTaskData) else None


def _query(task: LargeTaskData, name: str) -> pa.Table:
    standardized = verify_table(task.files["standardized"])
    queries, most = task.context.partition_queries, {"most_items": MOST_ITEMS}
    return queries.table(name, {"standardized": standardized}, most)
