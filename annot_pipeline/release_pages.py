"""What people read of a release: data card, report, and the description for machines.

A build that publishes nothing does not load it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow.parquet import read_schema

from annot_pipeline.audit.trace.items import contested, trace_items
from annot_pipeline.report.croissant import croissant
from annot_pipeline.report.data_card import TABLES as TOLD
from annot_pipeline.report.data_card import data_card
from annot_pipeline.report.report import COMPARED, COUNTED, MOST_ITEMS, report_html
from annot_pipeline.report.report import INTERNAL as DRAWN
from annot_pipeline.report.report import TABLES as REPORTED
from annot_pipeline.storage.files import canonical_json
from annot_pipeline.storage.manifest import stored_table
from annot_pipeline.storage.releases import Release
from annot_pipeline.storage.tables import StoredTable, read_groups, read_table


def write_pages(
    folder: Path,
    document: Mapping[str, Any],
    made: Mapping[str, StoredTable],
    parent: Release | None,
) -> None:
    """Write them into the folder of a release in the making, whose tables are there.

    Parameters
    ----------
    folder, document
        The release; its manifest, without ``files``.
    made
        All tables of the build.
    parent
        The release before.
    """
    there = {table["name"]: stored_table(folder, table) for table in document["tables"]}
    told = {name: read_table(there[name], c) for name, c in TOLD.items()}
    (folder / "README.md").write_text(data_card(document, told), encoding="utf-8")
    (folder / "croissant.json").write_bytes(canonical_json(croissant(document)))
    (folder / "report.html").write_text(
        report_html(
            document,
            reported_tables(there),
            {name: read_table(made[name], columns) for name, columns in DRAWN.items()},
            trace_items(folder, document, contested(folder, document, MOST_ITEMS)),
            *_before(parent),
        ),
        encoding="utf-8",
    )


def reported_tables(there: Mapping[str, StoredTable]) -> dict[str, pa.Table]:
    """Gold tables as the report reads them."""
    read = {name: read_table(there[name], columns) for name, columns in REPORTED.items()}
    return read | {name: _counted(there[name], columns) for name, columns in COUNTED.items()}


def _counted(table: StoredTable, columns: Sequence[str]) -> pa.Table:
    """How many rows have the same values of some columns, a row group at a time."""
    counts = [
        rows.group_by(columns).aggregate([([], "count_all")])
        for rows in read_groups(table, columns, plain=True)
    ]
    summed = pa.concat_tables(counts).group_by(columns).aggregate([("count_all", "sum")])
    in_order = summed.sort_by([(column, "ascending") for column in columns])
    return in_order.rename_columns([*columns, "n"])


def _before(parent: Release | None) -> tuple[dict[str, pa.Table] | None, dict[str, Any] | None]:
    """Tables and manifest that the report compares with."""
    if parent is None:
        return None, None
    tables = {}
    for name, columns in COMPARED.items():
        stored = parent.stored(name)
        known = read_schema(stored.paths[0]).names  # an older schema has fewer columns
        tables[name] = read_table(stored, [c for c in columns if c in known])
    return tables, parent.manifest
