"""Delimited text: csv, tsv and MTurk batch results; any delimiter, quoting and encoding.

Cells are kept as written; nothing is guessed but the delimiter. `csv_rows` says where rows start
and end, Arrow splits them into cells. A row with too many or too few fields, with malformed quotes,
with bytes that are not text, or that repeats the header is an unreadable row with its number.

``Approve`` and ``Reject`` stand in the header, for the requester to fill in; until then the
rows leave them out altogether. What a cell packs is the campaign's mapping to say.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from annot_pipeline.contracts.name_key import name_key
from annot_pipeline.errors import InputError
from annot_pipeline.exports.csv_rows import (
    FIRST_READ,
    LINE,
    MALFORMED,
    OF_SEVERAL_LINES,
    UNCLOSED,
    CsvRows,
    Dialect,
    Run,
    TooLongError,
    n_like_rows,
    without_line_end,
)
from annot_pipeline.exports.raw_rows import (
    CHUNK_BYTES,
    Export,
    Opening,
    RawRows,
    TextLines,
    distinct,
    unreadable,
)

Numbers: TypeAlias = npt.NDArray[np.int64]

DELIMITERS = ",\t;|"
EXCEL_DELIMITER = re.compile(rb'"?sep=."?\s*', re.IGNORECASE)
UNDECODABLE = re.compile("[\udc80-\udcff]")
"""Bytes that an encoding does not know, as surrogates stand for them."""
NEW_LINE = "\n"
LONGEST_HEADER = 16 << 20
COMMENT = b"#"
QUOTES = (
    'set options.quote: "" if quotes are ordinary characters, or options.escape if they are escaped'
)
PEEKED = 1 << 14
"""Bytes that are split into rows to see the first, unless it is longer."""
REPEATED_HEADER = "repeated_header: the row repeats the header"


def read_csv(opening: Opening, *, left_out: Sequence[str] = ()) -> Export:
    """Open delimited text; see `raw_rows.Export`.

    ``left_out`` are last columns of the header that the rows may end without.
    """
    with _text(opening) as text:
        start = _Start(opening, text)
        names = list(opening.header or distinct(start.header))
        if names and left_out and names[-len(left_out) :] == [*left_out]:
            short = len(names) - len(left_out)
            row, problem = start.peek()
            if not problem and len(start.dialect.cells(without_line_end(row))) == short:
                names = names[:short]
    if start.is_empty:
        return Export(iter(()), names)
    opening.check_columns(len(names))
    ignored = {"comment lines": start.n_comments} if start.n_comments else {}
    export = Export(iter(()), names, ignored)
    export.chunks = _chunks(opening, export)
    return export


def row_starts(
    opening: Opening, n_columns: int, wanted: Collection[int]
) -> Iterator[tuple[int, int]]:
    """Yield wanted numbers of rows after the header, and the lines of the file they start on."""
    with _text(opening) as text:
        start = _Start(opening, text)
        for row, line in start.rows(n_columns).row_starts(wanted):
            yield row, line + start.n_lines


def start_of_rows(opening: Opening) -> tuple[Dialect, int]:
    """Return how cells are delimited, and how many lines stand before the header."""
    with _text(opening) as text:
        start = _Start(opening, text)
        return start.dialect, start.n_comments + start.n_blank


# --- text ----------------------------------------------------------------------------------


class _Text:
    """Text of an export as UTF-8 bytes without byte order mark; other encodings are decoded.

    ``n_line_ends`` counts the line ends read so far, apart from who splits the text into rows.
    """

    def __init__(self, opening: Opening, raw: IO[bytes]) -> None:
        self.raw = raw
        self.decoder = None if opening.is_utf8 else codecs.getincrementaldecoder(opening.encoding)()
        self.is_start, self.is_end = True, False
        self.n_line_ends = 0
        self.last = b""

    def read(self, size: int) -> bytes:
        """Return the next bytes; none at the end.

        Raises
        ------
        UnicodeError
            The bytes are not in the encoding.
        """
        data = b""
        while not data and not self.is_end:
            part = self.raw.read(size)
            self.is_end = not part
            data = part
            if self.decoder:
                data = self.decoder.decode(part, final=self.is_end).encode()
            if self.is_start and data:
                self.is_start = False
                data = data.removeprefix(codecs.BOM_UTF8)
        self.n_line_ends += data.count(b"\n")
        if b"\r" in data:
            self.n_line_ends += data.count(b"\r") - data.count(b"\r\n")
        self.n_line_ends -= self.last.endswith(b"\r") and data.startswith(b"\n")
        self.last = data or self.last
        return data

    @property
    def n_lines(self) -> int:
        """Return the number of lines read so far; the last may lack its end."""
        return self.n_line_ends + bool(self.last and not self.last.endswith((b"\r", b"\n")))


@contextmanager
def _text(opening: Opening) -> Iterator[_Text]:
    with opening.open_bytes() as raw:
        try:
            yield _Text(opening, raw)
        except (UnicodeDecodeError, UnicodeEncodeError):
            raise opening.undecodable(first_undecodable(opening)) from None


class _Start:
    """Holds the start of a text: its dialect, its header, and the lines before the first row.

    Blank lines, a line that tells Excel the delimiter and comments (lines that start with ``#``) in
    front of the header are skipped. The last comment is the header if it has as many cells as the
    line after it; a line with as many cells as a file without header is to have is a row.
    """

    def __init__(self, opening: Opening, text: _Text) -> None:
        self.opening, self.text = opening, text
        self.block = min(opening.block_bytes or FIRST_READ, opening.limits.row_bytes)
        self.head, self.position = b"", 0
        self.n_comments = self.n_blank = 0
        self.header: list[str] = []
        lines = self._first_lines()
        self.is_empty = not lines
        first = lines[-1][1] if lines else b""
        delimiter = opening.delimiter or _likely_delimiter(opening, first)
        self.dialect = Dialect(delimiter, opening.quote, opening.escape)
        if lines:
            self._skip_comments(lines)
        if lines and opening.header is None:
            self._take_header()
        taken = self.head[: self.position]
        is_ended = not taken or taken.endswith((b"\n", b"\r"))
        self.n_lines = len(LINE.findall(taken)) + (not is_ended)

    def rows(self, n_columns: int) -> CsvRows:
        """Return the rows after the header."""
        longest = self.opening.limits.row_bytes
        return CsvRows(self._read, self.dialect, n_columns, longest, self.block)

    def peek(self) -> tuple[bytes, str]:
        """Return the next row with its line end, and why it is malformed; it is read again."""
        at = self.position

        def read(size: int) -> bytes:
            nonlocal at
            if at == len(self.head):
                self.head += self.text.read(size)
            part = self.head[at : at + size]
            at += len(part)
            return part

        block = min(self.block, PEEKED)
        rows = CsvRows(read, self.dialect, None, self.opening.limits.row_bytes, block)
        return next(((row, problem) for _, _, row, problem in rows.numbered_rows()), (b"", ""))

    def _read(self, size: int) -> bytes:
        if self.position == len(self.head):
            return self.text.read(size)
        part = self.head[self.position : self.position + size]
        self.position += len(part)
        return part

    def _first_lines(self) -> list[tuple[int, bytes]]:
        """Return comments before the header, then the first line that is none, with positions."""
        lines: list[tuple[int, bytes]] = []
        at = 0
        while line := self._line(at):
            if line.strip() and not (at == 0 and EXCEL_DELIMITER.fullmatch(line)):
                lines.append((at, line))
                if not line.startswith(COMMENT):
                    break
            at += len(line)
        return lines

    def _line(self, at: int) -> bytes:
        """Return the line that starts at a position, with its end; empty at the end."""
        parts, size = [self.head], len(self.head) - at
        is_whole = LINE.match(self.head, at) and not self.head.endswith(b"\r")
        while not is_whole and not self.text.is_end:
            if size > self.opening.limits.row_bytes:
                raise _too_long(self.opening, "a row")
            part = self.text.read(min(self.block, CHUNK_BYTES))
            size += len(part)
            is_whole = b"\n" in part or b"\r" in part[:-1]
            is_too_long = self.opening.header is None and size > LONGEST_HEADER
            parts = [] if is_too_long else [*parts, part]  # the limits see the rest of it
        if not parts:
            what = f"the header is longer than {LONGEST_HEADER:,} bytes"
            raise self.opening.broken(what, "check that the file is the export")
        self.head = b"".join(parts) if len(parts) > 1 else self.head
        line = LINE.match(self.head, at)
        return line[0] if line else self.head[at:]

    def _skip_comments(self, lines: list[tuple[int, bytes]]) -> None:
        n_cells = [len(self.dialect.cells(without_line_end(line))) for _, line in lines]
        first = len(lines) - 1
        if self.opening.header is not None:
            expected = len(self.opening.header)
            first = next((n for n in range(first) if n_cells[n] == expected), first)
        elif first and n_cells[first - 1] == n_cells[first] > 1:
            first -= 1
        self.position, self.n_comments = lines[first][0], first
        self.n_blank = len(LINE.findall(self.head, 0, self.position)) - first

    def _take_header(self) -> None:
        try:
            row, problem = self.peek()
        except TooLongError:
            raise _too_long(self.opening, "the header") from None
        if problem == UNCLOSED:
            raise _unclosed(self.opening, "the header")
        if problem:
            raise self.opening.broken(f"the header has {problem}", QUOTES)
        cells = self.dialect.cells(without_line_end(row))
        self.header = [self.dialect.value(cell).decode(errors="replace") for cell in cells]
        if any("\0" in name for name in self.header):
            raise self.opening.broken(
                f"is not text in {self.opening.encoding}: the header holds NUL characters",
                "set options.encoding to the file's encoding, as utf-16",
            )
        self.position = min(self.position + len(row), len(self.head))


def _likely_delimiter(opening: Opening, first: bytes) -> str:
    """Return the delimiter that splits the first line most often; a comma if none does."""

    def n_cells(delimiter: str) -> int:
        return len(Dialect(delimiter, opening.quote, opening.escape).cells(first))

    return max(DELIMITERS, key=n_cells)


# --- rows ----------------------------------------------------------------------------------


def _chunks(opening: Opening, export: Export) -> Iterator[RawRows]:
    """Yield the rows; those of a block that cannot be read come after the others."""
    with _text(opening) as text:
        start = _Start(opening, text)
        rows = start.rows(len(export.columns))
        cells = _Cells(opening, export, start)
        try:
            for data, runs in rows.blocks():
                yield from cells.read(data, runs)
        except TooLongError as error:
            raise _too_long(opening, f"row {error.args[0]}") from None
        export.n_rows = rows.n_rows
        export.lines = replace(
            cells.lines,
            other=text.n_lines - rows.n_lines - start.n_lines,
            unended_row=0 if rows.is_ended else rows.n_rows,
            unended_line=0 if rows.is_ended else text.n_lines,
            is_cut=not rows.is_ended and cells.last_bad_row == rows.n_rows > 0,
        )
        if cells.lines.within_cells:
            export.ignored["lines within quoted cells"] = cells.lines.within_cells


class _Cells:
    """Makes cells of the rows of blocks, and counts the lines that are no rows."""

    def __init__(self, opening: Opening, export: Export, start: _Start) -> None:
        self.opening, self.columns = opening, export.columns
        self.dialect, self.n_lines = start.dialect, start.n_lines
        self.header = list(opening.header or start.header[: len(export.columns)])
        used = opening.used_columns
        self.used = [name for name in self.columns if used is None or name in used]
        self.lines = TextLines()
        self.last_bad_row = 0
        self._quoted = Dialect(start.dialect.delimiter)

    def read(self, data: bytes, runs: Sequence[Run]) -> Iterator[RawRows]:
        """Yield the rows of a block; raises InputError where a header has another order."""
        bad = {run.first_row: run.problem for run in runs if run.kind == MALFORMED}
        good = [run for run in runs if run.kind != MALFORMED and run.rows]
        for run in good:
            if run.kind == OF_SEVERAL_LINES:
                self._count_lines(data[run.start : run.end], run)
        if not self.dialect.quote:
            self._look_for_quotes(data, runs)
        numbers = np.concatenate(
            [np.arange(run.first_row, run.first_row + run.rows) for run in good]
            or [np.zeros(0, np.int64)]
        )
        text = b"".join(data[run.start : run.end] for run in good)
        if numbers.size:
            rows = self._by_arrow(text, numbers) or self._by_cell(text, numbers)
            bad |= rows.ragged
            headers = self._headers(text, rows)
            bad |= dict.fromkeys(headers, REPEATED_HEADER)
            keep = ~np.isin(rows.rows.row, headers)
            if keep.any():
                yield rows.rows if keep.all() else _where(rows.rows, keep)
        if bad:
            self.last_bad_row = max(bad)
            yield unreadable(self.used, sorted(bad.items()))

    def _by_arrow(self, text: bytes, numbers: Numbers) -> _Rows | None:
        """Return the rows as Arrow splits them; None where it cannot, or finds other rows."""
        escape = self.dialect.escape.encode()
        if (escape and escape in text) or not _is_utf8(text):
            return None
        ragged: dict[int, str] = {}

        def note(row: Any) -> str:
            ragged[row.number - 1] = self._ragged(row.actual_columns)
            return "skip"

        try:
            table = pa_csv.read_csv(
                pa.BufferReader(text),
                read_options=pa_csv.ReadOptions(
                    use_threads=False,  # positions of invalid rows are known on one thread only
                    block_size=len(text) + 1,
                    column_names=self.columns,
                ),
                parse_options=pa_csv.ParseOptions(
                    delimiter=self.dialect.delimiter,
                    quote_char=self.dialect.quote or False,
                    newlines_in_values=True,
                    invalid_row_handler=note,
                ),
                convert_options=pa_csv.ConvertOptions(
                    check_utf8=False,
                    strings_can_be_null=False,
                    include_columns=self.used or self.columns[:1],
                    column_types=dict.fromkeys(self.columns, pa.string()),
                ),
            )
        except pa.ArrowInvalid:
            return None
        if table.num_rows + len(ragged) != numbers.size:
            return None
        is_good = np.ones(numbers.size, np.bool_)
        is_good[[*ragged]] = False
        columns = {name: pa.concat_arrays(table[name].chunks) if table.num_rows else
                   pa.nulls(0, pa.string()) for name in self.used}  # fmt: skip
        rows = RawRows(columns, numbers[is_good], pa.nulls(int(is_good.sum()), pa.string()))
        return _Rows(rows, {int(numbers[position]): why for position, why in ragged.items()})

    def _by_cell(self, text: bytes, numbers: Numbers) -> _Rows:
        """Return the rows cell by cell: any escape, any bytes."""
        ragged: dict[int, str] = {}
        good: list[int] = []
        problems: list[str | None] = []
        values: list[list[str | None]] = [[] for _ in self.used]
        positions = [self.columns.index(name) for name in self.used]
        for number, row in zip(numbers.tolist(), self._split(text), strict=True):
            cells = self.dialect.cells(row)
            if len(cells) != len(self.columns):
                ragged[number] = self._ragged(len(cells))
                continue
            problem = None
            for position, column in zip(positions, values, strict=True):
                try:
                    column.append(self.dialect.value(cells[position]).decode())
                except UnicodeDecodeError:
                    column.append(None)
                    # a column may be named after a judge: its place is told
                    problem = f"not UTF-8 in column {position + 1}; see options.encoding"
            good.append(number)
            problems.append(problem)
        columns = {
            name: pa.array(column, pa.string())
            for name, column in zip(self.used, values, strict=True)
        }
        rows = RawRows(columns, np.array(good, np.int64), pa.array(problems, pa.string()))
        return _Rows(rows, ragged)

    def _split(self, text: bytes) -> Iterator[bytes]:
        read = iter([text, b""])
        rows = CsvRows(lambda _: next(read), self.dialect, len(self.columns), len(text) + 1)
        return (without_line_end(row) for _, _, row, _ in rows.numbered_rows())

    def _ragged(self, n_cells: int) -> str:
        fields = "field" if n_cells == 1 else "fields"
        return f"ragged row: {n_cells} {fields}, the header has {len(self.columns)}"

    def _headers(self, text: bytes, rows: _Rows) -> list[int]:
        """Return the numbers of rows that repeat the header.

        Raises
        ------
        InputError
            A row is the header with its columns in another order: what follows means other things.
        """
        if not self.used or not len(rows.rows):
            return []
        header = [*map(name_key, self.header)]
        lowered = [name.strip().lower() for name in self.header]
        names = pa.array(sorted({*header, *lowered}), pa.string())
        is_name = np.ones(len(rows.rows), np.bool_)
        for column in rows.rows.columns.values():
            keys = pc.utf8_lower(pc.utf8_trim_whitespace(column))
            is_name &= pc.is_in(keys, names).to_numpy(zero_copy_only=False)
            if not is_name.any():
                return []
        candidates = set(rows.rows.row[is_name].tolist())
        numbers = sorted({*rows.rows.row.tolist(), *rows.ragged})
        headers = []
        for number, row in zip(numbers, self._split(text), strict=True):
            if number in candidates:
                cells = [
                    name_key(self.dialect.value(cell).decode(errors="replace"))
                    for cell in self.dialect.cells(row)
                ]
                if cells == header:
                    headers.append(number)
                elif sorted(cells) == sorted(header):
                    raise self.opening.broken(
                        f"row {number} is a header with the columns in another order: files with "
                        "different columns were put together",
                        "split the file at its headers",
                    )
        return headers

    def _count_lines(self, row: bytes, run: Run) -> None:
        """Count the lines within quoted cells, and those that look like rows."""
        lines = LINE.findall(row)[1:]
        n_like = n_like_rows(lines, self.dialect.delimiter, len(self.columns))
        self.lines.within_cells += len(lines)
        if n_like and n_like == sum(bool(line.strip()) for line in lines):
            self.lines.like_rows += n_like
            if not self.lines.like_rows_at:
                self.lines.like_rows_at = run.first_row
                self.lines.like_rows_line = self.n_lines + run.first_line

    def _look_for_quotes(self, data: bytes, runs: Sequence[Run]) -> None:
        """Note whether quotes enclose cells, where they are to be ordinary characters."""
        start, end = runs[0].start, runs[-1].end
        match = self._quoted.rows_of_a_line.match(data, start, end)
        if not match or match.end() != end:
            self.lines.has_bare_quotes = True
        elif b'"' in data:
            self.lines.has_quoted_cells = True


class _Rows(NamedTuple):
    """Holds rows with as many cells as the header, and reasons by number of the others."""

    rows: RawRows
    ragged: dict[int, str]


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _where(chunk: RawRows, keep: npt.NDArray[np.bool_]) -> RawRows:
    mask = pa.array(keep)
    return RawRows(
        {name: column.filter(mask) for name, column in chunk.columns.items()},
        chunk.row[keep],
        chunk.problem.filter(mask),
    )


def _unclosed(opening: Opening, where: str) -> InputError:
    return opening.broken(
        f"{where} opens a quote that is never closed", f"close the quote, or {QUOTES}"
    )


def _too_long(opening: Opening, row: str) -> InputError:
    return opening.broken(
        f"{row} is longer than {opening.limits.row_bytes:,} bytes, or opens a quote that is never "
        "closed",
        f"close the quote, or {QUOTES}; if such rows are right, raise limits.row_bytes "
        "(campaign.yaml)",
    )


def first_undecodable(opening: Opening) -> str:
    """Return the first line with bytes that the encoding does not know; a line may be long."""
    number = 1
    with (
        opening.open_bytes() as raw,
        io.TextIOWrapper(raw, opening.encoding, errors="surrogateescape") as text,
        contextlib.suppress(UnicodeError),
    ):
        while characters := text.read(CHUNK_BYTES):
            if match := UNDECODABLE.search(characters):
                return f", line {number + characters.count(NEW_LINE, 0, match.start())}"
            number += characters.count(NEW_LINE)
    return ""


REQUESTERS_COLUMNS = ("Approve", "Reject")


def read_mturk(opening: Opening) -> Export:
    """Open MTurk batch results; see `raw_rows.Export`."""
    return read_csv(opening, left_out=REQUESTERS_COLUMNS)
