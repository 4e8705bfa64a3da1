"""Counts the judgments that systems are ranked by, for the gates to look at."""

from __future__ import annotations

import pyarrow as pa


def judgments_of_systems(rankings: pa.Table) -> dict[str, dict[str, int]]:
    """Return the largest number of judgments that any method uses, by task and system."""
    most = rankings.group_by(["task", "system"]).aggregate([("n_judgments", "max")])
    by_task: dict[str, dict[str, int]] = {}
    for row in most.sort_by([("task", "ascending"), ("system", "ascending")]).to_pylist():
        by_task.setdefault(row["task"], {})[row["system"]] = row["n_judgments_max"]
    return by_task
