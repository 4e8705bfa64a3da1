"""Documents as text for people: values, fields and tables, written in one way by all commands.

What `--json` prints is the document; a command names what of it is shown, and in which order.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from annot_pipeline.errors import first_of, printable

MOST_ROWS = 12
"""Rows of a table unless a command wants more; --json has all."""
LONGEST, LONGEST_CELL = 1000, 40
"""Characters of a text in a field, and in a cell of a table."""

NARROWEST = 12
"""Characters that a text keeps where a table does not fit on the terminal."""

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


def fields(
    document: Mapping[str, Any], names: Names, *, indent: str = "", longest: int = LONGEST
) -> Iterator[str]:
    """Yield ``heading: value`` lines of what a document has."""
    for path, heading in _headings(names).items():
        value = text(at(document, path), longest)
        if value:
            yield f"{indent}{heading}: {value}"


def table(
    title: str,
    rows: Sequence[Mapping[str, Any]],
    names: Names,
    *,
    most: int = MOST_ROWS,
    longest: int = LONGEST_CELL,
    digits: int = 4,
    below: Sequence[str] = (),
) -> Iterator[str]:
    """Yield a title and the first rows under headings; columns without any value are left out.

    Where not all fits on the terminal, columns of ``below`` have lines of their own under each row.
    """
    if not rows:
        return
    if title:
        yield title
    columns = []
    for path, heading in _headings(names).items():
        values = [at(row, path) for row in rows[:most]]
        cells = [text(value, longest, digits) for value in values]
        if any(cells):
            is_number = all(isinstance(value, (int, float)) or value is None for value in values)
            columns.append(Column([heading, *cells], is_number))
    room = terminal_columns() - len("  ")
    under = [c for c in columns if c.cells[0] in below] if width_of(columns) > room else []
    shown, left_out = fit([column for column in columns if column not in under], room)
    for position, row in enumerate(zip(*(column.padded() for column in shown), strict=True)):
        yield "  " + "  ".join(row).rstrip()
        parts = [(c.cells[0], c.cells[position]) for c in under if position]
        yield from (f"    {heading}: {cell}" for heading, cell in parts if cell)
    if left_out:
        yield f"  no room for {', '.join(left_out)}; --json has all"
    if len(rows) > most:
        yield f"  and {len(rows) - most:,} more; --json has all"


class Column(NamedTuple):
    """A column of a table: the heading and its cells, and whether these are numbers."""

    cells: list[str]
    is_number: bool

    @property
    def width(self) -> int:
        """Return the characters of the longest."""
        return max(map(len, self.cells))

    def cut(self, width: int) -> Column:
        """Return the column with texts of so many characters at most, the middle left out."""
        half = width // 2
        cells = [
            c if len(c) <= width else f"{c[:half]}…{c[len(c) - (width - half - 1) :]}"
            for c in self.cells
        ]
        return self._replace(cells=cells)

    def padded(self) -> list[str]:
        """Return cells of one width, numbers at the right."""
        width = self.width
        return [c.rjust(width) if self.is_number else c.ljust(width) for c in self.cells]


def width_of(columns: Sequence[Column]) -> int:
    """Return the characters that columns take beside each other."""
    return sum(column.width + 2 for column in columns) - 2


def fit(columns: Sequence[Column], most: int) -> tuple[list[Column], list[str]]:
    """Return columns that take so many characters at most, and the heads of those left out.

    The widest texts are cut first, to `NARROWEST`; then columns go from the right, and the others
    share their room.
    """
    shown = list(columns)
    while width_of(shown) > most:
        texts = [k for k, c in enumerate(shown) if not c.is_number and c.width > NARROWEST]
        if texts:
            widest = max(texts, key=lambda k: shown[k].width)
            shown[widest] = shown[widest].cut(shown[widest].width - 1)
        elif len(shown) > 1:
            shown.pop()
        else:
            break
    left_out = [column.cells[0] for column in columns[len(shown) :]]
    return (fit(columns[: len(shown)], most)[0] if left_out else shown), left_out


def terminal_columns() -> int:
    """Return the characters of a line of the terminal; without one, of any line."""
    if not sys.stdout.isatty():
        return sys.maxsize
    return shutil.get_terminal_size().columns


def _headings(names: Names) -> Mapping[str, str]:
    if not isinstance(names, str):
        return names
    pairs = (name.partition("=") for name in names.split())
    return {path: (heading or path).replace("_", " ") for path, _, heading in pairs}
