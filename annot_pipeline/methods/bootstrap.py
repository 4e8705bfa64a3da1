"""Bootstrap over items: percentile intervals from resampled items.

An item is drawn with everything that was said of it, as judgments of one item are not
independent. A resample is a vector of weights (how often each item was drawn), so a statistic
that is made of sums over items is computed for many resamples at once: sums = stats @ weights.
Every statistic of one call sees the same resamples.

Source: Efron & Tibshirani 1993, "An introduction to the bootstrap", chapter 13 (percentile
interval). Rounds in which a statistic is undefined are left out of its interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Rng = np.random.Generator | int

_BUDGET = 4_000_000  # floats in the work arrays of one chunk of rounds: 32 MB
_WIDEST = 32  # rounds in one chunk: wider ones only leave the cache


@dataclass(frozen=True)
class Estimate:
    """A statistic with its 95% interval; NaN where undefined.

    Parameters
    ----------
    value
        The statistic of the data itself.
    ci_low, ci_high
        2.5th and 97.5th percentile over the rounds; NaN without rounds or without a value.
    """

    value: float
    ci_low: float
    ci_high: float

    @classmethod
    def of(cls, replicates: Floats) -> Estimate:
        """Summarise ``(1 + rounds,)`` replicates, the data itself first."""
        value, rounds = float(replicates[0]), replicates[1:]
        rounds = rounds[~np.isnan(rounds)]
        if np.isnan(value) or not rounds.size:
            return cls(value, float("nan"), float("nan"))
        low, high = np.percentile(rounds, [2.5, 97.5])
        return cls(value, float(low), float(high))


@dataclass(frozen=True)
class ItemResamples:
    """Resamples of items as weights; the same ones each time they are read.

    Parameters
    ----------
    n_items
        Items to draw from, and items in each draw.
    rounds
        Number of resamples.
    seed
        Entropy of the resamples, drawn from the caller's generator.
    """

    n_items: int
    rounds: int
    seed: tuple[int, int]

    @classmethod
    def draw(cls, n_items: int, rounds: int, rng: Rng) -> ItemResamples:
        """Take the entropy from a generator (which moves on) or a seed.

        Raises
        ------
        ValueError
            A negative number of rounds.
        """
        if rounds < 0:
            raise ValueError(f"rounds is {rounds}, allowed are 0 and more")
        first, second = np.random.default_rng(rng).integers(2**63, size=2)
        return cls(n_items, rounds, (int(first), int(second)))

    def chunks(self, width: int) -> Iterator[Floats]:
        """Yield weights ``(n_items, up to width)``, first a column of ones: the data itself.

        That column is a chunk of its own, so that no value depends on the number of rounds.
        """
        yield np.ones((self.n_items, 1))
        rng, n = np.random.default_rng(self.seed), self.n_items
        for start in range(0, self.rounds if n else 0, width):
            # a row a round, turned at the end: a column at a time would be scattered writes
            times = np.empty((min(width, self.rounds - start), n), np.int32)
            for drawn in times:
                drawn[:] = np.bincount(rng.integers(n, size=n), minlength=n)
            yield times.T.astype(np.float64, order="C")


def replicate(
    statistics: Callable[[Floats], Floats], resamples: ItemResamples, *, floats_per_round: int
) -> Floats:
    """Compute statistics of the data and of every resample.

    Parameters
    ----------
    statistics
        From weights ``(n_items, n_rounds)`` to values ``(n_statistics, n_rounds)``.
    resamples
        The rounds.
    floats_per_round
        What the statistics hold in memory for one round; sets the number of rounds at once.

    Returns
    -------
    Floats
        ``(n_statistics, 1 + rounds)``, the data itself first; without items that column only.
    """
    width = min(max(_BUDGET // max(floats_per_round, 1), 1), _WIDEST)
    return np.concatenate([statistics(chunk) for chunk in resamples.chunks(width)], axis=1)


def weighted(per_item: Floats | npt.NDArray[np.int64], weights: Floats) -> Floats:
    """Sums of items' values ``(n_items,)`` in each resample, ``(n_rounds,)``."""
    # not matmul: its sums depend on the number of threads
    total: Floats = np.einsum("i,ir->r", per_item.astype(np.float64), weights)
    return total


def ratios(sums: Floats, counts: Floats) -> Floats:
    """Sums over counts of one shape; NaN where nothing was counted."""
    some = counts > 0
    return np.where(some, sums / np.where(some, counts, 1.0), np.nan)
