"""Which system beats which."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isqrt

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.names import px_of, short
from annot_pipeline.report.figures.scales import Numbers, numbers
from annot_pipeline.report.figures.sheet import Sheet, new_sheet, nothing_svg
from annot_pipeline.report.figures.theme import BLUE, INK, MOST_POINTS, SMALL, Color

KIND = "comparisons"

MOST_SYSTEMS = isqrt(MOST_POINTS)
"""Systems drawn, from the best on; wins are counted over all."""

NOT_BELOW, FRACTIONS = 0.1, ((1.0, 0.4), (0.2, 0.7), (0.02, 1.0))
"""Opacity of a cell with p not below alpha, and below which fraction of alpha it has which."""

TOP = 84
"""Above the matrix, px."""


def comparison_matrix_svg(
    systems: Sequence[object],
    p_values: npt.ArrayLike,
    wins: npt.ArrayLike | None,
    alpha: float,
) -> str:
    """Draw row against column systems: p that the row is better, and significant wins.

    With systems in rank order, wins fill the upper right; a dot at the lower left is a system
    that beats one ranked above it.

    Parameters
    ----------
    systems
        ``(n_systems,)`` in rank order, the best first; the figure keeps the order.
    p_values
        ``(n_systems, n_systems)`` one-sided p that the row is better than the column; the
        diagonal is not read.
    wins
        ``(n_systems, n_systems)`` whether the row beats the column significantly, which gets
        a dot. None: where p < alpha.
    alpha
        Level of the tests; colours change at alpha, alpha / 5 and alpha / 50.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    p = numbers(p_values)
    n = len(systems)
    if n < 2:
        return nothing_svg(KIND, "a comparison needs two systems")
    with np.errstate(invalid="ignore"):
        beats = p < alpha if wins is None else numbers(wins) > 0
    if not p.shape == beats.shape == (n, n):
        raise ValueError(
            f"p_values of shape {p.shape} and wins of shape {beats.shape} for {n} systems"
        )
    n_rows = min(n, MOST_SYSTEMS)
    beats = beats & ~np.eye(n, dtype=bool)
    counts = beats.sum(axis=1).tolist()[:n_rows]
    off_diagonal = ~np.eye(n_rows, dtype=bool)
    p, beats = p[:n_rows, :n_rows], beats[:n_rows, :n_rows]
    compared = ~np.isnan(p) & off_diagonal
    if not compared.any():
        return nothing_svg(KIND, "no two systems were tested against each other")
    notes = [] if (compared == off_diagonal).all() else ["Empty cells: not compared."]
    if n_rows < n:
        notes.append(f"The first {n_rows} of {n:,} systems are drawn.")

    names = [short(system) for system in systems[:n_rows]]
    cell = min(28, max(11, 660 // n_rows))  # whole pixels, so that edges are sharp
    size = cell * n_rows
    x_left = 52 + ceil(px_of(*names, size=min(12, cell)))
    bottom = TOP + size
    description = f"{n} systems compared in pairs, the best: {', '.join(names[:3])}"
    width = max(x_left + size + 64, 560)
    with new_sheet(KIND, width, bottom + 12 + 16 * len(notes), description) as sheet:
        _key(sheet, alpha)
        sheet.rectangles([(x_left, TOP, size - 1, size - 1)], "none", "ground")
        opacity = np.full(p.shape, NOT_BELOW)
        for fraction, level in FRACTIONS:
            opacity[p < fraction * alpha] = level
        for level in sorted(set(opacity[compared].tolist())):
            places = np.argwhere(compared & (opacity == level))
            sheet.rectangles(_boxes(places, x_left, cell), (BLUE, level), "cell")
        sheet.rectangles(_boxes(np.argwhere(~off_diagonal), x_left, cell), (INK, 0.25), "diagonal")
        dark = opacity == 1
        _marks(sheet, np.argwhere(beats & ~dark), x_left, cell, INK, "on-cell")
        _marks(sheet, np.argwhere(beats & dark), x_left, cell, "#ffffff", "on-dark-cell")
        _names(sheet, names, counts, x_left, cell)
        sheet.note(bottom + 24, notes)
        return sheet.svg()


def _key(sheet: Sheet, alpha: float) -> None:
    sheet.text(12, 20, "one-sided p that the row's system is better than the column's")
    entries: list[tuple[str, Color, str]] = [
        ("■", (BLUE, opacity), f"p < {alpha * fraction:g}") for fraction, opacity in FRACTIONS
    ]
    above = ("■", (BLUE, NOT_BELOW), f"p ≥ {alpha:g}")
    sheet.key(12, 42, [above, *entries, ("●", INK, "significant")])


def _boxes(places: npt.NDArray[np.intp], x_left: int, cell: int) -> Numbers:
    """Return the cells' left, top, width and height, px, with a thin gap between neighbours."""
    row, column = places.T
    side = np.full(len(places), cell - 1)
    return np.stack([x_left + cell * column, TOP + cell * row, side, side], axis=1).astype(float)


def _marks(
    sheet: Sheet, places: npt.NDArray[np.intp], x_left: int, cell: int, color: str, part: str
) -> None:
    """Draw a disc in the middle of each cell; in small cells a square, which is shorter SVG."""
    row, column = places.T
    x, y = x_left + cell * column + (cell - 1) / 2, TOP + cell * row + (cell - 1) / 2
    if cell >= 16 and len(row):
        sheet.points(x, y, color, part, size=cell / 4)
    else:
        side = np.full(len(row), 2.0)
        sheet.rectangles(np.stack([x - 1, y - 1, side, side], axis=1), color, part)


def _names(
    sheet: Sheet, names: Sequence[str], counts: Sequence[int], x_left: int, cell: int
) -> None:
    """Write names at the left, numbers at the top, and at the right how many each one beats."""
    size, right = min(12.0, cell), x_left + cell * len(names)
    sheet.text(right + 12, TOP - 8, "wins", size=SMALL, part="axis")
    for position, (name, wins) in enumerate(zip(names, counts, strict=True)):
        y = TOP + cell * (position + 0.5) + 0.35 * size
        sheet.text(x_left - 32, y, name, size=size, anchor="right", part="row")
        sheet.text(x_left - 8, y, str(position + 1), size=size - 1, anchor="right", part="number")
        sheet.text(right + 12, y, str(wins), size=size, part="wins")
        if cell >= 16 or position == 0 or (position + 1) % 5 == 0:
            sheet.text(
                x_left + cell * (position + 0.5), TOP - 8, str(position + 1), size=SMALL,
                anchor="center", part="column",
            )  # fmt: skip
