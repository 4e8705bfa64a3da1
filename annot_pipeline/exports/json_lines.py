"""JSON Lines: one object a line; numbers keep their spelling, nested values stay JSON."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.errors import shorten
from annot_pipeline.exports.raw_rows import Export, Opening, RawRows, unreadable

CHUNK = 50_000


def read_jsonl(opening: Opening) -> Export:
    """Open JSON Lines; see `raw_rows.Export`. Columns are the keys seen so far."""
    export = Export(iter(()), [])
    export.chunks = _chunks(opening, export)
    return export


def as_text(value: Any) -> str | None:
    """A parsed JSON value as a cell: strings as they are, the rest as JSON writes it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Number):
        return value.written
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)


class Number:
    """A JSON number as it was written: 1 and 1.0 stay two labels."""

    def __init__(self, written: str) -> None:
        self.written = written


def parse_json(text: str) -> Any:
    """Parse JSON; numbers as `Number`, a key given twice and NaN are errors.

    Raises
    ------
    ValueError
        With what is wrong and where.
    """
    return json.loads(
        text,
        parse_int=Number,
        parse_float=Number,
        parse_constant=_no_constant,
        object_pairs_hook=_no_repeated_key,
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Number):
        return (
            float(value.written) if not value.written.lstrip("-").isdigit() else int(value.written)
        )
    raise TypeError(type(value).__name__)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _no_repeated_key(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(k for k in keys if keys.count(k) > 1)!r} given twice")
    return found


def _chunks(opening: Opening, export: Export) -> Iterator[RawRows]:
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []
    problems: list[tuple[int, str]] = []
    for number, line in _lines(opening):
        try:
            parsed = parse_json(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeDecodeError:
            problems.append((number, "not UTF-8"))
        except (ValueError, RecursionError) as error:
            problems.append((number, f"malformed JSON: {error}"))
        else:
            if isinstance(parsed, dict):
                rows.append(parsed)
                numbers.append(number)
                export.columns.extend(key for key in parsed if key not in export.columns)
            else:
                problems.append((number, f"not a JSON object: {shorten(line.decode().strip())}"))
        if len(rows) + len(problems) >= CHUNK:
            yield from _emit(opening, export, rows, numbers, problems)
            rows, numbers, problems = [], [], []
    yield from _emit(opening, export, rows, numbers, problems)


def _lines(opening: Opening) -> Iterator[tuple[int, bytes]]:
    opened: Any = gzip.open if opening.gzipped else open
    number = 0
    try:
        with opened(opening.path, "rb") as lines:
            for line in lines:
                if line.strip():
                    number += 1
                    yield number, line
    except (EOFError, gzip.BadGzipFile) as error:
        raise opening.broken(
            f"the gzip stream is damaged or cut short ({error})", "fetch the export again"
        ) from None


def _emit(
    opening: Opening,
    export: Export,
    rows: list[dict[str, Any]],
    numbers: list[int],
    problems: list[tuple[int, str]],
) -> Iterator[RawRows]:
    wanted = [n for n in export.columns if opening.wanted is None or n in opening.wanted]
    if rows:
        columns = {
            name: pa.array([as_text(row.get(name)) for row in rows], pa.string()) for name in wanted
        }
        yield RawRows(columns, np.array(numbers, np.int64), pa.nulls(len(rows), pa.string()))
    if problems:
        yield unreadable(wanted, problems)
