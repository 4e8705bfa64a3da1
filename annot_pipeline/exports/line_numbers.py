"""The line of an export on which a row starts: what editors show, beside the row number.

A row number counts rows without the header; the line number counts lines of the file, with header,
blank lines and lines within quoted cells. What has no lines of rows (Parquet, XML, a JSON document)
has no line numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from annot_pipeline.errors import AnnotError
from annot_pipeline.exports.appraise import missing_header
from annot_pipeline.exports.hits import results_format
from annot_pipeline.exports.json_lines import numbered_lines
from annot_pipeline.exports.raw_rows import Opening
from annot_pipeline.exports.tabular import read_csv, read_mturk, row_starts

UNREADABLE = (AnnotError, OSError, EOFError, ValueError, LookupError)


def row_lines(opening: Opening, format_: str, rows: Iterable[int]) -> dict[int, int]:
    """Return the line on which each row starts, from 1; without the rows that have none.

    Parameters
    ----------
    opening
        The export.
    format_
        Its format, as a campaign names it.
    rows
        Row numbers, from 1, the header not counted.
    """
    row_numbers = {row for row in rows if row > 0}
    lines: dict[int, int] = {}
    if not row_numbers or format_ not in STARTS:
        return lines
    last = max(row_numbers)
    try:
        for row, line in STARTS[format_](opening, row_numbers):
            if row in row_numbers:
                lines[row] = line
            if row >= last:
                break
    except UNREADABLE:  # the rows before are known; who reads the export reports the error
        pass
    return lines


Starts = Iterator[tuple[int, int]]
"""Numbers of rows, at least those that are wanted, and their lines; in the order of the file."""


def _csv_starts(opening: Opening, wanted: Collection[int]) -> Starts:
    return row_starts(opening, len(read_csv(opening).columns), wanted)


def _mturk_starts(opening: Opening, wanted: Collection[int]) -> Starts:
    return row_starts(opening, len(read_mturk(opening).columns), wanted)


def _appraise_starts(opening: Opening, wanted: Collection[int]) -> Starts:
    return _csv_starts(replace(opening, header=opening.header or missing_header(opening)), wanted)


def _json_starts(opening: Opening, _: Collection[int]) -> Starts:
    for row, line, _ in numbered_lines(opening):
        yield row, line


def _hits_starts(opening: Opening, wanted: Collection[int]) -> Starts:
    format_ = results_format(opening)
    return STARTS[format_](opening, wanted) if format_ in STARTS else iter(())


STARTS: Mapping[str, Callable[[Opening, Collection[int]], Starts]] = {
    "csv": _csv_starts,
    "mturk": _mturk_starts,
    "appraise": _appraise_starts,
    "jsonl": _json_starts,
    "hits": _hits_starts,
}
"""How to find the lines of rows, by format; the other formats have none."""
