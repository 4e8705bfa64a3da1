"""Splits delimited text into rows by the strict grammar of csv (RFC 4180).

A quote that opens a cell must be closed, and a delimiter or a line end must follow it. A line
that breaks this is malformed: it is a row of its own, and reading goes on at the next line. Quotes
within a cell that does not start with one are ordinary characters, as for Python's csv module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

LINE = re.compile(rb"[^\r\n]*+(?:\r\n|\r|\n)")
LINE_END = re.compile(rb"\r\n|\r|\n")
BLANK = (b"\n", b"\r\n", b"\r")
FIRST_READ = 1 << 22

RunKind: TypeAlias = Literal["rows", "row of several lines", "malformed line"]
OF_SEVERAL_LINES: RunKind = "row of several lines"
MALFORMED: RunKind = "malformed line"

UNCLOSED = "malformed quotes: a quote opens a cell and is not closed"
TEXT_AFTER = "malformed quotes: text follows the quote that closes a cell"


class TooLongError(Exception):
    """A row is longer than the limit; its number is the argument."""


class Run(NamedTuple):
    """Consecutive bytes of a block that hold rows of one kind.

    ``first_row`` and ``first_line`` count from 1; a malformed line and a row of several lines are
    one row each. ``problem`` says why a line is malformed.
    """

    kind: RunKind
    start: int
    end: int
    first_row: int
    rows: int
    first_line: int
    lines: int
    problem: str = ""


@dataclass(frozen=True)
class Dialect:
    """Represents how cells are delimited, quoted and escaped: one ASCII character each, or none.

    ``escape`` makes a quote, a delimiter or an escape after it ordinary; before any other character
    it is ordinary itself.
    """

    delimiter: str = ","
    quote: str = '"'
    escape: str = ""

    @cached_property
    def row(self) -> re.Pattern[bytes]:
        """Return the pattern of a row without its line end; stops where the grammar is broken."""
        cell = self._cell(within_line=False)
        return re.compile(cell + rb"(?:" + _escaped(self.delimiter) + cell + rb")*+", re.DOTALL)

    @cached_property
    def rows_of_a_line(self) -> re.Pattern[bytes]:
        """Return the pattern of rows that take one line each, with their line ends."""
        cell = self._cell(within_line=True)
        row = cell + rb"(?:" + _escaped(self.delimiter) + cell + rb")*+"
        return re.compile(rb"(?:" + row + rb"(?:\r\n|\r|\n))*+")

    @cached_property
    def cell(self) -> re.Pattern[bytes]:
        """Return the pattern of a cell."""
        return re.compile(self._cell(within_line=False), re.DOTALL)

    @cached_property
    def open_cell(self) -> re.Pattern[bytes]:
        """Return the pattern of a quoted cell that the text ends within."""
        if not self.quote:
            return re.compile(rb"(?!)")
        end = _escaped(self.escape) + rb"?\Z" if self.escape else rb"\Z"
        return re.compile(self._opened(within_line=False) + end, re.DOTALL)

    def value(self, cell: bytes) -> bytes:
        """Return what a cell holds, without quotes and escapes."""
        quote, escape = self.quote.encode(), self.escape.encode()
        is_quoted = bool(quote) and cell.startswith(quote)
        if is_quoted:
            cell = cell[1:-1]
        if not escape:
            return cell.replace(quote * 2, quote) if is_quoted else cell
        ordinary = _escaped(self.quote) + _escaped(self.escape) + _escaped(self.delimiter)
        pattern = _escaped(self.escape) + rb"([" + ordinary + rb"])"
        if is_quoted:
            pattern += rb"|" + _escaped(self.quote) + rb"(" + _escaped(self.quote) + rb")"
        return re.sub(pattern, lambda match: match[match.lastindex or 0], cell)

    def cells(self, row: bytes, start: int = 0) -> list[bytes]:
        """Return the cells of a row that follows the grammar, as they are written."""
        cells, delimiter = [], self.delimiter.encode()
        while match := self.cell.match(row, start):
            cells.append(match[0])
            if row[match.end() : match.end() + 1] != delimiter:
                break
            start = match.end() + 1
        return cells

    def _cell(self, *, within_line: bool) -> bytes:
        ends = _escaped(self.delimiter + self.escape) + rb"\r\n"
        first, inner = rb"[^" + _escaped(self.quote) + ends + rb"]", rb"[^" + ends + rb"]++"
        if self.escape:
            escape = _escaped(self.escape) + rb"[^\r\n]?+"
            first = rb"(?:" + first + rb"|" + escape + rb")"
            inner = rb"(?:" + inner + rb"|" + escape + rb")"
        bare = rb"(?:" + first + rb"(?:" + inner + rb")*+)?+"
        if not self.quote:
            return bare
        quoted = self._opened(within_line=within_line) + _escaped(self.quote)
        return rb"(?:" + quoted + rb"|" + bare + rb")"

    def _opened(self, *, within_line: bool) -> bytes:
        """Return the pattern of a quoted cell without the quote that closes it."""
        line_ends = rb"\r\n" if within_line else b""
        quote = _escaped(self.quote)
        choices = rb"[^" + quote + _escaped(self.escape) + line_ends + rb"]++|" + quote * 2
        if self.escape:
            choices += rb"|" + _escaped(self.escape) + (rb"[^\r\n]" if within_line else rb".")
        return quote + rb"(?:" + choices + rb")*+"


def _escaped(characters: str) -> bytes:
    return re.escape(characters).encode()


@dataclass
class CsvRows:
    """Splits text that is read in blocks into runs of rows.

    A quote that is not closed is followed to the next quote that is not doubled; the lines on the
    way open no such quote themselves, so that the time is linear in the text.

    Parameters
    ----------
    read
        Returns the next bytes of the text (UTF-8, or any bytes), at most as many as asked for;
        empty at the end.
    dialect
        How cells are delimited and quoted.
    n_columns
        Cells of a row; None: any number. Where a row of several lines has another number, and one
        of its lines has this number, the quote is not closed on the first line.
    longest
        Bytes of a row at most.
    first_read
        Bytes of a block, unless a row is longer.
    """

    read: Callable[[int], bytes]
    dialect: Dialect
    n_columns: int | None = None
    longest: int = 1 << 30
    first_read: int = FIRST_READ
    n_rows: int = field(default=0, init=False)
    n_lines: int = field(default=0, init=False)
    is_ended: bool = field(default=True, init=False)

    def blocks(self) -> Iterator[tuple[bytes, list[Run]]]:
        """Yield bytes and the runs in them.

        Raises
        ------
        TooLongError
            A row is longer than ``longest``.
        """
        data, is_last = b"", False
        while not is_last:
            parts, room = [data], max(self.first_read, len(data))
            while room > 0 and not is_last:
                parts.append(self.read(min(room, self.first_read)))
                room -= len(parts[-1])
                is_last = not parts[-1]
            data = b"".join(parts)
            del parts
            if is_last:
                self.is_ended = not data or data.endswith((b"\n", b"\r"))
                whole = data if self.is_ended else data + b"\n"
            else:  # a carriage return may be the first half of a line end
                whole = data[:-1] if data.endswith(b"\r") else data
            runs = [*self._runs(whole, is_last=is_last)]
            end = runs[-1].end if runs else 0
            if runs:
                yield whole, runs
            data = data[end:]

    def _runs(self, data: bytes, *, is_last: bool) -> Iterator[Run]:
        dialect, position, end = self.dialect, 0, len(data)
        while position < end:
            stop = self._end_of_plain_lines(data, position)
            match = dialect.rows_of_a_line.match(data, stop)
            stop = match.end() if match else stop
            if stop > position:
                yield self._run("rows", data, position, stop)
                position = stop
                continue
            stop, problem = self._row(data, position)
            line = LINE.match(data, position)
            if problem or not stop:
                is_open = not stop and not is_last and end - position <= self.longest
                if is_open or not line:  # the text goes on in the next block
                    if end - position > self.longest:
                        raise TooLongError(self.n_rows + 1)
                    return
                yield self._run(MALFORMED, data, position, line.end(), problem or UNCLOSED)
                position = line.end()
            else:
                yield self._run(OF_SEVERAL_LINES, data, position, stop)
                position = stop

    def _end_of_plain_lines(self, data: bytes, start: int) -> int:
        """Return where the lines end that hold no quote and no escape, each of which is a row."""
        special = [
            data.find(c.encode(), start) for c in (self.dialect.quote, self.dialect.escape) if c
        ]
        end = min((at for at in special if at >= 0), default=len(data))
        return max(start, data.rfind(b"\n", start, end) + 1, data.rfind(b"\r", start, end) + 1)

    def _row(self, data: bytes, start: int) -> tuple[int, str]:
        """Return the end of a row that may take several lines (0: not in ``data``), or why none."""
        match = self.dialect.row.match(data, start)
        stop = match.end() if match else start
        end = LINE_END.match(data, stop)
        if end:
            n_cells, n_columns = len(self.dialect.cells(data[start:stop])), self.n_columns
            if n_columns in (None, n_cells):
                return end.end(), ""
            lines = LINE.findall(data, start, end.end())[1:]
            if not n_like_rows(lines, self.dialect.delimiter, n_columns):
                return end.end(), ""
            return stop, UNCLOSED
        if stop == len(data) or self.dialect.open_cell.match(data, stop):
            return 0, ""
        return stop, UNCLOSED if LINE_END.search(data, start, stop) else TEXT_AFTER

    def _run(self, kind: RunKind, data: bytes, start: int, end: int, problem: str = "") -> Run:
        n_rows, n_lines = 1, 1
        if kind == "rows":
            n_lines, n_blank = _lines(data[start:end])
            n_rows = n_lines - n_blank
        elif kind == OF_SEVERAL_LINES:
            n_lines = len(LINE_END.findall(data, start, end))
        run = Run(kind, start, end, self.n_rows + 1, n_rows, self.n_lines + 1, n_lines, problem)
        self._check_lengths(data, run)
        self.n_rows += n_rows
        self.n_lines += n_lines
        return run

    def _check_lengths(self, data: bytes, run: Run) -> None:
        if run.end - run.start <= self.longest:
            return
        number = run.first_row
        for row, _ in _rows_of_run(data, run):
            if len(without_line_end(row)) > self.longest:
                raise TooLongError(number)
            number += row not in BLANK

    def row_starts(self, wanted: Collection[int]) -> Iterator[tuple[int, int]]:
        """Yield the numbers of wanted rows, and the lines they start on; others are skipped."""
        for data, runs in self.blocks():
            for run in runs:
                row = run.first_row
                inside = sorted(number for number in wanted if row <= number < row + run.rows)
                if run.lines == run.rows or not inside:
                    yield from ((number, run.first_line + number - row) for number in inside)
                    continue
                for text, line in _rows_of_run(data, run):
                    is_blank = text in BLANK and run.kind == "rows"
                    if row in wanted and not is_blank:
                        yield row, line
                    row += not is_blank

    def numbered_rows(self, *, blank: bool = False) -> Iterator[tuple[int, int, bytes, str]]:
        """Yield row number, line number, bytes with line end, and why the row is malformed.

        ``blank``: blank lines too, with the number of the next row.
        """
        for data, runs in self.blocks():
            for run in runs:
                row = run.first_row
                for text, line in _rows_of_run(data, run):
                    is_blank = text in BLANK and run.kind == "rows"
                    if blank or not is_blank:
                        yield row, line, text, run.problem
                    row += not is_blank


def _rows_of_run(data: bytes, run: Run) -> Iterator[tuple[bytes, int]]:
    """Yield the rows and blank lines of a run with their ends, and the lines they start on."""
    if run.kind != "rows":
        yield data[run.start : run.end], run.first_line
        return
    for line, match in enumerate(LINE.finditer(data, run.start, run.end), start=run.first_line):
        yield match[0], line


def _lines(data: bytes) -> tuple[int, int]:
    """Return how many lines rows take that take one each, and how many of these are blank."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    n_blank = int(data.startswith(b"\n"))
    if b"\n\n" in data:
        n_blank += len(re.findall(rb"(?<=\n)\n", data))
    return data.count(b"\n"), n_blank


def n_like_rows(lines: Iterable[bytes], delimiter: str, n_columns: int | None) -> int:
    """Return how many of the lines have as many cells as a row, if quotes are ordinary."""
    if n_columns in (None, 1):
        return 0
    separator = delimiter.encode()
    return sum(line.count(separator) + 1 == n_columns for line in lines)


def without_line_end(row: bytes) -> bytes:
    """Return a row without its line end."""
    return row.removesuffix(b"\n").removesuffix(b"\r")
