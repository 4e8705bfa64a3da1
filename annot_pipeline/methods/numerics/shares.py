"""Shares: Wilson's score interval of one, and whether several differ beyond chance.

Source: Wilson 1927; recommended for small counts by Brown, Cai & DasGupta 2001.

Model: group g has ``n_yes[g]`` of ``n[g]``, all with one probability. Pearson's (1900) chi-squared
test of homogeneity where all expected counts are 5 or more (Cochran 1954); else the exact
conditional distribution given both margins, the multivariate hypergeometric, by draws from it.
Answers are taken as independent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Floats

Z = 1.959963984540054
"""97.5th percentile of the normal distribution."""


def wilson_interval(n_right: npt.ArrayLike, n: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return the 95% interval of ``n_right`` of ``n``; NaN where ``n`` is 0.

    Parameters
    ----------
    n_right, n
        ``(n_shares,)`` counts.

    Raises
    ------
    ValueError
        More right than there are, or less than none.
    """
    right, size = np.asarray(n_right, np.float64), np.asarray(n, np.float64)
    if ((right < 0) | (right > size)).any():
        raise ValueError("n_right must be from 0 to n")
    some = size > 0
    count = np.where(some, size, 1.0)
    share = right / count
    middle = (share + Z**2 / (2 * count)) / (1 + Z**2 / count)
    half = Z * np.sqrt(share * (1 - share) / count + Z**2 / (4 * count**2)) / (1 + Z**2 / count)
    low = np.where(right > 0, np.maximum(middle - half, 0.0), 0.0)
    high = np.where(right < size, np.minimum(middle + half, 1.0), 1.0)
    return np.where(some, low, np.nan), np.where(some, high, np.nan)


LEAST_EXPECTED = 5
"""Expected count from which on the chi-squared distribution is close enough."""
DRAWS = 9_999


@dataclass(frozen=True)
class ShareDifference:
    """The largest difference of shares, and a test of all.

    Parameters
    ----------
    lowest, highest
        Positions of the groups with the lowest and the highest share.
    difference
        Highest minus lowest share.
    p_value
        Of equal shares; 1 if all shares are equal.
    """

    lowest: int
    highest: int
    difference: float
    p_value: float


def share_difference(n_yes: npt.ArrayLike, n: npt.ArrayLike, *, seed: int = 17) -> ShareDifference:
    """Return the largest difference between shares, and whether shares differ beyond chance.

    Parameters
    ----------
    n_yes, n
        ``(n_groups,)`` counts, at least one group; every ``n`` is above 0.
    seed
        Of the draws.

    Raises
    ------
    ValueError
        There is no group, an ``n`` is 0, or ``n_yes`` is not from 0 to ``n``.
    """
    yes, size = np.asarray(n_yes, np.int64), np.asarray(n, np.int64)
    if not size.size or (size <= 0).any() or (yes < 0).any() or (yes > size).any():
        raise ValueError("n_yes must be from 0 to n, and n above 0")
    share = yes / size
    lowest = int(np.lexsort((-size, share))[0])
    highest = int(np.lexsort((-size, -share))[0])
    difference = float(share[highest] - share[lowest])
    return ShareDifference(lowest, highest, difference, _p_value(yes, size, seed))


def _p_value(yes: npt.NDArray[np.int64], size: npt.NDArray[np.int64], seed: int) -> float:
    n, n_yes = int(size.sum()), int(yes.sum())
    if n_yes in (0, n) or size.size == 1:
        return 1.0
    expected = size * (n_yes / n)
    weight = 1 / expected + 1 / (size - expected)

    def statistic(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        return np.asarray(((counts - expected) ** 2 * weight).sum(axis=-1))

    if min(expected.min(), (size - expected).min()) >= LEAST_EXPECTED:
        from scipy.special import chdtrc

        return float(chdtrc(size.size - 1, statistic(yes)))
    draws = np.random.default_rng(seed).multivariate_hypergeometric(
        size, n_yes, DRAWS, method="marginals"
    )
    at_least = statistic(draws) >= statistic(yes) * (1 - 1e-9)
    return (1 + int(at_least.sum())) / (1 + DRAWS)
