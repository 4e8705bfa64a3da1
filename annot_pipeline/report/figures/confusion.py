"""How judges confuse the classes of a task."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
import numpy.typing as npt

from annot_pipeline.report.figures import plot as drawing
from annot_pipeline.report.figures.base import MOST_POINTS, SMALL, numbers, px_of, short
from annot_pipeline.report.figures.remembered import remembered

MOST_LABELS, MOST_JUDGES = 60, 12
"""Classes and matrices that are drawn."""

NUMBERED = 9
"""Most classes whose cells show their numbers."""


@remembered
def confusion_svg(
    labels: Sequence[object], confusions: npt.ArrayLike, titles: Sequence[object]
) -> str:
    """Draw confusion matrices of judges, side by side, on one scale from 0 to 1.

    Passonneau & Carpenter 2013, Fig. 1: a row is a true label, a column an observed one. A
    judge without errors has a full diagonal; a label that is overused shows as a column. Up to
    nine classes the cells show their numbers.

    Parameters
    ----------
    labels
        ``(n_labels,)`` in class order.
    confusions
        ``(n_judges, n_labels, n_labels)``, or ``(n_labels, n_labels)`` of one judge: the
        probability of each observed label (last axis) given each true label.
    titles
        ``(n_judges,)``, such as the judges' names.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    matrices = numbers(confusions)
    if matrices.ndim == 2:
        matrices = matrices[None]
    if matrices.size == 0:
        return drawing.nothing_svg("confusion", "no judge has a confusion matrix")
    if matrices.shape != (len(titles), len(labels), len(labels)):
        raise ValueError(
            f"confusions of shape {matrices.shape} for {len(titles)} titles, {len(labels)} labels"
        )
    k = min(len(labels), MOST_LABELS)
    n = min(len(titles), MOST_JUDGES, max(1, MOST_POINTS // k**2))
    matrices = matrices[:n, :k, :k].clip(0, 1)
    notes = ["Probability of each observed label (column) given the true label (row)."]
    if k < len(labels):
        notes.append(f"The first {k} of {len(labels):,} classes are drawn.")
    if n < len(titles):
        notes.append(f"The first {n} of {len(titles):,} judges are drawn.")
    if np.isnan(matrices).any():
        notes.append("Empty cells have no value.")
    names = [short(label, 12) for label in labels[:k]]
    longest = px_of(*names, size=SMALL)
    room = drawing.NARROWEST - 44 - longest
    side = min(room - 24, max(40.0 * k, 110.0))
    across = max(1, min(n, int(room // (side + 24))))
    with drawing.new_plot(
        "confusion", side, side, f"Confusion matrices of {n} judges over {k} classes",
        margins=(44 + longest, 24, 30, 40 + longest), across=across, down=ceil(n / across),
        gaps=(24, 40), notes=notes,
    ) as plot:  # fmt: skip
        every = ceil(12 * k / side)
        for position, ax in enumerate(plot.panels.flat):
            if position >= n:
                ax.set_axis_off()
                continue
            ax.set_title(short(titles[position], side / 8), gid="title")
            drawing.draw_cells(ax, matrices[position], "Blues", _numbers if k <= NUMBERED else None)
            is_first, is_last = position % across == 0, position + across >= n
            ax.set_yticks(range(0, k, every), names[::every] if is_first else [])
            ax.set_xticks(
                range(0, k, every), names[::every] if is_last else [], rotation=90,
                rotation_mode="anchor", ha="right", va="center",
            )  # fmt: skip
            drawing.name_ticks(ax, "x", "column")
            drawing.name_ticks(ax, "y", "row")
            ax.set_ylabel("true label" if is_first else "")
            ax.set_xlabel("observed label" if is_last else "")
        return plot.svg()


def _numbers(probability: float) -> str:
    text = f"{probability:.2f}"
    return {"0.00": "0", "1.00": "1"}.get(text, text[1:])
