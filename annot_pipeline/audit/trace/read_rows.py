"""The rows of a release that an answer about an item stands on, checksums verified.

A release answers for itself: its tables and manifest are all that is read, so any old release
can be asked. What does not belong here: what the rows mean (trace and the modules beside it).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from annot_pipeline.bounded_json import parse_bounded_json
from annot_pipeline.config import Resources
from annot_pipeline.contracts import GOLD
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.releases import Release
from annot_pipeline.storage.spill import temporary_spill
from annot_pipeline.storage.tables import StoredTable

Row = dict[str, Any]
Rows = dict[str, list[Row]]
"""Rows by table."""

ByTask = dict[str | None, Rows]
"""Rows by task, then by table; under None what belongs to no task."""

READ = (
    "labels", "label_distributions", "prevalence", "judge_confusion", "label_calibration", "judges",
    "scores",
    "segment_ranks", "system_rankings", "items", "judgments", "set_aside", "lineage",
)  # fmt: skip
"""Tables that a trace may need."""

PAIRED = ("pairwise", "ranking")
"""Kinds of tasks whose judgments may be about two items."""


def rows_about(release: Release, item: str, task: str | None = None) -> ByTask:
    """Return rows of the gold tables about an item, by task.

    Parameters
    ----------
    release
        The release.
    item, task
        Item and task; without a task: in every task.

    Raises
    ------
    StoreError
        A table is not as it was published.
    """
    parameters = {
        "tasks": [task],
        "items": [item],
        "every_task": task is None,
        "paired": [task for task, kind in kinds(release.manifest).items() if kind in PAIRED],
    }
    by_task: ByTask = {}
    for row in ask(release, "trace/rows", READ, parameters):
        fields = parse_bounded_json(row["row"])
        fields.pop("asked", None)
        of_task = by_task.setdefault(fields.get("task"), {})
        of_task.setdefault(row["of_table"], []).append(fields)
    return by_task


def ask(
    release: Release, query: str, tables: Sequence[str], parameters: Mapping[str, Any]
) -> list[Row]:
    """Return the rows of a query over tables of a release.

    A table that it does not hold is empty.
    """
    inputs = {name: _verified(release, name) for name in tables}
    queries = Queries(Resources(), temporary_spill())
    rows: list[Row] = queries.table(query, inputs, parameters).to_pylist()
    return rows


def kinds(manifest: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the kind of each task."""
    kind_by_task: Mapping[str, str] = manifest["facts"]["kinds"]
    return kind_by_task


def _verified(release: Release, name: str) -> StoredTable | pa.Table:
    """Return a table's files, their bytes as they were published.

    Empty where the release has none.
    """
    return release.stored(name) if name in release.tables else GOLD[name].empty()
