"""Counts the judgments that systems are ranked by, for the gates to look at."""

from __future__ import annotations

import pyarrow as pa


def judgments_of_systems(rankings: pa.Table) -> list[tuple[str, int]]:
    """Systems, with their tasks, and the most judgments that a method ranks them by."""
    most = rankings.group_by(["task", "system"]).aggregate([("n_judgments", "max")])
    return sorted(
        (f"{row['task']} {row['system']}", row["n_judgments_max"]) for row in most.to_pylist()
    )
