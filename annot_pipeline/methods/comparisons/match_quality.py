"""Match quality: how even a comparison of two items would be.

``q = sqrt(2 gamma^2 / c^2) exp(-(M_i - M_j)^2 / (2 c^2))`` with ``c^2 = 2 gamma^2 + var_i +
var_j`` (Sakaguchi & Van Durme 2018, eqs. 11 and 23; Herbrich et al. 2006). It lies in (0, 1];
far apart it falls below the smallest double, so all work is on its logarithm.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Floats


def log_match_quality(
    score: npt.ArrayLike,
    variance: npt.ArrayLike,
    other_score: npt.ArrayLike,
    other_variance: npt.ArrayLike,
    *,
    gamma: float,
) -> Floats:
    """Return the logarithm of the match quality of items and others; shapes broadcast.

    Parameters
    ----------
    score, other_score
        Where the items stand: the mode of a Beta distribution, or a Gaussian mean.
    variance, other_variance
        How uncertain that is.
    gamma
        Skill chain, above 0, in the unit of the scores.
    """
    chain = 2 * gamma * gamma
    spread = chain + np.asarray(variance, np.float64) + np.asarray(other_variance, np.float64)
    gap = np.asarray(score, np.float64) - np.asarray(other_score, np.float64)
    return np.asarray(0.5 * np.log(chain / spread) - gap * gap / (2 * spread))


def match_quality(score: npt.ArrayLike, variance: npt.ArrayLike, *, gamma: float) -> Floats:
    """Return ``(n_items, n_items)`` match quality of all pairs, for figures of few items."""
    s, v = np.asarray(score, np.float64), np.asarray(variance, np.float64)
    return np.exp(log_match_quality(s[:, None], v[:, None], s, v, gamma=gamma))
