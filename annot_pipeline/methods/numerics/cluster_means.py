"""The variance of a mean whose values err together within clusters of one or two kinds.

Source: Cameron, Gelbach & Miller 2011, "Robust Inference With Multiway Clustering", eq. 2.8: the
variance by clusters of the first kind, plus that of the second, less that of both together; here at
least the mean of the two, as in rankings. Sums over C clusters are corrected by C / (C - 1).

Degenerate input: one cluster has no variance (NaN).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from annot_pipeline.arrays import Codes, Floats


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
