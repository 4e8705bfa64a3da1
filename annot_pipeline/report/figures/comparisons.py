"""Which system beats which."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.base import MOST_POINTS, SMALL, numbers, short
from annot_pipeline.report.figures.plot import matrix_plot, nothing_svg, text_beside
from annot_pipeline.report.figures.remembered import remembered

MOST_SYSTEMS = isqrt(MOST_POINTS)
"""Systems drawn, from the best on; wins are counted over all."""

FRACTIONS = (1.0, 0.2, 0.02)
"""Of alpha: below each, a cell has a darker colour."""


@remembered
def comparison_matrix_svg(
    systems: Sequence[object], p_values: npt.ArrayLike, wins: npt.ArrayLike | None, alpha: float
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
        return nothing_svg("comparisons", "a comparison needs two systems")
    with np.errstate(invalid="ignore"):
        beats = p < alpha if wins is None else numbers(wins) > 0
    if not p.shape == beats.shape == (n, n):
        raise ValueError(
            f"p_values of shape {p.shape} and wins of shape {beats.shape} for {n} systems"
        )
    n_rows = min(n, MOST_SYSTEMS)
    beats = beats & ~np.eye(n, dtype=bool)
    counts = beats.sum(axis=1).tolist()[:n_rows]
    p, beats = p[:n_rows, :n_rows], beats[:n_rows, :n_rows]
    np.fill_diagonal(p, np.nan)
    if np.isnan(p).all():
        return nothing_svg("comparisons", "no two systems were tested against each other")
    levels = ", ".join(f"{alpha * fraction:g}" for fraction in FRACTIONS)
    notes = [
        "One-sided p that the row's system is better than the column's: the darker, the smaller, "
        f"in steps below {levels}. Dots: significant. At the right: systems beaten."
    ]
    if (np.isnan(p).sum()) > n_rows:
        notes.append("Empty cells: not compared.")
    if n_rows < n:
        notes.append(f"The first {n_rows} of {n:,} systems are drawn.")
    names = [short(system) for system in systems[:n_rows]]
    shade = np.where(np.isnan(p), np.nan, 0.05)
    for level, fraction in zip((0.35, 0.6, 0.85), FRACTIONS, strict=True):
        shade[p < fraction * alpha] = level
    description = f"{n} systems compared in pairs, the best: {', '.join(names[:3])}"
    with matrix_plot("comparisons", names, description, shade, "Blues", notes) as plot:
        row, column = np.nonzero(beats)
        size = max(2.0, min(7.0, 160 / n_rows))
        plot.ax.scatter(
            column, row, size**2, color=np.where(shade[row, column] > 0.5, "#ffffff", "#222222"),
            linewidth=0, gid="win",
        )  # fmt: skip
        for position, count in enumerate(counts):
            height = SMALL if n_rows < 25 else 8  # as high as a row
            text_beside(plot.ax, position, str(count), "wins", height, side="right")
        return plot.svg()
