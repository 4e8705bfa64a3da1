"""The line of an export on which a row starts: what editors show, beside the row number.

A row number counts rows without the header; the line number counts lines of the file, with header,
blank lines and lines within quoted cells. What has no lines of rows (Parquet, XML, a JSON document)
has no line numbers.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

from annot_pipeline.errors import AnnotError
from annot_pipeline.exports.appraise import has_header
from annot_pipeline.exports.hits import results_format
from annot_pipeline.exports.json_lines import numbered_lines
from annot_pipeline.exports.raw_rows import Opening
from annot_pipeline.exports.tabular import LAST_BLOCK, csv_delimiter

UNREADABLE = (AnnotError, OSError, EOFError, ValueError, LookupError, csv.Error)


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
        for row, line in STARTS[format_](opening):
            if row in row_numbers:
                lines[row] = line
            if row >= last:
                break
    except UNREADABLE:  # the rows before are known; who reads the export reports the error
        pass
    return lines


def _csv_starts(opening: Opening, *, header: bool | None = None) -> Iterator[tuple[int, int]]:
    """Yield the row number and the first line of each row of delimited text.

    Quotes count where a field starts, and empty lines are no rows, as for the reader of csv.
    """
    delimiter = csv_delimiter(opening)
    if delimiter is None:
        return
    if header is None:
        header = opening.header is None
    quote = opening.quote
    with (
        opening.open_bytes() as raw,
        io.TextIOWrapper(raw, opening.encoding, errors="replace", newline="") as text,
    ):
        csv.field_size_limit(max(csv.field_size_limit(), LAST_BLOCK))  # as the reader of csv
        n_blank, lines = _without_blank(text)
        records = csv.reader(
            lines,
            delimiter=delimiter,
            quotechar=quote or None,
            quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        )
        row, end = -1 if header else 0, 0
        for record in records:
            if record:
                row += 1
                if row > 0:
                    yield row, n_blank + end + 1
            end = records.line_num


def _without_blank(text: Iterator[str]) -> tuple[int, Iterator[str]]:
    """Return how many blank lines a text starts with, and the others, without byte order mark."""
    n_blank = 0
    for line in text:
        if line.strip("\ufeff\r\n \t"):
            return n_blank, chain([line.removeprefix("\ufeff")], text)
        n_blank += 1
    return n_blank, iter(())


def _appraise_starts(opening: Opening) -> Iterator[tuple[int, int]]:
    return _csv_starts(opening, header=has_header(opening))


def _json_starts(opening: Opening) -> Iterator[tuple[int, int]]:
    for row, line, _ in numbered_lines(opening):
        yield row, line


def _hits_starts(opening: Opening) -> Iterator[tuple[int, int]]:
    format_ = results_format(opening)
    return STARTS[format_](opening) if format_ in STARTS else iter(())


STARTS: Mapping[str, Callable[[Opening], Iterator[tuple[int, int]]]] = {
    "csv": _csv_starts,
    "mturk": _csv_starts,
    "appraise": _appraise_starts,
    "jsonl": _json_starts,
    "hits": _hits_starts,
}
"""How to find the lines of rows, by format; the other formats have none."""
