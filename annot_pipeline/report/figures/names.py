"""Names of tasks, judges, systems and labels as a figure may show them: short, one line.

They come from exports and may hold anything. What a font makes of them is not known when a
figure is made, so widths are estimates, and generous ones.
"""

from __future__ import annotations

from unicodedata import category, east_asian_width

from annot_pipeline.errors import JOINERS, printable
from annot_pipeline.report.figures.theme import FONT_SIZE

PX_PER_COLUMN = 0.6
"""Estimated width of a column, font sizes."""

MOST_COLUMNS = 40.0
"""Longest name. A letter is one column, a capital 1.2, a CJK letter 2, a mark on a letter 0.5."""

WIDE = "mw%@…\ufffd"
"""As wide as capitals."""


def clean(text: object) -> str:
    """Return the text in one line, without characters that XML forbids or that reorder a line."""
    return printable(" ".join(str(text).split()))


def short(name: object, columns: float = MOST_COLUMNS) -> str:
    """Return the name, cleaned; of a long one the head and the tail, where versions stand."""
    text = "(none)" if name is None else str(name)
    if len(text) > 1000:  # a cell of megabytes: the middle would be cut out anyway
        text = f"{text[:500]}…{text[-500:]}"
    text = clean(text) or "(empty)"
    if width_of(text) <= columns:
        return text
    head = _start_of(text, 0.6 * columns - width_of("…"))
    tail = _start_of(text[::-1], 0.4 * columns)[::-1]
    while tail and (category(tail[0])[0] == "M" or tail[0] in JOINERS):
        tail = tail[1:]
    return f"{head.rstrip()}…{tail.lstrip()}"


def key_name(name: object, columns: float = MOST_COLUMNS) -> str:
    """Return the short name as a legend takes it: matplotlib leaves out what starts with _."""
    text = short(name, columns)
    return f" {text}" if text.startswith("_") else text


def width_of(text: str) -> float:
    """Return the estimated width, columns."""
    return sum(map(_width, text))


def px_of(*texts: str, size: float = FONT_SIZE) -> float:
    """Return the estimated width of the longest of some texts at a font size, px."""
    return max(map(width_of, texts)) * PX_PER_COLUMN * size


def _width(character: str) -> float:
    if character in JOINERS or category(character)[0] == "M":
        return 0.5  # not 0, or a letter could carry marks without end
    if east_asian_width(character) in "WF":
        return 2.0
    return 1.2 if character.isupper() or character in WIDE else 1.0


def _start_of(text: str, columns: float) -> str:
    used = 0.0
    for position, character in enumerate(text):
        used += _width(character)
        if used > columns:
            return text[:position]
    return text
