"""A batch as text: its rows as they were written, as cells, and with both columns filled."""

from __future__ import annotations

import contextlib
import io
import itertools
from collections.abc import Iterator, Sequence

from annot_pipeline.errors import Problem, StoreError, first_of
from annot_pipeline.exports import READERS, Opening
from annot_pipeline.exports.csv_rows import CsvRows, without_line_end
from annot_pipeline.exports.mturk import REQUESTERS_COLUMNS
from annot_pipeline.exports.raw_rows import distinct
from annot_pipeline.exports.tabular import start_of_rows

LINES_READ = 10_000


class BatchFile:
    """Splits a batch as the readers do, and writes rows back with as little changed as can be.

    Parameters
    ----------
    opening
        Where the batch is, and how it is read.
    """

    def __init__(self, opening: Opening) -> None:
        self.opening = opening
        self.encoding = "utf-8" if opening.is_utf8 else opening.encoding
        self.dialect, self.n_lines_before = start_of_rows(opening)
        self.n_columns = len(READERS["mturk"](opening).columns)
        self.positions: dict[str, int] = {}
        self.width, self.widths = 0, (0,)

    @contextlib.contextmanager
    def lines(self) -> Iterator[Iterator[str]]:
        """Yield the file's lines, with their ends; bytes that are no text can be written back."""
        with (
            self.opening.open_bytes() as raw,
            io.TextIOWrapper(raw, self.encoding, "surrogateescape", newline="") as lines,
        ):
            yield lines

    def rows(self, lines: Iterator[str]) -> Iterator[tuple[str, list[str]]]:
        """Yield rows as written, with their line ends, and as cells, the header first.

        ``lines`` start with that of the header. A blank line has no cells; a row with malformed
        quotes has one.
        """
        first = next(lines)
        mark = first[: first.startswith("\ufeff")]
        lines = itertools.chain([first.removeprefix(mark)], lines)
        n_read = n_yielded = 0

        def read(_: int) -> bytes:
            nonlocal n_read
            data = "".join(itertools.islice(lines, LINES_READ)).encode(errors="surrogateescape")
            n_read += len(data)
            return data

        dialect = self.dialect
        rows = CsvRows(read, dialect, self.n_columns, self.opening.limits.row_bytes)
        for _, _, data, problem in rows.numbered_rows(blank=True):
            n_yielded += len(data)
            row = without_line_end(data)
            cells = [row] if problem else map(dialect.value, dialect.cells(row) if row else ())
            written = data[: len(data) - max(0, n_yielded - n_read)]  # the last may have no end
            yield mark + _text(written), [*map(_text, cells)]
            mark = ""

    def read_header(self, header: Sequence[str]) -> list[str]:
        """Note where columns stand; the names that the header lacks."""
        names = distinct(header)
        read = READERS["mturk"](self.opening).columns
        if names[: len(read)] != read:
            raise self.mismatch("the header", f"columns {first_of(read)} were read")
        added = [name for name in REQUESTERS_COLUMNS if name not in names]
        self.positions = {name: n for n, name in enumerate([*names, *added])}
        self.width = len(self.positions)
        ends_so = (*names[-len(REQUESTERS_COLUMNS) :],) == REQUESTERS_COLUMNS
        shorter = (len(names) - len(REQUESTERS_COLUMNS),) if ends_so else ()
        self.widths = (len(names), *shorter)  # rows may end before the requester's columns
        return added

    def cell(self, cells: Sequence[str], name: str) -> str:
        """Return a cell of a row by its column; empty where the row has none."""
        position = self.positions.get(name, len(cells))
        return cells[position] if position < len(cells) else ""

    def is_ragged(self, cells: Sequence[str]) -> bool:
        """Return whether a row does not fit the header."""
        return len(cells) not in self.widths

    def filled(self, text: str, cells: list[str], decision: tuple[str, str] | None) -> str:
        """Return the row with its decision; as it was where no cell of it changes."""
        if self.is_ragged(cells):
            return text
        whole = cells + [""] * (self.width - len(cells))
        for name, cell in zip(REQUESTERS_COLUMNS, decision or (), strict=False):
            whole[self.positions[name]] = cell
        if whole[: len(cells)] == cells:
            return self.extended(text, cells, whole[len(cells) :])
        row = self.dialect.delimiter.join(map(self._quoted, whole))
        return row + text[len(text.rstrip("\r\n")) :]

    def extended(self, text: str, cells: Sequence[str], more: Sequence[str]) -> str:
        """Return a row as it was, with more cells after its own."""
        body = text.rstrip("\r\n")
        added = [self._quoted(cell) for cell in more]
        return self.dialect.delimiter.join([body, *added] if cells else added) + text[len(body) :]

    def _quoted(self, cell: str) -> str:
        quote, escape = self.dialect.quote, self.dialect.escape
        if escape:
            cell = cell.replace(escape, 2 * escape)
        if quote:
            return quote + cell.replace(quote, 2 * quote) + quote
        return cell.replace(self.dialect.delimiter, " ")

    def mismatch(self, what: str, read: str) -> StoreError:
        """Return what to say where this file and the tables of the last build differ."""
        problem = Problem(what, f"the last build read it otherwise: {read}", do="please report it")
        return StoreError(f"{self.opening.name}: rows do not match", [problem])


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")
