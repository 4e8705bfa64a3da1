"""Tables that break their contract: each rule once, in a row of its own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from annot_pipeline.contracts import Column, Table
from annot_pipeline.gates.rules import Rule, rules_of


def good_rows(contract: Table, n: int) -> list[dict[str, Any]]:
    """Rows in the order of the key that break no rule."""
    return [{c.name: _good(c, place) for c in contract.columns} for place in range(n)]


def broken_rows(contract: Table) -> tuple[list[dict[str, Any]], list[Rule]]:
    """Row i breaks rule i; the last two rows share a key where that is against the rules."""
    rules = rules_of(contract)
    rows = good_rows(contract, len(rules) + 1)
    for row, rule in zip(rows, rules, strict=False):
        name = rule.columns[0]
        if rule.kind == "not_allowed":
            row[name] = "elsewhere"
        elif rule.kind == "out_of_range":
            row[name] = rule.minimum - 1 if rule.minimum is not None else rule.maximum + 1
    if contract.unique:
        rows[-1] |= {name: rows[-2][name] for name in contract.key}
    return rows, rules


def table_of(rows: list[dict[str, Any]], contract: Table) -> pa.Table:
    """The table, in whose schema all columns may be null."""
    schema = pa.schema([pa.field(c.name, c.type) for c in contract.columns])
    return pa.Table.from_pylist(rows, schema=schema)


def _good(column: Column, place: int) -> Any:
    if column.allowed:
        return column.allowed[0]
    if pa.types.is_string(column.type):
        return f"{column.name}{place:03d}"
    if pa.types.is_timestamp(column.type):
        return datetime(2026, 1, 1, tzinfo=UTC)
    if pa.types.is_boolean(column.type):
        return True
    return 1.0 if pa.types.is_floating(column.type) else place + 1
