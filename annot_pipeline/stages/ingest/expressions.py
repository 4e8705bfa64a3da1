"""The expression grammar of campaign.yaml, evaluated on columns of text.

Each distinct value of a column is worked out once, in Python, with regexes as Python's in bounded
time; so the cost follows the number of distinct values, not of rows.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import (
    CaptureExpression,
    ColumnExpression,
    ConstantExpression,
    Expression,
    JoinExpression,
    Source,
)
from annot_pipeline.errors import shorten
from annot_pipeline.stages.ingest.patterns import Pattern, compile_pattern

Bindings = Mapping[str, str]
"""``{i}`` and ``{i.index}`` of one ``each`` combination to what stands for them."""

ZONES = {
    "UTC": 0, "GMT": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6,
    "PST": -8, "PDT": -7, "CET": 1, "CEST": 2, "BST": 1,
}  # fmt: skip
"""Zone names in hours from UTC: %Z alone knows only the machine's own zone."""


class RejectionError(ValueError):
    """A value that no rule covers; the text is the record's reason."""


@dataclass(frozen=True)
class Values:
    """``(n,)`` strings, and ``(n,)`` reasons where a value is rejected (None: nowhere)."""

    array: pa.Array
    reasons: pa.Array | None = None


def combinations(source: Source) -> list[Bindings]:
    """Return the ``each`` combinations of a source in order; without ``each`` one, empty."""
    names = list(source.each)
    all_bindings: list[Bindings] = []
    for places in itertools.product(*(range(len(source.each[name])) for name in names)):
        bindings: dict[str, str] = {}
        for name, place in zip(names, places, strict=True):
            bindings[f"{{{name}}}"] = source.each[name][place]
            bindings[f"{{{name}.index}}"] = str(place)
        all_bindings.append(bindings)
    return all_bindings


def columns_used(expression: Expression, bindings: Bindings) -> Iterator[str]:
    """Yield the names of the raw columns that an expression reads."""
    if isinstance(expression, ColumnExpression):
        yield _fill(expression.column, bindings)
    elif isinstance(expression, JoinExpression):
        for part in expression.join:
            yield from columns_used(part, bindings)


def evaluate(
    expression: Expression,
    columns: Mapping[str, pa.Array],
    n_rows: int,
    *,
    bindings: Bindings,
    path: str,
    field: str,
) -> Values:
    """Work out an expression for some rows.

    Parameters
    ----------
    columns
        Raw columns, ``(n_rows,)`` strings each.
    bindings
        What stands for ``{i}`` and the like.
    path
        The export relative to the campaign, for ``capture``.
    field
        Canonical field that the value is for: names the group of ``capture`` and reasons.
    """
    if isinstance(expression, ConstantExpression):
        return Values(pa.repeat(_fill(expression.value, bindings), n_rows))
    if isinstance(expression, CaptureExpression):
        return _capture(expression, n_rows, bindings, path, field)
    if isinstance(expression, JoinExpression):
        parts = [
            evaluate(part, columns, n_rows, bindings=bindings, path=path, field=field)
            for part in expression.join
        ]
        joined = pc.binary_join_element_wise(
            *(part.array for part in parts), _fill(expression.sep, bindings)
        )
        return Values(joined, first_reason(*(part.reasons for part in parts)))
    raw = columns.get(_fill(expression.column, bindings))
    if raw is None:
        raw = pa.nulls(n_rows, pa.string())
    if expression.is_plain and expression.time is None:
        return Values(raw)
    return for_each_value(raw, _pipe(expression, bindings, field))


def first_reason(*reasons: pa.Array | None) -> pa.Array | None:
    """Return the first reason where several apply."""
    present = [r for r in reasons if r is not None]
    return pc.coalesce(*present) if present else None


T = TypeVar("T")


def for_each_value(
    array: pa.Array, function: Callable[[str | None], T], type_: pa.DataType | None = None
) -> Values:
    """Apply a function to every distinct value; `RejectionError` becomes a reason."""
    encoded = array.dictionary_encode(null_encoding="encode")
    values: list[T | None] = []
    reasons: list[str | None] = []
    for value in encoded.dictionary.to_pylist():
        try:
            values.append(function(value))
            reasons.append(None)
        except RejectionError as rejection:
            values.append(None)
            reasons.append(str(rejection))
    taken = pa.array(values, type_ or pa.string()).take(encoded.indices)
    if not any(reasons):
        return Values(taken)
    return Values(taken, pa.array(reasons, pa.string()).take(encoded.indices))


def _fill(text: str, bindings: Bindings) -> str:
    for name, value in bindings.items():
        text = text.replace(name, value)
    return text


def _capture(
    expression: CaptureExpression, n_rows: int, bindings: Bindings, path: str, field: str
) -> Values:
    match = compile_pattern(_fill(expression.capture, bindings)).search(path)
    if match is None or match.groupdict().get(field) is None:
        reason = f"{field} is not in the path: {shorten(path)}"
        return Values(pa.nulls(n_rows, pa.string()), pa.repeat(reason, n_rows))
    return Values(pa.repeat(match.group(field), n_rows))


def _pipe(
    expression: ColumnExpression, bindings: Bindings, field: str
) -> Callable[[str | None], str | None]:
    """Return the steps of a column expression as one function of a value."""
    steps: list[Callable[[str | None], str | None]] = []
    if expression.json_path is not None:
        steps.append(_json_step(_fill(expression.json_path, bindings), field))
    if expression.match is not None or expression.map is not None:
        steps.append(_lookup_step(expression, bindings, field))
    if expression.time is not None:
        pattern = _fill(expression.time, bindings)
        steps.append(lambda v: v if not v else parse_time(v, field, pattern).isoformat())

    def pipe(value: str | None) -> str | None:
        for step in steps:
            value = step(value)
        return value

    return pipe


def _json_step(path: str, field: str) -> Callable[[str | None], str | None]:
    def step(value: str | None) -> str | None:
        if not value:
            return None
        try:
            node: Any = json.loads(value, parse_int=str, parse_float=str)
        except (ValueError, RecursionError):
            raise RejectionError(f"{field} is not JSON" + _detail(field, value)) from None
        for key in path.split("."):
            if isinstance(node, list) and key.isdigit() and int(key) < len(node):
                node = node[int(key)]
            elif isinstance(node, dict) and key in node:
                node = node[key]
            else:
                return None
        if node is None:
            return None
        if not isinstance(node, str):
            node = json.dumps(node, ensure_ascii=False, separators=(",", ":"))
        try:
            node.encode()
        except UnicodeEncodeError:  # half of a surrogate pair: JSON can write it, no text is it
            raise RejectionError(f"{field} is not text" + _detail(field, node)) from None
        return str(node)

    return step


def _lookup_step(
    expression: ColumnExpression, bindings: Bindings, field: str
) -> Callable[[str | None], str | None]:
    match_pattern = expression.match
    pattern = None if match_pattern is None else compile_pattern(_fill(match_pattern, bindings))
    exact: dict[str, str] = {}
    patterns: list[tuple[Pattern, str]] = []
    for key, result in (expression.map or {}).items():
        key, result = _fill(key, bindings), _fill(result, bindings)
        if key.startswith("~"):
            patterns.append((compile_pattern(key[1:]), result))
        else:
            exact[key] = result
    otherwise = expression.otherwise
    otherwise = None if otherwise is None else _fill(otherwise, bindings)

    def missed(value: str | None) -> str:
        if otherwise is None:
            raise RejectionError(f"{field} has no match" + _detail(field, value))
        return otherwise

    def step(value: str | None) -> str | None:
        if value is None:
            return missed(value)
        if pattern is not None:
            match = pattern.search(value)
            matched = match and match.group(1 if pattern.compiled.groups else 0)
            if matched is None:
                return missed(value)
            value = matched
        if expression.map is None:
            return value
        if value in exact:
            return exact[value]
        for key_pattern, result in patterns:
            if key_pattern.search(value):
                return result
        return missed(value)

    return step


def parse_time(value: str, field: str, pattern: str | None = None) -> datetime:
    """Return a time in UTC, from ISO 8601 (default zone UTC), or seconds or ms since 1970.

    Raises
    ------
    RejectionError
        Not a time, or a zone name that is not in `ZONES`.
    """
    try:
        if pattern is None:
            parsed = _epoch(value) or datetime.fromisoformat(value.strip())
        else:
            if "%Z" in pattern:
                value, pattern = _numeric_zone(value, pattern)
            parsed = datetime.strptime(value, pattern)
        parsed = parsed.replace(tzinfo=parsed.tzinfo or UTC)
        return parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        raise RejectionError(f"{field} is not a time" + _detail(field, value)) from None


def _epoch(value: str) -> datetime | None:
    if not re.fullmatch(r"\s*-?\d{9,13}(\.\d+)?\s*", value):
        return None
    seconds = float(value)
    return datetime.fromtimestamp(seconds / 1000 if abs(seconds) >= 1e11 else seconds, UTC)


def _numeric_zone(value: str, pattern: str) -> tuple[str, str]:
    for name in re.findall(r"\b[A-Z]{3,4}\b", value):
        if name in ZONES:
            return value.replace(name, f"{ZONES[name]:+03d}00", 1), pattern.replace("%Z", "%z")
    raise ValueError(value)


def _detail(field: str, value: str | None) -> str:
    """Return the offending value for a message, unless it could reveal a judge."""
    return "" if field == "judge" else f": {shorten(value or '')}"
