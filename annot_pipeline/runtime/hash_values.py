"""A hash of the values of tables: whether two hold the same, and nothing else.

Not of how they lie in memory: names may have other codes, nulls hide other bytes, rows be a slice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def hash_values(tables: Sequence[pa.Table]) -> str:
    """Return the SHA-256 of the values of tables, in their order.

    Parameters
    ----------
    tables
        Of the same columns whenever hashes are compared: names and types are not hashed.
    """
    digest = hashlib.sha256()
    for rows in tables:
        digest.update(f"{rows.num_rows} rows".encode())
        for column in rows.columns if rows.num_rows else ():
            digest.update(f"{column.null_count} null".encode())
            for chunk in _bytes(column):
                digest.update(chunk)
    return digest.hexdigest()


def _bytes(column: pa.ChunkedArray) -> Iterator[Any]:
    type_ = column.type
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
        column = column.cast(type_)
    if pa.types.is_nested(type_):
        yield str(column.to_pylist()).encode()
        return
    is_text = pa.types.is_string(type_)
    if column.null_count:
        yield column.is_null().to_numpy()
        column = pc.fill_null(column, pa.scalar("" if is_text else 0).cast(type_))
    if is_text:
        whole = column.cast(pa.large_string()).combine_chunks()
        _, offsets, text = whole.buffers()
        ends = np.frombuffer(offsets, np.int64)[whole.offset :][: len(whole) + 1]
        yield np.diff(ends)
        yield text[ends[0] : ends[-1]] if text else b""
    else:
        yield column.to_numpy()
