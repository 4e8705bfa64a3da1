"""Parquet: every column as text; nested values as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from annot_pipeline.contracts.answer_text import Number, number_text, value_text
from annot_pipeline.errors import InputError
from annot_pipeline.exports.parquet_batches import BATCH_BYTES, LARGE_VALUE, ParquetBatches
from annot_pipeline.exports.raw_rows import (
    Export,
    Opening,
    Piece,
    RawRows,
    distinct,
)

DAMAGED = (pa.ArrowException, OSError, ValueError, OverflowError)
"""What pyarrow raises where bytes are not what they should be; names that are no text, too.

Lack of memory is an `pa.ArrowException` as well, and no damage: it is let pass before.
"""


def read_parquet(
    opening: Opening, *, batch_bytes: int = BATCH_BYTES, large_value: int = LARGE_VALUE
) -> Export:
    """Open a Parquet file; see `raw_rows.Export`, and `ParquetBatches` for the sizes."""
    try:
        source = pa.OSFile(str(opening.path))
        if opening.gzipped:
            source = pa.BufferReader(opening.read_document())
        file = pq.ParquetFile(source)
        names = distinct(file.schema_arrow.names)
    except MemoryError:
        raise
    except DAMAGED as error:
        raise _broken(opening, error) from None
    opening.check_columns(len(names))
    groups = range(*opening.piece or (0, file.num_row_groups))
    n_rows = sum(file.metadata.row_group(group).num_rows for group in groups)
    read = None if names != file.schema_arrow.names else _wanted(opening, names)
    batches = ParquetBatches(opening, source, file.metadata, groups, read, batch_bytes, large_value)
    return Export(_chunks(opening, batches, names), names, n_rows=n_rows)


def parquet_pieces(opening: Opening, piece_bytes: int) -> list[Piece]:
    """Return the row groups that can be read by themselves; none of a file that cannot be read.

    A piece has ``piece_bytes`` or more, decoded.
    """
    if opening.gzipped:
        return []
    try:
        with pq.ParquetFile(opening.path) as file:
            metadata = file.metadata
            sizes = [metadata.row_group(n).total_byte_size for n in range(file.num_row_groups)]
    except (*DAMAGED, MemoryError):  # who reads it says so
        return []
    ends, size = [0], 0
    for group, bytes_ in enumerate(sizes, start=1):
        size += bytes_
        if size >= piece_bytes or group == len(sizes):
            ends.append(group)
            size = 0
    return [*pairwise(ends)]


def _wanted(opening: Opening, names: Sequence[str]) -> list[str]:
    return [name for name in names if opening.used_columns is None or name in opening.used_columns]


def _chunks(opening: Opening, batches: ParquetBatches, names: list[str]) -> Iterator[RawRows]:
    used_columns, last = _wanted(opening, names), 0
    try:
        for batch in batches:
            numbers = np.arange(last + 1, last + batch.num_rows + 1)
            last += batch.num_rows
            if batches.columns is None:
                batch = batch.rename_columns(names)
            columns = {name: _as_text(batch.column(name)) for name in used_columns}
            yield RawRows(columns, numbers, pa.nulls(batch.num_rows, pa.string()))
    except MemoryError:
        raise
    except DAMAGED as error:
        raise _broken(opening, error) from None


def _broken(opening: Opening, error: Exception) -> InputError:
    return opening.broken(
        f"is not a complete Parquet file ({error})", "fetch the export again, or correct format"
    )


def _as_text(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_nested(column.type):
        values = (_json_value(value, column.type) for value in column.to_pylist())
        return pa.array(map(value_text, values), pa.string())
    if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        values = column.dictionary_encode()
        if pa.types.is_decimal(column.type):
            texts = values.dictionary.cast(pa.string()).to_pylist()
        else:  # numpy writes as few digits as the type needs: 0.1 of 32 bits too
            texts = [*map(str, values.dictionary.to_numpy(zero_copy_only=False))]
        written = pa.array(map(_number_text, texts), pa.string())
        return written.take(values.indices)
    return column.cast(pa.string())


def _json_value(value: Any, type_: pa.DataType) -> Any:
    """Return a nested value as JSON has it: maps as objects, numbers with their own digits."""
    if value is None:
        return None
    if pa.types.is_struct(type_):
        fields = [type_.field(n) for n in range(type_.num_fields)]
        return {field.name: _json_value(value[field.name], field.type) for field in fields}
    if pa.types.is_map(type_):
        return {
            str(value_text(_json_value(key, type_.key_type))): _json_value(item, type_.item_type)
            for key, item in value
        }
    if pa.types.is_nested(type_):
        return [_json_value(inner, type_.value_type) for inner in value]
    if pa.types.is_floating(type_) and type_.bit_width < 64 and math.isfinite(value):
        return Number(str(np.dtype(f"f{type_.bit_width // 8}").type(value)))
    return value


def _number_text(text: str) -> str:
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text) or number_text(text)
