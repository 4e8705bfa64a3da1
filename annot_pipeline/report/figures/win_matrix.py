"""How often each system won against each other one."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isqrt

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.names import px_of, short
from annot_pipeline.report.figures.scales import Numbers, numbers
from annot_pipeline.report.figures.sheet import Sheet, new_sheet, nothing_svg
from annot_pipeline.report.figures.theme import (
    BLUE,
    FAINT,
    GREY,
    INK,
    MOST_POINTS,
    SMALL,
    VERMILLION,
    Color,
)

KIND = "wins"

MOST_SYSTEMS = isqrt(MOST_POINTS)
"""Systems drawn, from the best on."""

LEVELS = ((0.5, 0.55), (0.6, 0.25), (0.7, 0.45), (0.8, 0.65), (0.9, 0.85), (1.0, 1.0))
"""The farther a share is from one half, up to which end, the more opaque the cell is. One half
itself is grey, for an empty cell means something else."""

NUMBERED = 26
"""Least side of a cell that shows its percentage, px."""

SAME = 1e-9
"""Shares that differ by less are equal."""

TOP = 84
"""Above the matrix, px."""


def win_matrix_svg(
    systems: Sequence[object], wins: npt.ArrayLike, ties: npt.ArrayLike | None = None
) -> str:
    """Draw row against column systems: the share of their comparisons that the row won.

    A tie is half a win, so a cell and the one across the diagonal add up to one. Blue is above
    one half, vermillion below. With systems in rank order, the upper right is blue; vermillion
    there is a system that loses to one ranked below it.

    Parameters
    ----------
    systems
        ``(n_systems,)`` in rank order, the best first; the figure keeps the order.
    wins
        ``(n_systems, n_systems)`` comparisons that the row won over the column; the diagonal is
        not read. Sums of weights will do.
    ties
        ``(n_systems, n_systems)`` comparisons without a winner, symmetric; None: there are none.

    Raises
    ------
    ValueError
        If the shapes do not fit, a number is negative, or ties are not symmetric.
    """
    n = len(systems)
    if n < 2:
        return nothing_svg(KIND, "a comparison needs two systems")
    won = np.nan_to_num(numbers(wins))
    tied = np.zeros((n, n)) if ties is None else np.nan_to_num(numbers(ties))
    _check(n, won, tied)
    n_rows = min(n, MOST_SYSTEMS)
    won, tied = won[:n_rows, :n_rows], tied[:n_rows, :n_rows]
    compared = ((won + won.T + tied) > 0) & ~np.eye(n_rows, dtype=bool)
    if not compared.any():
        return nothing_svg(KIND, "no two systems were compared")
    total = np.where(compared, won + won.T + tied, np.nan)
    share = (won + tied / 2) / total
    names = [short(system) for system in systems[:n_rows]]
    notes = _notes(n, n_rows, compared)

    cell = min(32, max(11, 660 // n_rows))  # whole pixels, so that edges are sharp
    x_left = 52 + ceil(px_of(*names, size=min(12, cell)))
    bottom = TOP + cell * n_rows
    description = f"Share of wins among {n} systems, the best: {', '.join(names[:3])}"
    width = max(x_left + cell * n_rows + 24, 560)
    with new_sheet(KIND, width, bottom + 12 + 16 * len(notes), description) as sheet:
        _key(sheet)
        sheet.rectangles([(x_left, TOP, cell * n_rows - 1, cell * n_rows - 1)], "none", "ground")
        _cells(sheet, names, share, won, tied, x_left, cell)
        diagonal = np.arange(n_rows)
        sheet.rectangles(_boxes(diagonal, diagonal, x_left, cell), FAINT, "diagonal")
        _names(sheet, names, x_left, cell)
        sheet.note(bottom + 24, notes)
        return sheet.svg()


def _check(n: int, won: Numbers, tied: Numbers) -> None:
    if not won.shape == tied.shape == (n, n):
        raise ValueError(f"wins of shape {won.shape} and ties of {tied.shape} for {n} systems")
    off_diagonal = ~np.eye(n, dtype=bool)
    if (won[off_diagonal] < 0).any() or (tied[off_diagonal] < 0).any():
        raise ValueError("wins and ties are counts: none is negative")
    if not np.allclose(tied[off_diagonal], tied.T[off_diagonal]):
        raise ValueError("ties are not symmetric: a tie of a with b is one of b with a")


def _notes(n: int, n_rows: int, compared: npt.NDArray[np.bool_]) -> list[str]:
    notes = []
    if not (compared | np.eye(n_rows, dtype=bool)).all():
        notes.append("Empty cells: never compared.")
    if n_rows < n:
        notes.append(f"The first {n_rows} of {n:,} systems are drawn.")
    return notes


def _key(sheet: Sheet) -> None:
    sheet.text(12, 20, "share of comparisons that the row's system won over the column's")
    below: list[tuple[str, Color]] = [
        (f"{100 - 100 * end:g}", (VERMILLION, opacity)) for end, opacity in LEVELS[:0:-1]
    ]
    above: list[tuple[str, Color]] = [(f"{100 * end:g}", (BLUE, o)) for end, o in LEVELS[1:]]
    side = 26.0
    sheet.rectangles([(12, 32, side * (len(below) + len(above)), 12)], "none", "ground")
    for position, (_, color) in enumerate([*below, *above]):
        sheet.rectangles([(12 + side * position, 32, side - 1, 12)], color, "key-color")
    ends = [text for text, _ in below] + ["50"] + [text for text, _ in above]
    for position, text in enumerate(ends):
        sheet.text(12 + side * position, 56, text, size=SMALL, anchor="center", part="tick")
    x = 12 + side * (len(ends) - 1) + 14
    sheet.text(x, 42, "%; a tie is half a win", size=SMALL, part="key")
    sheet.key(x + 150, 42, [("■", (GREY, LEVELS[0][1]), "50%")])


def _level(share: Numbers) -> Numbers:
    """Return the opacity of each share by its distance from one half; NaN where there is none."""
    ends = np.array([end for end, _ in LEVELS])
    opacity = np.array([level for _, level in LEVELS])
    positions = np.searchsorted(ends, np.nan_to_num(0.5 + np.abs(share - 0.5)) - SAME)
    return np.where(np.isnan(share), np.nan, opacity[np.clip(positions, 0, len(ends) - 1)])


def _cells(
    sheet: Sheet, names: Sequence[str], share: Numbers, won: Numbers, tied: Numbers,
    x_left: int, cell: int,
) -> None:  # fmt: skip
    """Draw all cells as square markers of a few colours, each with its counts as a tooltip."""
    from matplotlib.lines import Line2D

    level, tips = _level(share), [short(name, 24) for name in names]
    half = np.abs(share - 0.5) < SAME
    for color, side in ((BLUE, share > 0.5), (VERMILLION, share < 0.5), (GREY, half)):
        side = side if color == GREY else side & ~half
        for opacity in np.unique(level[side]).tolist():
            row, column = np.nonzero((level == opacity) & side)
            cells = Line2D(
                x_left + cell * column + (cell - 1) / 2, TOP + cell * row + (cell - 1) / 2,
                transform=sheet.px, color=(color, opacity), linestyle="none", marker="s",
                markersize=cell - 1, markeredgewidth=0,
            )  # fmt: skip
            sheet.figure.add_artist(cells)
            sheet.part(
                cells, "cell",
                [
                    _tip(tips[r], tips[c], won[r, c], tied[r, c], won[c, r])
                    for r, c in zip(row.tolist(), column.tolist(), strict=True)
                ],
            )  # fmt: skip
    if cell < NUMBERED:
        return
    for r, c in np.argwhere(~np.isnan(share)).tolist():
        dark = level[r, c] > 0.8
        x, y = x_left + cell * c + (cell - 1) / 2, TOP + cell * r + cell / 2 + 3.5
        color = "#ffffff" if dark else INK
        part = "on-dark-cell" if dark else "on-cell"
        text = f"{100 * share[r, c]:.0f}"
        sheet.text(x, y, text, size=SMALL, color=color, anchor="center", part=part)


def _tip(row: str, column: str, won: float, tied: float, lost: float) -> str:
    total = won + tied + lost
    return (
        f"{row} over {column}: {won:,.6g} won, {tied:,.6g} tied, {lost:,.6g} lost, "
        f"{100 * (won + tied / 2) / total:.1f}%"
    )


def _boxes(
    row: npt.NDArray[np.intp], column: npt.NDArray[np.intp], x_left: int, cell: int
) -> Numbers:
    """Return the cells' left, top, width and height, px, with a thin gap between neighbours."""
    side = np.full(len(row), cell - 1)
    return np.stack([x_left + cell * column, TOP + cell * row, side, side], axis=1).astype(float)


def _names(sheet: Sheet, names: Sequence[str], x_left: int, cell: int) -> None:
    """Write names and numbers at the left, numbers at the top."""
    size = min(12.0, cell)
    for position, name in enumerate(names):
        y = TOP + cell * (position + 0.5) + 0.35 * size
        sheet.text(x_left - 32, y, name, size=size, anchor="right", part="row")
        sheet.text(x_left - 8, y, str(position + 1), size=size - 1, anchor="right", part="number")
        if cell >= 16 or position == 0 or (position + 1) % 5 == 0:
            sheet.text(
                x_left + cell * (position + 0.5), TOP - 8, str(position + 1), size=SMALL,
                anchor="center", part="column",
            )  # fmt: skip
