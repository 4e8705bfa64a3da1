"""The upload file: a batch as MTurk gave it, with Approve and Reject filled where it may be."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

from annot_pipeline.config import Quality
from annot_pipeline.errors import StoreError, row_and_line, shorten
from annot_pipeline.exports.mturk import REQUESTERS_COLUMNS
from annot_pipeline.review.assignments import DOUBT, SEVERITY, Assignment, recommend
from annot_pipeline.review.batch_file import BatchFile
from annot_pipeline.review.batches import Batch
from annot_pipeline.review.found_rows import NextRow
from annot_pipeline.review.sheet import is_formula

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
        if judge and column and self.file.cell(cells, column) != judge:
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
