"""The longest run of equal scores of each judge, in the order in which judgments were given."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes
from annot_pipeline.methods.scores.constant_runs import longest_constant_runs
from annot_pipeline.runtime.coded_task import CodedTask


def has_order(rows: pa.Table) -> pa.ChunkedArray:
    """Return whether judgments have a known order; without one in a task, runs are null."""
    return pc.or_(rows["position"].is_valid(), rows["submitted_at"].is_valid())


def longest_runs(rows: CodedTask, judges: Codes, *, n_judges: int) -> Codes:
    """Return the longest constant run ``(n_judges,)`` of each judge; -1 if unknown."""
    timed = rows.is_known("submitted_at")
    time = np.where(timed, rows.times("submitted_at"), 0)
    names = ("hit", "native_id", "position", "criterion")
    order = [time, *(_ordinals(rows, name) for name in names)]
    sittings = np.where(timed, -1, order[1])  # nothing tells the order of HITs without a time
    return longest_constant_runs(judges, sittings, order, rows.numbers("score"), n_judges=n_judges)


def _ordinals(rows: CodedTask, column: str) -> Codes:
    """Return the places of names in their natural order: numbers by size, no name, then texts."""
    indexed = rows[column]
    names = [*indexed.names, ""]  # the last, which code -1 takes, is that of a null

    def natural(code: int) -> tuple[bool, int, str]:
        name = names[code]
        if not (name.isascii() and name.isdecimal()):
            return True, 0, name
        digits = name.lstrip("0")  # a longer number is larger, however long
        return False, len(digits), digits

    positions = np.empty(len(names), np.int64)
    positions[sorted(range(len(names)), key=natural)] = np.arange(len(names))
    return positions[indexed.codes]
