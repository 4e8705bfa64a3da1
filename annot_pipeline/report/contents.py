"""What a report is made from, and counts that several sections need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import TEXT

Document = Mapping[str, Any]

HEADLINES = {
    "categorical": ("alpha_nominal", "fleiss_kappa", "percent_agreement"),
    "ordinal": ("alpha_ordinal", "alpha_nominal", "percent_agreement"),
    "scalar": ("alpha_interval", "alpha_ordinal"),
    "pairwise": ("inter_kappa_ternary", "cohen_kappa_ternary", "consistency"),
    "ranking": ("inter_kappa_ternary", "cohen_kappa_ternary", "consistency"),
}
"""By kind of task: the statistic of agreement that is told first, if it has a value."""


@dataclass(frozen=True)
class Contents:
    """What the sections read.

    Parameters
    ----------
    manifest
        Of the release, without ``files``.
    tables, internal
        Of the release, and of the store.
    traces
        Of the contested items.
    previous, previous_manifest
        Tables and manifest of the parent, if there is one.
    """

    manifest: Document
    tables: Mapping[str, pa.Table]
    internal: Mapping[str, pa.Table]
    traces: Sequence[Document] = ()
    previous: Mapping[str, pa.Table] | None = None
    previous_manifest: Document | None = None

    @property
    def facts(self) -> Document:
        """What the build counted."""
        facts: Document = self.manifest["facts"]
        return facts

    @property
    def settings(self) -> Document:
        """As published."""
        settings: Document = self.manifest["settings"]
        return settings

    @property
    def about(self) -> Document:
        """What the campaign says of itself; only what it does say."""
        return {key: value for key, value in (self.settings.get("about") or {}).items() if value}

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """Rows of every gold table."""
        return {table["name"]: table["rows"] for table in self.manifest["tables"]}

    @cached_property
    def labels_by_task(self) -> Mapping[tuple[Any, ...], int]:
        """Items labelled, by task and whether certain."""
        return counted(self.tables["labels"], "task", "certain")

    @cached_property
    def judgments_by_task(self) -> Mapping[tuple[Any, ...], int]:
        """Judgments, by task and fate."""
        return counted(self.tables["judgments"], "task", "fate")

    @cached_property
    def judges(self) -> list[dict[str, Any]]:
        """Rows of the gold table."""
        rows: list[dict[str, Any]] = self.tables["judges"].to_pylist()
        return rows

    @cached_property
    def agreement(self) -> Mapping[str, Mapping[str, dict[str, Any]]]:
        """Rows of the gold table, by task and statistic."""
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for row in self.tables["agreement"].to_pylist():
            found.setdefault(row["task"], {})[row["statistic"]] = row
        return found

    def task_settings(self, task: str) -> Document:
        """Of the first pattern that matches the task's name; empty where none does."""
        every = self.settings.get("tasks", ())
        return next((s for s in every if fnmatchcase(task, s["name"])), {})

    def headline(self, task: str) -> dict[str, Any] | None:
        """The statistic of agreement that is told first of a task."""
        kind = self.facts["kinds"].get(task, "categorical")
        if kind == "categorical" and self.task_settings(task).get("ordinal"):
            kind = "ordinal"
        found = self.agreement.get(task, {})
        rows = (found.get(name) for name in HEADLINES[kind])
        return next((row for row in rows if row and row["value"] is not None), None)


def counted(table: pa.Table, *columns: str) -> dict[tuple[Any, ...], int]:
    """Rows by the values of some columns, in the order of the values."""
    plain = pa.table({name: _plain(table[name]) for name in columns})
    groups = plain.group_by(list(columns)).aggregate([([], "count_all")])
    keys = zip(*(groups[name].to_pylist() for name in columns), strict=True)
    found = dict(zip(keys, groups["count_all"].to_pylist(), strict=True))
    return dict(sorted(found.items(), key=lambda entry: tuple(map(str, entry[0]))))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(TEXT) if pa.types.is_dictionary(column.type) else column


def of_task(table: pa.Table, task: str) -> pa.Table:
    """The rows of a task."""
    return table.filter(pc.equal(_plain(table["task"]), task))
