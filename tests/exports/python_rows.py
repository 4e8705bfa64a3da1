"""Rows of csv by Python's own reader in strict mode, asked again after each broken line."""

from __future__ import annotations

import csv
import re

Rows = dict[int, list[str] | str]
"""Row number to cells, or to the kind of its problem."""


class ReorderedError(Exception):
    """Files with other columns were put together."""


def split_lines(text: str) -> list[str]:
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", text)


def rows_by_python(
    text: str, header: list[str], *, delimiter: str = ",", ragged: bool = False
) -> Rows:
    """Return rows as Python's reader splits lines, asked from each line on.

    ``ragged``: also the cells of rows with another number of them.

    Raises
    ------
    ReorderedError
        A row holds the names of the header in another order.
    """
    rows: Rows = {}
    at, lines = 0, split_lines(text)
    while at < len(lines):
        row, n_lines = _row_by_python(lines, at, header, delimiter)
        at += n_lines
        if not ragged and len(row) != len(header) and not isinstance(row, str) and row:
            row = "ragged row"
        if row:
            rows[len(rows) + 1] = row
    return rows


def _row_by_python(
    lines: list[str], at: int, header: list[str], delimiter: str
) -> tuple[list[str] | str, int]:
    reader = csv.reader((lines[n] for n in range(at, len(lines))), delimiter=delimiter, strict=True)
    try:
        row = next(reader)
    except csv.Error:
        return "malformed quotes", 1
    n = reader.line_num
    if row == header:
        return "repeated_header", n
    if sorted(row) == sorted(header):
        raise ReorderedError
    if len(row) != len(header) and any(
        line.count(delimiter) + 1 == len(header) for line in lines[at + 1 : at + n]
    ):
        return "malformed quotes", 1  # the quote would swallow what looks like a row
    return row, n
