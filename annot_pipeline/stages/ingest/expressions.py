"""The expression grammar of campaign.yaml, evaluated on columns of text.

Python's own engine has none: a pattern such as ``(a|aa)+$`` takes longer than anybody waits on one
cell of sixty letters.

Each distinct value of a column is worked out once, in Python, with regexes as Python's in bounded
time; so the cost follows the number of distinct values, not of rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import regex

from annot_pipeline.bounded_json import JsonError, parse_bounded_json, parse_cell
from annot_pipeline.config import (
    CaptureExpression,
    ColumnExpression,
    ConstantExpression,
    Expression,
    JoinExpression,
    RowExpression,
)
from annot_pipeline.contracts.answer_text import Number, answer_text, value_text
from annot_pipeline.errors import ConfigError, Problem, shorten
from annot_pipeline.stages.ingest.record_cells import (
    Bindings,
    RecordCells,
    as_set,
    elements,
    json_at,
    split_cell,
    take_cells,
)

LONGEST_SEARCH_S = 5.0
"""Seconds that one search may take; ordinary ones take microseconds."""


@dataclass(frozen=True)
class Pattern:
    """A compiled regular expression."""

    compiled: regex.Pattern[str]

    def search(self, text: str) -> regex.Match[str] | None:
        """Return the first match in a text.

        Raises
        ------
        ConfigError
            The search takes longer than `LONGEST_SEARCH_S`. The build stops, as no record may be
            rejected on a slow machine alone.
        """
        try:
            return self.compiled.search(text, timeout=LONGEST_SEARCH_S)
        except TimeoutError:
            what = f"{shorten(self.compiled.pattern)} takes more than {LONGEST_SEARCH_S:g} s"
            what += f" on a value of {len(text):,} characters"
            do = "write it without a repeat inside a repeat, as (a|aa)+, or anchor it with ^"
            title = "campaign.yaml: a regular expression takes too long"
            raise ConfigError(title, [Problem("", what, do=do)]) from None


def compile_pattern(pattern: str) -> Pattern:
    """Return a pattern, ready to search.

    Raises
    ------
    ConfigError
        It is no regular expression once ``each`` is filled in.
    """
    try:
        return Pattern(regex.compile(pattern))
    except regex.error as error:
        raise ConfigError(
            "campaign.yaml: not a regular expression once `each` is filled in",
            [Problem("", f"{shorten(pattern)}: {error}", do="escape what each puts there")],
        ) from None


ZONES = {
    "UTC": 0, "GMT": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6,
    "PST": -8, "PDT": -7, "CET": 1, "CEST": 2, "BST": 1,
}  # fmt: skip
"""Zone names in hours from UTC: %Z alone knows only the machine's own zone."""


Step = Callable[[str | None], str | None]
"""From a value to the next."""


class RejectionError(ValueError):
    """A value that no rule covers; the text is the record's reason."""


@dataclass(frozen=True)
class Values:
    """``(n,)`` strings, and ``(n,)`` reasons where a value is rejected (None: nowhere)."""

    array: pa.Array
    reasons: pa.Array | None = None


def columns_used(expression: Expression, bindings: Bindings) -> Iterator[str]:
    """Yield the names of the raw columns that an expression reads."""
    if isinstance(expression, ColumnExpression):
        yield _fill(expression.column, bindings)
    elif isinstance(expression, JoinExpression):
        for part in expression.join:
            yield from columns_used(part, bindings)


def without_steps(expression: Expression) -> Expression:
    """Return an expression without ``match``, ``map``, ``else`` and ``time``."""
    none = {"match": None, "map": None, "otherwise": None, "time": None}
    return expression.model_copy(update=none) if expression.has_steps else expression


def evaluate(expression: Expression, cells: RecordCells, *, path: str, field: str) -> Values:
    """Work out an expression for some cells.

    Parameters
    ----------
    cells
        Columns of text, and what stands for ``{i}`` and the like.
    path
        The export relative to the campaign, for ``capture``.
    field
        Canonical field that the value is for: names the group of ``capture`` and reasons.
    """
    written = expression.model_dump_json()
    names = [
        placeholder
        for name in cells.varying
        for placeholder in (f"{{{name}}}", f"{{{name}.index}}")
        if placeholder in written
    ]
    if names and len(cells.rows):
        return _evaluate_by_value(expression, cells, names, path, field)
    return _evaluate(expression, cells, path, field)


def _evaluate_by_value(
    expression: Expression, cells: RecordCells, names: list[str], path: str, field: str
) -> Values:
    """Work out an expression whose placeholders differ by row: the rows of each value at once."""
    columns = [cells.rows.columns[name].fill_null("").dictionary_encode() for name in names]
    codes = np.zeros(len(cells.rows), np.int64)
    for column in columns:
        codes = codes * max(len(column.dictionary), 1) + column.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    arrays, reasons, has_reasons = [], [], False
    for row_numbers in np.split(order, starts[1:]):
        some = take_cells(cells, row_numbers)
        bindings = {
            name: column[int(row_numbers[0])].as_py()
            for name, column in zip(names, columns, strict=True)
        }
        some = replace(some, bindings={**some.bindings, **bindings}, varying=())
        values = _evaluate(expression, some, path, field)
        arrays.append(values.array)
        has_reasons |= values.reasons is not None
        reasons.append(pa.nulls(row_numbers.size, pa.string()) if values.reasons is None
                       else values.reasons)  # fmt: skip
    back = np.empty(order.size, np.int64)
    back[order] = np.arange(order.size)
    array = pa.concat_arrays(arrays).take(pa.array(back))
    if not has_reasons:
        return Values(array)
    return Values(array, pa.concat_arrays(reasons).take(pa.array(back)))


def _evaluate(expression: Expression, cells: RecordCells, path: str, field: str) -> Values:
    rows, bindings = cells.rows, cells.bindings
    if isinstance(expression, ColumnExpression):
        name = expression.column
        raw = rows.columns.get(name if name in rows.columns else _fill(name, bindings))
        source = Values(pa.nulls(len(rows), pa.string()) if raw is None else raw)
        steps = _steps_of_column(expression, bindings, field)
    else:
        source = _without_steps(expression, cells, path, field)
        steps = []
    if expression.match is not None or expression.map is not None:
        steps.append(_lookup_step(expression, bindings, field))
    if expression.time is not None:
        pattern = _fill(expression.time, bindings)
        steps.append(lambda v: v if not v else parse_time(v, field, pattern).isoformat())
    if not steps:
        return source

    def pipe(value: str | None) -> str | None:
        for step in steps:
            value = step(value)
        return value

    result = for_each_value(source.array, pipe)
    return Values(result.array, first_reason(source.reasons, result.reasons))


def _without_steps(
    expression: ConstantExpression | CaptureExpression | RowExpression | JoinExpression,
    cells: RecordCells,
    path: str,
    field: str,
) -> Values:
    """Return the text of an expression that is no column, before its steps."""
    n, bindings = len(cells.rows), cells.bindings
    if isinstance(expression, ConstantExpression):
        return Values(pa.repeat(_fill(expression.value, bindings), n))
    if isinstance(expression, CaptureExpression):
        return _capture(expression, n, bindings, path, field)
    if isinstance(expression, RowExpression):
        return Values(pa.array(cells.rows.row).cast(pa.string()))
    parts = [_evaluate(part, cells, path, field) for part in expression.join]
    joined = pc.binary_join_element_wise(
        *(part.array for part in parts), _fill(expression.sep, bindings)
    )
    return Values(joined, first_reason(*(part.reasons for part in parts)))


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


def _steps_of_column(expression: ColumnExpression, bindings: Bindings, field: str) -> list[Step]:
    """Return ``split``, ``json``, ``set`` and ``has`` as functions of a cell."""
    steps: list[Step] = []
    if expression.split is not None:
        separator = expression.split
        steps.append(lambda cell: None if not cell else split_cell(cell, separator))
    if expression.json_path is not None:
        steps.append(json_step(_fill(expression.json_path, bindings), field))
    if expression.is_set:
        steps.append(lambda cell: None if cell is None else as_set(cell))
    if expression.has is not None:
        element = answer_text(_fill(expression.has, bindings))
        steps.append(
            lambda cell: "yes" if element in map(answer_text, elements(cell or "")) else "no"
        )
    return steps


def json_step(path: str, field: str) -> Callable[[str | None], str | None]:
    """Return the step that takes what a path names in a cell of JSON; ``field`` is for messages."""

    parse = partial(parse_bounded_json, parse_int=Number, parse_float=Number)

    def step(value: str | None) -> str | None:
        if not value:
            return None
        try:
            node: Any = parse_cell(value, parse)
            text = value_text(json_at(node, path))
        except JsonError:
            raise RejectionError(f"{field} is not JSON" + _detail(field, value)) from None
        try:
            (text or "").encode()
        except UnicodeEncodeError:  # half of a surrogate pair: JSON can write it, no text is it
            raise RejectionError(f"{field} is not text" + _detail(field, text)) from None
        return text

    return step


def _lookup_step(
    expression: Expression, bindings: Bindings, field: str
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
    answers = {answer_text(key): result for key, result in reversed(exact.items())}
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
        value = value.strip()
        same = exact.get(value, answers.get(answer_text(value)))
        if same is not None:
            return same
        for key_pattern, result in patterns:
            if key_pattern.search(value):
                return result
        return missed(value)

    return step


def parse_time(value: str, field: str, pattern: str | None = None) -> datetime:
    """Return a time in UTC, from ISO 8601 (default zone UTC), or seconds or ms since 1970.

    Without a pattern also with a zone's name behind (``UTC``, ``GMT+2``, of `ZONES`), and with the
    year first, slashes and AM or PM. Days and months of other orders need a pattern.

    Raises
    ------
    RejectionError
        Not a time, or a zone name that is not in `ZONES`.
    """
    try:
        if pattern is None:
            parsed = _epoch(value) or _common_time(value.strip())
        else:
            if "%Z" in pattern:
                value, pattern = _numeric_zone(value, pattern)
            parsed = datetime.strptime(value, pattern)
        parsed = parsed.replace(tzinfo=parsed.tzinfo or UTC)
        return parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        raise RejectionError(f"{field} is not a time" + _detail(field, value)) from None


EPOCH = re.compile(r"\s*-?(\d{13}|\d{9,10})(?:\.\d+)?\s*")


def _epoch(value: str) -> datetime | None:
    """Return a time from seconds (9 or 10 digits) or milliseconds (13) since 1970, or else None.

    12 digits may be a date (202401311200) or milliseconds before 2001: they need a pattern.
    """
    match = EPOCH.fullmatch(value)
    if not match:
        return None
    seconds = float(value) / (1000 if len(match[1]) == 13 else 1)
    return datetime.fromtimestamp(seconds, UTC)


ZONE = re.compile(r"\b([A-Z]{3,4})?(?:([+-]\d{1,2})(?::?(\d\d))?)?$")
CLOCKS = ("%Y-%m-%d %I:%M:%S %p", "%Y-%m-%d %I:%M %p")


def _common_time(value: str) -> datetime:
    """Return a time as ISO 8601 has it, or with a named zone, slashes, or AM and PM."""
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        pass
    zone = UTC
    match = ZONE.search(value)
    if match and match[1] and match[1] in ZONES:
        hours = ZONES[match[1]] + int(match[2] or 0)
        minutes = int(match[3] or 0) * (-1 if (match[2] or "").startswith("-") else 1)
        zone = timezone(timedelta(hours=hours, minutes=minutes))
        value = value[: match.start()].rstrip()
    value = value.replace("/", "-", 2)
    for clock in CLOCKS:
        try:
            return datetime.strptime(value, clock).replace(tzinfo=zone)
        except ValueError:
            continue
    return datetime.fromisoformat(value).replace(tzinfo=zone)


def _numeric_zone(value: str, pattern: str) -> tuple[str, str]:
    for name in re.findall(r"\b[A-Z]{3,4}\b", value):
        if name in ZONES:
            return value.replace(name, f"{ZONES[name]:+03d}00", 1), pattern.replace("%Z", "%z")
    raise ValueError(value)


def _detail(field: str, value: str | None) -> str:
    """Return the offending value for a message, unless it could reveal a judge."""
    return "" if field == "judge" else f": {shorten(value or '')}"
