"""Holds the gold tables of a stage to their contracts, for the gates to look at.

All by Arrow, part by part: no table needs to lie in memory. The same rules are a suite of Great
Expectations (gates.expectations), which Dagster holds released tables to.

Columns, types, nulls, NaN and order are matters of Arrow. The other rules (allowed values, ranges,
repeated keys) are annot_pipeline.gates.rules.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.parquet import read_schema

from annot_pipeline.contracts import Table
from annot_pipeline.errors import SHOWN_VALUES, shorten
from annot_pipeline.gates.rules import Checked, breach_text, check_rules_by_chunk, rules_of
from annot_pipeline.storage.tables import StoredTable, read_groups, read_table


def misshapen(schema: pa.Schema, contract: Table) -> list[str]:
    """Return what is wrong with columns and types; if anything is, no other rule applies."""
    if schema.names != contract.schema.names:
        return [f"columns are {schema.names}, declared are {contract.schema.names}"]
    return [
        f"{column.name} is {type_}, declared is {column.type}"
        for column in contract.columns
        if (type_ := _plain(schema.field(column.name).type)) != column.type
    ]


def checked_columns(contract: Table) -> list[str]:
    """Return the columns that `violations` looks at."""
    own = (c.name for c in contract.columns if not c.nullable or pa.types.is_floating(c.type))
    return list(dict.fromkeys([*contract.key, *own]))


def violations(groups: Iterable[pa.Table], contract: Table) -> list[str]:
    """Return nulls, NaNs and rows out of the order of the key, one sentence each.

    Parameters
    ----------
    groups
        The table, in parts that lie in memory one by one.
    contract
        What it should be.
    """
    reals = [c.name for c in contract.columns if pa.types.is_floating(c.type)]
    filled = [c.name for c in contract.columns if not c.nullable]
    out_of_order = f"rows are not sorted by {', '.join(contract.key)}"
    rows: Counter[str] = Counter()
    keys: defaultdict[str, list[str]] = defaultdict(list)

    def note(what: str, part: pa.Table, is_wrong: pa.Array) -> None:
        n = pc.sum(is_wrong).as_py() or 0
        if n:
            rows[what] += n
            first = part.filter(is_wrong).slice(0, SHOWN_VALUES - len(keys[what]))
            keys[what] += [key_text(r, contract.key) for r in first.to_pylist()]

    last: pa.Table | None = None
    for part in groups:
        for name in filled:
            if part[name].null_count:
                note(f"{name} is null", part, pc.is_null(part[name]))
        for name in reals:
            note(f"{name} is NaN", part, pc.fill_null(pc.is_nan(part[name]), False))
        key = pa.table({name: part[name].cast(_plain(part[name].type)) for name in contract.key})
        both = pa.concat_tables([last, key]) if last else key
        note(out_of_order, both.slice(1), _before_the_last(both))
        last = both.slice(max(both.num_rows - 1, 0))
    return [breach_text(what, n, keys[what]) for what, n in sorted(rows.items())]


def key_text(row: dict[str, object], key: Sequence[str]) -> str:
    """Return the key of a row, for people."""
    return " / ".join("null" if row[name] is None else shorten(row[name], 40) for name in key)


def _before_the_last(keys: pa.Table) -> pa.Array:
    """Return for each row but the first whether its key sorts before the previous one."""
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


def _plain(type_: pa.DataType) -> pa.DataType:
    return type_.value_type if pa.types.is_dictionary(type_) else type_


def check_table(contract: Table, table: StoredTable, earlier: Sequence[str] = ()) -> Checked:
    """Hold one table to its contract.

    Parameters
    ----------
    contract, table
        What it should be, and what it is.
    earlier
        SHA-256 of the files, in order, of a table that fulfils the contract: they are not read
        again, except next to other files, for the order of rows.
    """
    misshapes = {what for path in table.paths for what in misshapen(read_schema(path), contract)}
    if misshapes:
        return Checked(broken=tuple(sorted(misshapes)))
    checked = _check_rows(contract, _files_to_read(table, earlier))
    return checked if checked == Checked() else _check_rows(contract, table)  # places in the whole


def _files_to_read(table: StoredTable, earlier: Sequence[str]) -> StoredTable:
    """Return the files that are new, with those next to them; all if the others moved."""
    files = [file for file in table.files if file.rows]
    at = {sha256: place for place, sha256 in enumerate(earlier)}
    places = [at.get(file.sha256, -1) for file in files]
    checked_places = [place for place in places if place >= 0]
    if checked_places != sorted({*checked_places}):
        return table
    is_new = [False, *(place < 0 for place in places), False]
    near = (file for n, file in enumerate(files) if any(is_new[n : n + 3]))
    return StoredTable(tuple(near))


def _check_rows(contract: Table, table: StoredTable) -> Checked:
    if not table.rows:
        return Checked()
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
