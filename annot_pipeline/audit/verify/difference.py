"""Where two Parquet files of one table differ first: row, column, both values."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from annot_pipeline.storage.files import regular

ROWS = 1 << 16
"""Rows held at a time of each file."""

NO_ROW = "no such row"


@dataclass(frozen=True)
class Difference:
    """The first difference of two files.

    Parameters
    ----------
    row
        1-based; None where columns differ, or the files but no value.
    column
        None where a file ends, or no value differs.
    key
        Values of the key columns of the released row, by column.
    released, rebuilt
        Both values, as Python writes them.
    """

    row: int | None
    column: str | None
    key: dict[str, Any]
    released: str
    rebuilt: str


def first_difference(
    released: Sequence[Path], rebuilt: Sequence[Path], key: Sequence[str]
) -> Difference:
    """Return the first row, and in it the first column, in which files of two tables differ.

    Raises
    ------
    pyarrow.ArrowException
        A file is no Parquet.
    """
    old, new = (pq.read_schema(regular(paths[0])) for paths in (released, rebuilt))
    if not old.equals(new, check_metadata=True):
        return _of_schemas(old, new)
    n_before = 0
    for a, b in _aligned_rows(released, rebuilt):
        difference = _of_rows(a, b, key, n_before)
        if difference:
            return difference
        n_before += a.num_rows
    what = "every value is the same: the files differ in how they are written"
    return Difference(None, None, {}, what, what)


def _of_schemas(old: pa.Schema, new: pa.Schema) -> Difference:
    for name in [*old.names, *new.names]:
        texts = [_field_text(s.field(name) if name in s.names else None) for s in (old, new)]
        if texts[0] != texts[1]:
            return Difference(None, name, {}, *texts)
    if old.names != new.names:
        return Difference(None, None, {}, *(", ".join(s.names) for s in (old, new)))
    return Difference(None, None, {}, *(str(s.metadata) for s in (old, new)))


def _field_text(field: pa.Field | None) -> str:
    if field is None:
        return "no such column"
    about = (field.metadata or {}).get(b"description", b"").decode(errors="replace")
    return f"{field.type}{'' if field.nullable else ' not null'}, {about!r}"


def _aligned_rows(*tables: Sequence[Path]) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Return rows of both tables in steps of one size; the shorter one ends with no rows."""
    pairs = zip(*map(_steps, tables), strict=False)  # without end
    return takewhile(lambda pair: any(rows.num_rows for rows in pair), pairs)


def _steps(paths: Sequence[Path]) -> Iterator[pa.Table]:
    """Yield rows in steps of one size, whatever files and row groups; for ever empty at the end."""
    schema = pq.read_schema(regular(paths[0]))
    buffer = schema.empty_table()
    for path in paths:
        with pq.ParquetFile(regular(path)) as file:
            for batch in file.iter_batches(ROWS):
                buffer = pa.concat_tables([buffer, pa.Table.from_batches([batch], schema)])
                while buffer.num_rows >= ROWS:
                    yield buffer.slice(0, ROWS)
                    buffer = buffer.slice(ROWS)
    yield buffer
    while True:
        yield schema.empty_table()


def _of_rows(
    released: pa.Table, rebuilt: pa.Table, key: Sequence[str], n_before: int
) -> Difference | None:
    n_rows = min(released.num_rows, rebuilt.num_rows)
    firsts = {
        name: row
        for name in released.column_names
        if (row := _first(released[name].slice(0, n_rows), rebuilt[name].slice(0, n_rows)))
        is not None
    }
    if firsts:
        column = min(firsts, key=lambda name: firsts[name])  # of equal rows the first column
        row = firsts[column]
        values = [repr(t[column][row].as_py()) for t in (released, rebuilt)]
        return Difference(n_before + row + 1, column, _key(released, key, row), *values)
    if released.num_rows == rebuilt.num_rows:
        return None
    longer = released if released.num_rows > n_rows else rebuilt
    row_text = repr(longer.slice(n_rows, 1).to_pylist()[0])
    texts = (row_text, NO_ROW) if longer is released else (NO_ROW, row_text)
    return Difference(n_before + n_rows + 1, None, _key(longer, key, n_rows), *texts)


def _first(a: pa.ChunkedArray, b: pa.ChunkedArray) -> int | None:
    """Return the row of the first difference of two columns of one length.

    Numbers are compared by their bits.
    """
    if pa.types.is_float64(a.type):
        a, b = (column.combine_chunks().view(pa.int64()) for column in (a, b))
    if a.equals(b):
        return None
    return bisect_left(
        range(len(a)), True, key=lambda row: not a.slice(0, row + 1).equals(b.slice(0, row + 1))
    )


def _key(table: pa.Table, key: Sequence[str], row: int) -> dict[str, Any]:
    return {name: table[name][row].as_py() for name in key if name in table.column_names}
