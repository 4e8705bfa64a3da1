"""Bootstrap over items and over segments: percentile intervals from resamples.

An item is drawn with everything that was said of it, as judgments of one item are not
independent. A resample is a vector of weights (how often each item was drawn), so a statistic
that is made of sums over items is computed for many resamples at once: sums = stats @ weights.
Every statistic of one call sees the same resamples.

Source: Efron & Tibshirani 1993, "An introduction to the bootstrap", chapter 13 (percentile
interval). Rounds in which a statistic is undefined are left out of its interval.

A round draws as many segments as there are, with replacement, the same ones for all systems; a
system's score is the mean over the segments drawn. Sums run through sparse products, whose order
does not depend on the number of threads.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, csr_matrix

from annot_pipeline.arrays import Codes, Floats

Counts = npt.NDArray[np.int16]
Rng = np.random.Generator | int

_BUDGET = 4_000_000  # floats in the work arrays of one chunk of rounds: 32 MB
_WIDEST = 32  # rounds in one chunk: wider ones only leave the cache
CELLS = 100_000
"""Items by rounds whose values are computed at once: 800 kB."""
MOST_KEPT = 50_000_000
"""Items by rounds kept once they are drawn: 100 MB."""
DRAWN_AT_ONCE = 100_000
"""Items drawn at once, in whole rounds."""


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
    def from_replicates(cls, replicates: Floats) -> Estimate:
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
    sizes
        ``(rounds,)`` items in each draw, where it is not all.
    most_kept
        Items by rounds up to which all rounds are kept once they are drawn.
    drawn_at_once
        Items drawn at once, in whole rounds.
    """

    n_items: int
    rounds: int
    seed: tuple[int, ...]
    sizes: npt.NDArray[np.int64] | None = None
    most_kept: int = MOST_KEPT
    drawn_at_once: int = DRAWN_AT_ONCE

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

    def split(self, n_items: Sequence[int]) -> list[ItemResamples]:
        """Return resamples that are drawn block by block of items, ``n_items`` each.

        How many of a draw fall on each block is drawn first (multinomial), then which: together
        they are resamples of all items, but others than those that are drawn at once.
        """
        shares = np.asarray(n_items) / max(self.n_items, 1)
        sizes = np.random.default_rng(self.seed).multinomial(self.n_items, shares, self.rounds)
        return [
            replace(self, n_items=n, seed=(*self.seed, block), sizes=sizes[:, block])
            for block, n in enumerate(n_items)
        ]

    def counts(self, width: int) -> Iterator[Counts]:
        """Yield how often each item was drawn, ``(n_items, up to width)``.

        First comes a column of ones: the data itself. It is a chunk of its own, so that no value
        depends on the number of rounds. 16 bits hold any count that is met: that an item is
        drawn 32,768 times has no chance that a double could say.
        """
        yield np.ones((self.n_items, 1), np.int16)
        rng = np.random.default_rng(self.seed)
        if not self.n_items:
            return
        stored = self._kept
        for start in range(0, self.rounds, width):
            stop = min(start + width, self.rounds)
            part = self._draw(rng, start, stop) if stored is None else stored[start:stop]
            yield np.ascontiguousarray(part.T)

    def chunks(self, width: int) -> Iterator[Floats]:
        """Yield the same as weights, to be multiplied with what is no whole number."""
        for counts in self.counts(width):
            yield counts.astype(np.float64)

    @cached_property
    def _kept(self) -> Counts | None:
        """Return all rounds, ``(rounds, n_items)``, for who reads them again.

        None if they are many.
        """
        if self.rounds * self.n_items > self.most_kept:
            return None
        return self._draw(np.random.default_rng(self.seed), 0, self.rounds)

    def _draw(self, rng: np.random.Generator, first: int, end: int) -> Counts:
        """Draw the next rounds, ``(n_rounds, n_items)``: one after the other from the stream."""
        n, times = self.n_items, np.empty((end - first, self.n_items), np.int16)
        sizes = np.full(end - first, n) if self.sizes is None else self.sizes[first:end]
        code = np.int32 if n < 2**31 else np.int64  # the same draws
        step = max(self.drawn_at_once // n, 1)
        for start in range(0, end - first, step):
            part = times[start : start + step]
            ends = np.cumsum([0, *sizes[start : start + step]], dtype=code)
            items = rng.integers(n, size=ends[-1], dtype=code)
            # a sparse array of ones that are added up where they fall on one place
            csr_array((np.ones(items.size, np.int16), items, ends), part.shape).toarray(out=part)
        return times


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
    chunks = resamples.chunks(_width(floats_per_round))
    return np.concatenate([statistics(chunk) for chunk in chunks], axis=1)


def replicate_counts(
    statistics: Callable[..., Floats],
    resamples: ItemResamples,
    *,
    floats_per_round: int,
    round_values: Floats | None = None,
) -> Floats:
    """Compute statistics as `replicate` does, with the weights as whole numbers.

    ``round_values`` are values ``(n, 1 + rounds)``; the statistics get those of their rounds.
    """
    chunks: list[Floats] = []
    done = 0
    for counts in resamples.counts(_width(floats_per_round)):
        rounds = slice(done, done + counts.shape[1])
        chunks.append(
            statistics(counts, *([] if round_values is None else [round_values[:, rounds]]))
        )
        done = rounds.stop
    return np.concatenate(chunks, axis=1)


def all_rounds(block_sums: Floats, resamples: ItemResamples) -> Floats:
    """Repeat the sums of a block without items, which has no resamples, for every round."""
    return block_sums if resamples.n_items else np.repeat(block_sums, 1 + resamples.rounds, axis=1)


def _width(floats_per_round: int) -> int:
    return min(max(_BUDGET // max(floats_per_round, 1), 1), _WIDEST)


def weighted(per_item: Floats | npt.NDArray[np.int64], weights: Floats) -> Floats:
    """Return sums of items' values ``(n_items,)`` in each resample, ``(n_rounds,)``."""
    # not matmul: its sums depend on the number of threads
    total: Floats = np.einsum("i,ir->r", per_item.astype(np.float64), weights)
    return total


def weighted_cells(
    values: Callable[[slice], Floats],
    weights: Floats,
    scale: Floats | None = None,
    *,
    cells_at_once: int = CELLS,
) -> Floats:
    """Return sums over items of weights times values of item and round, ``(n_rounds,)``.

    Items are taken in steps, whose values stay in the cache, and added one after the other: the
    steps change no digit.

    Parameters
    ----------
    values
        From some items to their values ``(n_some, n_rounds)``, an array that may be changed.
    weights
        ``(n_items, n_rounds)``.
    scale
        ``(n_items,)`` factors besides; None for none.
    cells_at_once
        Items by rounds whose values are computed at once.
    """
    (n, width), factors = weights.shape, () if scale is None else (scale,)
    if width == 1:  # a column alone is added in another order, by parts
        how = "ir,ir->r" if scale is None else "ir,ir,i->r"
        return np.asarray(np.einsum(how, weights, values(slice(0, n)), *factors))
    total, step = np.zeros(width), max(cells_at_once // width, 1)
    for start in range(0, n, step):
        items = slice(start, start + step)
        part = values(items)
        part *= weights[items]
        for factor in factors:
            part *= factor[items, None]
        part[0] += total
        total = part.sum(axis=0)
    return total


def ratios(sums: Floats, counts: Floats) -> Floats:
    """Return sums over counts of one shape; NaN where nothing was counted."""
    some = counts > 0
    return np.where(some, sums / np.where(some, counts, 1.0), np.nan)


MEANS_DRAWN_AT_ONCE = 2_000_000
"""Draws of segments, over rounds, held at once."""


@dataclass(frozen=True, eq=False)
class SegmentScores:
    """Scores of one method: codes of systems and segments, and scores; ``(n_cells,)`` each."""

    systems: Codes
    segments: Codes
    scores: Floats

    def same_cells(self, other: SegmentScores) -> bool:
        """Return whether both scored the same segments of the same systems, in one order."""
        return np.array_equal(self.systems, other.systems) and np.array_equal(
            self.segments, other.segments
        )


def resample_segments(
    methods: Sequence[SegmentScores],
    *,
    n_systems: int,
    n_segments: int,
    rounds: int,
    rng: np.random.Generator,
    drawn_at_once: int = MEANS_DRAWN_AT_ONCE,
) -> list[Floats]:
    """Return system scores by method, each ``(rounds, n_systems)``, from the same draws.

    NaN where none of a system's segments is drawn. ``drawn_at_once`` bounds the draws held at once;
    it changes no number.
    """
    shape = n_systems, n_segments
    sums = [
        csr_matrix((method.scores, (method.systems, method.segments)), shape) for method in methods
    ]
    replicates = [np.empty((rounds, n_systems)) for _ in methods]
    alike = [
        next(k for k, method in enumerate(methods) if method.same_cells(own)) for own in methods
    ]
    counts = {
        k: csr_matrix((np.ones(method.scores.size), (method.systems, method.segments)), shape)
        for k, method in enumerate(methods)
        if k in alike
    }
    start = 0
    for times in _draws(n_segments, rounds, rng, drawn_at_once):
        some = slice(start, start := start + times.shape[1])
        n_drawn = {k: matrix @ times for k, matrix in counts.items()}
        for scores, own, k in zip(replicates, sums, alike, strict=True):
            scores[some] = _ratio(own @ times, n_drawn[k]).T
    return replicates


def _draws(
    size: int, rounds: int, rng: np.random.Generator, drawn_at_once: int
) -> Iterator[Floats]:
    """Yield how often each of ``size`` is drawn, ``(size, rounds)``, in bounded pieces."""
    at_once = max(1, drawn_at_once // max(size, 1))
    for start in range(0, rounds, at_once):
        n = min(at_once, rounds - start)
        # a row a round, turned at the end: a column at a time would be scattered writes
        times = np.empty((n, size), np.int32)
        for row in times:
            row[:] = np.bincount(rng.integers(size, size=size), minlength=size)
        yield times.T.astype(np.float64, order="C")


def _ratio(sums: Any, counts: Any) -> Floats:  # products of sparse matrices
    with np.errstate(invalid="ignore"):
        return np.where(counts > 0, sums / counts, np.nan)


def seed_of_name(name: str) -> int:
    """Return the random seed of a name."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big")


@dataclass(frozen=True)
class BootstrapRounds:
    """Holds the number of rounds and the seed; each statistic has draws of its own."""

    task: str
    rounds: int
    seed: int

    def arguments(self, statistic: str) -> dict[str, Any]:
        """Return ``rounds`` and ``rng``, the keyword arguments of bootstrap methods."""
        rng = np.random.default_rng([self.seed, seed_of_name(f"{self.task}\x1f{statistic}")])
        return {"rounds": self.rounds, "rng": rng}
