"""Documents as text for people: values, fields and tables, written in one way by all commands.

What `--json` prints is the document; a command names what of it is shown, and in which order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annot_pipeline.errors import first_of, printable

MOST_ROWS = 12
"""Rows of a table unless a command wants more; --json has all."""
LONGEST, LONGEST_CELL = 1000, 40
"""Characters of a text in a field, and in a cell of a table."""

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
) -> Iterator[str]:
    """Yield a title and the first rows under headings; columns without any value are left out."""
    if not rows:
        return
    if title:
        yield title
    columns = []
    for path, heading in _headings(names).items():
        values = [at(row, path) for row in rows[:most]]
        cells = [text(value, longest, digits) for value in values]
        if any(cells):
            width = max(map(len, (heading, *cells)))
            is_number = all(isinstance(value, (int, float)) or value is None for value in values)
            columns.append(
                [
                    cell.rjust(width) if is_number else cell.ljust(width)
                    for cell in (heading, *cells)
                ]
            )
    yield from ("  " + "  ".join(row).rstrip() for row in zip(*columns, strict=True))
    if len(rows) > most:
        yield f"  and {len(rows) - most:,} more; --json has all"


def _headings(names: Names) -> Mapping[str, str]:
    if not isinstance(names, str):
        return names
    pairs = (name.partition("=") for name in names.split())
    return {path: (heading or path).replace("_", " ") for path, _, heading in pairs}
