"""Holds the gold tables of a stage to their contracts, for the gates to look at.

Columns, types, NaN and order by Arrow; the rest by Great Expectations, or part by part by Arrow
where a table may have many rows: seven expectations on ten million take 21 s and 4.8 GB.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyarrow.parquet import read_schema

from annot_pipeline.contracts import Table
from annot_pipeline.gates.expectations import hold_to_suite
from annot_pipeline.gates.parts import hold_by_parts
from annot_pipeline.gates.rules import Breach, Checked, rules_of
from annot_pipeline.stages.gold.check_contract import (
    checked_columns,
    key_text,
    misshapen,
    violations,
)
from annot_pipeline.storage.tables import StoredTable, read_groups, read_table

BY_PARTS = frozenset({"judgments", "lineage"})
"""Tables that grow with the judgments."""
MANY_ROWS = 100_000
"""Rows from which every other table is held by parts too."""


def check_table(contract: Table, table: StoredTable) -> Checked:
    """Hold one table to its contract."""
    found = {what for path in table.paths for what in misshapen(read_schema(path), contract)}
    if found or not table.rows:
        return Checked(broken=tuple(sorted(found)))
    rules = rules_of(contract)
    ruled = dict.fromkeys(name for rule in rules for name in rule.columns)
    breaches: Sequence[Breach]
    unchecked: Sequence[str] = ()
    if contract.name in BY_PARTS or table.rows > MANY_ROWS:
        breaches = hold_by_parts(rules, read_groups(table, list(ruled), plain=True))
    else:
        breaches, unchecked = hold_to_suite(contract.name, rules, read_table(table))

    def told(severity: str) -> list[str]:
        return [
            breach.text(keys_of(table, contract, breach.places))
            for breach in breaches
            if breach.rule.severity == severity
        ]

    broken = [
        *told("critical"),
        *violations(read_groups(table, checked_columns(contract), plain=True), contract),
    ]
    return Checked(tuple(broken), tuple(told("warning")), tuple(unchecked))


def keys_of(table: StoredTable, contract: Table, places: Sequence[int]) -> list[str]:
    """The keys of some rows, for people."""
    rows = read_table(table, contract.key).take(list(places))
    return [key_text(row, contract.key) for row in rows.to_pylist()]
