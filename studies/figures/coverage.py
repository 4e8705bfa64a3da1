"""Coverage of intervals by method, a point for each quantity, beside the nominal level."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.names import px_of, short
from annot_pipeline.report.figures.scales import beyond, numbers, steps
from annot_pipeline.report.figures.sheet import new_sheet, nothing_svg
from annot_pipeline.report.figures.theme import BLUE, SMALL, VERMILLION

KIND = "coverage"

MOST_ROWS = 60
"""Rows drawn, the first."""
WIDTH, PITCH, TOP = 400.0, 22.0, 34.0
"""Of the plot, from row to row, and above the first, px."""


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
        return nothing_svg(KIND, "no method has intervals")
    n_rows = min(len(rows), MOST_ROWS)
    words = [short(name, 48) for name in names[:n_rows]]
    notes = ["A point: one quantity. The number: the mean of the row's quantities."]
    if n_rows < len(rows):
        notes.append(f"The first {n_rows} of {len(rows):,} rows are drawn.")
    x_left, bottom = 24 + px_of(*words), TOP + PITCH * n_rows
    description = f"Coverage of intervals whose level is {100 * nominal:g}%, by method"
    with new_sheet(KIND, x_left + WIDTH + 70, bottom + 60 + 16 * len(notes), description) as sheet:
        axes = sheet.axes(x_left, TOP, WIDTH, bottom - TOP, x=(0, 1), y=(0, 1), lines="x")
        sheet.ticks(axes, "x", *steps(0, 1), grid=True)
        x, _ = sheet.at(axes, nominal, 0)
        sheet.line([x, x], [TOP, bottom], VERMILLION, "nominal", width=1.5)
        sheet.text(x, TOP - 8, f"nominal {100 * nominal:g}%", size=SMALL, anchor="center")
        for row, name in enumerate(words):
            y = TOP + PITCH * (row + 0.5)
            sheet.text(x_left - 10, y + 4, name, anchor="right", part="row")
            values = rows[row][~np.isnan(rows[row])]
            if not values.size:
                sheet.text(x_left + WIDTH + 10, y + 4, "\u2013", size=SMALL, part="mean")
                continue
            across = np.array([sheet.at(axes, float(value), 0)[0] for value in values])
            sheet.points(across, np.full(across.size, y), (BLUE, 0.5), "quantity", size=7)
            mean = f"{100 * values.mean():.1f}%"
            sheet.text(x_left + WIDTH + 10, y + 4, mean, size=SMALL, part="mean")
        sheet.text(x_left + WIDTH / 2, bottom + 38, "intervals that cover", anchor="center")
        sheet.note(bottom + 60, notes)
        return sheet.svg()
