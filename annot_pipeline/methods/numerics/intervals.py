"""Intervals of changes between two estimates, and variances of means of clustered values.

Each side of the change is as far from it as the two sides that make it, in squares (the method of
variance estimates recovery). Of two shares with Wilson intervals this is Newcombe's interval. The
estimates count as independent: of two releases, which share judgments, the interval is too wide
rather than too narrow.

Sources: Newcombe 1998, "Interval estimation for the difference between independent proportions",
method 10; Zou & Donner 2008, "Construction of confidence limits about effect measures", section 2.

Source: Cameron, Gelbach & Miller 2011, "Robust Inference With Multiway Clustering", eq. 2.8: the
variance by clusters of the first kind, plus that of the second, less that of both together; here at
least the mean of the two, as in rankings. Sums over C clusters are corrected by C / (C - 1).

Degenerate input: one cluster has no variance (NaN).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats


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


def variance_of_mean(
    values: Floats, clusters: Sequence[Codes], *, second_values: Floats | None = None
) -> tuple[float, int]:
    """Return the variance of a mean by clusters, and the smallest number of clusters.

    Parameters
    ----------
    values
        ``(n,)`` what the mean is taken of, or its influence values.
    clusters
        None, one or two ``(n,)`` codes; without, each value is a cluster of its own.
    second_values
        ``(n,)`` in place of values in clusters of the second kind, and of both: where a value is of
        two clusters of that kind, as the agreement of two judges is.
    """
    deviations = values - values.mean()
    if not clusters:
        return _clustered(deviations, np.arange(values.size))
    second = deviations if second_values is None else second_values - second_values.mean()
    kinds = [
        _clustered(own, codes) for own, codes in zip((deviations, second), clusters, strict=False)
    ]
    n_clusters = min(n for _, n in kinds)
    if len(kinds) == 1:
        return kinds[0][0], n_clusters
    total = kinds[0][0] + kinds[1][0]
    both = np.unique(np.stack(clusters), axis=1, return_inverse=True)[1].reshape(-1)
    return max(total - _clustered(second, both)[0], total / 2), n_clusters


def _clustered(deviations: Floats, codes: Codes) -> tuple[float, int]:
    sums = np.bincount(np.unique(codes, return_inverse=True)[1].reshape(-1), deviations)
    n_clusters = sums.size
    if n_clusters < 2:
        return float("nan"), n_clusters
    correction = n_clusters / (n_clusters - 1)
    return float(sums @ sums) * correction / deviations.size**2, n_clusters
