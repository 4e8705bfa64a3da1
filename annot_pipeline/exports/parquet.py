"""Parquet: every column as text; nested values as JSON.

Batches of rows are read whose decoded size stays within the limits of an export.

A dictionary page holds a value once, however many rows repeat it: a file of a few hundred bytes
may stand for gigabytes. The largest value of each dictionary is looked at before rows are decoded;
columns with large ones stay dictionaries until their rows are counted in bytes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from annot_pipeline.contracts.answer_text import Number, number_text, value_text
from annot_pipeline.errors import InputError
from annot_pipeline.exports.raw_rows import (
    Export,
    Opening,
    Piece,
    RawRows,
    distinct,
)

BATCH_ROWS = 1 << 16
BATCH_BYTES = 64 << 20
"""Maximum number of bytes of a batch, when it is decoded, unless it is one row."""
LARGE_VALUE = BATCH_BYTES // BATCH_ROWS
"""Bytes of a dictionary's value from which on its column is read as a dictionary."""
ANY_SIZE = BATCH_BYTES
"""Of a value that cannot be looked at: larger than any `LARGE_VALUE`."""
FIXED_BYTES = 8
"""Of a value that is no text, as it lies in memory."""
SHARED_PREFIXES = "DELTA_BYTE_ARRAY"
"""Encoding in which a value repeats the start of the one before: it tells no largest value."""


@dataclass
class ParquetBatches:
    """Batches of rows of an open Parquet file.

    Parameters
    ----------
    opening
        The export, with its limits.
    source
        Its bytes.
    metadata
        Its footer.
    groups
        Row groups to read.
    columns
        Columns to read; None for all.
    batch_bytes
        Maximum number of bytes of a batch when it is decoded, unless it is one row.
    large_value
        Bytes of a dictionary's value from which on its column is read as a dictionary.
    """

    opening: Opening
    source: pa.NativeFile
    metadata: pq.FileMetaData
    groups: Sequence[int]
    columns: Sequence[str] | None
    batch_bytes: int = BATCH_BYTES
    large_value: int = LARGE_VALUE
    _packed_bytes: int = field(init=False)
    _unpacked_bytes: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """Note the size that unpacked bytes are held against."""
        self._packed_bytes = self.opening.path.stat().st_size

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield batches of at most ``batch_bytes`` when decoded, or of one row.

        Raises
        ------
        InputError
            They are beyond the limits.
        """
        leaves = self._leaves()
        self._check_footer(leaves)
        opaque = self._opaque(leaves)
        largest = self._largest_values(leaves, opaque)
        large = {path for path, size in largest.items() if size > self.large_value} - opaque
        n_rows = self._rows_at_once(leaves, largest, large)
        groups = [[group] for group in self.groups] if large else [[*self.groups]]
        file = self._open(large)
        batches = chain.from_iterable(
            file.iter_batches(n_rows, numbers, self.columns) for numbers in groups
        )
        pieces = self._pieces(batches)
        is_joined = n_rows < BATCH_ROWS or large
        yield from _joined(pieces, self.batch_bytes) if is_joined else pieces

    def _open(self, dictionaries: set[str]) -> pq.ParquetFile:
        return pq.ParquetFile(
            self.source, metadata=self.metadata, read_dictionary=sorted(dictionaries)
        )

    def _leaves(self) -> dict[int, str]:
        """Return paths of the columns that are read, by their place in the footer."""
        schema, names = self.metadata.schema, self.columns
        paths = {position: schema.column(position).path for position in range(len(schema))}
        if names is None:
            return paths
        return {
            position: path
            for position, path in paths.items()
            if any(path == name or path.startswith(f"{name}.") for name in names)
        }

    def _check_footer(self, leaves: dict[int, str]) -> None:
        """Hold the sizes that the footer tells against the limits; a value has a byte at least."""
        encoded = n_values = 0
        for group in self.groups:
            row_group = self.metadata.row_group(group)
            chunks = [row_group.column(position) for position in leaves]
            encoded += sum(chunk.total_uncompressed_size for chunk in chunks)
            n_values += sum(chunk.num_values for chunk in chunks)
        self._check_size(max(encoded, n_values))

    def _check_size(self, n_bytes: int) -> None:
        self.opening.check_unpacked(n_bytes, self._packed_bytes)

    def _opaque(self, leaves: dict[int, str]) -> set[str]:
        """Return paths of columns whose largest value is not known before rows are decoded."""
        opaque = {path for path, n in Counter(leaves.values()).items() if n > 1}
        for group in map(self.metadata.row_group, self.groups):
            for position, path in leaves.items():
                if SHARED_PREFIXES in group.column(position).encodings:
                    opaque.add(path)
        return opaque

    def _largest_values(self, leaves: dict[int, str], opaque: set[str]) -> dict[str, int]:
        """Return bytes of the largest value of each text column's dictionaries.

        Where a column has no dictionary, all of its bytes count.
        """
        schema = self.metadata.schema
        texts = {n: p for n, p in leaves.items() if schema.column(n).physical_type == "BYTE_ARRAY"}
        largest = dict.fromkeys(texts.values(), 0)
        file = self._open({*texts.values()} - opaque)
        for number in self.groups:
            group = self.metadata.row_group(number)
            for position, path in texts.items():
                size = 0
                if path in opaque:
                    size = group.column(position).total_uncompressed_size
                elif group.num_rows:  # one row comes with the whole dictionary
                    first = next(file.iter_batches(1, [number], [path]), None)
                    size = max(map(_largest_value, first.columns if first else ()), default=0)
                largest[path] = max(largest[path], size)
        return largest

    def _rows_at_once(
        self, leaves: dict[int, str], largest: dict[str, int], large: set[str]
    ) -> int:
        """Return how many average rows of a group take ``batch_bytes`` decoded, at most."""
        n_rows = BATCH_ROWS
        for group in map(self.metadata.row_group, self.groups):
            row_bytes, rows = 0, max(1, group.num_rows)
            for position, path in leaves.items():
                chunk = group.column(position)
                fixed = max(FIXED_BYTES, self.metadata.schema.column(position).length)
                value = FIXED_BYTES if path in large else largest.get(path, fixed)
                row_bytes += value * max(1, -(-chunk.num_values // rows))
                row_bytes += chunk.total_uncompressed_size // rows
            n_rows = min(n_rows, self.batch_bytes // max(1, row_bytes))
        return max(1, n_rows)

    def _pieces(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows in batches that decode to at most ``batch_bytes``."""
        limit, n_before = self.opening.limits.row_bytes, 0
        for batch in batches:
            is_decoded = not any(map(_has_dictionary, batch.schema.types))
            if is_decoded and batch.nbytes <= min(self.batch_bytes, limit):
                self._add(batch.nbytes)
                yield batch
            else:
                sizes = _row_sizes(batch)
                if (sizes > limit).any():
                    row = n_before + int(np.argmax(sizes > limit)) + 1
                    raise self.opening.beyond("row_bytes", f"row {row} is longer than", "bytes")
                for start, end in _cuts(sizes, self.batch_bytes):
                    self._add(int(sizes[start:end].sum()))
                    yield batch.slice(start, end - start)
            n_before += batch.num_rows

    def _add(self, n_bytes: int) -> None:
        self._unpacked_bytes += n_bytes
        self._check_size(self._unpacked_bytes)


def _joined(batches: Iterable[pa.RecordBatch], batch_bytes: int) -> Iterator[pa.RecordBatch]:
    """Yield small batches joined, since each costs whoever reads it."""
    waiting: list[pa.RecordBatch] = []
    n_rows = n_bytes = 0
    for batch in batches:
        size = int(_row_sizes(batch).sum())
        if waiting and (n_rows + batch.num_rows > BATCH_ROWS or n_bytes + size > batch_bytes):
            yield pa.concat_batches(waiting)
            waiting, n_rows, n_bytes = [], 0, 0
        waiting.append(batch)
        n_rows, n_bytes = n_rows + batch.num_rows, n_bytes + size
    if waiting:
        yield pa.concat_batches(waiting)


def _cuts(sizes: npt.NDArray[np.int64], batch_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield where runs of rows start and end that take at most ``batch_bytes``, or are one row."""
    ends, start = np.cumsum(sizes), 0
    while start < len(sizes):
        before = ends[start] - sizes[start]
        end = max(start + 1, int(np.searchsorted(ends, before + batch_bytes, "right")))
        yield start, end
        start = end


def _row_sizes(batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """Return the ``(n,)`` bytes that each row of a batch takes when it is decoded."""
    return sum(map(_decoded_bytes, batch.columns), np.zeros(batch.num_rows, np.int64))


def _has_dictionary(type_: pa.DataType) -> bool:
    if pa.types.is_dictionary(type_):
        return True
    return any(_has_dictionary(type_.field(n).type) for n in range(type_.num_fields))


def _largest_value(array: pa.Array, *, is_listed: bool = False) -> int:
    """Return the bytes of the largest value of the dictionaries in an array.

    Arrow reads no dictionary for a list without values: any size is possible, `ANY_SIZE`.
    """
    if pa.types.is_dictionary(array.type):
        largest = pc.max(pc.binary_length(array.dictionary)).as_py()
        return int(largest or 0) if largest is not None or not is_listed else ANY_SIZE
    if pa.types.is_struct(array.type):
        return max((_largest_value(a, is_listed=is_listed) for a in array.flatten()), default=0)
    return _largest_value(array.values, is_listed=True) if _is_list(array.type) else 0


def _is_list(type_: pa.DataType) -> bool:
    return bool(pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_map(type_))


def _decoded_bytes(array: pa.Array) -> npt.NDArray[np.int64]:
    """Return the ``(n,)`` bytes that each row of an array takes when it is decoded."""
    if pa.types.is_dictionary(array.type):
        sizes = np.append(_decoded_bytes(array.dictionary), 0)
        places = array.indices.fill_null(len(sizes) - 1).to_numpy(zero_copy_only=False)
        taken: npt.NDArray[np.int64] = sizes[places]
        return taken
    if pa.types.is_struct(array.type):
        fields = array.flatten()
        return sum(map(_decoded_bytes, fields), np.zeros(len(array), np.int64))
    if _is_list(array.type):
        ends = np.append(0, np.cumsum(_decoded_bytes(array.values)))
        offsets = array.offsets.to_numpy()
        starts: npt.NDArray[np.int64] = ends[offsets]
        return np.diff(starts)
    if _is_text(array.type):
        lengths = pc.binary_length(array).fill_null(0).to_numpy(zero_copy_only=False)
        return np.asarray(lengths, np.int64)
    is_binary = pa.types.is_fixed_size_binary(array.type)
    return np.full(len(array), array.type.byte_width if is_binary else FIXED_BYTES, np.int64)


def _is_text(type_: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(type_)
        or pa.types.is_large_string(type_)
        or pa.types.is_binary(type_)
        or pa.types.is_large_binary(type_)
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
