"""Names to integer codes and back, and the rows of each task. Codes follow code point order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes
from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.numerics.distinct import distinct, places


@dataclass(frozen=True)
class Index:
    """Holds distinct names in code point order, and each row's place among them."""

    names: list[str]
    codes: Codes


def index(column: pa.ChunkedArray | pa.Array, *, null: str | None = None) -> Index:
    """Return the codes of a text column; nulls need a name that stands for them."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_encode()
    indices, dictionary = whole.indices, whole.dictionary
    if null is not None and indices.null_count:
        stands = pc.index(dictionary, null).as_py()
        if stands < 0:
            stands = len(dictionary)
            dictionary = pa.concat_arrays([dictionary, pa.array([null], dictionary.type)])
        indices = indices.fill_null(stands)
    codes = indices.to_numpy(zero_copy_only=False)
    used = np.flatnonzero(np.bincount(codes, minlength=len(dictionary)))
    names = dictionary.take(pa.array(used))
    order = pc.sort_indices(names).to_numpy()  # by bytes: UTF-8 keeps the code point order
    positions = np.empty(len(dictionary), np.int64)
    positions[used[order]] = np.arange(order.size)
    return Index(names.take(pa.array(order)).to_pylist(), positions[codes])


def is_in(column: pa.ChunkedArray, names: Collection[str] | pa.Array) -> pa.ChunkedArray:
    """Return whether each value of a text column is one of some names; a null is none.

    Only distinct values are compared where the column is encoded, not each row's text.
    """
    name_array = names if isinstance(names, pa.Array) else pa.array(list(names), TEXT)
    if not pa.types.is_dictionary(column.type):
        return pc.is_in(column, name_array)
    chunks = [
        pc.fill_null(pc.is_in(chunk.dictionary, name_array).take(chunk.indices), False)
        for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, pa.bool_())


@dataclass(frozen=True)
class PairIndex:
    """Holds distinct pairs of codes in order, and each row's place among them."""

    first: Codes  # (n_pairs,)
    second: Codes  # (n_pairs,)
    codes: Codes  # (n_rows,)


def index_pairs(first: Codes, second: Codes) -> PairIndex:
    """Return the codes of pairs; ordered by the first, then by the second."""
    width = int(second.max(initial=0)) + 1
    numbers = first * width + second
    pairs, _ = distinct(numbers)
    return PairIndex(pairs // width, pairs % width, places(numbers, pairs))


def names_of(names: Sequence[str], codes: Codes) -> pa.Array:
    """Return the names of codes, as a column."""
    return pc.take(pa.array(names, pa.string()), pa.array(codes))


def text_keys(*columns: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Return the names of several columns as one text, with lengths that keep it unique."""
    texts = [column.cast(TEXT) for column in columns]
    lengths = [pc.binary_length(text).cast(TEXT) for text in texts[:-1]]
    return pc.binary_join_element_wise(*lengths, *texts, ":")


def class_order(labels: Sequence[str]) -> list[str]:
    """Sort labels, numerically if all are integers, else by code point."""
    try:
        return sorted(labels, key=lambda label: (int(label), label))
    except ValueError:
        return sorted(labels)


class ByTask:
    """Represents a table by task; tasks are views of it if its rows are in task order.

    Parameters
    ----------
    table
        ``task`` and more.
    """

    def __init__(self, table: pa.Table) -> None:
        indexed = index(table["task"], null="")
        codes = indexed.codes
        if (np.diff(codes) < 0).any():
            order = np.argsort(codes, kind="stable")
            table, codes = table.take(pa.array(order)), codes[order]
        ends = np.cumsum(np.bincount(codes, minlength=len(indexed.names))).tolist()
        self._table = table
        self._spans = dict(zip(indexed.names, zip([0, *ends], ends, strict=False), strict=True))

    @property
    def names(self) -> list[str]:
        """Return the tasks that have rows, in code point order."""
        return list(self._spans)

    def __getitem__(self, task: str) -> pa.Table:
        """Return the rows of a task in their order; none if the table lacks the task."""
        start, end = self._spans.get(task, (0, 0))
        return self._table.slice(start, end - start)

    def only(self, tasks: Collection[str]) -> pa.Table:
        """Return the rows of some tasks."""
        if {*self._spans} <= {*tasks}:
            return self._table
        pieces = [self[task] for task in sorted(tasks)]
        return pa.concat_tables([self._table.slice(0, 0), *pieces])
