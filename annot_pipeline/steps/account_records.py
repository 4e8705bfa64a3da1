"""What became of the records of each export: counts that add up, part by part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import FATES

COLUMNS = ("source_order", "source_file", "source_row", "fate", "reason")
KEY = COLUMNS[:2]
REFUSED = "assignment was rejected"
"""How the reason begins of records that whoever paid for them rejected."""

Row = dict[str, Any]


def account(parts: Iterable[pa.Table]) -> list[Row]:
    """Fates of records by export, of some records.

    Parameters
    ----------
    parts
        Tables of `COLUMNS`.

    Returns
    -------
    A row an export: ``source_order``, ``source_file``, ``records``, ``row_sum`` (of the numbers of
    their rows: two records cannot stand for each other), each fate, ``rejected_assignments``.
    """
    found: dict[tuple[int, str], Row] = {}
    for rows in parts:
        refused = pc.fill_null(pc.starts_with(rows["reason"].cast(pa.string()), REFUSED), False)
        grouped = (
            rows.select(COLUMNS[:4])
            .append_column("refused", refused.cast(pa.int64()))
            .group_by(["source_order", "source_file", "fate"])
            .aggregate([("source_row", "count"), ("source_row", "sum"), ("refused", "sum")])
        )
        for row in grouped.to_pylist():
            key = (row["source_order"], row["source_file"])
            of = found.setdefault(key, _nothing(*key))
            of["records"] += row["source_row_count"]
            of["row_sum"] += row["source_row_sum"]
            of[row["fate"]] += row["source_row_count"]
            if row["fate"] == "rejected":
                of["rejected_assignments"] += row["refused_sum"]
    return [found[key] for key in sorted(found)]


def whole_account(files: Iterable[Mapping[str, Any]], parts: Iterable[Iterable[Row]]) -> list[Row]:
    """Accounts of parts added up, beside what was read of each export.

    Parameters
    ----------
    files
        Rows of ``record_files``.
    parts
        As `account` gives them.

    Returns
    -------
    A row an export in the order of ``files``, with ``rows_read`` and ``records_read``, and whether
    it ``adds_up``: every row gave records, and every record has one fate.
    """
    files = sorted(files, key=lambda file: (file["source_order"], file["file_order"]))
    names = [(file["source_order"], file["source_file"]) for file in files]
    found = {key: _nothing(*key) for key in names}
    for row in (row for part in parts for row in part):
        of = found.get((row["source_order"], row["source_file"]), {})
        of |= {name: n + row[name] for name, n in of.items() if name not in KEY}
    return [_beside(file, found[key]) for file, key in zip(files, names, strict=True)]


def _beside(file: Mapping[str, Any], found: Row) -> Row:
    read = {"rows_read": file["rows"], "records_read": file["records"]}
    adds_up = (
        file["rows"] == file["rows_with_records"]
        and file["records"] == found["records"] == sum(found[fate] for fate in FATES)
        and file["row_sum"] == found["row_sum"]
    )
    return {**found, **read, "file_order": file["file_order"], "adds_up": adds_up}


def _nothing(source_order: int, source_file: str) -> Row:
    counts = dict.fromkeys(("records", "row_sum", *FATES, "rejected_assignments"), 0)
    return {"source_order": source_order, "source_file": source_file, **counts}


@dataclass
class RowCounts:
    """Of the records of an export: of how many raw rows they are, and the sum of their numbers."""

    n: int = 0
    sum: int = 0

    def counted(self, records: pa.Table) -> pa.Table:
        """The same records, counted; no other call is given records of their rows."""
        rows = records["row"]
        self.n += pc.count_distinct(rows).as_py()
        self.sum += pc.sum(rows).as_py() or 0
        return records
