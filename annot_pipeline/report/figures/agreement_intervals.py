"""Agreement of judges by task, with intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.names import px_of, short
from annot_pipeline.report.figures.scales import numbers, steps, written
from annot_pipeline.report.figures.sheet import new_sheet, nothing_svg
from annot_pipeline.report.figures.theme import BLUE, SMALL, SOFT

KIND = "agreement"

MOST_TASKS = 60
"""Tasks drawn, the first."""
WIDTH, PITCH, TOP = 400.0, 24.0, 16.0
"""Of the plot, from line to line, and above the first, px."""


def agreement_svg(
    tasks: Sequence[object], statistics: Sequence[object], values: npt.ArrayLike,
    low: npt.ArrayLike, high: npt.ArrayLike, scale: str = "1: all agree. 0: as by chance.",
) -> str:  # fmt: skip
    """Draw a point and its 95% interval per task.

    Parameters
    ----------
    tasks, statistics
        ``(n_tasks,)`` names.
    values, low, high
        ``(n_tasks,)`` NaN where there is none.
    scale
        What the ends of the scale mean.

    Raises
    ------
    ValueError
        If lengths differ.
    """
    value, lower, upper = numbers(values), numbers(low), numbers(high)
    if not len(tasks) == len(statistics) == len(value) == len(lower) == len(upper):
        raise ValueError(f"{len(tasks)} tasks, {len(value)} values: lengths differ")
    if np.isnan(value).all():
        return nothing_svg(KIND, "no task has agreement that can be measured")
    n_rows = min(len(tasks), MOST_TASKS)
    names = [f"{short(t, 26)}, {short(s, 26)}" for t, s in zip(tasks, statistics, strict=True)]
    names = names[:n_rows]
    value, lower, upper = value[:n_rows], lower[:n_rows], upper[:n_rows]
    start = min(0.0, float(np.floor(10 * np.nanmin([value, lower])) / 10))
    x_left, bottom = 24 + px_of(*names), TOP + PITCH * n_rows
    notes = [f"Lines through the points: 95% intervals. {scale}"]
    if ((~np.isnan(value)) & ~(lower <= upper)).any():
        notes.append("Hollow points: no interval is known.")
    if n_rows < len(tasks):
        notes.append(f"The first {n_rows} of {len(tasks):,} tasks are drawn.")
    description = "Agreement by task: " + ", ".join(
        f"{name} {v:.2f}" for name, v in zip(names[:20], value, strict=False) if not np.isnan(v)
    )
    with new_sheet(KIND, x_left + WIDTH + 70, bottom + 44 + 16 * len(notes), description) as sheet:
        axes = sheet.axes(x_left, TOP, WIDTH, bottom - TOP, x=(start, 1), y=(0, 1), lines="x")
        sheet.ticks(axes, "x", *steps(start, 1), grid=True)
        zero, _ = sheet.at(axes, 0, 0)
        sheet.line([zero, zero], [TOP, bottom], SOFT, "chance")
        for row, name in enumerate(names):
            y = TOP + PITCH * (row + 0.5)
            sheet.text(x_left - 10, y + 4, name, anchor="right", part="task")
            if np.isnan(value[row]):
                continue
            x, _ = sheet.at(axes, float(value[row]), 0)
            has_interval = lower[row] <= upper[row]
            if has_interval:
                ends = [sheet.at(axes, float(v), 0)[0] for v in (lower[row], upper[row])]
                sheet.line(ends, [y, y], BLUE, "interval", width=2)
            part = "value" if has_interval else "value-without-interval"
            sheet.points(np.array([x]), np.array([y]), BLUE, part, size=8, hollow=not has_interval)
            text = written(float(value[row]), ".2f")
            sheet.text(x_left + WIDTH + 10, y + 4, text, size=SMALL, part="number")
        sheet.note(bottom + 42, notes)
        return sheet.svg()
