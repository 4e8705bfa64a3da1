"""One JSON document: its records are the elements of a list, or the values of an object.

Python, and evaluation tools written in it, write NaN, Infinity and -Infinity where a number is
undefined. RFC 8259 has no such numbers, and ijson refuses them: they become `MARKERS`, numbers that
no program writes, on the way to the parser, and their names again (`NAMES`) behind it.

Read as a stream: memory holds one record. ``records`` is a dotted path. A list at its end gives a
record for each element, an object is one record; ``*`` stands for all values of an object or list,
whose keys are then the column ``@key``. Elements that are lists have columns ``0``, ``1``, ....
Values of the document outside its records, as the model of an evaluation, are columns of every
record where ``options.document_fields`` names their paths.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np
import pyarrow as pa

from annot_pipeline.bounded_json import DEEPEST, TOO_DEEP, TOO_LONG, JsonError, parse_bounded_json
from annot_pipeline.contracts.answer_text import Number, value_text
from annot_pipeline.errors import first_of, shorten
from annot_pipeline.exports.raw_rows import Export, Opening, RawRows

MARKERS = {"NaN": "0e70001", "Infinity": "0e70002", "-Infinity": "-0e70002"}
NAMES = {"0E+70001": "NaN", "0E+70002": "Infinity", "-0E+70002": "-Infinity"}
"""The names of `MARKERS`, by their text as decimals."""
TOKEN = re.compile(r"(?<![\w.+-])(?:NaN|-?Infinity)(?![\w.+-])")
ESCAPED = (("\\\\", "\udc00"), ('\\"', "\udc01"))
"""Escapes that end no string, and surrogates that no decoded text holds."""
UNFINISHED = re.compile(r"[\w.+-]{1,16}\Z")
"""What may be the start of a token, at the end of a block."""
BACKSLASHES = re.compile(r"\\+\Z")


class JsonBytes:
    """The bytes of a file as UTF-8, without a byte order mark, with `MARKERS`.

    Parameters
    ----------
    raw
        The file.
    encoding
        Its encoding.
    """

    def __init__(self, raw: IO[bytes], encoding: str) -> None:
        name = codecs.lookup(encoding).name
        self.raw = raw
        self.decoder = codecs.getincrementaldecoder("utf-8-sig" if name == "utf-8" else name)()
        self._in_string = False
        self._held = ""

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; none at the end."""
        while block := self.raw.read(size) if size else b"":  # ijson reads 0 to ask for the type
            if text := self._passed(self.decoder.decode(block)):
                return text.encode()
        return self._passed(self.decoder.decode(b"", final=True), is_last=True).encode()

    def _passed(self, text: str, *, is_last: bool = False) -> str:
        """Return what of a text can go to the parser; the start of a token waits for its end."""
        text = self._held + text
        in_string = self._in_string != bool(_without_escapes(text).count('"') % 2)
        self._held = ""
        unfinished = None if is_last else (BACKSLASHES if in_string else UNFINISHED).search(text)
        if unfinished and (not in_string or len(unfinished[0]) % 2):
            self._held = unfinished[0][-1:] if in_string else unfinished[0]
            text = text.removesuffix(self._held)
        marked = text
        if "NaN" in text or "Infinity" in text:
            marked = _with_markers(text, in_string=self._in_string)
        self._in_string = in_string
        return marked


def _without_escapes(text: str) -> str:
    """Return a text in which each quote starts or ends a string."""
    for escape, surrogate in ESCAPED:
        text = text.replace(escape, surrogate)
    return text


def _with_markers(text: str, *, in_string: bool) -> str:
    """Return a text, which starts within a string or not, with markers outside of strings."""
    parts = _without_escapes(text).split('"')
    outside = slice(1 if in_string else 0, None, 2)
    parts[outside] = [TOKEN.sub(_marker, part) for part in parts[outside]]
    text = '"'.join(parts)
    for escape, surrogate in reversed(ESCAPED):
        text = text.replace(surrogate, escape)
    return text


def _marker(match: re.Match[str]) -> str:
    return MARKERS[match[0]]


CHUNK = 20_000
MOST_BYTES = 1 << 28
"""Of a document whose error is placed: Python's parser takes all of it at once."""
KEY = "@key"
ALL = "*"
STARTS = {"start_map": "an object", "start_array": "a list"}

Event = tuple[str, Any]


def read_json(opening: Opening) -> Export:
    """Open a JSON document; see `raw_rows.Export`. Columns are the keys seen so far.

    Raises
    ------
    InputError
        Also while rows are read: it is not JSON, or ``records`` leads to no list or object.
    """
    export = Export(iter(()), [], has_header=False)
    export.chunks = _chunks(opening, export)
    return export


@dataclass
class _Rows:
    """Rows that are collected until there are enough for a chunk."""

    rows: list[dict[str, str | None]] = field(default_factory=list)
    pointers: list[str] = field(default_factory=list)
    problems: list[str | None] = field(default_factory=list)


def _chunks(opening: Opening, export: Export) -> Iterator[RawRows]:
    column_names: dict[str, None] = {}
    collected, n_chunk = _Rows(), opening.chunk_records or CHUNK
    shared = _document_values(opening)
    with opening.open_bytes() as raw, _refusing_long_numbers(opening):
        try:
            for pointer, key, value in _records(_events(opening, raw), opening):
                row, problem = _row(value, key, opening.used_columns)
                row |= shared
                if not row.keys() <= column_names.keys():
                    column_names.update(dict.fromkeys(row))
                    opening.check_columns(len(column_names))
                    export.columns[:] = column_names
                collected.rows.append(row)
                collected.pointers.append(pointer)
                collected.problems.append(problem)
                export.n_rows += 1
                if len(collected.rows) >= n_chunk:
                    yield _emit(opening, export, collected)
                    collected = _Rows()
        except _NotThereError as error:
            raise opening.broken(error.what, error.do) from None
    if collected.rows:
        yield _emit(opening, export, collected)


def _document_values(opening: Opening) -> dict[str, str | None]:
    """Return the values at ``document_fields``; null where there is none, or a list or object."""
    values: dict[str, str | None] = {}
    if opening.document_fields:
        with opening.open_bytes() as raw, _refusing_long_numbers(opening):
            events = _events(opening, raw)
            first = next(events, ("null", None))
            for path, value in _values_at(first, events, opening.document_fields):
                if isinstance(value, JsonError):
                    raise opening.broken(f"{path} is {value}", "correct the export")
                values[path] = value_text(value)
                if len(values) == len(opening.document_fields):
                    break
    return dict.fromkeys(opening.document_fields) | values


def _values_at(
    first: Event, events: Iterator[Event], paths: tuple[str, ...], above: str = ""
) -> Iterator[tuple[str, Any]]:
    """Yield the dotted paths that hold a text, number, true or false, and their values."""
    if first[0] not in STARTS:
        return
    for number, (name, event) in enumerate(_children(first, events)):
        path = above + (str(number) if name is None else name)
        if event[0] in STARTS and any(target.startswith(f"{path}.") for target in paths):
            yield from _values_at(event, events, paths, f"{path}.")
        elif event[0] in STARTS or path not in paths:
            _skip(event, events)
        else:
            yield path, _plain(event)


class _NotThereError(ValueError):
    """The path leads to no record."""

    def __init__(self, what: str, do: str = "set records to the path of the list") -> None:
        super().__init__(what)
        self.what, self.do = what, do


def _events(opening: Opening, raw: IO[bytes]) -> Iterator[Event]:
    """Yield the events of a JSON parser.

    Raises
    ------
    InputError
        The bytes are not JSON.
    """
    import ijson

    try:
        yield from ijson.basic_parse(JsonBytes(raw, opening.encoding))
    except ijson.JSONError as error:
        what = _error_and_place(opening) or str(error).splitlines()[0]
        do = "check that the export is one JSON document; format: jsonl is one object a line"
        raise opening.broken(f"is not JSON ({what})", do) from None
    except UnicodeDecodeError:
        raise opening.undecodable() from None


@contextmanager
def _refusing_long_numbers(opening: Opening) -> Iterator[None]:
    """Refuse an export in which Python does not convert the digits of a number.

    ijson returns an event then, with the error set: it is raised by whatever is called next.
    """
    try:
        yield
    except (SystemError, ValueError) as error:
        if "integer string conversion" not in f"{error} {error.__cause__}":
            raise
        raise opening.broken(f"holds {TOO_LONG}", "correct the export") from None


def _error_and_place(opening: Opening) -> str:
    """Return what is no JSON, and where, by Python's parser; empty: it is too large for that."""
    with opening.open_bytes() as raw:
        data = raw.read(MOST_BYTES + 1)
        text = JsonBytes(raw, opening.encoding).decoder.decode(data, final=True)
    try:
        parse_bounded_json(text if len(data) <= MOST_BYTES else "0")
    except JsonError as error:
        return str(error)
    return ""


def _records(events: Iterator[Event], opening: Opening) -> Iterator[tuple[str, str | None, Any]]:
    """Yield the JSON pointer, the key and the value of each record."""
    path = tuple(opening.records.split(".")) if opening.records else ()
    first = next(events, None)
    if first is None:
        raise _NotThereError("is empty", "fetch the export again")
    yield from _at(first, events, path, opening, "", None)
    next(events, None)  # what follows the document is an error


def _at(
    first: Event,
    events: Iterator[Event],
    path: tuple[str, ...],
    opening: Opening,
    pointer: str,
    key: str | None,
) -> Iterator[tuple[str, str | None, Any]]:
    """Yield the records at a path of the value that starts with an event."""
    kind, _ = first
    here = pointer or "the document"
    if not path:
        if kind == "start_array":
            for number, (_, event) in enumerate(_children(first, events)):
                yield f"{pointer}/{number}", key, _value(event, events, opening)
        elif kind == "start_map" or key is not None:
            yield pointer, key, _value(first, events, opening)
        else:
            raise _NotThereError(f"{here} is neither a list nor an object")
        return
    if kind not in STARTS:
        raise _NotThereError(f"records: {opening.records}: {here} is neither a list nor an object")
    keys, is_there = [], False
    for number, (name, event) in enumerate(_children(first, events)):
        step = str(number) if name is None else name
        if path[0] in (ALL, step):
            is_there = True
            token = f"#{number}" if opening.hides_keys and path[0] == ALL else _escaped(step)
            own = step if path[0] == ALL and key is None else key
            yield from _at(event, events, path[1:], opening, f"{pointer}/{token}", own)
        else:
            keys.append(step)
            _skip(event, events)
    if not is_there and path[0] != ALL:
        what = f"records: {opening.records}: {here} has no {path[0]}"
        do = f"its keys: {first_of([*map(shorten, keys)], 10)}" if kind == "start_map" else ""
        raise _NotThereError(what, do or "a list has numbers from 0, or * for all its elements")


def _children(first: Event, events: Iterator[Event]) -> Iterator[tuple[str | None, Event]]:
    """Yield key (None in a list) and first event of the values of an object or list."""
    end = "end_map" if first[0] == "start_map" else "end_array"
    for event in events:
        if event[0] == end:
            return
        if event[0] == "map_key":
            yield event[1], next(events)
        else:
            yield None, event


def _skip(first: Event, events: Iterator[Event]) -> None:
    depth = int(first[0] in STARTS)
    while depth:
        kind, _ = next(events)
        depth += (kind in STARTS) - (kind in ("end_map", "end_array"))


def _value(first: Event, events: Iterator[Event], opening: Opening) -> Any:
    """Return a whole value, or why it cannot be used; its size is at most ``limits.row_bytes``."""
    if first[0] not in STARTS:
        return _plain(first)
    root: Any = {} if first[0] == "start_map" else []
    stack: list[tuple[Any, str | None]] = [(root, None)]
    size = 0
    problem: JsonError | None = None
    for kind, value in events:
        container, key = stack[-1]
        if kind in ("end_map", "end_array"):
            stack.pop()
            if not stack:
                return problem or root
            continue
        if kind == "map_key":
            if value in container:
                raise _NotThereError("an object has a key twice", "correct the export")
            stack[-1] = (container, value)
            size += len(value)
            continue
        inner: Any = _plain((kind, value))
        if kind in STARTS:
            inner = {} if kind == "start_map" else []
            stack.append((inner, None))
        if isinstance(inner, JsonError) or len(stack) > DEEPEST:
            problem = inner if isinstance(inner, JsonError) else JsonError(TOO_DEEP)
        size += len(value) if isinstance(value, str) else 8
        if size > opening.limits.row_bytes:
            raise opening.beyond("row_bytes", "a record is longer than", "bytes")
        if isinstance(container, dict):
            container[key] = inner
        else:
            container.append(inner)
    raise _NotThereError("ends within a record", "fetch the export again")


def _plain(event: Event) -> Any:
    kind, value = event
    if kind == "number":
        try:
            return Number(NAMES.get(str(value), str(value)))
        except JsonError as error:
            return error
    return value


def _row(
    value: Any, key: str | None, used_columns: frozenset[str] | None
) -> tuple[dict[str, str | None], str | None]:
    """Return the cells of a record, and why it has none."""
    row: dict[str, str | None] = {} if key is None else {KEY: key}
    problem = f"malformed JSON: {value}" if isinstance(value, JsonError) else None
    try:
        if problem:
            pass
        elif isinstance(value, dict):
            names = value.keys() if used_columns is None else used_columns
            row |= {n: value_text(inner) if n in names else None for n, inner in value.items()}
        elif isinstance(value, list):
            row |= {str(index): value_text(inner) for index, inner in enumerate(value)}
        else:
            row |= {"0": value_text(value)}
        for cell in row.values():
            (cell or "").encode()
    except UnicodeEncodeError:
        problem = "malformed JSON: half of a surrogate pair"
    return (row if problem is None else {}), problem


def _escaped(key: str) -> str:
    """Return a key as a part of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def _emit(opening: Opening, export: Export, collected: _Rows) -> RawRows:
    n = len(collected.rows)
    used_columns = [
        c for c in export.columns if opening.used_columns is None or c in opening.used_columns
    ]
    columns = {
        name: pa.array([row.get(name) for row in collected.rows], pa.string())
        for name in used_columns
    }
    last = export.n_rows
    return RawRows(
        columns, np.arange(last - n + 1, last + 1), pa.array(collected.problems, pa.string()),
        pa.array(collected.pointers, pa.string()),
    )  # fmt: skip
