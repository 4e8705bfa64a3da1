"""Ranks of the common items of pairs of judges, and their correlations in resamples.

As `mean_spearman` says it: ranks are held as in the full data, so that a round is a weighted
Pearson correlation of ranks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, vstack

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.whole_numbers import WholeMatrix, WholeNumbers

FEWEST_ITEMS = 3
"""Common items below which a pair has no correlation: that of two items is 1 or -1."""

_NO_VARIANCE = 1e-12  # of n times the sum of squares: what rounding may leave of equal ranks


@dataclass(frozen=True)
class PairRanks:
    """Ranks of some pairs of judges: doubled and less their mean, so that they are whole numbers.

    Parameters
    ----------
    ones
        ``(n_pairs, n_items)`` 1 for each common item.
    moments
        ``(6 n_pairs, n_items)`` of each pair one row after the other: 1, the ranks by the first
        judge and by the second, the squares of both, the products.
    """

    ones: WholeMatrix
    moments: WholeMatrix

    @classmethod
    def from_ranks(
        cls, items: Codes, x: Floats, y: Floats, bounds: Codes, n_items: int
    ) -> PairRanks:
        """Take the items and ranks of pairs that begin and end at ``bounds (n_pairs + 1,)``."""
        shape = (bounds.size - 1, n_items)
        ones = np.ones(items.size)
        matrices = [
            csr_array((part, items, bounds), shape=shape)
            for part in (ones, x, y, x * x, y * y, x * y)
        ]
        by_pair = np.arange(6 * shape[0]).reshape(6, -1).T.ravel()
        moments = vstack(matrices, format="csr")[by_pair]
        return cls(WholeMatrix.from_sparse(matrices[0]), WholeMatrix.from_sparse(moments))

    def weighed(self, times: WholeNumbers, whether: WholeNumbers) -> Floats:
        """Return correlations by their weights, and the weights: ``(2, n_pairs, n_rounds)``.

        Of how many times each item was drawn, and whether it was.
        """
        sums = self.moments @ times
        sums = sums.reshape(-1, 6, sums.shape[1]).transpose(1, 0, 2)
        n, x, y, xx, yy, xy = sums.astype(np.float64, order="C")
        xx *= n
        yy *= n
        x_varies, y_varies = xx - x * x, yy - y * y  # whole numbers: 0 is exact below 2^53
        defined = self.ones @ whether >= FEWEST_ITEMS
        defined &= (x_varies > _NO_VARIANCE * xx) & (y_varies > _NO_VARIANCE * yy)
        with np.errstate(invalid="ignore", divide="ignore"):
            rho = (n * xy - x * y) / np.sqrt(x_varies * y_varies)
        weight = np.where(defined, n - 1, 0)
        return np.stack([np.where(defined, np.clip(rho, -1, 1), 0) * weight, weight])


def ranks_within(pairs: Codes, places: Codes) -> Floats:
    """Return twice the average ranks less their mean, within runs of equal ``pairs``."""
    starts, n = runs(pairs)
    keys = np.repeat(np.arange(n.size), n) * (int(places.max(initial=0)) + 1) + places
    order = np.argsort(keys)  # rows of a pair stay where the pair is
    ties, size = runs(keys[order])
    pair = np.repeat(np.arange(n.size), n)[ties]
    ranks = np.empty(places.size)
    ranks[order] = np.repeat(2 * (ties - starts[pair]) + size - n[pair], size)
    return ranks


def runs(keys: Codes) -> tuple[Codes, Codes]:
    """Return where each run of equal keys starts, and how long it is."""
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    return starts, np.diff(np.append(starts, keys.size))
