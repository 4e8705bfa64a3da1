"""Names systems that are ranked by too few judgments to say anything."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

FEW = 10
"""Judgments below which a rank is hardly more than chance."""


def thin_systems(rankings: pa.Table) -> list[str]:
    """Systems, with their tasks, that no method ranks by `FEW` judgments or more."""
    most = rankings.group_by(["task", "system"]).aggregate([("n_judgments", "max")])
    few = most.filter(pc.less(most["n_judgments_max"], FEW)).to_pylist()
    return sorted(f"{row['task']} {row['system']}" for row in few)
