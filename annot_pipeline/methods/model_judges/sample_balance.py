"""Whether the items that people judged may be a random sample, by what a model says of all items.

Of a random sample the model's mean is that of the other items, but for chance. The two means are
compared by a t test whose variance is that of all items together, times the design effect of
clusters (Kish 1965): a sample that lacks a rare value has no variance of its own. A small p says
that the sample was chosen, and that means over it are no means over all items.

Assumes independent clusters. Degenerate input: fewer than `LEAST` items expected with either of two
values, fewer clusters on a side, or a model that always says the same, tell nothing: p is NaN.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.intervals import variance_of_mean

LEAST = 10
"""Clusters on each side, and items expected with each of two values: with fewer, means are too
skewed for a t test at small levels."""


def balance_p_value(values: Floats, is_asked: npt.NDArray[np.bool_], clusters: Codes) -> float:
    """Return the two-sided p of equal means on items asked and not asked.

    Parameters
    ----------
    values
        ``(n_items,)`` the model's; NaN where it has none.
    is_asked
        ``(n_items,)`` whether people judged the item.
    clusters
        ``(n_items,)`` codes of items that err together.

    Raises
    ------
    ValueError
        Arrays of different lengths.
    """
    if not values.size == is_asked.size == clusters.size:
        raise ValueError(f"{values.size} values, {is_asked.size} flags, {clusters.size} clusters")
    from scipy.special import stdtr

    is_known = ~np.isnan(values)
    values, is_asked, clusters = values[is_known], is_asked[is_known], clusters[is_known]
    sizes = np.bincount(is_asked, minlength=2)
    n_clusters = min(
        np.count_nonzero(np.bincount(clusters[part])) for part in (is_asked, ~is_asked)
    )
    spread = float(values.var()) if values.size else 0.0
    if n_clusters < LEAST or spread <= 0:
        return float("nan")
    low, high = values.min(), values.max()
    if ((values == low) | (values == high)).all():
        expected = sizes.min() * min(float((values == end).mean()) for end in (low, high))
        if expected < LEAST:
            return float("nan")
    clustered = variance_of_mean(values, [clusters])[0]
    design_effect = max(clustered * values.size / spread, 1.0)
    error = np.sqrt(spread * (1 / sizes).sum() * design_effect)
    difference = float(values[is_asked].mean() - values[~is_asked].mean())
    return float(2 * stdtr(n_clusters - 1.0, -abs(difference) / error))
