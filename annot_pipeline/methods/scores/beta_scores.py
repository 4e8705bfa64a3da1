"""Beta distributions as states of items: score and uncertainty.

An item's scalar score is S ~ Beta(alpha, beta) on [0, 1], alpha = beta = 1 at first. Its score
is the mode, its uncertainty the variance (Sakaguchi & Van Durme 2018, eqs. 12, 13). EASL and
bounded ranking aggregation differ only in how the parameters grow.

Assumes alpha, beta >= 1, which both keep. What rounding leaves below 1 counts as 1.
"""

from __future__ import annotations

import numpy as np

from annot_pipeline.arrays import Floats

FRESH = 1.0
"""Both parameters of an item before it is judged: uniform on [0, 1]."""

_ROUNDING = 1e-12  # what judgments add is far above it


def beta_mode(alpha: Floats, beta: Floats) -> Floats:
    """Return the mode (alpha - 1) / (alpha + beta - 2), in [0, 1] and never NaN (eq. 12).

    Reading: 0.5 while alpha + beta is 2 (up to rounding), where the paper's formula is 0 / 0.

    Parameters
    ----------
    alpha, beta
        Arrays of one shape, > 0.
    """
    above, below = np.maximum(alpha - 1.0, 0.0), np.maximum(beta - 1.0, 0.0)
    total = above + below
    judged = (total > _ROUNDING) & (np.abs(alpha + beta - 2.0) > _ROUNDING)
    mode: Floats = np.divide(above, total, out=np.full(np.shape(total), 0.5), where=judged)
    return mode


def beta_variance(alpha: Floats, beta: Floats) -> Floats:
    """Return the variance of Beta(alpha, beta) (eq. 13); arrays of one shape, > 0."""
    total = alpha + beta
    variance: Floats = alpha * beta / (total * total * (total + 1.0))
    return variance
