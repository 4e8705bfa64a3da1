"""Holds the gold tables of a stage to their contracts, for the gates to look at.

All by Arrow, part by part: no table needs to lie in memory. The same rules are a suite of Great
Expectations (gates.expectations), which Dagster holds released tables to.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyarrow.parquet import read_schema

from annot_pipeline.contracts import Table
from annot_pipeline.gates.parts import check_rules_by_chunk
from annot_pipeline.gates.rules import Checked, rules_of
from annot_pipeline.stages.gold.check_contract import (
    checked_columns,
    key_text,
    misshapen,
    violations,
)
from annot_pipeline.storage.tables import StoredTable, read_groups, read_table


def check_table(contract: Table, table: StoredTable) -> Checked:
    """Hold one table to its contract."""
    misshapes = {what for path in table.paths for what in misshapen(read_schema(path), contract)}
    if misshapes or not table.rows:
        return Checked(broken=tuple(sorted(misshapes)))
    rules = rules_of(contract)
    ruled = dict.fromkeys(name for rule in rules for name in rule.columns)
    breaches = check_rules_by_chunk(rules, read_groups(table, list(ruled), plain=True))

    def texts_of(severity: str) -> list[str]:
        return [
            breach.text(keys_of(table, contract, breach.places))
            for breach in breaches
            if breach.rule.severity == severity
        ]

    broken = [
        *texts_of("critical"),
        *violations(read_groups(table, checked_columns(contract), plain=True), contract),
    ]
    return Checked(tuple(broken), tuple(texts_of("warning")))


def keys_of(table: StoredTable, contract: Table, places: Sequence[int]) -> list[str]:
    """Return the keys of some rows, for people."""
    rows = read_table(table, contract.key).take(list(places))
    return [key_text(row, contract.key) for row in rows.to_pylist()]
