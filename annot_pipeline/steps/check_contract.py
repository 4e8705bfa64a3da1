"""Holds a table against its contract where that is a matter of Arrow: columns, types, NaN, order.

The other rules (nulls, allowed values, ranges, repeated keys) are annot_pipeline.gates.rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import Table
from annot_pipeline.errors import SHOWN_VALUES, shorten
from annot_pipeline.gates.rules import breach_text


def misshapen(schema: pa.Schema, contract: Table) -> list[str]:
    """What is wrong with columns and types; where it is, no other rule can be checked."""
    if schema.names != contract.schema.names:
        return [f"columns are {schema.names}, declared are {contract.schema.names}"]
    return [
        f"{column.name} is {found}, declared is {column.type}"
        for column in contract.columns
        if (found := _plain(schema.field(column.name).type)) != column.type
    ]


def checked_columns(contract: Table) -> list[str]:
    """Columns that `violations` looks at."""
    reals = (c.name for c in contract.columns if pa.types.is_floating(c.type))
    return list(dict.fromkeys([*contract.key, *reals]))


def violations(groups: Iterable[pa.Table], contract: Table) -> list[str]:
    """What is NaN, and rows out of the order of the key, one sentence each.

    Parameters
    ----------
    groups
        The table, in parts that lie in memory one by one.
    contract
        What it should be.
    """
    reals = [c.name for c in contract.columns if pa.types.is_floating(c.type)]
    wrong = {name: f"{name} is NaN" for name in reals}
    wrong["key"] = f"the order of {', '.join(contract.key)} is broken"
    rows = dict.fromkeys(wrong, 0)
    keys: dict[str, list[str]] = {name: [] for name in wrong}

    def note(name: str, part: pa.Table, is_wrong: pa.Array) -> None:
        n = pc.sum(is_wrong).as_py() or 0
        if n:
            rows[name] += n
            first = part.filter(is_wrong).slice(0, SHOWN_VALUES - len(keys[name]))
            keys[name] += [key_text(r, contract.key) for r in first.to_pylist()]

    last: pa.Table | None = None
    for part in groups:
        for name in reals:
            note(name, part, pc.fill_null(pc.is_nan(part[name]), False))
        key = pa.table([_decoded(part[name]) for name in contract.key], list(contract.key))
        both = pa.concat_tables([last, key]) if last else key
        note("key", both.slice(1), _before_the_last(both))
        last = both.slice(max(both.num_rows - 1, 0))
    return [breach_text(wrong[name], n, keys[name]) for name, n in rows.items() if n]


def key_text(row: dict[str, object], key: Sequence[str]) -> str:
    """The key of a row, for people."""
    return " / ".join("null" if row[name] is None else shorten(row[name], 40) for name in key)


def _before_the_last(keys: pa.Table) -> pa.Array:
    """Of each row but the first: whether its key sorts before the key of the last one."""
    n_pairs = max(keys.num_rows - 1, 0)
    before = pa.repeat(False, n_pairs)
    equal = pa.repeat(True, n_pairs)  # in all columns so far
    for values in keys.columns:
        first, second = (values.slice(start, n_pairs).combine_chunks() for start in (0, 1))
        behind = pc.or_(
            pc.fill_null(pc.greater(first, second), False),
            pc.and_(first.is_null(), second.is_valid()),  # nulls stand last
        )
        same = pc.or_(
            pc.fill_null(pc.equal(first, second), False),
            pc.and_(first.is_null(), second.is_null()),
        )
        before = pc.or_(before, pc.and_(equal, behind))
        equal = pc.and_(equal, same)
    return before


def _decoded(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return values.cast(_plain(values.type))


def _plain(type_: pa.DataType) -> pa.DataType:
    return type_.value_type if pa.types.is_dictionary(type_) else type_
