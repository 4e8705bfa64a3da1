"""How often each system won against each other one."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.base import MOST_POINTS, numbers, short
from annot_pipeline.report.figures.plot import matrix_plot, nothing_svg
from annot_pipeline.report.figures.remembered import remembered

MOST_SYSTEMS = isqrt(MOST_POINTS)
"""Systems drawn, from the best on."""

NUMBERED = 10
"""Most systems whose cells show their percentages."""


@remembered
def win_matrix_svg(
    systems: Sequence[object], wins: npt.ArrayLike, ties: npt.ArrayLike | None = None
) -> str:
    """Draw row against column systems: the share of their comparisons that the row won.

    A tie is half a win, so a cell and the one across the diagonal add up to one. Blue is above
    one half, red below. With systems in rank order, the upper right is blue; red there is a
    system that loses to one ranked below it.

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
        return nothing_svg("wins", "a comparison needs two systems")
    won = np.nan_to_num(numbers(wins))
    tied = np.zeros((n, n)) if ties is None else np.nan_to_num(numbers(ties))
    if not won.shape == tied.shape == (n, n):
        raise ValueError(f"wins of shape {won.shape} and ties of {tied.shape} for {n} systems")
    for counts in (won, tied):
        np.fill_diagonal(counts, 0)
    if (won < 0).any() or (tied < 0).any():
        raise ValueError("wins and ties are counts: none is negative")
    if not np.allclose(tied, tied.T):
        raise ValueError("ties are not symmetric: a tie of a with b is one of b with a")
    n_rows = min(n, MOST_SYSTEMS)
    won, tied = won[:n_rows, :n_rows], tied[:n_rows, :n_rows]
    total = won + won.T + tied
    if not total.any():
        return nothing_svg("wins", "no two systems were compared")
    share = np.divide(won + tied / 2, total, out=np.full(total.shape, np.nan), where=total > 0)
    notes = [
        "Share of comparisons, %, that the row's system won over the column's; a tie is half a win."
    ]
    if np.isnan(share).sum() > n_rows:
        notes.append("Empty cells: never compared.")
    if n_rows < n:
        notes.append(f"The first {n_rows} of {n:,} systems are drawn.")
    names = [short(system) for system in systems[:n_rows]]
    description = f"Share of wins among {n} systems, the best: {', '.join(names[:3])}"
    write = (lambda value: f"{100 * value:.0f}") if n_rows <= NUMBERED else None
    with matrix_plot("wins", names, description, share, "RdBu", notes, write) as plot:
        return plot.svg()
