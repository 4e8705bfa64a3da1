"""What changed between two releases, each cell with its cause, found by recomputation.

What does not belong here: the states between (states), how cells are compared (cells),
how it is shown (cli).
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.audit.diff.cells import (
    CAUSES,
    COMPARED,
    DIFF,
    Compared,
    Step,
    Values,
    attributed,
    column_of,
    differing,
    long_form,
    values_of,
)
from annot_pipeline.audit.diff.sides import Side, counts_of, input_changes, side, with_other_names
from annot_pipeline.audit.diff.states import Between, State, table_of
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.contracts import GOLD
from annot_pipeline.errors import AnnotError, Problem, StoreError
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.releases import Release, Releases
from annot_pipeline.storage.store import Store

SUMMARIZED = ("table", "column", "change", "new", "causes", "delta")
FLAGS = {
    (name, column.name)
    for name, table in GOLD.items()
    for column in table.columns
    if pa.types.is_boolean(column.type)
}
"""Tables and columns that hold true and false."""


@dataclass(frozen=True)
class Diff:
    """What changed between two releases.

    Parameters
    ----------
    old, new
        The releases.
    inputs
        What differs in exports, judgments, verdicts, settings and code.
    cells
        As `cells.DIFF` says, those that people look for first on top.
    judgments
        Those that differ, as `judgments.JUDGMENTS` says; None: not looked for, or exports and
        mappings are the same.
    recomputed
        What had to be built to tell the causes apart: a name, and the tables asked for.
    notes
        What is worth knowing of all this.
    causes_found
        Whether causes were looked for.
    """

    old: Release
    new: Release
    inputs: Mapping[str, Any]
    cells: pa.Table
    judgments: pa.Table | None = None
    recomputed: Sequence[Mapping[str, Any]] = ()
    notes: Sequence[str] = ()
    causes_found: bool = True

    def summary(self) -> list[dict[str, Any]]:
        """Return counts by table, column and cause; a cell with two causes counts for both.

        ``became_true``: changed flags that are true in the newer release; None: no flag.
        """
        by_column: dict[tuple[str, str], dict[str, Any]] = {}
        for row in self.cells.select([*SUMMARIZED]).to_pylist():
            field = (row["table"], row["column"])
            counts = by_column.setdefault(
                field,
                dict(zip(("table", "column"), field, strict=True))
                | {"changed": 0, "added": 0, "removed": 0, "became_true": None}
                | {"largest": None, "causes": Counter()},
            )
            counts[row["change"]] += 1
            if row["change"] == "changed" and field in FLAGS:
                counts["became_true"] = (counts["became_true"] or 0) + (row["new"] == "true")
            counts["causes"].update(row["causes"] or ())
            if row["delta"] is not None:
                counts["largest"] = max(counts["largest"] or 0.0, abs(row["delta"]))
        for counts in by_column.values():
            counts["causes"] = {c: counts["causes"][c] for c in CAUSES if counts["causes"][c]}
        return list(by_column.values())

    def document(self, rows: int) -> dict[str, Any]:
        """Return the JSON document, with at most ``rows`` cells of each table."""
        judgments, cells = self.judgments, list[dict[str, Any]]()
        for table in dict.fromkeys(self.cells["table"].to_pylist()):
            of_table = self.cells.filter(pc.equal(self.cells["table"], table))
            cells += map(_cell_document, of_table.slice(0, rows).to_pylist())
        return {
            "campaign": self.new.manifest["campaign"], "from": self.old.version,
            "to": self.new.version, "inputs": dict(self.inputs), "causes_found": self.causes_found,
            "recomputed": list(self.recomputed), "notes": list(self.notes),
            "summary": self.summary(), "cells": self.cells.num_rows, "rows": cells,
            "judgments": [
                {name: value for name, value in row.items() if value is not None}
                for row in ([] if judgments is None else judgments.slice(0, rows).to_pylist())
            ],
            "judgments_changed": None if judgments is None else judgments.num_rows,
        }  # fmt: skip


def _cell_document(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return a cell for the JSON document, without missing values and steps that moved nothing."""
    document = {
        name: value
        for name, value in cell.items()
        if value is not None and not name.startswith(("delta_", "after_"))
    }
    if cell["causes"] and cell["delta"] is not None:
        document["deltas"] = {cause: cell[column_of("delta", cause)] for cause in cell["causes"]}
    return document


@dataclass(frozen=True)
class _TableDifference:
    """Cells of one table that differ, and both releases of it in long form."""

    compared: Compared
    schema: pa.Schema
    cells: pa.Table
    old: pa.Table
    new: pa.Table


def diff_releases(
    campaign: LoadedCampaign,
    versions: tuple[str, str],
    *,
    tables: Sequence[str] = tuple(COMPARED),
    causes: bool = True,
    progress: Callable[[str], None] = lambda _: None,
) -> Diff:
    """Find what changed between two releases, and why.

    Parameters
    ----------
    campaign
        As it is now: its releases, its archive, its key.
    versions
        The two releases, whichever is older.
    tables
        Which of `cells.COMPARED`.
    causes
        Whether to find the causes; without, nothing is recomputed.
    progress
        Told what is being recomputed.

    Raises
    ------
    StoreError
        There is no such release, or its bytes are not those published; or causes cannot be found,
        since archived bytes, kept settings or the key are missing.
    """
    releases, store = Releases.for_campaign(campaign), Store(campaign.store)
    with store.shared_lock() if store.root.is_dir() else nullcontext():  # nobody prunes meanwhile
        old, new = (releases.get_or_candidate(version) for version in versions)
        for release in (old, new):
            compared = {c.table for of_name in tables for c in COMPARED[of_name]}
            for name in sorted(compared | {"judges", "lineage"}):
                if name in release.tables:
                    release.stored(name)  # a damaged release is no matter of causes
        if not causes:
            queries = Queries(campaign.settings.resources, campaign.spill)
            return compare_releases(queries, old, new, tables)
        return _recomputed(campaign, old, new, tables, progress)


def _recomputed(
    campaign: LoadedCampaign,
    old: Release,
    new: Release,
    tables: Sequence[str],
    progress: Callable[[str], None],
) -> Diff:
    """Return what changed and why; an error says that causes alone are missing."""
    try:
        sides = (side(campaign, old), side(campaign, new))
        with ExitStack() as builds:
            queries = Queries(campaign.settings.resources, campaign.spill)
            between = Between(campaign, *sides, builds=builds, queries=queries, progress=progress)
            return _with_causes(between, sides, tables)
    except AnnotError as error:
        do = f"annot diff {campaign.file} {old.version} {new.version} --no-causes"
        last = Problem("", "what changed can still be said, but not why", do=do)
        title = f"causes cannot be recomputed: {error.title}"
        raise StoreError(title, [*error.problems, last]) from error


def compare_releases(
    queries: Queries, old: Release, new: Release, tables: Sequence[str] | None = None
) -> Diff:
    """Compare two releases by their gold tables alone; causes are not looked for.

    Parameters
    ----------
    queries
        SQL.
    old, new
        The releases, whichever is older.
    tables
        Which of `cells.COMPARED`; None: all.
    """
    names = [set(release.table("judges")["judge"].to_pylist()) for release in (old, new)]
    is_of_key = old.manifest["settings_hash"] == new.manifest["settings_hash"]
    by_judge = is_of_key or not all(names) or bool(names[0] & names[1])
    notes = () if by_judge else ("no judge is in both releases: verdicts are not compared",)
    compared_tables = _compared_tables(tables or tuple(COMPARED), by_judge=by_judge)
    differing_tables = _differing(queries, old, new, compared_tables)
    parts = [_attributed(queries, table) for table in differing_tables]
    inputs = input_changes(queries, old, new, by_judge=by_judge)
    return Diff(old, new, inputs, _concatenate(parts), notes=notes, causes_found=False)


def _with_causes(between: Between, sides: tuple[Side, Side], tables: Sequence[str]) -> Diff:
    """Compare two releases, and find the cause of each change by recomputation."""
    old, new = (side.release for side in sides)
    versions = with_other_names(*sides)
    notes = [
        f"judges have other names in {version} than the present key gives: nothing is matched by "
        "judge, and verdicts are not compared"
        for version in versions
    ]
    queries = between.queries
    compared_tables = _compared_tables(tables, by_judge=not versions)
    differing_tables = _differing(queries, old, new, compared_tables)
    differing_sources = [f.compared.source for f in differing_tables if f.cells.num_rows]
    steps = between.steps(differing_sources) if differing_sources else []
    parts = [_attributed(queries, table, steps) for table in differing_tables]
    judgments = between.judgments
    counts = None if judgments is None else counts_of(judgments)
    inputs = input_changes(queries, old, new, by_judge=not versions) | {"judgments": counts}
    recomputed = [
        {"state": state.name, "tables": list(state.requests)} for state in between.recomputed
    ]
    notes += between.notes
    return Diff(old, new, inputs, _concatenate(parts), judgments, recomputed, notes)


def _attributed(
    queries: Queries, table: _TableDifference, steps: Sequence[tuple[str, State]] = ()
) -> pa.Table:
    """Return the cells of a table that differ, with what moved them in the steps."""
    start, end = (values_of(queries, table.cells, state) for state in (table.old, table.new))
    moves = _moves(queries, table, steps) if table.cells.num_rows else []
    return attributed(table.compared, table.schema, table.cells, start, moves, end)


def _moves(
    queries: Queries, difference: _TableDifference, steps: Sequence[tuple[str, State]]
) -> list[Step]:
    """Return the values of the cells after each step; states that are one are read once."""
    compared = difference.compared
    values: dict[int, Values] = {}
    for _, state in steps:
        if id(state) not in values:
            rows = long_form(state.table(compared.source), compared)
            values[id(state)] = values_of(queries, difference.cells, rows)
    return [(cause, values[id(state)]) for cause, state in steps]


def _compared_tables(tables: Sequence[str], *, by_judge: bool) -> list[Compared]:
    return [c for name in tables for c in COMPARED[name] if by_judge or "judge" not in c.key]


def _differing(
    queries: Queries, old: Release, new: Release, compared_tables: Sequence[Compared]
) -> list[_TableDifference]:
    """Return the differences in each table, in the columns that both releases have."""
    differing_tables = []
    for compared in compared_tables:
        before, after = (table_of(release, compared.table) for release in (old, new))
        both = set(before.schema.names) & set(after.schema.names)
        columns = tuple(name for name in compared.columns if name in both)
        of_both = dataclasses.replace(compared, columns=columns)
        long = [long_form(rows, of_both) for rows in (before, after)]
        cells = differing(queries, of_both, *long)
        differing_tables.append(_TableDifference(of_both, after.schema, cells, *long))
    return differing_tables


def _concatenate(parts: Sequence[pa.Table]) -> pa.Table:
    return pa.concat_tables(parts) if parts else DIFF.empty_table()
