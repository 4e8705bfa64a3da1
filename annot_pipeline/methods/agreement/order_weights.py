"""Weights under which both orders of two systems are as frequent.

Where one system is always shown first, that it wins says nothing of the side: the better system may
stand there. In a pair of systems that stands in both orders, the mean of both orders' shares of
wins of what is shown first does not depend on which system is better (to first order; Davidson &
Beaver 1977 model the same effect of order).
"""

from __future__ import annotations

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.numerics.distinct import renumbered


def order_weights(first: Codes, second: Codes, is_turned: Flags) -> Floats:
    """Return ``(n_comparisons,)`` weights; 0 for pairs of systems that stand in one order only.

    Both orders of a pair have the same total weight, half the harmonic mean of their numbers, so
    that a pair counts by the information that it holds on the side.

    Parameters
    ----------
    first, second
        ``(n_comparisons,)`` codes of two systems.
    is_turned
        Whether the second was shown first.
    """
    low, high = np.minimum(first, second), np.maximum(first, second)
    low_is_first = (first < second) ^ is_turned
    _, pairs = renumbered(low * (int(high.max(initial=0)) + 1) + high)
    n = [
        np.bincount(pairs, of_order, minlength=int(pairs.max(initial=-1)) + 1)
        for of_order in (~low_is_first, low_is_first)
    ]
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.stack([n[1] / (n[0] + n[1]), n[0] / (n[0] + n[1])])
    weights = shares[low_is_first.astype(np.int64), pairs]
    return np.where(first == second, 0.0, weights)
