"""What a curve is, and how it is drawn: a line with a band, told apart by more than its colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Floats
from annot_pipeline.report.figures.base import (
    LOOKS,
    MOST_CURVES,
    SERIES,
    evenly,
    key_name,
    numbers,
    short,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_POINTS = 1_000
"""Points of a line; of more, evenly spread ones."""
EACH_MARKED, SOME_MARKED = 40, 10
"""Most points that each have a marker, and how many have one on longer lines."""


@dataclass(frozen=True)
class Curve:
    """One line of a figure.

    Parameters
    ----------
    name
        Such as the method.
    x
        ``(n_points,)`` in any order.
    y
        ``(n_points,)``; what is missing is a gap in the line.
    low, high
        ``(n_points,)`` ends of the 95% band; None, all or some, where there is none.
    """

    name: object
    x: npt.ArrayLike
    y: npt.ArrayLike
    low: npt.ArrayLike | None = None
    high: npt.ArrayLike | None = None

    def points(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return x, y and ends of the band, in the order of x.

        Raises
        ------
        ValueError
            If lengths differ.
        """
        x, y = numbers(self.x), numbers(self.y)
        low, high = (
            np.full(y.shape, np.nan) if v is None else numbers(v) for v in (self.low, self.high)
        )
        shapes = [array.shape for array in (x, y, low, high)]
        if len(set(shapes)) > 1 or y.ndim != 1:
            raise ValueError(
                f"curve {short(self.name)}: x, y, low and high have the shapes {shapes}; "
                "one length is needed"
            )
        order = np.argsort(x, kind="stable")
        order = order[~np.isnan(x[order])]
        missing = np.isnan(y[order])
        points = np.flatnonzero(~missing)
        points = points[evenly(points.size, MOST_POINTS)]
        order = order[np.union1d(points, np.flatnonzero(missing))]
        return x[order], y[order], low[order], high[order]

    @property
    def is_drawn(self) -> bool:
        """Return whether there is any point to draw."""
        return not np.isnan(self.points()[1]).all()

    @property
    def last(self) -> float:
        """Return y at the end of the line."""
        y = self.points()[1]
        return float(y[~np.isnan(y)][-1])


def draw_curves(ax: Axes, curves: Sequence[Curve]) -> None:
    """Draw all bands, then all lines over them; a legend explains lines that have points."""
    from matplotlib.ticker import MaxNLocator

    shade = 0.16 if len(curves) <= 3 else 0.1
    lines = [(*curve.points(), color) for curve, color in zip(curves, SERIES, strict=False)]
    for x, y, low, high, color in lines:
        has_band = ~np.isnan(y) & (low <= high)
        if has_band.any():
            ax.fill_between(x, low, high, where=has_band, color=(color, shade), gid="band")
            ax.vlines(x[has_band], low[has_band], high[has_band], color=(color, 0.3), linewidth=1)
    for n, (x, y, *_, color) in enumerate(lines):
        points = np.flatnonzero(~np.isnan(y))
        if points.size:
            every = 1 if points.size <= EACH_MARKED else -(-points.size // SOME_MARKED)
            ax.plot(
                x, y, LOOKS[n], color=color, linewidth=2, markersize=6, markeredgewidth=0,
                markevery=(n * every // MOST_CURVES, every), clip_on=False, gid="curve",
                label=key_name(curves[n].name),
            )  # fmt: skip
    if all((x == np.round(x)).all() for x, *_ in lines):
        ax.xaxis.set_major_locator(MaxNLocator(9, integer=True))
    ax.grid(visible=True, axis="y")
