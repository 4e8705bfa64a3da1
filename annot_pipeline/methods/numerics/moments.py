"""Sums that are made of parts of the data, and size, mean and variance of many groups at once.

A group whose values are all equal has exactly that mean and variance 0, whatever rounding
would make of it: on that hangs who has no z-score and which test is decided by the means.
Sums are as exact as a double can say and do not depend on the order of rows: on that hangs
which segment means are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any, Self, TypeVar

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats

T = TypeVar("T")


class Additive:
    """A dataclass whose fields are added one by one; the order of adding moves last digits."""

    def __add__(self, other: Self) -> Self:
        own: Any = self
        return type(self)(
            *(getattr(self, field.name) + getattr(other, field.name) for field in fields(own))
        )


class SumsByName(dict[str, T]):
    """Sums by name; two of them hold the same names and are added name by name."""

    def __add__(self, second: SumsByName[T]) -> SumsByName[T]:
        first: dict[str, Any] = self
        return SumsByName({name: first[name] + second[name] for name in first})


def cell_sums(*codes: Codes, shape: tuple[int, ...], weights: Floats | None = None) -> Floats:
    """Return the sum of weights, or the number of rows, in each cell.

    Sums are made in the order of the rows, as by `numpy.add.at`, which takes ten times as long.

    Parameters
    ----------
    codes
        ``(n,)`` codes of the rows, one array a dimension.
    shape
        How many cells each dimension has.
    weights
        ``(n,)``; None: 1 each.
    """
    cells = np.ravel_multi_index(codes, shape) if codes[0].size else np.zeros(0, np.int64)
    sums = np.bincount(cells, weights, minlength=int(np.prod(shape)))
    return sums.astype(np.float64).reshape(shape)


ROWS = 1 << 14
"""Rows at once: what is made of them stays in a core's cache."""


@dataclass(frozen=True)
class Moments:
    """Arrays are ``(n_groups,)``; mean is NaN without values, variance (ddof 1) below two."""

    n: Codes
    mean: Floats
    variance: Floats


def moments(groups: Codes, values: Floats, *, n_groups: int) -> Moments:
    """Compute moments of ``(n_values,)`` values by codes of groups from 0."""
    extent = Extent.from_values(groups, values, n_groups=n_groups)
    firsts = FirstSums.from_values(groups, values, extent)
    squares = squares_about(groups, values, extent, firsts)
    return moments_of(extent, firsts, squares)


@dataclass(frozen=True)
class Extent:
    """What is to be known of all values of a group before they are added up; ``(n_groups,)``.

    Of blocks of values it is added up: ``n``, the ends, and whether all values are whole.
    """

    n: Codes
    low: Floats
    high: Floats
    is_whole: Flags

    @classmethod
    def from_values(cls, groups: Codes, values: Floats, *, n_groups: int) -> Extent:
        """Return the extent of the groups of a block."""
        low, high = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
        np.minimum.at(low, groups, values)
        np.maximum.at(high, groups, values)
        whole = np.ones(n_groups, np.bool_)
        whole[groups[values != np.rint(values)]] = False
        return cls(np.bincount(groups, minlength=n_groups), low, high, whole)

    def __add__(self, other: Extent) -> Extent:
        return Extent(
            self.n + other.n,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.is_whole & other.is_whole,
        )

    @property
    def largest(self) -> Floats:
        """Return how far the values are from 0; of none, 0."""
        return np.where(self.n > 0, np.maximum(self.high, -self.low), 0.0)

    @property
    def is_exact(self) -> Flags:
        """Return whether all values are whole and their sum of squares, n times, is never rounded.

        A matter of each group alone: no digit of one depends on the others.
        """
        return self.is_whole & ((self.n * self.largest) ** 2 < 2.0**53)


@dataclass(frozen=True)
class GridSums:
    """Sums ``(n_groups,)`` in two parts, of which the first is exact; of blocks they are added.

    The first part of each value lies on its group's grid, so coarse that no sum of them is
    rounded; what is left is below the grid, and its sums err by less than the last digit of
    the largest value.
    """

    coarse: Floats
    rest: Floats

    @classmethod
    def from_blocks(
        cls, blocks: Iterable[tuple[Codes, Floats]], *, n: Codes, largest: Floats
    ) -> GridSums:
        """Add up values of groups that hold ``n`` in all, none further from 0 than ``largest``."""
        exponent = np.frexp(largest)[1] + np.frexp(n.astype(np.float64))[1] - 52
        grid = np.ldexp(1.0, np.maximum(exponent, -1000))
        coarse, rest = np.zeros(n.size), np.zeros(n.size)
        for group, value in blocks:
            step = grid[group]
            on_grid = np.rint(value / step) * step
            np.add.at(coarse, group, on_grid)
            below = value - on_grid
            if below.any():  # nothing is left of whole scores
                np.add.at(rest, group, below)
        return cls(coarse, rest)

    def __add__(self, other: GridSums) -> GridSums:
        return GridSums(self.coarse + other.coarse, self.rest + other.rest)

    @property
    def total(self) -> Floats:
        """Return the sums."""
        return self.coarse + self.rest


@dataclass(frozen=True)
class FirstSums:
    """Sums of values, and of their squares where these are exact; of blocks they are added."""

    values: GridSums
    squares: Floats

    @classmethod
    def from_values(cls, groups: Codes, values: Floats, extent: Extent) -> FirstSums:
        """Return the sums of a block; ``extent`` is of all blocks."""
        exact = extent.is_exact
        rows = exact[groups]
        all_exact = bool(rows.all())
        whole = (groups, values) if all_exact else (groups[rows], values[rows])
        total, squares = (
            np.bincount(whole[0], weights=powers, minlength=exact.size).astype(np.float64)
            for powers in (whole[1], whole[1] * whole[1])
        )
        totals = GridSums(total, np.zeros(exact.size))
        if not all_exact:
            n = np.where(exact, 0, extent.n)
            other = _pieces(groups[~rows], values[~rows])
            totals += GridSums.from_blocks(other, n=n, largest=extent.largest)
        return cls(totals, squares)

    def __add__(self, other: FirstSums) -> FirstSums:
        return FirstSums(self.values + other.values, self.squares + other.squares)

    def means(self, extent: Extent) -> Floats:
        """Return the mean of each group, exactly the value where all are equal."""
        with np.errstate(invalid="ignore"):
            mean = self.values.total / extent.n
        return np.where(~extent.is_exact & (extent.low == extent.high), extent.low, mean)


def squares_about(groups: Codes, values: Floats, extent: Extent, firsts: FirstSums) -> GridSums:
    """Sum squared distances from the means, of groups whose own squares would be rounded.

    ``extent`` and ``firsts`` are of all blocks, the values those of one.
    """
    other = ~extent.is_exact
    n, mean = np.where(other, extent.n, 0), firsts.means(extent)
    with np.errstate(invalid="ignore"):
        largest_distance = np.where(n > 0, np.maximum(extent.high - mean, mean - extent.low), 0.0)
    rows = other[groups]
    pieces = _pieces(groups[rows], values[rows]) if rows.any() else ()
    away = ((group, (value - mean[group]) ** 2) for group, value in pieces)
    return GridSums.from_blocks(away, n=n, largest=largest_distance * largest_distance)


def moments_of(extent: Extent, firsts: FirstSums, squares: GridSums) -> Moments:
    """Return moments by what is added up over all values."""
    n, mean, total = extent.n, firsts.means(extent), firsts.values.total
    with np.errstate(invalid="ignore", divide="ignore"):
        exact = (n * firsts.squares - total * total) / (n * (n - 1))
        variance = np.where(extent.is_exact, exact, squares.total / (n - 1))
    return Moments(n, mean, np.where(n >= 2, variance, np.nan))


def means(groups: Codes, values: Floats, *, n_groups: int) -> Floats:
    """Return the mean of each group, ``(n_groups,)``; NaN without values."""
    n = np.bincount(groups, minlength=n_groups)
    with np.errstate(invalid="ignore"):
        quotients: Floats = sums(groups, values, n_groups=n_groups) / n
    return quotients


def sums(groups: Codes, values: Floats, *, n_groups: int) -> Floats:
    """Return the sum of each group, ``(n_groups,)``, as `GridSums` has it."""
    largest = np.zeros(n_groups)
    np.maximum.at(largest, groups, np.abs(values))
    n = np.bincount(groups, minlength=n_groups)
    return GridSums.from_blocks(_pieces(groups, values), n=n, largest=largest).total


def _pieces(groups: Codes, values: Floats) -> Iterator[tuple[Codes, Floats]]:
    """Yield rows in their order, some at a time."""
    for start in range(0, values.size, ROWS):
        rows = slice(start, start + ROWS)
        yield groups[rows], values[rows]
