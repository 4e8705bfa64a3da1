"""Delimited text: csv, tsv and MTurk batch results; any delimiter, quoting and encoding.

Cells are kept as written; nothing is guessed but the delimiter. A row with too many or too
few fields, or with bytes that are not text, is an unreadable row with its number.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from annot_pipeline.errors import shorten
from annot_pipeline.exports.raw_rows import Export, Opening, RawRows, unreadable

DELIMITERS = ",\t;|"
FIRST_BLOCK = 4 << 20
LAST_BLOCK = 1 << 30


def read_csv(opening: Opening) -> Export:
    """Open delimited text; see `raw_rows.Export`."""
    header = list(opening.header or ())
    first, more = _first_record(opening)
    delimiter = opening.delimiter or _likely_delimiter(opening, first)
    has_rows = more or bool(header and first)
    names = _distinct(header or _fields(opening, first, delimiter))
    return Export(_chunks(opening, names, delimiter) if has_rows else iter(()), names)


def _first_record(opening: Opening) -> tuple[str, bool]:
    """The first line that is not blank, with the lines that its quotes continue on.

    And whether anything follows it.
    """
    encoding = "utf-8-sig" if opening.encoding.lower() in ("utf-8", "utf8") else opening.encoding
    record = ""
    try:
        opened: Any = gzip.open if opening.gzipped else open
        with (
            opened(opening.path, "rb") as raw,
            io.TextIOWrapper(raw, encoding, errors="replace", newline="") as text,
        ):
            while line := text.readline(FIRST_BLOCK):
                record += line
                closed = not opening.quote or record.count(opening.quote) % 2 == 0
                if record.strip() and (closed or len(record) > FIRST_BLOCK):
                    break
            more = bool(text.read(1))
    except (EOFError, gzip.BadGzipFile, OSError) as error:
        raise _broken_gzip(opening, error) from None
    except UnicodeError as error:
        raise opening.broken(str(error), "set options.encoding to the file's encoding") from None
    return (record.strip("\r\n") if record.strip() else "", more)


def _fields(opening: Opening, record: str, delimiter: str) -> list[str]:
    quoting: dict[str, Any] = (
        {"quotechar": opening.quote} if opening.quote else {"quoting": csv.QUOTE_NONE}
    )
    lines = io.StringIO(record, newline="")
    try:
        return next(csv.reader(lines, delimiter=delimiter, **quoting), [])
    except csv.Error as error:
        raise opening.broken(f"the header cannot be read ({error})", "check the file") from None


def _likely_delimiter(opening: Opening, first: str) -> str:
    """The delimiter that splits the first record most often; a comma if none does."""
    return max(DELIMITERS, key=lambda delimiter: len(_fields(opening, first, delimiter)))


def _distinct(header: list[str]) -> list[str]:
    """Column names; a repeated one gets its place, so that nobody maps it by accident."""
    seen: set[str] = set()
    names = []
    for place, name in enumerate(header, start=1):
        names.append(f"{name}#{place}" if name in seen else name)
        seen.add(names[-1])
    return names


class _InvalidRows:
    """Collects the rows that the parser skips, by row number."""

    def __init__(self, opening: Opening, first_row: int) -> None:
        self.opening = opening
        self.first_row = first_row
        self.reasons: dict[int, str] = {}
        self.swallowed: str | None = None

    def __call__(self, row: Any) -> str:
        number = row.number - self.first_row + 1
        fields = "field" if row.actual_columns == 1 else "fields"
        self.reasons[number] = (
            f"ragged row: {row.actual_columns} {fields}, the header has {row.expected_columns}"
        )
        quote = self.opening.quote
        if quote and "\n" in row.text.strip() and row.text.count(quote) % 2:
            self.swallowed = (
                f"row {number} opens a quote that is never closed and swallows "
                f"{row.text.strip().count(chr(10))} lines: {shorten(row.text)}"
            )
        return "skip"


def _chunks(opening: Opening, names: list[str], delimiter: str) -> Iterator[RawRows]:
    """The rows; starts again with a larger block when a row does not fit into one."""
    block, done = FIRST_BLOCK, {True: 0, False: 0}
    while True:
        try:
            for readable, chunk in _blocks(opening, names, delimiter, block):
                keep = chunk.row > done[readable]
                if keep.any():
                    yield chunk if keep.all() else _where(chunk, keep)
                    done[readable] = int(chunk.row[-1])
            return
        except pa.ArrowInvalid as error:
            if "straddling" not in str(error) or block >= LAST_BLOCK:
                raise opening.broken(str(error), "check that the file is the export") from None
            block *= 4
        except OSError as error:
            raise _broken_gzip(opening, error) from None
        except UnicodeError as error:
            raise opening.broken(
                str(error), "set options.encoding to the file's encoding"
            ) from None


def _blocks(
    opening: Opening, names: list[str], delimiter: str, block: int
) -> Iterator[tuple[bool, RawRows]]:
    """(whether the rows could be split into fields, the rows), each kind in row order."""
    has_header = opening.header is None
    invalid = _InvalidRows(opening, first_row=2 if has_header else 1)
    wanted = [name for name in names if opening.wanted is None or name in opening.wanted]
    source: Any = pa.OSFile(str(opening.path))
    if opening.gzipped:
        source = pa.CompressedInputStream(source, "gzip")
    reader = pa_csv.open_csv(
        source,
        read_options=pa_csv.ReadOptions(
            use_threads=False,  # row numbers of invalid rows are known on one thread only
            block_size=block,
            column_names=names,
            skip_rows_after_names=int(has_header),
            encoding=opening.encoding,
        ),
        parse_options=pa_csv.ParseOptions(
            delimiter=delimiter,
            quote_char=opening.quote or False,
            newlines_in_values=True,
            invalid_row_handler=invalid,
        ),
        convert_options=pa_csv.ConvertOptions(
            check_utf8=False,
            strings_can_be_null=False,
            include_columns=wanted,
            column_types=dict.fromkeys(names, pa.binary()),
        ),
    )
    row, given = 0, 0
    for batch in reader:
        numbers, row = _number(batch.num_rows, row, invalid.reasons)
        if batch.num_rows:
            yield True, _as_text(batch, wanted, numbers)
        due = sorted(invalid.reasons)[given:]
        given += len(due)
        if due:
            yield False, unreadable(wanted, [(n, invalid.reasons[n]) for n in due])
        if invalid.swallowed:
            raise opening.broken(
                invalid.swallowed,
                'close the quote, or set options.quote: "" where quotes are ordinary characters',
            )


def _number(count: int, last: int, invalid: dict[int, str]) -> tuple[np.ndarray, int]:
    """Numbers of the next ``count`` good rows after row ``last``, stepping over invalid ones."""
    if not invalid:
        return np.arange(last + 1, last + count + 1), last + count
    numbers = np.arange(last + 1, last + count + len(invalid) + 1)
    numbers = numbers[~np.isin(numbers, np.fromiter(invalid, np.int64))][:count]
    return numbers, int(numbers[-1]) if count else last


def _as_text(batch: pa.RecordBatch, names: list[str], numbers: np.ndarray) -> RawRows:
    columns: dict[str, pa.Array] = {}
    problems: dict[int, str] = {}
    for name in names:
        column = batch.column(name)
        try:
            columns[name] = column.cast(pa.string())
        except pa.ArrowInvalid:
            values = column.to_pylist()
            for place, value in enumerate(values):
                try:
                    values[place] = value.decode("utf-8")
                except UnicodeDecodeError:
                    values[place] = None
                    problems[place] = f"not UTF-8 in column {name}; see options.encoding"
            columns[name] = pa.array(values, pa.string())
    problem = pa.nulls(len(numbers), pa.string())
    if problems:
        problem = pa.array([problems.get(i) for i in range(len(numbers))], pa.string())
    return RawRows(columns, numbers, problem)


def _where(chunk: RawRows, keep: np.ndarray) -> RawRows:
    mask = pa.array(keep)
    return RawRows(
        {name: column.filter(mask) for name, column in chunk.columns.items()},
        chunk.row[keep],
        chunk.problem.filter(mask),
    )


def _broken_gzip(opening: Opening, error: Exception) -> Exception:
    if not opening.gzipped:
        return error
    return opening.broken(
        f"the gzip stream is damaged or cut short ({error})", "fetch the export again"
    )
