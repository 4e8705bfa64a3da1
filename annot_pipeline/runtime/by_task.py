"""The rows of each task of a table, found in one pass."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa

from annot_pipeline.runtime.indexing import index


class ByTask:
    """Represents a table by task; tasks are views of it if its rows are in task order.

    Parameters
    ----------
    table
        ``task`` and more.
    """

    def __init__(self, table: pa.Table) -> None:
        indexed = index(table["task"], null="")
        codes = indexed.codes
        if (np.diff(codes) < 0).any():
            order = np.argsort(codes, kind="stable")
            table, codes = table.take(pa.array(order)), codes[order]
        ends = np.cumsum(np.bincount(codes, minlength=len(indexed.names))).tolist()
        self._table = table
        self._spans = dict(zip(indexed.names, zip([0, *ends], ends, strict=False), strict=True))

    @property
    def names(self) -> list[str]:
        """Return the tasks that have rows, in code point order."""
        return list(self._spans)

    def __getitem__(self, task: str) -> pa.Table:
        """Return the rows of a task in their order; none if the table lacks the task."""
        start, end = self._spans.get(task, (0, 0))
        return self._table.slice(start, end - start)

    def only(self, tasks: Collection[str]) -> pa.Table:
        """Return the rows of some tasks."""
        if {*self._spans} <= {*tasks}:
            return self._table
        pieces = [self[task] for task in sorted(tasks)]
        return pa.concat_tables([self._table.slice(0, 0), *pieces])
