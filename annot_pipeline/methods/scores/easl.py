"""EASL: every item is a Beta distribution that scores add to (Sakaguchi & Van Durme 2018).

An item's scalar score is S ~ Beta(alpha, beta) on [0, 1], alpha = beta = 1 at first. Its score
is the mode, its uncertainty the variance (Sakaguchi & Van Durme 2018, eqs. 12, 13). EASL and
bounded ranking aggregation differ only in how the parameters grow.

Assumes alpha, beta >= 1, which both keep. What rounding leaves below 1 counts as 1.

``S_i ~ Beta(a, b)``, at first ``a = b = 1``; a score s in [0, 1] adds s to a and 1 - s to b
(eqs. 24, 25). The score of an item is the mode, its uncertainty the variance. The state is a
sum: it does not depend on the order of judgments, and the mode is exactly their mean. An item
without scores stays at Beta(1, 1), with the score 0.5 (**Reading**: the mode is not defined
there).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.moments import sums

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


@dataclass(frozen=True, eq=False)
class EaslResult:
    """Arrays are ``(n_items,)``.

    Parameters
    ----------
    alpha, beta
        Parameters of the Beta distributions.
    score, variance
        Mode, 0 to 1, and variance.
    n
        Scores of each item.
    """

    alpha: Floats
    beta: Floats
    score: Floats
    variance: Floats
    n: Codes


def easl(items: Codes, scores: Floats, *, n_items: int) -> EaslResult:
    """Return states of the items after all scores.

    Parameters
    ----------
    items
        ``(n_scores,)`` codes of items from 0.
    scores
        ``(n_scores,)`` in [0, 1].
    n_items
        Size of the code range.

    Raises
    ------
    ValueError
        A score is outside of [0, 1], or NaN.
    """
    if not np.all((scores >= 0) & (scores <= 1)):
        raise ValueError("scores must lie in [0, 1]")
    n = np.bincount(items, minlength=n_items)
    total = sums(items, scores, n_groups=n_items)
    alpha = FRESH + total
    beta = FRESH + np.maximum(n - total, 0.0)
    with np.errstate(invalid="ignore"):
        score = np.where(n > 0, total / n, 0.5)
    return EaslResult(alpha, beta, score, beta_variance(alpha, beta), n)
