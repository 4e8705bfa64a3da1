"""What became of the records of each export: counts that add up, part by part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import FATES

COLUMNS = ("source_order", "source_file", "source_row", "fate", "reason")
KEY = COLUMNS[:2]
REFUSED = "assignment was rejected"
"""How the reason begins of records that whoever paid for them rejected."""

Row = dict[str, Any]


def account(parts: Iterable[pa.Table]) -> list[Row]:
    """Return the fates of some records, counted by export.

    Parameters
    ----------
    parts
        Tables of `COLUMNS`.

    Returns
    -------
    A row an export: ``source_order``, ``source_file``, ``records``, ``row_hashes`` (those of
    the numbers of their rows, added up: one record does not stand for another), each fate,
    ``rejected_assignments``.
    """
    accounts: dict[tuple[int, str], Row] = {}
    for rows in parts:
        refused = pc.fill_null(pc.starts_with(rows["reason"].cast(pa.string()), REFUSED), False)
        grouped = (
            rows.select(COLUMNS[:4])
            .append_column("refused", refused.cast(pa.int64()))
            .append_column("row_hash", pa.array(hashes_of_rows(rows["source_row"])))
            .group_by(["source_order", "source_file", "fate"])
            .aggregate([("row_hash", "count"), ("row_hash", "sum"), ("refused", "sum")])
        )
        for row in grouped.to_pylist():
            key = (row["source_order"], row["source_file"])
            account_row = accounts.setdefault(key, _empty_account(row))
            account_row["records"] += row["row_hash_count"]
            account_row["row_hashes"] += row["row_hash_sum"]
            account_row[row["fate"]] += row["row_hash_count"]
            if row["fate"] == "rejected":
                account_row["rejected_assignments"] += row["refused_sum"]
    return [accounts[key] for key in sorted(accounts)]


def whole_account(files: Iterable[Mapping[str, Any]], parts: Iterable[Iterable[Row]]) -> list[Row]:
    """Add up the accounts of partitions, and compare them with what was read.

    Parameters
    ----------
    files
        Rows of ``record_files``.
    parts
        As `account` gives them.

    Returns
    -------
    A row an export in the order of ``files``, with ``rows_read`` and ``records_read``, and whether
    it ``adds_up``: every line is of a row or of none, every row gave records, and every record has
    one fate.
    """
    files = sorted(files, key=lambda file: (file["source_order"], file["file_order"]))
    accounts = {(file["source_order"], file["source_file"]): _empty_account(file) for file in files}
    for row in (row for part in parts for row in part):
        account_row = accounts.setdefault(
            (row["source_order"], row["source_file"]), _empty_account(row)
        )
        account_row |= {name: n + row[name] for name, n in account_row.items() if name not in KEY}
    read = {(file["source_order"], file["source_file"]): file for file in files}
    return [
        _with_counts_read(read.get(key, UNREAD), account_row)
        for key, account_row in accounts.items()
    ]


COUNTS = ("rows", "records", "rows_with_records", "row_hashes", "unaccounted_lines")
UNREAD = {"file_order": None} | dict.fromkeys(COUNTS, 0)
"""What was read of an export of which nobody knows."""


def _with_counts_read(file: Mapping[str, Any], account_row: Row) -> Row:
    read = {"rows_read": file["rows"], "records_read": file["records"]}
    adds_up = (
        file["rows"] == file["rows_with_records"]
        and file["records"] == account_row["records"] == sum(account_row[fate] for fate in FATES)
        and file["row_hashes"] == account_row["row_hashes"]
        and not file["unaccounted_lines"]
    )
    return {**account_row, **read, "file_order": file["file_order"], "adds_up": adds_up}


def _empty_account(export: Mapping[str, Any]) -> Row:
    counts = dict.fromkeys(("records", "row_hashes", *FATES, "rejected_assignments"), 0)
    return {name: export[name] for name in KEY} | counts


def hashes_of_rows(rows: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return a 32-bit hash of each row number (splitmix64), so that sums tell rows apart."""
    mixed = rows.to_numpy().astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed = (mixed ^ (mixed >> np.uint64(31))) >> np.uint64(32)
    return np.asarray(mixed, np.int64)


@dataclass
class RowCounts:
    """Counts the raw rows of an export's records, and adds up their hashes."""

    n: int = 0
    hashes: int = 0

    def counted(self, records: pa.Table) -> pa.Table:
        """Count records and return them; the records of a row come in one call."""
        rows = records["row"]
        self.n += pc.count_distinct(rows).as_py()
        self.hashes += row_hashes(rows)
        return records


def row_hashes(rows: pa.ChunkedArray) -> int:
    """Return the sum of the hashes of row numbers."""
    return int(hashes_of_rows(rows).sum())
