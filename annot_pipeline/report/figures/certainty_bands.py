"""How sure the labels of each task are, as one bar a task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from annot_pipeline.contracts import share_text
from annot_pipeline.report.figures.names import px_of, short
from annot_pipeline.report.figures.scales import steps
from annot_pipeline.report.figures.sheet import new_sheet, nothing_svg
from annot_pipeline.report.figures.theme import BLUE, GREEN, SMALL, Color

KIND = "certainty"

NAMES = ("< 0.5", "0.5 to 0.8", "0.8 to 0.95", "0.95 to 0.99", "≥ 0.99", "decided by an expert")
"""Bands of probability between the bounds of certainty, and labels that are nobody's guess."""
FILLS: tuple[Color, ...] = (*((BLUE, opacity) for opacity in (0.1, 0.25, 0.45, 0.7, 1.0)), GREEN)

MOST_TASKS = 60
"""Tasks drawn, the first."""
WIDTH, BAR, PITCH, TOP = 460.0, 16.0, 25.0, 70.0
"""Of a whole bar, its height, from bar to bar, and above the first, px."""


def certainty_svg(
    tasks: Sequence[object],
    counts: npt.ArrayLike,
    n_labels: npt.ArrayLike,
    n_sure: npt.ArrayLike,
) -> str:
    """Draw a bar for each task, divided by the probability of its labels: the darker, the surer.

    What experts decided has a colour of its own, where there is any. A bar is shorter by the labels
    without a probability.

    Parameters
    ----------
    tasks
        ``(n_tasks,)`` names.
    counts
        ``(n_tasks, 6)`` labels in each band of ``NAMES``.
    n_labels
        ``(n_tasks,)`` labels, also those without a probability.
    n_sure
        ``(n_tasks,)`` of them, those certain, from the probability that the campaign sets, or
        decided by an expert.

    Raises
    ------
    ValueError
        If the shapes do not fit, or a count is negative or larger than that of all labels.
    """
    count = np.asarray(counts, np.float64).reshape(-1, len(NAMES))
    totals, sure = (np.asarray(n, np.float64) for n in (n_labels, n_sure))
    if not len(count) == len(totals) == len(sure) == len(tasks) or (count < 0).any():
        raise ValueError(f"counts of shape {count.shape} for {len(tasks)} tasks, none negative")
    if (count.sum(axis=1) > totals).any() or (sure > totals).any() or (sure < 0).any():
        raise ValueError("more labels in bands, or sure, than there are")
    if not count.any():
        return nothing_svg(KIND, "no label has a probability")
    decided = count[:, -1].any()
    sure_word = "certain or decided" if decided else "certain"
    n_rows = min(len(tasks), MOST_TASKS)
    names = [short(task, 30) for task in tasks[:n_rows]]
    x_left = 24 + px_of(*names)
    bottom = TOP + PITCH * n_rows
    notes = (
        [f"The first {n_rows} of {len(tasks):,} tasks are drawn."] if n_rows < len(tasks) else []
    )
    share = share_text(float(sure.sum() / totals.sum()))
    description = f"Probability of the labels by task: {share} of all labels are {sure_word}"
    with new_sheet(
        KIND, x_left + WIDTH + 24 + px_of(sure_word), bottom + 48 + 16 * len(notes), description
    ) as sheet:
        sheet.text(12, 20, "probability of the label", part="axis")
        x = 12.0
        for name, fill in list(zip(NAMES, FILLS, strict=True))[: None if decided else -1]:
            sheet.rectangles([(x, 31, 11, 11)], fill, "key-color")
            sheet.text(x + 15, 41, name, part="key")
            x += 26 + px_of(name)
        axes = sheet.axes(x_left, TOP, WIDTH, bottom - TOP, x=(0, 100), y=(0, 1), lines="x")
        sheet.ticks(axes, "x", *steps(0, 100), grid=True)
        for row, name in enumerate(names):
            top, total = TOP + PITCH * row + 4, totals[row]
            sheet.text(x_left - 10, top + 12, name, anchor="right", part="task")
            if not total:
                continue
            start = x_left
            for band, fill in enumerate(FILLS):
                length = WIDTH * float(count[row, band]) / total
                which = NAMES[band] if fill == GREEN else f"probability {NAMES[band]}"
                tip = f"{name}, {which}: {count[row, band]:,.0f} of {total:,.0f}"
                if length:
                    sheet.rectangles([(start, top, length, BAR)], fill, "band", tip=tip)
                start += length
            sure_share = share_text(float(sure[row] / total))
            sheet.text(x_left + WIDTH + 8, top + 12, sure_share, size=SMALL, part="certain")
        sheet.text(x_left + WIDTH + 8, TOP - 8, sure_word, size=SMALL, part="axis")
        sheet.text(x_left + WIDTH / 2, bottom + 38, "share of the labels, %", anchor="center")
        sheet.note(bottom + 56, notes)
        return sheet.svg()
