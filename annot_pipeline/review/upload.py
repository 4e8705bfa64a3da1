"""The upload file: a batch as MTurk gave it, with Approve and Reject filled where it may be."""

from __future__ import annotations

import contextlib
import io
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

from annot_pipeline.config import Quality
from annot_pipeline.errors import Problem, StoreError, first_of, row_and_line, shorten
from annot_pipeline.exports import READERS, Opening
from annot_pipeline.exports.csv_rows import CsvRows, without_line_end
from annot_pipeline.exports.raw_rows import distinct
from annot_pipeline.exports.tabular import REQUESTERS_COLUMNS, start_of_rows
from annot_pipeline.review.assignments import DOUBT, SEVERITY, Assignment, recommend
from annot_pipeline.review.batches import Batch
from annot_pipeline.review.sheet import NextRow, is_formula

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


Judges = Mapping[tuple[str, str], Mapping[str, Any]]
"""Verdict and figures by task and judge."""


class Upload:
    """Copies a batch, row by row as it was written, with both columns filled where it may.

    MTurk needs raw worker ids. One that a spreadsheet takes for a formula is of no worker of MTurk:
    its row is left out.

    Parameters
    ----------
    batch
        What to copy.
    found
        Tells what the pipeline found of the next row.
    judges
        Verdicts.
    quality
        How they were reached.
    """

    def __init__(self, batch: Batch, next_row: NextRow, judges: Judges, quality: Quality) -> None:
        self.batch, self.next_row, self.judges, self.quality = batch, next_row, judges, quality
        self.file = BatchFile(batch.opening)
        self.n_rows = 0
        self.line, self.n_lines = 0, 0
        """Where the row starts, and how many lines were read."""
        self.ragged: list[int] = []
        self.ragged_lines: list[int] = []
        self.left_out: list[dict[str, Any]] = []
        """Rows that are not in the file, as their worker ids would be formulas."""
        self.tally: Counter[str] = Counter()

    def counts(self) -> dict[str, Any]:
        """Return what was written, in numbers; rows that are ragged, by number."""
        kinds = (*DOUBT, "decided", "elsewhere")
        return {
            "export": self.batch.opening.name,
            "rows": self.n_rows,
            **{kind: self.tally[kind] for kind in kinds},
            "ragged": self.ragged,
            "ragged_lines": self.ragged_lines,
            "left_out": self.left_out,
        }

    def write(self, target: IO[str]) -> Iterator[Assignment]:
        """Write the file; the assignments on the way.

        Raises
        ------
        StoreError
            A row is not the one that the last build read there.
        """
        with self.file.lines() as lines:
            for line in itertools.islice(lines, self.file.n_lines_before):
                self._count(line)
                target.write(line)
            header = next(lines, None)
            if header is not None:
                yield from self._copy(itertools.chain([header], lines), target)
        if self.n_rows != self.batch.rows:
            rows = f"{self.n_rows:,} rows"
            raise self.file.mismatch(rows, f"{self.batch.rows:,} were read")

    def _copy(self, lines: Iterator[str], target: IO[str]) -> Iterator[Assignment]:
        rows = self.file.rows(lines)
        text, header = next(rows)
        self._count(text)
        target.write(self.file.extended(text, header, self.file.read_header(header)))
        for text, cells in rows:
            self._count(text)
            if not cells:  # blank lines are no rows
                target.write(text)
                continue
            self.n_rows += 1
            assignment = self._assignment(cells)
            if self.file.is_ragged(cells):
                self.ragged.append(self.n_rows)
                self.ragged_lines.append(self.line)
            if not assignment.elsewhere:
                yield assignment
            if is_formula(self.file.cell(cells, "WorkerId")):
                location = {"row": self.n_rows, "line": self.line}
                self.left_out.append(location | {"worker": shorten(assignment.worker)})
                continue
            decision = self._decision(assignment)
            target.write(self.file.filled(text, cells, decision))

    def _count(self, text: str) -> None:
        """Count the lines of a row, as editors do."""
        lines = text.replace("\r\n", "\n").replace("\r", "\n")
        self.line = self.n_lines + 1
        self.n_lines += lines.count("\n") + (not lines.endswith("\n"))

    def _assignment(self, cells: Sequence[str]) -> Assignment:
        rows, cell = self._records(cells), self.file.cell
        status = cell(cells, "AssignmentStatus") or _first(rows, "status")
        counted = [row for row in rows if row["counted"]]
        n_rejected = sum(row["rejected"] for row in rows)
        verdicts = [self.judges[row["task"], row["judge_id"]] for row in counted]
        verdicts.sort(key=lambda v: (SEVERITY[v["verdict"]], -(v["p_value"] or 0)))
        recommendation, reason = recommend(verdicts, self.quality, self.file.encoding)
        return Assignment(
            export=self.batch.opening.name,
            row=self.n_rows,
            line=self.line,
            worker=cell(cells, "WorkerId") or _first(rows, "judge"),
            hit=_first(rows, "hit") or cell(cells, "HITId"),
            native_id=_first(rows, "native_id") or cell(cells, "AssignmentId"),
            status=status,
            undecided=self._undecided(status, cells),
            recommendation=recommendation,
            verdicts=tuple(dict.fromkeys(v["verdict"] for v in verdicts)),
            reason=reason or _first(rows, "reason"),
            judge=verdicts[0] if verdicts else {},
            n_judgments=sum(row["counted"] for row in rows),
            n_rejected=n_rejected,
            elsewhere=not counted and n_rejected < sum(row["records"] for row in rows),
        )

    def _records(self, cells: Sequence[str]) -> list[dict[str, Any]]:
        """Return the records of this row, after checking that they belong to it."""
        rows = self.next_row(self.n_rows)
        if rows is None:
            raise self._mismatch("", "another row came next")
        judge, column = _first(rows, "judge"), self.batch.judge_column
        if judge and column and self.file.cell(cells, column).strip() != judge.strip():
            raise self._mismatch(f", {column}", "another judge was read")
        return rows

    def _mismatch(self, where: str, read: str) -> StoreError:
        return self.file.mismatch(f"{row_and_line(self.n_rows, self.line)}{where}", read)

    def _undecided(self, status: str, cells: Sequence[str]) -> bool:
        """Return whether neither MTurk nor a person has approved or rejected the row."""
        open_ = ("submitted",) if "AssignmentStatus" in self.file.positions else ("submitted", "")
        decided = any(self.file.cell(cells, name).strip() for name in REQUESTERS_COLUMNS)
        return status.strip().lower() in open_ and not decided

    def _decision(self, assignment: Assignment) -> tuple[str, str] | None:
        """Return what to write into Approve and Reject; None leaves them as they are."""
        if assignment.elsewhere:
            self.tally["elsewhere"] += 1
        elif not assignment.undecided:
            self.tally["decided"] += 1
        else:
            self.tally[assignment.recommendation] += 1
            if assignment.recommendation == "approve":
                return "x", ""
            if assignment.recommendation == "reject":
                return "", assignment.reason
        return None


def _first(rows: Iterable[Mapping[str, Any]], name: str) -> str:
    """Return the first value of a column that is not empty, as text."""
    return next((str(row[name]) for row in rows if row[name]), "")
