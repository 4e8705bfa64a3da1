"""Cells and columns of text: short, printable, one under another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from annot_pipeline.errors import printable

LONGEST = 40
"""Letters of an answer or a name in a column."""

ENTRIES = 12
"""Rows of a section on the side of the matter; --json has all."""


def number(value: float | None) -> str:
    """Return a number with four digits."""
    return "unknown" if value is None else f"{value:.4g}"


def share(value: float | None) -> str:
    """Return a probability; never rounded to certainty, nor to nothing."""
    if value is not None and 0 < value < 1 and not 0.0001 <= value <= 0.9999:
        return ">0.9999" if value > 0.5 else "<0.0001"
    return number(value)


def signed(value: float) -> str:
    """Return three decimals with a sign; none before 0."""
    digits = f"{value:+.3f}"
    return digits if float(digits) else "0.000"


def short(text: object, limit: int = LONGEST) -> str:
    """Return the text from exports: one line, its beginning."""
    line = printable(str(text)[: limit + 1])
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def first_rows(rows: Sequence[tuple[str, ...]], most: int = ENTRIES) -> Iterator[str]:
    """Yield columns of the first rows, and how many more there are."""
    yield from columns(rows[:most])
    if len(rows) > most:
        yield f"  and {len(rows) - most:,} more; --json has all"


def columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return rows under each other; a column as wide as its widest cell."""
    lines = [tuple(map(printable, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True) if w).rstrip()
        for row in lines
    ]
