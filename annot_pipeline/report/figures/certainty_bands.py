"""How sure the labels of each task are, as one bar a task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from annot_pipeline.contracts import share_text
from annot_pipeline.report.figures.base import BLUE, GREEN, Color, lowest, short
from annot_pipeline.report.figures.plot import key_above, nothing_svg, row_plot, text_at_right
from annot_pipeline.report.figures.remembered import remembered

NAMES = ("< 0.5", "0.5 to 0.8", "0.8 to 0.95", "0.95 to 0.99", "≥ 0.99", "decided by an expert")
"""Bands of probability between the bounds of certainty, and labels that are nobody's guess."""
FILLS: tuple[Color, ...] = (*((BLUE, opacity) for opacity in (0.18, 0.35, 0.5, 0.75, 1.0)), GREEN)

MOST_TASKS = 30
"""Tasks drawn: of more, those with the smallest share of sure labels."""


@remembered
def certainty_svg(
    tasks: Sequence[object], counts: npt.ArrayLike, n_labels: npt.ArrayLike, n_sure: npt.ArrayLike
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
        return nothing_svg("certainty", "no label has a probability")
    sure_word = "certain or decided" if count[:, -1].any() else "certain"
    drawn = lowest(sure / np.maximum(totals, 1), MOST_TASKS)
    names = [short(tasks[n], 30) for n in drawn.tolist()]
    notes = [f"At the right: the share of the labels that are {sure_word}."]
    if len(names) < len(tasks):
        notes.append(f"Drawn: the {len(names)} of {len(tasks):,} tasks with the fewest of them.")
    share = share_text(float(sure.sum() / totals.sum()))
    with row_plot(
        "certainty", names, f"Probability of the labels by task: {share} of all labels are "
        f"{sure_word}", right=60, top=54, x_label="share of the labels, %", notes=notes,
        part="task",
    ) as plot:  # fmt: skip
        sure, totals = sure[drawn], totals[drawn]
        shares = 100 * count[drawn] / np.maximum(totals[:, None], 1)
        starts = shares.cumsum(axis=1) - shares
        n_bands = len(NAMES) if count[:, -1].any() else len(NAMES) - 1
        for band in range(n_bands):
            plot.ax.barh(
                range(len(names)), shares[:, band], 0.65, starts[:, band], color=FILLS[band],
                label=NAMES[band],
            )  # fmt: skip
        # an outline, as the lightest fills are near the colour of the page
        plot.ax.barh(range(len(names)), shares.sum(axis=1), 0.65, color="none", edgecolor=BLUE)
        plot.ax.set_xlim(0, 100)
        key_above(plot.ax, 3)
        for row in np.flatnonzero(totals).tolist():
            text_at_right(plot.ax, row, share_text(float(sure[row] / totals[row])), "certain")
        return plot.svg()
