"""Size, mean and variance of many groups at once, in two passes.

A group whose values are all equal has exactly that mean and variance 0, whatever rounding
would make of it: on that hangs who has no z-score and which test is decided by the means.
Sums are as exact as a double can say and do not depend on the order of rows: on that hangs
which segment means are equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Moments:
    """Arrays are ``(n_groups,)``; mean is NaN without values, variance (ddof 1) below two."""

    n: Codes
    mean: Floats
    variance: Floats


def moments(groups: Codes, values: Floats, *, n_groups: int) -> Moments:
    """Moments of ``(n_values,)`` values by codes of groups from 0."""
    n = np.bincount(groups, minlength=n_groups)
    first = np.zeros(n_groups)
    first[groups[::-1]] = values[::-1]
    varies = np.bincount(groups[values != first[groups]], minlength=n_groups) > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(varies | (n == 0), sums(groups, values, n_groups=n_groups) / n, first)
        squares = sums(groups, (values - mean[groups]) ** 2, n_groups=n_groups)
        variance = np.where(n >= 2, squares / (n - 1), np.nan)
    return Moments(n, mean, variance)


def means(groups: Codes, values: Floats, *, n_groups: int) -> Floats:
    """Mean of each group, ``(n_groups,)``; NaN without values."""
    n = np.bincount(groups, minlength=n_groups)
    with np.errstate(invalid="ignore"):
        found: Floats = sums(groups, values, n_groups=n_groups) / n
    return found


def sums(groups: Codes, values: Floats, *, n_groups: int) -> Floats:
    """Sum of each group, ``(n_groups,)``: in two parts, of which the first is exact.

    The first part of each value lies on its group's grid, so coarse that no sum of them is
    rounded; what is left is below the grid, and its sums err by less than the last digit of
    the largest value.
    """
    largest = np.zeros(n_groups)
    np.maximum.at(largest, groups, np.abs(values))
    n = np.bincount(groups, minlength=n_groups)
    exponent = np.frexp(largest)[1] + np.frexp(n.astype(np.float64))[1] - 52
    grid = np.ldexp(1.0, np.maximum(exponent, -1000))[groups]
    coarse = np.rint(values / grid) * grid
    first = np.bincount(groups, weights=coarse, minlength=n_groups)
    rest = np.bincount(groups, weights=values - coarse, minlength=n_groups)
    return np.asarray(first + rest)
