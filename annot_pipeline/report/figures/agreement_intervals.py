"""Agreement of judges by task, with intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.base import BLUE, INK, lowest, numbers, short
from annot_pipeline.report.figures.plot import nothing_svg, row_plot, text_at_right
from annot_pipeline.report.figures.remembered import remembered

MOST_TASKS = 30
"""Tasks drawn: of more, those with the lowest values."""


@remembered
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
    ends = numbers(values), numbers(low), numbers(high)
    if {len(tasks)} != {len(statistics), *map(len, ends)}:
        raise ValueError(f"{len(tasks)} tasks, {len(ends[0])} values: lengths differ")
    if np.isnan(ends[0]).all():
        return nothing_svg("agreement", "no task has agreement that can be measured")
    drawn = lowest(ends[0], MOST_TASKS)
    value, lower, upper = (array[drawn] for array in ends)
    shared = [short(of[0], 40) for of in (tasks, statistics) if len({*of}) == 1]
    parts = [of for of in (tasks, statistics) if len({*of}) > 1] or [tasks]
    names = [", ".join(short(of[n], 26) for of in parts) for n in drawn.tolist()]
    has_interval = lower <= upper
    bare = ~np.isnan(value) & ~has_interval
    notes = [f"Lines through the points: 95% intervals. {scale}"]
    if bare.any():
        notes.append("Hollow points: no interval is known.")
    if len(names) < len(tasks):
        notes.append(f"Drawn: the {len(names)} of {len(tasks):,} tasks with the lowest values.")
    description = "Agreement by task: " + ", ".join(
        f"{name} {v:.2f}" for name, v in zip(names[:20], value, strict=False) if not np.isnan(v)
    )
    label = ", ".join(shared)
    with row_plot(
        "agreement", names, description, right=48, notes=notes, part="task", x_label=label
    ) as plot:
        rows = np.arange(len(names))
        plot.ax.set_xlim(min(0.0, float(np.floor(10 * np.nanmin([value, lower])) / 10)), 1)
        plot.ax.axvline(0, color=(INK, 0.4), linewidth=1)
        plot.ax.hlines(
            rows[has_interval], lower[has_interval], upper[has_interval], color=BLUE, gid="interval"
        )
        for which, fill in ((has_interval, BLUE), (bare, "none")):
            plot.ax.plot(
                value[which], rows[which], "o", color=BLUE, markerfacecolor=fill, clip_on=False,
                gid="value",
            )  # fmt: skip
        for row in np.flatnonzero(~np.isnan(value)).tolist():
            words = f"{value[row]:.2f}".replace("-", "\u2212")
            text_at_right(plot.ax, row, words, "number")
        return plot.svg()
