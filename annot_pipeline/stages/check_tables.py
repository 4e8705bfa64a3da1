"""Holds the gold tables of a stage to their contracts, for the gates to look at.

Columns, types, NaN and order by Arrow; the rest by Great Expectations, or by queries where a table
may have millions of rows: seven expectations on ten million rows take 21 s and 4.8 GB.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from pyarrow.parquet import read_schema

from annot_pipeline.contracts import Table
from annot_pipeline.errors import SHOWN_VALUES
from annot_pipeline.gates.expectations import hold_to_suite
from annot_pipeline.gates.rules import Breach, Checked, Rule, rules_of
from annot_pipeline.steps.check_contract import key_text, misshapen, violations
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.tables import TableFile, read_groups, read_table

BY_QUERY = frozenset({"judgments", "lineage"})
"""Tables that grow with the judgments."""


def check_table(contract: Table, file: TableFile, queries: Queries) -> Checked:
    """Hold one table to its contract."""
    found = misshapen(read_schema(file.path), contract)
    if found or not file.rows:
        return Checked(broken=tuple(found))
    rules = rules_of(contract)
    breaches: Sequence[Breach]
    unchecked: Sequence[str] = ()
    if contract.name in BY_QUERY:
        breaches = hold_by_query(rules, file, queries)
    else:
        breaches, unchecked = hold_to_suite(contract.name, rules, read_table(file.path))

    def told(severity: str) -> list[str]:
        return [
            breach.text(keys_of(file, contract, breach.places))
            for breach in breaches
            if breach.rule.severity == severity
        ]

    broken = [*told("critical"), *violations(read_groups(file.path), contract)]
    return Checked(tuple(broken), tuple(told("warning")), tuple(unchecked))


def hold_by_query(rules: Iterable[Rule], file: TableFile, queries: Queries) -> list[Breach]:
    """Hold a table to its rules: columns that are ruled alike in one query."""
    found = []
    for (kind, _, allowed, minimum, maximum), alike in groupby(sorted(rules, key=_like), _like):
        of = list(alike)
        columns = [name for rule in of for name in rule.columns]
        given: dict[str, object] = {"columns": columns, "shown": SHOWN_VALUES}
        if kind == "not_allowed":
            given["allowed"] = list(allowed)
        if kind == "out_of_range":
            given |= {"minimum": minimum, "maximum": maximum}
        rows = queries.table(f"checks/{kind}", {"rows": file.path}, given).to_pylist()
        by_column = {row["column_name"]: row["found"] for row in rows}
        for rule in of:
            told = by_column["key" if kind == "repeated" else rule.columns[0]]
            if told["rows"]:
                found.append(Breach(rule, told["rows"], tuple(told["places"])))
    return found


def _like(rule: Rule) -> tuple[str, str, tuple[str, ...], float, float]:
    """What rules have in common that one query holds a table to."""
    low = float("-inf") if rule.minimum is None else rule.minimum
    high = float("inf") if rule.maximum is None else rule.maximum
    return rule.kind, rule.severity, rule.allowed, low, high


def keys_of(file: TableFile, contract: Table, places: Sequence[int]) -> list[str]:
    """The keys of some rows, for people."""
    rows = read_table(file.path, contract.key).take(list(places))
    return [key_text(row, contract.key) for row in rows.to_pylist()]
