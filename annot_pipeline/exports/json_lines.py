"""JSON Lines: one object a line; nested values stay JSON."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import IO, Any

import numpy as np
import pyarrow as pa

from annot_pipeline.bounded_json import parse_bounded_json
from annot_pipeline.contracts.answer_text import Number, value_text
from annot_pipeline.exports.raw_rows import (
    CHUNK_BYTES,
    Export,
    Opening,
    Piece,
    RawRows,
    unreadable,
)

CHUNK = 50_000
HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
"""Where a character may be written as half of a surrogate pair, which no text can hold."""


def read_jsonl(opening: Opening) -> Export:
    """Open JSON Lines; see `raw_rows.Export`. Columns are the keys seen so far.

    Raises
    ------
    InputError
        Also while rows are read: no line at all holds an object. Of a piece that is nothing to
        complain of: others may.
    """
    export = Export(iter(()), [], has_header=False)
    export.chunks = _chunks(opening, export)
    return export


def jsonl_pieces(opening: Opening, piece_bytes: int) -> list[Piece]:
    """Return lines that can be read by themselves; none of text that must be read from its start.

    A piece has ``piece_bytes`` or more, to the end of a line.
    """
    if opening.gzipped or not opening.is_utf8:
        return []
    size = opening.path.stat().st_size
    ends = [0]
    with opening.path.open("rb") as file:
        while ends[-1] + piece_bytes < size:
            file.seek(ends[-1] + piece_bytes - 1)
            while (part := file.readline(CHUNK_BYTES)) and not part.endswith(b"\n"):
                pass
            ends.append(file.tell())
    return [*pairwise([*ends, size])] if ends[-1] < size else [*pairwise(ends)]


def parse_json(text: str, *, has_nan: bool = False) -> Any:
    """Parse JSON; numbers as `Number`, a key given twice is an error.

    Parameters
    ----------
    text
        JSON.
    has_nan
        Whether NaN, Infinity and -Infinity are numbers, as Python writes them, or errors.

    Raises
    ------
    ValueError
        With what is wrong and where.
    """
    try:
        parsed = parse_bounded_json(
            text,
            parse_int=Number,
            parse_float=Number,
            parse_constant=Number if has_nan else _no_constant,
            object_pairs_hook=_no_repeated_key,
        )
        if HALF_CHARACTER.search(text):
            str(value_text(parsed)).encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair") from None
    return parsed


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _no_repeated_key(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        keys = [key for key, _ in pairs]
        number = next(n for n, key in enumerate(keys, start=1) if key in keys[: n - 1])
        raise ValueError(f"key {number} of an object repeats an earlier key")
    return document


def _chunks(opening: Opening, export: Export) -> Iterator[RawRows]:
    rows: list[dict[str, str | None]] = []
    numbers: list[int] = []
    problems: list[tuple[int, str]] = []
    column_names: dict[str, None] = {}
    first_problem, number = "", 0
    starts = opening.piece is None or opening.piece[0] == 0
    for number, _, line in numbered_lines(opening):
        row = _row(opening, line, "utf-8-sig" if starts and number == 1 else "utf-8")
        if isinstance(row, dict):
            rows.append(row)
            numbers.append(number)
            if not row.keys() <= column_names.keys():
                column_names.update(dict.fromkeys(row))
                opening.check_columns(len(column_names))
                export.columns[:] = column_names
        else:
            problems.append((number, row))
            first_problem = first_problem or row
        if len(rows) + len(problems) >= (opening.chunk_records or CHUNK):
            yield from _emit(opening, export, rows, numbers, problems)
            rows, numbers, problems = [], [], []
    if first_problem and not column_names and not opening.piece:
        raise opening.broken(
            f"no row can be read: no line holds a JSON object ({first_problem})",
            "check format: jsonl is one object a line; jq -c '.[]' turns an array into lines",
        )
    export.n_rows = number
    yield from _emit(opening, export, rows, numbers, problems)


def _row(opening: Opening, line: bytes, encoding: str) -> dict[str, str | None] | str:
    """Return the cells of a line (null where nobody wants them), or why it holds none."""
    try:
        parsed = parse_json(line.decode(encoding).rstrip(), has_nan=True)
        if isinstance(parsed, dict):
            used_columns = parsed.keys() if opening.used_columns is None else opening.used_columns
            return {
                k: value_text(value) if k in used_columns else None for k, value in parsed.items()
            }
    except UnicodeDecodeError:
        return "not UTF-8"
    except ValueError as error:
        return f"malformed JSON: {error}"
    return f"not a JSON object: {_json_kind(parsed)}"


def _json_kind(parsed: Any) -> str:
    """Return the kind of a JSON value, not the value, which may name a judge."""
    kinds = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(parsed), "a number")


def numbered_lines(opening: Opening) -> Iterator[tuple[int, int, bytes]]:
    """Yield the row number, line number and bytes (UTF-8) of the lines that are not blank, from 1.

    Raises
    ------
    InputError
        A line is too long, or is not in the encoding.
    """
    number = 0
    try:
        with opening.open_bytes() as raw:
            lines: Iterable[bytes] = iter(lambda: raw.readline(opening.limits.row_bytes + 1), b"")
            if opening.piece:
                lines = _lines_between(raw, *opening.piece, opening.limits.row_bytes)
            elif not opening.is_utf8:
                text = io.TextIOWrapper(raw, opening.encoding, newline="\n")
                characters = opening.limits.row_bytes + 1
                lines = (line.encode() for line in iter(lambda: text.readline(characters), ""))
            longest = opening.limits.row_bytes
            for line_number, line in enumerate(lines, start=1):
                if len(line) > longest:
                    raise opening.beyond("row_bytes", f"row {number + 1} is longer than", "bytes")
                if line.strip():
                    number += 1
                    yield number, line_number, line
    except UnicodeError:
        raise opening.undecodable(f", after row {number}") from None


def _lines_between(raw: IO[bytes], start: int, end: int, longest: int) -> Iterator[bytes]:
    """Yield the lines that start between two bytes; of longer ones the beginning."""
    raw.seek(start)
    while raw.tell() < end:
        yield raw.readline(longest + 1)


def _emit(
    opening: Opening,
    export: Export,
    rows: list[dict[str, str | None]],
    numbers: list[int],
    problems: list[tuple[int, str]],
) -> Iterator[RawRows]:
    used_columns = [
        n for n in export.columns if opening.used_columns is None or n in opening.used_columns
    ]
    if rows:
        columns = {
            name: pa.array([row.get(name) for row in rows], pa.string()) for name in used_columns
        }
        yield RawRows(columns, np.array(numbers, np.int64), pa.nulls(len(rows), pa.string()))
    if problems:
        yield unreadable(used_columns, problems)
