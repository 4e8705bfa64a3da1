"""The cells of raw rows that are records: one a row, or one for each combination of ``each``.

Values of ``each`` that are listed, and columns that a pattern matches, are the same for all rows.
Elements of a list and keys of an object differ by row: rows are repeated, once for each, with the
columns ``{a}`` (number from 0, or key), ``{a.index}`` and ``{a.value}`` (the element as text).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.bounded_json import parse_cell
from annot_pipeline.config import (
    EachBestWorst,
    EachColumn,
    EachElement,
    EachOfCells,
    FieldName,
    Source,
)
from annot_pipeline.config.expressions import LARGEST_EACH
from annot_pipeline.contracts.answer_text import value_text
from annot_pipeline.exports.json_lines import parse_json
from annot_pipeline.exports.raw_rows import RawRows

ANSWERS: tuple[tuple[FieldName, ...], ...] = (
    ("label",),
    ("score",),
    ("preference",),
    ("winner",),
    ("strength",),
    ("rank",),
    ("rank_a", "rank_b"),
)
"""What can be an answer; a record needs one that is complete."""


def is_blank(array: pa.Array) -> pa.Array:
    """Return whether values are null or only blanks, ``(n,)``."""
    if not pa.types.is_string(array.type):
        return array.is_null()
    return pc.fill_null(pc.equal(pc.utf8_trim_whitespace(array), ""), True)


def reason_where(mask: pa.Array, reason: str) -> pa.Array | None:
    """Return a reason where a mask is true, else null; None where it is nowhere."""
    if not pc.any(mask).as_py():
        return None
    return pc.if_else(mask, pa.scalar(reason), pa.scalar(None, pa.string()))


Bindings = Mapping[str, str]
"""``{i}`` and ``{i.index}`` of one ``each`` combination to what stands for them."""


@dataclass(frozen=True)
class RecordCells:
    """Cells of raw rows, a record each.

    Parameters
    ----------
    rows
        The rows, repeated where they hold several; columns may be named ``{a}`` and the like.
    bindings
        What stands for placeholders, the same for all rows.
    varying
        Names of ``each`` whose values are columns, as they differ by row.
    not_asked
        ``(n,)`` why there is no record in the cell; None: nowhere.
    """

    rows: RawRows
    bindings: Bindings
    varying: tuple[str, ...] = ()
    not_asked: pa.Array | None = None


def record_cells(rows: RawRows, source: Source) -> Iterator[RecordCells]:
    """Yield the cells of some raw rows, combination by combination of listed values."""
    cells = RecordCells(rows, {})
    for name, each in source.each.items():
        if isinstance(each, EachOfCells):
            cells = _repeated(cells, name, each)
    has_record = np.zeros(len(cells.rows), np.bool_)
    by_pattern = {name for name, each in source.each.items() if isinstance(each, EachColumn)}
    for bindings in combinations(source, list(rows.columns)):
        some = replace(cells, bindings=bindings)
        if by_pattern:  # a row without the column has no record there
            some, is_there = _with_columns(some, by_pattern)
            has_record |= is_there
        yield some
    if by_pattern and not has_record.all():
        lacking = take_cells(cells, np.flatnonzero(~has_record))
        reason = pa.repeat("no column that each matches has a value", len(lacking.rows))
        yield replace(lacking, bindings=_no_bindings(source), not_asked=reason)


def combinations(source: Source, columns: list[str] | None = None) -> list[Bindings]:
    """Return the combinations of values that are the same for all rows, in order.

    Parameters
    ----------
    columns
        Those that the export has, for patterns; None: patterns are left out.
    """
    values = {}
    for name, each in source.each.items():
        if isinstance(each, tuple):
            values[name] = each
        elif isinstance(each, EachColumn) and columns is not None:
            values[name] = matching_columns(each, columns)
    all_bindings: list[Bindings] = []
    for indices in itertools.product(*(range(len(values[name])) for name in values)):
        bindings: dict[str, str] = {}
        for name, index in zip(values, indices, strict=True):
            bindings[f"{{{name}}}"] = values[name][index]
            bindings[f"{{{name}.index}}"] = str(index)
        all_bindings.append(bindings)
    return all_bindings


def matching_columns(each: EachColumn, columns: list[str]) -> tuple[str, ...]:
    """Return the columns that a pattern matches, in the order of the export."""
    return tuple(column for column in columns if fnmatchcase(column, each.columns))


def _no_bindings(source: Source) -> Bindings:
    """Return bindings of a row that holds no combination: no column has such names."""
    return {
        f"{{{name}{part}}}": ""
        for name, each in source.each.items()
        if not isinstance(each, EachOfCells)
        for part in ("", ".index")
    }


def _with_columns(cells: RecordCells, names: set[str]) -> tuple[RecordCells, np.ndarray[Any, Any]]:
    """Return the cells of rows that have a value in each column of a combination."""
    is_there = np.ones(len(cells.rows), np.bool_)
    for name in names:
        column = cells.rows.columns[cells.bindings[f"{{{name}}}"]]
        is_there &= pc.is_valid(column).to_numpy(zero_copy_only=False)
    is_there |= pc.is_valid(cells.rows.problem).to_numpy(zero_copy_only=False)
    if is_there.all():
        return cells, is_there
    return take_cells(cells, np.flatnonzero(is_there)), is_there


def take_cells(cells: RecordCells, indices: np.ndarray[Any, Any]) -> RecordCells:
    """Return some of the cells, in an order."""
    rows, at = cells.rows, pa.array(indices)
    taken = RawRows(
        {name: column.take(at) for name, column in rows.columns.items()},
        rows.row[indices],
        rows.problem.take(at),
        None if rows.cell is None else rows.cell.take(at),
        None if rows.not_asked is None else rows.not_asked.take(at),
    )
    not_asked = None if cells.not_asked is None else cells.not_asked.take(at)
    return replace(cells, rows=taken, not_asked=not_asked)


def _repeated(cells: RecordCells, name: str, each: EachOfCells) -> RecordCells:
    """Repeat rows for the elements or keys of a column; a row without any stays, with a reason."""
    n = len(cells.rows)
    columns_of = [cells.rows.columns.get(c, pa.nulls(n, pa.string())) for c in cell_columns(each)]
    column = columns_of[0]
    if len(columns_of) > 1:
        column = pc.binary_join_element_wise(*columns_of, BESIDE, null_handling="replace")
    encoded = column.dictionary_encode(null_encoding="encode")
    cell_elements = [_elements(each, value) for value in encoded.dictionary.to_pylist()]
    codes = encoded.indices.to_numpy()
    lengths = np.array([max(len(one.keys), 1) for one in cell_elements])[codes]
    indices = np.repeat(np.arange(n), lengths)
    index = np.arange(indices.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    repeated = take_cells(cells, indices)
    starts = np.cumsum([0, *(max(len(one.keys), 1) for one in cell_elements)])[:-1]
    at = pa.array(starts[codes][indices] + index)

    def column_of(values: list[list[str | None]]) -> pa.Array:
        flat = [value for own in values for value in (own or [None])]
        return pa.array(flat, pa.string()).take(at)

    def reasons(kind: str) -> pa.Array:
        return pa.array([getattr(one, kind) for one in cell_elements], pa.string()).take(
            pa.array(codes[indices])
        )

    columns = repeated.rows.columns | {
        f"{{{name}}}": column_of([one.keys for one in cell_elements]),
        f"{{{name}.value}}": column_of([one.values for one in cell_elements]),
        f"{{{name}.index}}": pc.if_else(
            column_of([one.keys for one in cell_elements]).is_valid(),
            pa.array(index).cast(pa.string()), pa.scalar(None, pa.string()),
        ),
    }  # fmt: skip
    empty = reasons("empty")
    not_asked = empty if repeated.not_asked is None else pc.coalesce(repeated.not_asked, empty)
    rows = replace(
        repeated.rows, columns=columns,
        problem=pc.coalesce(repeated.rows.problem, reasons("problem")),
    )  # fmt: skip
    return RecordCells(rows, cells.bindings, (*cells.varying, name), not_asked)


@dataclass(frozen=True)
class _Held:
    """What one cell holds: keys or numbers, elements as text; or why it holds none."""

    keys: list[str | None]
    values: list[str | None]
    problem: str | None = None
    empty: str | None = None


BESIDE = "\x1f"
"""Stands between cells that are looked at together."""


def cell_columns(each: EachOfCells) -> tuple[str, ...]:
    """Return the columns whose cells hold what ``each`` runs over."""
    if isinstance(each, EachBestWorst):
        return (*each.items, each.best, each.worst)
    return (each.column,)


def _best_and_worst(each: EachBestWorst, cells: list[str]) -> _Held:
    """Return the items of a tuple, and 1, -1 or 0 for each."""
    held = dict(zip(each.items, cells, strict=False))
    items = [item for item in held.values() if item]
    best, worst = (held.get(cell, cell) for cell in cells[-2:])
    if not best and not worst:
        return _Held([], [], empty=f"{each.best} and {each.worst} are blank")
    if len({*items}) < len(items):
        return _Held([], [], problem="an item is in its tuple twice")
    if best == worst or not {best, worst} <= {*items}:
        what = f"{each.best} and {each.worst} are not two items of the tuple"
        return _Held([], [], problem=what)
    answers = {best: "1", worst: "-1"}
    return _Held([*items], [answers.get(item, "0") for item in items])


_parse = partial(parse_json, has_nan=True)


def _elements(each: EachOfCells, cell: str | None) -> _Held:
    if isinstance(each, EachBestWorst):
        return _best_and_worst(each, [c.strip() for c in (cell or "").split(BESIDE)])
    if cell is None or not cell.strip():
        return _Held([], [], empty=f"{each.column} is blank")
    kind = "list" if isinstance(each, EachElement) else "object"
    if isinstance(each, EachElement) and each.split is not None:
        inner: Any = [element.strip() for element in cell.split(each.split)]
    else:
        try:
            inner = json_at(parse_cell(cell, _parse), each.json_path)
        except ValueError as error:
            return _Held([], [], problem=f"{each.column} is not JSON: {error}")
    if inner is None:
        return _Held([], [], empty=f"{each.column} has no {kind} {each.json_path or ''}".rstrip())
    if not isinstance(inner, list if kind == "list" else dict):
        return _Held([], [], problem=f"{each.column} is not a JSON {kind}")
    if len(inner) > LARGEST_EACH:
        what = f"{each.column} holds {len(inner):,} elements; {LARGEST_EACH:,} are allowed"
        return _Held([], [], problem=what)
    if not inner:
        return _Held([], [], empty=f"{each.column} is empty")
    pairs = inner.items() if isinstance(inner, dict) else enumerate(inner)
    keys, elements = zip(*pairs, strict=True)
    return _Held([str(key) for key in keys], [value_text(element) for element in elements])


def json_at(node: Any, path: str | None) -> Any:
    """Return what stands at a dotted path of parsed JSON; None: nothing."""
    for key in path_keys(path) if path else ():
        if isinstance(node, list) and key.isdigit() and int(key) < len(node):
            node = node[int(key)]
        elif isinstance(node, dict) and key in node:
            node = node[key]
        else:
            return None
    return node


def path_keys(path: str) -> list[str]:
    r"""Return the keys of a dotted path; ``\.`` is a dot within a key."""
    keys = [""]
    escaped = False
    for character in path:
        if escaped:
            keys[-1] += character
        elif character == ".":
            keys.append("")
        elif character != "\\":
            keys[-1] += character
        escaped = character == "\\" and not escaped
    return keys


def split_cell(cell: str, separator: str) -> str:
    """Return the elements of a cell as a JSON list, without blank ones."""
    parts = [element.strip() for element in cell.split(separator)]
    return value_text([part for part in parts if part]) or ""


def elements(cell: str) -> list[str]:
    """Return the elements of a JSON list as text; of other text, itself; none of a blank."""
    if cell.lstrip().startswith("["):
        try:
            inner = parse_cell(cell, _parse)
        except ValueError:
            inner = None
        if isinstance(inner, list):
            return [value_text(element) or "" for element in inner]
    return [cell.strip()] if cell.strip() else []


def as_set(cell: str) -> str:
    """Return the elements of a cell as a JSON list, sorted, each once: one text for one answer."""
    return value_text(sorted({*elements(cell)})) or ""
