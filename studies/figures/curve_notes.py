"""What figures of curves in studies say and draw beside the curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from annot_pipeline.errors import counted
from annot_pipeline.report.figures.base import INK, numbers, short
from studies.figures.curves import MOST_POINTS, Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def notes_on(curves: Sequence[Curve], inside: str = "") -> Iterator[str]:
    """Yield what is not drawn of these curves, of the figure or of a panel of it."""
    for curve in curves:
        n, missing = np.size(curve.y), int(np.isnan(numbers(curve.y)).sum())
        if missing:
            points, name = counted(missing, "point"), short(curve.name)
            yield f"Not drawn, without a value: {points} of {name}{inside}."
        if n - missing > MOST_POINTS:
            yield f"At most {MOST_POINTS:,} points of a line are drawn, evenly spread{inside}."


def draw_zero(ax: Axes) -> None:
    """Draw a line where y is 0, if that is inside."""
    low, high = ax.get_ylim()
    if low < 0 < high:
        ax.axhline(0, color=(INK, 0.4), linewidth=1, zorder=0.7)
