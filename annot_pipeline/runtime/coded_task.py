"""One coded task: the rows of a task with names as integer codes, made once for all that need them.

Methods take arrays of codes and numbers; tables of results get their names back from the
vocabularies. Codes follow code point order of names, never row order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.comparisons.implied_comparisons import Sittings
from annot_pipeline.runtime.indexing import Index, index, index_pairs, is_in

NONE = -1
"""Code of a null."""
LATE = np.iinfo(np.int64).max
"""Time of what has none: it comes last."""


class CodedTask:
    """Represents the rows of one task; ``task["judge"]`` are the names and codes of a column.

    Columns are coded when they are first asked for. What `only` selects keeps the codes, so its
    vocabularies may hold names that no row has.

    Parameters
    ----------
    name
        Of the task.
    rows
        Its table.
    """

    def __init__(self, name: str, rows: pa.Table) -> None:
        self.name = name
        self.rows = rows
        self._indexes: dict[str, Index] = {}
        self._whole: CodedTask | None = None
        self._selected: Codes = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def __getitem__(self, column: str) -> Index:
        """Return the names of a column in code point order, and codes; `NONE` where it is null."""
        if column not in self._indexes:
            if self._whole is None:
                self._indexes[column] = _index(self.rows[column])
            else:
                whole = self._whole[column]
                self._indexes[column] = Index(whole.names, whole.codes[self._selected])
        return self._indexes[column]

    def n(self, column: str) -> int:
        """Return the number of names of a column."""
        return len(self[column].names)

    def names_or_none(self, column: str) -> list[str]:
        """Return the names that rows have, in code point order; '' where some rows have none."""
        codes = np.unique(self[column].codes).tolist()
        return [self[column].names[code] if code != NONE else "" for code in codes]

    def codes_among(self, column: str, names: Sequence[str]) -> Codes:
        """Return codes of a column among other names; a null is the name '', `NONE` is no name."""
        position = {name: code for code, name in enumerate(names)}
        own = self[column]
        codes = [*(position.get(name, NONE) for name in own.names), position.get("", NONE)]
        return np.array(codes, np.int64)[own.codes]

    def groups(self, *columns: str) -> Codes:
        """Return codes from 0 of the combinations of columns that occur; a null is a value."""
        codes = [self[column].codes + 1 for column in columns]
        return reduce(lambda pairs, own: index_pairs(pairs, own).codes, codes, self.one_group)

    @property
    def one_group(self) -> Codes:
        """Return zeros ``(n_rows,)``: all rows are of one group."""
        return np.zeros(len(self), np.int64)

    def sides(self, column: str) -> tuple[list[str], Codes, Codes]:
        """Return names and codes of two columns, ``_a`` and ``_b``, that share a vocabulary."""
        ends = [self[f"{column}_{side}"] for side in ("a", "b")]
        names = sorted({*ends[0].names, *ends[1].names})
        position = {name: code for code, name in enumerate(names)}
        first, second = (
            np.array([*(position[name] for name in end.names), NONE], np.int64)[end.codes]
            for end in ends
        )
        return names, first, second

    def numbers(self, column: str) -> Floats:
        """Return the numbers of a column; NaN where it is null."""
        values = self.rows[column].cast(pa.float64()).to_numpy()
        return np.asarray(values, np.float64)

    def flags(self, column: str) -> Flags:
        """Return the flags of a column that has no null."""
        return np.asarray(self.rows[column].to_numpy(), np.bool_)

    def is_known(self, column: str) -> Flags:
        """Return whether a column is not null."""
        return np.asarray(pc.is_valid(self.rows[column]).to_numpy(), np.bool_)

    def is_in(self, column: str, *names: str) -> Flags:
        """Return whether a column has one of some names."""
        return np.asarray(is_in(self.rows[column], names).to_numpy(), np.bool_)

    def times(self, column: str) -> Codes:
        """Return times as microseconds; `LATE` where it is null."""
        return np.asarray(
            pc.fill_null(self.rows[column].cast(pa.int64()), LATE).to_numpy(), np.int64
        )

    def order(self, column: str, rows: Codes) -> Codes:
        """Return codes of some rows' names among themselves; of columns with many names."""
        return index(self.rows[column].take(pa.array(rows))).codes

    def public_judges(self) -> dict[str, str]:
        """Return the public names of judges by their names in records, in the order of codes."""
        judge = self["judge"]
        row = np.zeros(len(judge.names), np.int64)  # any one: a judge has one public name
        row[judge.codes] = np.arange(len(self))
        public = self.rows["judge_id"].take(pa.array(row)).cast(TEXT).to_pylist()
        return dict(zip(judge.names, public, strict=True))

    def least(self, column: str, groups: Codes, n_groups: int) -> pa.Array:
        """Return the first name, by code point, of each group; null where no row has one."""
        named, n = self[column], self.n(column)
        first = np.full(n_groups, n, np.int64)
        is_named = named.codes != NONE
        np.minimum.at(first, groups[is_named], named.codes[is_named])
        return pc.take(pa.array(named.names, TEXT), pa.array(first, mask=first == n))

    def only(self, selected: Flags | Codes) -> CodedTask:
        """Return some of the rows with their codes."""
        rows = np.flatnonzero(selected) if selected.dtype == np.bool_ else selected
        some = CodedTask(self.name, self.rows.take(pa.array(rows)))
        some._whole, some._selected = self, np.asarray(rows, np.int64)
        return some


def _index(column: pa.ChunkedArray) -> Index:
    if not column.null_count:
        return index(column)
    is_known = column.is_valid()
    named = index(column.filter(is_known))
    codes = np.full(len(column), NONE, np.int64)
    codes[is_known.to_numpy()] = named.codes
    return Index(named.names, codes)


def seen_at_once(task: CodedTask) -> Sittings:
    """Return what judges saw at once, of ordinary judgments."""
    judges, rankings, hits, segments = (
        task[name].codes for name in ("judge", "ranking", "hit", "segment")
    )
    times, ids = task.times("submitted_at"), partial(task.order, "judgment_id")
    return Sittings(judges, rankings, hits, segments, times, ids)
