"""Raw rows become records: one per judgment cell, each a judgment or a reason why not.

What a record's kind of task demands (a label among the classes, a score on the scale) is
not known here; that is `sql/ingest/settle_judgments.sql`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import ItemSource, Source
from annot_pipeline.contracts import CONTROLS, PREFERENCES, TIME
from annot_pipeline.errors import shorten
from annot_pipeline.exports.raw_rows import RawRows
from annot_pipeline.stages.ingest.expressions import (
    Bindings,
    RejectionError,
    Values,
    columns_used,
    combinations,
    evaluate,
    first_reason,
    for_each_value,
    parse_time,
)
from annot_pipeline.stages.ingest.raw_names import CELLS, judge_cells

CODE_VERSION = "6"  # the cells that name judges

LONGEST_VALUE = 100_000
"""Bytes; a longer one is no name, label or number but something gone wrong."""

NUMBER = re.compile(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*")
FIELD_TYPES: dict[str, pa.DataType] = {
    "score": pa.float64(),
    "rank": pa.int64(),
    "rank_a": pa.int64(),
    "rank_b": pa.int64(),
    "seconds": pa.float64(),
    "hit_seconds": pa.float64(),
    "submitted_at": TIME,
}
"""Types of the fields that are not text."""

ANSWERS = (("label",), ("score",), ("preference",), ("rank",), ("rank_a", "rank_b"))
"""What can be an answer; a record needs one that is complete."""
ALLOWED = {"control": CONTROLS, "preference": PREFERENCES}
T = TypeVar("T")
WHO = ("task", "judge")
PAIR = ("item_a", "item_b")


def columns_by_field(source: Source | ItemSource) -> dict[str, list[str]]:
    """Return raw columns that each field of a source's mapping reads, in order of first use."""
    bindings = combinations(source) if isinstance(source, Source) else [{}]
    return {
        field: list(dict.fromkeys(n for b in bindings for n in columns_used(expression, b)))
        for field, expression in source.fields.items()
    }


def columns_of(source: Source | ItemSource) -> list[str]:
    """Return all raw columns that a source's mapping reads, in order of first use."""
    return list(dict.fromkeys(n for names in columns_by_field(source).values() for n in names))


def read_records(rows: RawRows, source: Source, *, path: str, campaign: str) -> pa.Table:
    """Return the records of some raw rows.

    Parameters
    ----------
    rows
        As a reader yields them.
    source
        The mapping.
    path
        The export relative to the campaign.
    campaign
        Name of the campaign: the task where none is mapped.

    Returns
    -------
    pyarrow.Table
        ``row``, ``cell``, ``reason`` (null: a judgment), then the mapped fields, with
        ``task`` and ``item`` (or ``item_a`` and ``item_b``) always there.
    """
    tables = []
    for bindings in combinations(source):
        fields, reasons = _fields(rows, source, bindings, path)
        if "task" not in fields:
            fields["task"] = pa.repeat(campaign, len(rows))
        _derive_items(fields)
        reason = first_reason(rows.problem, *reasons, *_demands(fields))
        cells = judge_cells(rows, source, bindings, path)
        if cells is not None:
            fields[CELLS] = cells
        tables.append(
            pa.table(
                {
                    "row": pa.array(rows.row),
                    "cell": _cell(rows, source, bindings),
                    "reason": reason,
                    **fields,
                }
            )
        )
    return pa.concat_tables(tables)


def read_items(rows: RawRows, source: ItemSource, *, path: str) -> pa.Table:
    """Return the items of some raw rows: ``row``, ``reason``, ``item`` and mapped fields."""
    fields, reasons = _fields(rows, source, {}, path)
    _derive_items(fields)
    reason = first_reason(rows.problem, *reasons, _blank(fields["item"], "item"))
    return pa.table({"row": pa.array(rows.row), "reason": reason, **fields})


def _fields(
    rows: RawRows, source: Source | ItemSource, bindings: Bindings, path: str
) -> tuple[dict[str, pa.Array], list[pa.Array | None]]:
    """Return mapped fields, typed, and the reasons that their values give."""
    fields: dict[str, pa.Array] = {}
    reasons: list[pa.Array | None] = []
    for name, expression in source.fields.items():
        values = evaluate(
            expression, rows.columns, len(rows), bindings=bindings, path=path, field=name
        )
        unfit = _unfit(name, values.array)
        fit = values.array
        if unfit is not None:
            fit = pc.if_else(pc.is_valid(unfit), pa.scalar(None, pa.string()), fit)
        typed = _typed(name, fit)
        fields[name] = typed.array
        reasons += [values.reasons, unfit, typed.reasons]
    return fields, reasons


def _typed(name: str, array: pa.Array) -> Values:
    """Return the text as the field's type; blank is null."""
    if name == "submitted_at":
        plain = _plain_times(array)
        if plain is not None:
            return Values(plain)
        return for_each_value(array, _optional(lambda v: parse_time(v, name)), TIME)
    if name in FIELD_TYPES:
        whole = pa.types.is_integer(FIELD_TYPES[name])
        return for_each_value(
            array, _optional(lambda v: _number(v, name, whole)), FIELD_TYPES[name]
        )
    if name in ALLOWED:
        return for_each_value(array, _optional(lambda v: _one_of(v, name, ALLOWED[name])))
    if array.null_count == len(array):
        return Values(array)
    return Values(pc.if_else(_is_blank(array), pa.scalar(None, pa.string()), array))


PLAIN_TIME = r"^[1-9]\d{3}-\d\d-\d\d[T ]\d\d:\d\d:\d\dZ?$"


def _plain_times(array: pa.Array) -> pa.Array | None:
    """Times that are all written as most tools do, in UTC; None where one is not.

    They are as many as rows, so that to read each in Python would take longer than all else.
    """
    if not pc.all(pc.match_substring_regex(array, PLAIN_TIME)).as_py():
        return None
    try:
        parsed = pc.utf8_rtrim(array, "Z").cast(pa.timestamp(TIME.unit))
    except pa.ArrowInvalid:  # a day that no month has: told by value
        return None
    return pc.assume_timezone(parsed, "UTC").cast(TIME)


LARGEST = {
    "score": 1e15, "rank": 1e15, "rank_a": 1e15, "rank_b": 1e15, "seconds": 1e9,
    "hit_seconds": 1e9,
}  # fmt: skip
"""Numbers beyond are no such thing, and could not be summed exactly."""

DURATIONS = ("seconds", "hit_seconds")
NOT_RANKED = -1
"""What tools write as the rank of an output that was not ranked."""


def _optional(function: Callable[[str], T]) -> Callable[[str | None], T | None]:
    return lambda value: None if value is None or not value.strip() else function(value)


def _number(value: str, field: str, whole: bool) -> float | int:
    if not NUMBER.fullmatch(value):
        raise RejectionError(f"{field} is not a number: {shorten(value)}")
    number = float(value.strip())
    if whole and not number.is_integer():
        raise RejectionError(f"{field} is not a whole number: {shorten(value)}")
    if not abs(number) <= LARGEST[field]:
        raise RejectionError(f"{field} is too large: {shorten(value)}")
    if whole and number == NOT_RANKED:
        raise RejectionError(f"{field} is -1: not ranked")
    if (whole or field in DURATIONS) and number < 0:
        raise RejectionError(f"{field} is negative: {shorten(value)}")
    return int(number) if whole else number


def _one_of(value: str, field: str, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise RejectionError(f"{field} is not one of {', '.join(allowed)}: {shorten(value)}")
    return value


def _derive_items(fields: dict[str, pa.Array]) -> None:
    """Set the item to ``segment/system`` where none is mapped; for pairs on both sides.

    Where no segment is mapped either, the systems of a pair are compared as such.
    """
    for item, system in (("item", "system"), ("item_a", "system_a"), ("item_b", "system_b")):
        if item in fields or system not in fields:
            continue
        if "segment" in fields:
            fields[item] = pc.binary_join_element_wise(
                _escaped(fields["segment"]), _escaped(fields[system]), "/"
            )
        elif item != "item":
            fields[item] = fields[system]


def _escaped(array: pa.Array) -> pa.Array:
    """Percent-encode ``%`` and ``/``, so that segment and system can be separated again."""
    array = pc.if_else(_is_blank(array), pa.scalar(None, pa.string()), array)
    return pc.replace_substring(pc.replace_substring(array, "%", "%25"), "/", "%2F")


def _demands(fields: dict[str, pa.Array]) -> list[pa.Array | None]:
    """Return reasons where judge, item or any answer is missing."""
    reasons = [_blank(fields[name], name) for name in WHO if name in fields]
    mapped = [names for names in ANSWERS if names[0] in fields]
    incomplete = [reduce(pc.or_, (_is_blank(fields[n]) for n in names)) for names in mapped]
    unanswered = reduce(pc.and_, incomplete)
    asked = " and ".join(name for names in mapped for name in names)
    verb = "is" if len(mapped) == len(mapped[0]) == 1 else "are"
    return [*reasons, *_what(fields), _reason_where(unanswered, f"{asked} {verb} blank")]


def _what(fields: dict[str, pa.Array]) -> list[pa.Array | None]:
    """Return reasons where no item is named, or a pair is not of two different ones."""
    if "item_a" not in fields:
        return [_blank(fields["item"], "item")] if "item" in fields else []
    blank = [_is_blank(fields[name]) for name in PAIR]
    if "item" in fields:  # single items and pairs in one export: either will do
        single = pc.invert(_is_blank(fields["item"]))
        none = pc.and_(_is_blank(fields["item"]), pc.and_(*blank))
        reasons = [_reason_where(none, "item, item_a and item_b are blank")]
        blank = [pc.and_(one, pc.invert(pc.or_(single, none))) for one in blank]
    else:
        reasons = []
    reasons += [_reason_where(b, f"{n} is blank") for b, n in zip(blank, PAIR, strict=True)]
    same = pc.fill_null(pc.equal(fields["item_a"], fields["item_b"]), False)
    return [*reasons, _reason_where(same, "item_a and item_b are the same")]


def _blank(array: pa.Array, field: str) -> pa.Array | None:
    return _reason_where(_is_blank(array), f"{field} is blank")


def _is_blank(array: pa.Array) -> pa.Array:
    if not pa.types.is_string(array.type):
        return array.is_null()
    return pc.fill_null(pc.equal(pc.utf8_trim_whitespace(array), ""), True)


def _unfit(name: str, array: pa.Array) -> pa.Array | None:
    """Return reasons for values that no field can hold: NUL characters, or too long."""
    if array.null_count == len(array):
        return None
    too_long = pc.fill_null(pc.greater(pc.binary_length(array), LONGEST_VALUE), False)
    nul = pc.fill_null(pc.match_substring(array, "\0"), False)
    return first_reason(
        _reason_where(too_long, f"{name} is longer than {LONGEST_VALUE:,} bytes"),
        _reason_where(nul, f"{name} holds a NUL character"),
    )


def _reason_where(mask: pa.Array, reason: str) -> pa.Array | None:
    if not pc.any(mask).as_py():
        return None
    return pc.if_else(mask, pa.scalar(reason), pa.scalar(None, pa.string()))


def _cell(rows: RawRows, source: Source, bindings: Bindings) -> pa.Array:
    """Return the record's place in the raw row; null if a row is one record.

    What tells who judged is named by its place: cells are published.
    """
    who = source.fields["judge"].model_dump_json()
    named = [
        f"{name}.index={bindings[f'{{{name}.index}}']}"
        if f"{{{name}}}" in who or f"{{{name}.index}}" in who
        else f"{name}={bindings[f'{{{name}}}']}"
        for name in source.each
    ]
    if not named:
        return rows.cell if rows.cell is not None else pa.nulls(len(rows), pa.string())
    each = pa.repeat(",".join(named), len(rows))
    return each if rows.cell is None else pc.binary_join_element_wise(rows.cell, each, "#")
