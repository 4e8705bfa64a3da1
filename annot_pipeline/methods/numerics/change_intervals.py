"""The interval of a change between two estimates that come with their own intervals.

Each side of the change is as far from it as the two sides that make it, in squares (the method of
variance estimates recovery). Of two shares with Wilson intervals this is Newcombe's interval. The
estimates count as independent: of two releases, which share judgments, the interval is too wide
rather than too narrow.

Sources: Newcombe 1998, "Interval estimation for the difference between independent proportions",
method 10; Zou & Donner 2008, "Construction of confidence limits about effect measures", section 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Floats


@dataclass(frozen=True)
class Changes:
    """Changes ``(n_changes,)`` and the ends of their intervals."""

    change: Floats
    low: Floats
    high: Floats

    @property
    def beyond(self) -> npt.NDArray[np.bool_]:
        """Return whether the interval excludes 0; False where it is NaN."""
        is_clear: npt.NDArray[np.bool_] = (self.low > 0) | (self.high < 0)
        return is_clear


def change_intervals(
    then: npt.ArrayLike,
    then_ends: tuple[npt.ArrayLike, npt.ArrayLike],
    now: npt.ArrayLike,
    now_ends: tuple[npt.ArrayLike, npt.ArrayLike],
) -> Changes:
    """Return how far two estimates are apart.

    Parameters
    ----------
    then, now
        ``(n_changes,)`` estimates.
    then_ends, now_ends
        Lower and upper ends of their intervals; NaN: the estimate counts as exact.
    """
    before, after = np.asarray(then, np.float64), np.asarray(now, np.float64)
    change = after - before
    down = np.hypot(_distance(after, now_ends[0]), _distance(before, then_ends[1]))
    up = np.hypot(_distance(after, now_ends[1]), _distance(before, then_ends[0]))
    return Changes(change, change - down, change + up)


def _distance(estimate: Floats, end: npt.ArrayLike) -> Floats:
    return np.nan_to_num(estimate - np.asarray(end, np.float64), nan=0.0)
