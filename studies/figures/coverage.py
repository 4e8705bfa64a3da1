"""Coverage of intervals by method, a point for each quantity, beside the nominal level."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.base import BLUE, VERMILLION, beyond, numbers, short
from annot_pipeline.report.figures.plot import nothing_svg, row_plot, text_at_right

MOST_ROWS = 60
"""Rows drawn, the first."""


def coverage_svg(
    names: Sequence[object], coverages: Sequence[npt.ArrayLike], nominal: float
) -> str:
    """Draw the coverage of each quantity as a point, a row per method, with the nominal level.

    Parameters
    ----------
    names
        ``(n_rows,)`` such as judge and method.
    coverages
        For each row the shares of its quantities in [0, 1]; NaN where there is none.
    nominal
        The level of the intervals, drawn as a line.

    Raises
    ------
    ValueError
        If lengths differ, or a share lies outside 0 to 1.
    """
    if len(names) != len(coverages):
        raise ValueError(f"{len(names)} names, {len(coverages)} rows of shares: lengths differ")
    rows = [numbers(values).ravel() for values in coverages]
    shares = np.concatenate([*rows, np.zeros(0)])
    if wrong := beyond(shares, 0, 1)[:5]:
        raise ValueError(f"no shares: {wrong}")
    if np.isnan(shares).all():
        return nothing_svg("coverage", "no method has intervals")
    words = [short(name, 48) for name in names[:MOST_ROWS]]
    notes = [
        "A point: one quantity. The number: the mean of the row's quantities. Line: "
        f"nominal {100 * nominal:g}%."
    ]
    if len(words) < len(rows):
        notes.append(f"The first {len(words)} of {len(rows):,} rows are drawn.")
    description = f"Coverage of intervals whose level is {100 * nominal:g}%, by method"
    with row_plot("coverage", words, description, pitch=22, right=70,
                  x_label="intervals that cover", notes=notes) as plot:  # fmt: skip
        plot.ax.set_xlim(0, 1)
        plot.ax.axvline(nominal, color=VERMILLION, gid="nominal")
        for row, values in enumerate(rows[:MOST_ROWS]):
            defined = values[~np.isnan(values)]
            plot.ax.plot(defined, [row] * defined.size, "o", color=(BLUE, 0.5), clip_on=False,
                         gid="quantity")  # fmt: skip
            mean = f"{100 * defined.mean():.1f}%" if defined.size else "\u2013"
            text_at_right(plot.ax, row, mean, "mean")
        return plot.svg()
