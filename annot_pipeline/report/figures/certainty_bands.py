"""How sure the labels of each task are, as one bar a task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures.names import px_of, short
from annot_pipeline.report.figures.scales import numbers, steps
from annot_pipeline.report.figures.sheet import new_sheet, nothing_svg
from annot_pipeline.report.figures.theme import BLUE, FAINT, SMALL

KIND = "certainty"

BOUNDS = (0.5, 0.8, 0.95, 0.99)
"""Between the bands of probability; the last is where a label is certain."""
NAMES = ("< 0.5", "0.5 to 0.8", "0.8 to 0.95", "0.95 to 0.99", "≥ 0.99")
OPACITY = (0.1, 0.25, 0.45, 0.7, 1.0)

MOST_TASKS = 60
"""Tasks drawn, the first."""
WIDTH, BAR, PITCH, TOP = 460.0, 16.0, 25.0, 56.0
"""Of a whole bar, its height, from bar to bar, and above the first, px."""


def bands_of(probability: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Numbers of labels in each band of probability, ``(5,)``; NaN counts in none.

    Parameters
    ----------
    probability
        ``(n_items,)`` of the labels.
    """
    values = numbers(probability)
    codes = np.searchsorted(BOUNDS, values[~np.isnan(values)], side="right")
    return np.bincount(codes, minlength=len(NAMES)).astype(np.int64)


def certainty_svg(tasks: Sequence[object], counts: npt.ArrayLike) -> str:
    """A bar for each task, parted by the probability of its labels: the darker, the surer.

    Parameters
    ----------
    tasks
        ``(n_tasks,)`` names.
    counts
        ``(n_tasks, 5)`` labels in each band, as `bands_of` has them.

    Raises
    ------
    ValueError
        If the shapes do not fit, or a count is negative.
    """
    count = np.asarray(counts, np.float64).reshape(-1, len(NAMES))
    if len(count) != len(tasks) or (count < 0).any():
        raise ValueError(f"counts of shape {count.shape} for {len(tasks)} tasks, none negative")
    if not count.any():
        return nothing_svg(KIND, "no label has a probability")
    drawn = min(len(tasks), MOST_TASKS)
    names = [short(task, 30) for task in tasks[:drawn]]
    left = 24 + px_of(*names)
    bottom = TOP + PITCH * drawn
    notes = [f"The first {drawn} of {len(tasks):,} tasks are drawn."] if drawn < len(tasks) else []
    share = float(count[:, -1].sum() / count.sum())
    says = f"Probability of the labels by task: {share:.0%} of all labels are certain"
    with new_sheet(KIND, left + WIDTH + 70, bottom + 48 + 16 * len(notes), says) as sheet:
        sheet.text(12, 20, "probability of the label", part="axis")
        x = 12.0
        for name, opacity in zip(NAMES, OPACITY, strict=True):
            sheet.rectangles([(x, 31, 11, 11)], FAINT, "key-ground")
            sheet.rectangles([(x, 31, 11, 11)], (BLUE, opacity), "key-color")
            sheet.text(x + 15, 41, name, part="key")
            x += 26 + px_of(name)
        axes = sheet.axes(left, TOP, WIDTH, bottom - TOP, x=(0, 100), y=(0, 1), lines="x")
        sheet.ticks(axes, "x", *steps(0, 100), grid=True)
        for row, name in enumerate(names):
            top, total = TOP + PITCH * row + 4, count[row].sum()
            sheet.text(left - 10, top + 12, name, anchor="right", part="task")
            if not total:
                continue
            start = left
            for band, opacity in enumerate(OPACITY):
                length = WIDTH * float(count[row, band]) / total
                tip = f"{name}, probability {NAMES[band]}: {count[row, band]:,.0f} of {total:,.0f}"
                if length:
                    sheet.rectangles([(start, top, length, BAR)], (BLUE, opacity), "band", tip=tip)
                start += length
            certain = f"{count[row, -1] / total:.0%}"
            sheet.text(left + WIDTH + 8, top + 12, certain, size=SMALL, part="certain")
        sheet.text(left + WIDTH + 8, TOP - 8, "certain", size=SMALL, part="axis")
        sheet.text(left + WIDTH / 2, bottom + 38, "share of the labels, %", anchor="center")
        sheet.note(bottom + 56, notes)
        return sheet.svg()
