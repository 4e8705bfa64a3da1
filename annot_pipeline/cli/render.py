"""Documents as text for people: values, fields and tables, written in one way by all commands.

What `--json` prints is the document; a command names what of it is shown, and in which order.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import Any, NamedTuple

from annot_pipeline.errors import first_of, printable

MOST_ROWS = 12
"""Rows of a table unless a command wants more; --json has all."""
LONGEST = 1000
"""Characters of a text: longer ones are cut."""

LINES = 3
"""Lines of the terminal to which a cell is cut, as if it stood alone."""
NARROWEST = 12
"""Characters that a text has in a line where a table does not fit on the terminal."""

Names = str | Mapping[str, str]
"""Paths into a document with their headings; in one text, ``path`` or ``path=heading`` each."""


def at(document: Any, path: str) -> Any:
    """Return the value at a dotted path; None where there is none."""
    for name in path.split("."):
        document = document.get(name) if isinstance(document, Mapping) else None
    return document


def text(value: Any, longest: int = LONGEST, digits: int = 4) -> str:
    """Return a value on one line; empty for what is null, false or empty."""
    if value is None or value is False:
        return ""
    if value is True:
        return "yes"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return _number(value, digits)
    if isinstance(value, Mapping):
        parts = {str(k).replace("_", " "): text(v, longest, digits) for k, v in value.items()}
        between = "; " if any(isinstance(v, (Mapping, list)) for v in value.values()) else ", "
        return between.join(
            f"{name} {part}" for name, part in parts.items() if part not in ("", "0")
        )
    if isinstance(value, (list, tuple)):
        return first_of([text(one, longest, digits) for one in value])
    line = printable(str(value)[: longest + 1])
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _number(value: float, digits: int) -> str:
    """Return a number with few digits; no probability is rounded to certainty, nor to nothing."""
    least = 10.0**-digits
    if 0 < value < 1 and not least <= value <= 1 - least:
        return f">{1 - least:.{digits}f}" if value > 0.5 else f"<{least:.{digits}f}"
    return f"{value + 0.0:.{digits}g}"


def fields(document: Mapping[str, Any], names: Names, *, indent: str = "") -> Iterator[str]:
    """Yield ``heading: value`` lines of what a document has."""
    for path, heading in _headings(names).items():
        if value := text(at(document, path)):
            yield f"{indent}{heading}: {value}"


def table(
    title: str,
    rows: Sequence[Mapping[str, Any]],
    names: Names,
    *,
    most: int = MOST_ROWS,
    digits: int = 4,
    below: Sequence[str] = (),
) -> Iterator[str]:
    """Yield a title and the first rows under headings; columns without any value are left out.

    Where not all fits on the terminal, columns of ``below`` have lines of their own under each row.
    """
    if not rows:
        return
    yield from [title] if title else []
    columns, room = [], terminal_columns() - len("  ")
    for path, heading in _headings(names).items():
        values = [at(row, path) for row in rows[:most]]
        longest = LONGEST if heading in below else min(LONGEST, LINES * room)
        cells = [text(value, longest, digits) for value in values]
        if any(cells):
            is_number = all(isinstance(value, (int, float)) or value is None for value in values)
            columns.append(Column([heading, *cells], is_number))
    under = [c for c in columns if c.cells[0] in below] if width_of(columns) > room else []
    shown, left_out = fit([column for column in columns if column not in under], room)
    for position in range(len(rows[:most]) + 1):
        for line in zip_longest(*(column.lines(position) for column in shown)):
            padded = (column.padded(part or "") for column, part in zip(shown, line, strict=True))
            yield "  " + "  ".join(padded).rstrip()
        parts = [(c.cells[0], c.cells[position]) for c in under if position]
        yield from (f"    {heading}: {cell}" for heading, cell in parts if cell)
    if left_out:
        yield f"  no room for {', '.join(left_out)}; --json has all"
    if len(rows) > most:
        yield f"  and {len(rows) - most:,} more; --json has all"


class Column(NamedTuple):
    """A column of a table: the heading and its cells, whether these are numbers, and its room."""

    cells: list[str]
    is_number: bool
    most: int = sys.maxsize

    @property
    def width(self) -> int:
        """Return the characters of the longest line."""
        return min(self.most, max(map(len, self.cells)))

    def lines(self, position: int) -> list[str]:
        """Return the lines of a cell, each within the width."""
        return wrap(self.cells[position], self.width, break_on_hyphens=False) or [""]

    def padded(self, line: str) -> str:
        """Return a line in the width of the column, a number at the right."""
        return line.rjust(self.width) if self.is_number else line.ljust(self.width)


def width_of(columns: Sequence[Column]) -> int:
    """Return the characters that columns take beside each other."""
    return sum(column.width + 2 for column in columns) - 2


def fit(columns: Sequence[Column], most: int) -> tuple[list[Column], list[str]]:
    """Return columns that take so many characters at most, and the heads of those left out.

    The widest texts get lines of fewer characters first, down to `NARROWEST`; then columns go from
    the right, and the others share their room.
    """
    shown = list(columns)
    while width_of(shown) > most:
        texts = [k for k, c in enumerate(shown) if not c.is_number and c.width > NARROWEST]
        if texts:
            widest = max(texts, key=lambda k: shown[k].width)
            shown[widest] = shown[widest]._replace(most=shown[widest].width - 1)
        elif len(shown) > 1:
            shown.pop()
        else:
            break
    left_out = [column.cells[0] for column in columns[len(shown) :]]
    return (fit(columns[: len(shown)], most)[0] if left_out else shown), left_out


def terminal_columns() -> int:
    """Return the characters of a line of the terminal; without one, of any line."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize


def _headings(names: Names) -> Mapping[str, str]:
    if not isinstance(names, str):
        return names
    pairs = (name.partition("=") for name in names.split())
    return {path: (heading or path).replace("_", " ") for path, _, heading in pairs}
