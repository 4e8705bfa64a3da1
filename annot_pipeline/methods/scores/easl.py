"""EASL: every item is a Beta distribution that scores add to (Sakaguchi & Van Durme 2018).

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
from annot_pipeline.methods.scores.beta_scores import FRESH, beta_variance


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
