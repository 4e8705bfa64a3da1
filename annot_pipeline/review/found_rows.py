"""What the pipeline found of each row of a batch: records, their fates, and who judged."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from annot_pipeline.contracts import INT, TEXT
from annot_pipeline.review.batches import Batch
from annot_pipeline.storage.tables import TableFile, read_table

BATCH_ROWS = 100_000
_KEYS = ("batch", "row", "task", "judge_id")
_SUMS = ("counted", "rejected", "records")
_NAMES = ("judge", "hit", "native_id", "status", "reason")

Found = tuple[tuple[int, int], list[dict[str, Any]]]
"""(batch, row), and what was found of it, one dictionary a task and judge."""

NextRow = Callable[[int], list[dict[str, Any]] | None]
"""Given the number of a batch's next row, what was found of it."""


def found_rows(tables: Mapping[str, TableFile], batches: Sequence[Batch]) -> pa.Table:
    """One row is a batch, row, task and judge (null where no judgment counts), in that order."""
    place = {batch.opening.name: n for n, batch in enumerate(batches)}
    files = [
        row
        for row in read_table(tables["record_files"].path).to_pylist()
        if row["source_file"] in place
    ]
    width = 1 + max(row["file_order"] for row in files)
    codes = pa.array([row["source_order"] * width + row["file_order"] for row in files], INT)
    batch_of = pa.array([place[row["source_file"]] for row in files], INT)
    columns = ["source_order", "file_order", "source_row", "fate", *_KEYS[2:], *_NAMES]
    whole: pa.Table | None = None
    with pq.ParquetFile(tables["controlled"].path) as file:
        for rows in file.iter_batches(BATCH_ROWS, columns=columns):
            code = pc.add(pc.multiply(rows["source_order"], width), rows["file_order"])
            at = pc.index_in(pc.if_else(pc.less(rows["file_order"], width), code, None), codes)
            part = _part(rows, pc.take(batch_of, at)).filter(pc.is_valid(at))
            whole = _merged([part] if whole is None else [whole, part])
    if whole is None:
        return pa.table({name: [] for name in (*_KEYS, *_SUMS, *_NAMES)})
    return whole.sort_by([(name, "ascending") for name in _KEYS])


def _part(rows: pa.RecordBatch, batch: pa.Array) -> pa.Table:
    fate = rows["fate"].cast(TEXT)
    counted = pc.is_in(fate, pa.array(["used", "control", "judge_failed"], TEXT))
    rejected = pc.equal(fate, "rejected")

    def where(mask: pa.Array, name: str) -> pa.Array:
        return pc.if_else(mask, rows[name].cast(TEXT), pa.scalar(None, TEXT))

    return pa.table(
        {
            "batch": batch,
            "row": rows["source_row"],
            "task": where(counted, "task"),
            "judge_id": where(counted, "judge_id"),
            "counted": counted.cast(INT),
            "rejected": rejected.cast(INT),
            "records": pa.repeat(pa.scalar(1, INT), len(rows)),
            **{name: rows[name].cast(TEXT) for name in _NAMES[:-1]},
            "reason": where(rejected, "reason"),
        }
    )


def _merged(parts: Sequence[pa.Table]) -> pa.Table:
    whole = pa.concat_tables(parts).group_by(list(_KEYS))
    sums = [(name, "sum") for name in _SUMS]
    found = whole.aggregate([*sums, *((name, "min") for name in _NAMES)])
    return found.select(
        [*_KEYS, *(f"{n}_sum" for n in _SUMS), *(f"{n}_min" for n in _NAMES)]
    ).rename_columns([*_KEYS, *_SUMS, *_NAMES])


def by_row(found: pa.Table) -> Iterator[Found]:
    """((batch, row), what was found of it), in order."""
    rows = (row for batch in found.to_batches(max_chunksize=10_000) for row in batch.to_pylist())
    for key, group in itertools.groupby(rows, key=lambda row: (row["batch"], row["row"])):
        yield key, list(group)


def matching(found: Iterator[Found], batch: int) -> NextRow:
    """What was found of a batch's next row; None if that is not the row that is asked for."""

    def of(row: int) -> list[dict[str, Any]] | None:
        key, group = next(found, ((-1, -1), []))
        return group if key == (batch, row) else None

    return of
