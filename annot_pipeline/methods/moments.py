"""Size, mean and variance of many groups at once, in two passes; of whole scores in one.

A group whose values are all equal has exactly that mean and variance 0, whatever rounding
would make of it: on that hangs who has no z-score and which test is decided by the means.
Sums are as exact as a double can say and do not depend on the order of rows: on that hangs
which segment means are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
ROWS = 1 << 14
"""Rows at once: what is made of them stays in a core's cache."""


@dataclass(frozen=True)
class Moments:
    """Arrays are ``(n_groups,)``; mean is NaN without values, variance (ddof 1) below two."""

    n: Codes
    mean: Floats
    variance: Floats


def moments(groups: Codes, values: Floats, *, n_groups: int) -> Moments:
    """Moments of ``(n_values,)`` values by codes of groups from 0."""
    n = np.bincount(groups, minlength=n_groups)
    exact = _squares_are_exact(groups, values, n)
    rows = exact[groups]
    if rows.all():
        return _moments_of_whole(groups, values, n)
    whole = _moments_of_whole(groups[rows], values[rows], np.where(exact, n, 0))
    other = _moments_in_two_passes(groups[~rows], values[~rows], np.where(exact, 0, n))
    mean = np.where(exact, whole.mean, other.mean)
    return Moments(n, mean, np.where(exact, whole.variance, other.variance))


def _moments_in_two_passes(groups: Codes, values: Floats, n: Codes) -> Moments:
    """Moments from the means, and then from what lies how far from them."""
    n_groups = n.size
    first = np.zeros(n_groups)
    first[groups[::-1]] = values[::-1]
    low, high = first.copy(), first.copy()
    with np.errstate(invalid="ignore", divide="ignore"):
        np.minimum.at(low, groups, values)
        np.maximum.at(high, groups, values)
        total = _sums(_blocks(groups, values), n, np.maximum(high, -low))
        mean = np.where((low != high) | (n == 0), total / n, first)
        apart = np.where(n > 0, np.maximum(high - mean, mean - low), 0.0)
        away = ((group, (value - mean[group]) ** 2) for group, value in _blocks(groups, values))
        squares = _sums(away, n, apart * apart)
        variance = np.where(n >= 2, squares / (n - 1), np.nan)
    return Moments(n, mean, variance)


def _squares_are_exact(groups: Codes, values: Floats, n: Codes) -> npt.NDArray[np.bool_]:
    """Groups of whole values whose sum of squares, n times, is never rounded: ``(n_groups,)``.

    A matter of each group alone: no digit of one depends on the others.
    """
    largest = np.zeros(n.size)
    np.maximum.at(largest, groups, np.abs(values))
    exact = (n * largest) ** 2 < 2.0**53
    exact[groups[values != np.rint(values)]] = False
    return np.asarray(exact)


def _moments_of_whole(groups: Codes, values: Floats, n: Codes) -> Moments:
    """Moments from sums of whole numbers, in one pass: nothing is rounded before the division."""
    total = np.bincount(groups, weights=values, minlength=n.size)
    squares = np.bincount(groups, weights=values * values, minlength=n.size)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = np.where(n >= 2, (n * squares - total * total) / (n * (n - 1)), np.nan)
        return Moments(n, total / n, variance)


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
    return _sums(_blocks(groups, values), np.bincount(groups, minlength=n_groups), largest)


def _sums(blocks: Iterable[tuple[Codes, Floats]], n: Codes, largest: Floats) -> Floats:
    """Sums of groups of ``n`` values, of which none is further from 0 than the ``largest``."""
    exponent = np.frexp(largest)[1] + np.frexp(n.astype(np.float64))[1] - 52
    grid = np.ldexp(1.0, np.maximum(exponent, -1000))
    first, rest = np.zeros(n.size), np.zeros(n.size)
    for group, value in blocks:
        step = grid[group]
        coarse = np.rint(value / step) * step
        np.add.at(first, group, coarse)
        below = value - coarse
        if below.any():  # nothing is left of whole scores
            np.add.at(rest, group, below)
    return first + rest


def _blocks(groups: Codes, values: Floats) -> Iterator[tuple[Codes, Floats]]:
    """Rows in their order, some at a time."""
    for start in range(0, values.size, ROWS):
        yield groups[start : start + ROWS], values[start : start + ROWS]
