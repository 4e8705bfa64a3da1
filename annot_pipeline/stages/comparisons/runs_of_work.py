"""The longest run of equal scores of each judge, in the order in which judgments were given."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes
from annot_pipeline.methods.scores.constant_runs import longest_constant_runs
from annot_pipeline.runtime.indexing import index


def has_order(rows: pa.Table) -> pa.ChunkedArray:
    """Return whether judgments have a known order; without one in a task, runs are null."""
    return pc.or_(rows["position"].is_valid(), rows["submitted_at"].is_valid())


def longest_runs(rows: pa.Table, judges: Codes, *, n_judges: int) -> Codes:
    """Return the longest constant run ``(n_judges,)`` of each judge; -1 if unknown."""
    time = pc.fill_null(rows["submitted_at"].cast(pa.int64()), 0).to_numpy()
    names = ("hit", "native_id", "position", "criterion")
    order = [time, *(_ordinals(rows[name]) for name in names)]
    timed = rows["submitted_at"].is_valid().to_numpy()
    sittings = np.where(timed, -1, order[1])  # nothing tells the order of HITs without a time
    scores = rows["score"].to_numpy(zero_copy_only=False)
    return longest_constant_runs(judges, sittings, order, scores, n_judges=n_judges)


def _ordinals(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return the places of names in their natural order: numbers by size, then texts."""
    indexed = index(column, null="")

    def natural(code: int) -> tuple[bool, int, str]:
        name = indexed.names[code]
        if not (name.isascii() and name.isdecimal()):
            return True, 0, name
        digits = name.lstrip("0")  # a longer number is larger, however long
        return False, len(digits), digits

    order = sorted(range(len(indexed.names)), key=natural)
    positions = np.empty(len(order), np.int64)
    positions[order] = np.arange(len(order))
    return positions[indexed.codes]
