"""The sheet for people: one row an assignment, with what the pipeline says of its rows."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import INT, TEXT, UNREAD_FATES
from annot_pipeline.review.assignments import Assignment
from annot_pipeline.review.batches import Batch
from annot_pipeline.review.folder import private
from annot_pipeline.storage.tables import StoredTable, read_groups, verify_table

_KEYS = ("batch", "row", "task", "judge_id")
_SUMS = ("counted", "rejected", "records")
_NAMES = ("judge", "hit", "native_id", "status", "reason")

Found = tuple[tuple[int, int], list[dict[str, Any]]]
"""(batch, row), and its records, one dictionary per task and judge."""

NextRow = Callable[[int], list[dict[str, Any]] | None]
"""Returns the records of a batch's next row, given its number."""


def found_rows(controlled: StoredTable, batches: Sequence[Batch]) -> pa.Table:
    """Return one row per batch, row, task and judge (null where no judgment counts), sorted."""
    names = pa.array([batch.opening.name for batch in batches], TEXT)
    columns = ["source_file", "source_row", "fate", *_KEYS[2:], *_NAMES]
    whole: pa.Table | None = None
    for rows in read_groups(verify_table(controlled), columns, plain=True):
        at = pc.index_in(rows["source_file"], names)
        part = _part(rows, at.cast(INT)).filter(pc.is_valid(at))
        whole = _merged([part] if whole is None else [whole, part])
    if whole is None:
        return pa.table({name: [] for name in (*_KEYS, *_SUMS, *_NAMES)})
    return whole.sort_by([(name, "ascending") for name in _KEYS])


def _part(rows: pa.Table, batch: pa.ChunkedArray) -> pa.Table:
    fate = rows["fate"].cast(TEXT)
    counted = pc.is_in(fate, pa.array(["used", "control", "judge_failed"], TEXT))
    rejected = pc.is_in(fate, pa.array(UNREAD_FATES, TEXT))

    def where(mask: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        return pc.if_else(mask, rows[name].cast(TEXT), pa.scalar(None, TEXT))

    return pa.table(
        {
            "batch": batch,
            "row": rows["source_row"],
            "task": where(counted, "task"),
            "judge_id": where(counted, "judge_id"),
            "counted": counted.cast(INT),
            "rejected": rejected.cast(INT),
            "records": pa.repeat(pa.scalar(1, INT), rows.num_rows),
            **{name: rows[name].cast(TEXT) for name in _NAMES[:-1]},
            "reason": where(rejected, "reason"),
        }
    )


def _merged(parts: Sequence[pa.Table]) -> pa.Table:
    whole = pa.concat_tables(parts).group_by(list(_KEYS))
    sums = [(name, "sum") for name in _SUMS]
    summed = whole.aggregate([*sums, *((name, "min") for name in _NAMES)])
    return summed.select(
        [*_KEYS, *(f"{n}_sum" for n in _SUMS), *(f"{n}_min" for n in _NAMES)]
    ).rename_columns([*_KEYS, *_SUMS, *_NAMES])


def by_row(rows: pa.Table) -> Iterator[Found]:
    """Yield (batch, row) and its records, in order."""
    records = (row for batch in rows.to_batches(max_chunksize=10_000) for row in batch.to_pylist())
    for key, group in itertools.groupby(records, key=lambda row: (row["batch"], row["row"])):
        yield key, list(group)


def matching(rows: Iterator[Found], batch: int) -> NextRow:
    """Return a function that gives the records of a batch's next row, by the row's number.

    It returns None if the next row has another number.
    """

    def next_row(row_number: int) -> list[dict[str, Any]] | None:
        key, group = next(rows, ((-1, -1), []))
        return group if key == (batch, row_number) else None

    return next_row


FORMULA = re.compile(r"(^|[;|\t\r\n])(?=[\s\"]{0,99}[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r])")
"""Where a cell, split where some locales split cells, would start as a formula does."""

COLUMNS = "export row line worker hit native_id status recommendation verdict reason"
FIGURES = (
    "p_value", "effect", "effect_low", "effect_high", "required_effect", "power", "n_pairs",
    "n_needed", "mean_ordinary", "mean_good_reference", "mean_bad_reference",
    "seconds_per_judgment", "longest_constant_run", "share_at_ends",
)  # fmt: skip
"""What review.csv says of an assignment, then of its judge."""


def write_sheet(path: Path, assignments: list[Assignment]) -> None:
    """Write one row per assignment, the most doubtful first."""
    with private(path, "utf-8", "backslashreplace") as file:
        sheet = csv.writer(file, lineterminator="\n")
        sheet.writerow((*COLUMNS.split(), *FIGURES, "n_judgments", "n_rejected_records"))
        for a in sorted(assignments, key=lambda a: a.doubt):
            who = [a.export, a.row, a.line, a.worker, a.hit, a.native_id, a.status]
            what = [a.recommendation, ", ".join(a.verdicts), a.reason]
            figures = [a.judge.get(name) for name in FIGURES]
            sheet.writerow(map(safe_cell, [*who, *what, *figures, a.n_judgments, a.n_rejected]))


def safe_cell(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula; numbers as they are."""
    return FORMULA.sub(r"\1'", value) if isinstance(value, str) else value


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet may take a cell, or a part of it, for a formula."""
    return FORMULA.search(text) is not None
