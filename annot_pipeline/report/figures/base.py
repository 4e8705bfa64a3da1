"""What all figures share: colours and sizes, names as they fit, numbers that can be drawn.

Names of tasks, judges, systems and labels come from exports and may hold anything. What a font
makes of them is not known when a figure is made, so widths are estimates, and generous ones.
"""

from __future__ import annotations

from typing import Any
from unicodedata import category, east_asian_width

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Floats
from annot_pipeline.errors import JOINERS, printable

INK = "#010203"
"""Stands for the text colour of the page, which `plot` puts in; no other colour is near."""

Color = str | tuple[str, float]
"""Hexadecimal, or with its opacity."""

BLUE, VERMILLION, GREEN, PURPLE = "#1f82c8", "#d55e00", "#009e73", "#cc79a7"
"""After Okabe & Ito, told apart by the colour-blind; each 3:1 or more against white and black."""

VIOLET = "#7a45ff"
"""Found by search: 4:1 on both grounds, and further from each of the others, to all kinds of
eyes, than some of them are from each other."""

SERIES = (BLUE, VERMILLION, GREEN, PURPLE, INK, VIOLET)
"""Colours of a few lines, in this order."""

LOOKS = ("-o", "--s", ":^", "-.D", "-v", "--*")
"""Their dashes and markers; with the colours no two are alike."""

MOST_CURVES = len(SERIES)
"""Lines of one figure, each with looks of its own."""

GREY = "#8a8f98"
"""Of what a series is compared with."""

FONT_SIZE, SMALL = 12, 11
"""Of texts, and of ticks and notes, px."""

MOST_POINTS = 5_000
"""Points or cells that a figure draws one by one."""

SETTINGS: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": f"{INK}8c",
    "axes.facecolor": "none",
    "axes.labelsize": FONT_SIZE,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": FONT_SIZE,
    "axes.titleweight": "bold",
    "font.family": "DejaVu Sans",  # comes with matplotlib; the page has a font of its own
    "font.size": FONT_SIZE,
    "grid.color": f"{INK}1f",
    "legend.borderaxespad": 0.0,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "annot-pipeline",
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": f"{INK}8c",
    "xtick.labelcolor": INK,
    "xtick.labelsize": SMALL,
    "ytick.color": f"{INK}8c",
    "ytick.labelcolor": INK,
    "ytick.labelsize": SMALL,
}

LARGEST, SMALLEST = 1e100, 1e-100
"""Numbers further from 0 cannot be put on an axis, for their distances would not be finite;
those that are nearer are 0."""

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


def numbers(values: npt.ArrayLike) -> Floats:
    """Return the values as numbers; what is missing, or too large for an axis, as NaN."""
    array = np.array(values, dtype=np.float64)  # None becomes NaN
    with np.errstate(invalid="ignore"):
        array[~(np.abs(array) <= LARGEST)] = np.nan
        array[np.abs(array) < SMALLEST] = 0
    return array


def beyond(values: npt.ArrayLike, low: float, high: float) -> list[float]:
    """Return values outside a range by more than rounding, infinite ones too, but no NaN."""
    array = np.array(values, dtype=np.float64)
    outside: list[float] = array[(array < low - 1e-9) | (array > high + 1e-9)].tolist()
    return outside


def evenly(n: int, most: int) -> npt.NDArray[np.intp]:
    """Return places of at most ``most`` of n things, evenly spread, first and last among them."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.intp))


def lowest(values: npt.ArrayLike, most: int) -> npt.NDArray[np.intp]:
    """Return places of the lowest values, at most so many, in the order of all."""
    return np.sort(np.argsort(np.asarray(values), kind="stable")[:most])
