"""Holds a table against its contract: types, nulls, allowed values, ranges, key, order."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import Column, Table


def violations(table: pa.Table, contract: Table) -> list[str]:
    """What breaks the contract, one sentence each; empty if nothing does."""
    if table.schema.names != contract.schema.names:
        return [f"columns are {table.schema.names}, declared are {contract.schema.names}"]
    found = [text for column in contract.columns for text in _column(table[column.name], column)]
    if table.num_rows and not found:
        found += _key(table, contract)
    return found


def _column(values: pa.ChunkedArray, column: Column) -> list[str]:
    type_ = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if type_ != column.type:
        return [f"{column.name} is {type_}, declared is {column.type}"]
    found = []
    if not column.nullable and values.null_count:
        found.append(f"{column.name} is null in {values.null_count} rows")
    if column.allowed:
        other = set(pc.unique(values).to_pylist()) - {*column.allowed, None}
        if other:
            found.append(f"{column.name} holds {sorted(other)[:5]}")
    if pa.types.is_floating(type_) and pc.any(pc.is_nan(values)).as_py():
        found.append(f"{column.name} holds NaN")
    for limit, beyond, word in (
        (column.minimum, pc.less, "below"),
        (column.maximum, pc.greater, "above"),
    ):
        if limit is not None:
            n = pc.sum(beyond(values, limit)).as_py() or 0
            if n:
                found.append(f"{column.name} is {word} {limit:g} in {n} rows")
    return found


def _key(table: pa.Table, contract: Table) -> list[str]:
    """Rows must stand in the order of the key, and a unique key must not repeat."""
    n_pairs = table.num_rows - 1
    later = pa.repeat(False, n_pairs)  # of each row and the next: is the next one later,
    equal = pa.repeat(True, n_pairs)  # or equal in all columns so far
    for name in contract.key:
        values = table[name].combine_chunks()
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        first, second = values.slice(0, len(values) - 1), values.slice(1)
        ahead = pc.or_(
            pc.fill_null(pc.less(first, second), False),
            pc.and_(first.is_valid(), second.is_null()),  # nulls stand last
        )
        same = pc.or_(
            pc.fill_null(pc.equal(first, second), False),
            pc.and_(first.is_null(), second.is_null()),
        )
        later = pc.or_(later, pc.and_(equal, ahead))
        equal = pc.and_(equal, same)
    found = []
    unsorted = n_pairs - (pc.sum(pc.or_(later, equal)).as_py() or 0)
    if unsorted:
        found.append(f"{unsorted} rows are out of the order of {', '.join(contract.key)}")
    repeated = pc.sum(equal).as_py() or 0
    if contract.unique and repeated:
        found.append(f"{', '.join(contract.key)} repeats in {repeated} rows")
    return found
