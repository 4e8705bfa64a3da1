"""Comparisons of systems as counts by pair, and the counts of bootstrap rounds.

All that wins, ties and losses of pairs decide (shares of wins, Bradley-Terry) needs no more than
three counts a pair. What is drawn again is a unit: a ranking, a judge, or a segment, with all of
its comparisons, for the errors of one unit are not independent. The counts of a round are the
counts of units (sparse) times how often each was drawn. Where every unit is one comparison, a
round is one multinomial draw of the counts instead, whatever the number of comparisons.

Rounds come in pieces of bounded memory. Counts are whole numbers, so sums have no rounding and
depend on nothing but the draws.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.comparisons.waves import checked
from annot_pipeline.methods.numerics.bootstrap import ItemResamples
from annot_pipeline.methods.numerics.distinct import distinct, places

AT_ONCE = 4_000_000
"""Counts and weights of units held at once."""


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Counts of all rounds or of the data itself; ``(n_rounds, n_pairs)`` whole numbers.

    Parameters
    ----------
    wins
        Wins of the pair's first system.
    ties
        Ties.
    losses
        Wins of the pair's second system.
    """

    wins: Floats
    ties: Floats
    losses: Floats

    @property
    def n(self) -> Floats:
        """Return comparisons."""
        return self.wins + self.ties + self.losses

    def take(self, rounds: npt.NDArray[np.bool_] | slice) -> PairCounts:
        """Return some of the rounds."""
        return PairCounts(self.wins[rounds], self.ties[rounds], self.losses[rounds])


@dataclass(frozen=True, eq=False)
class ComparisonCounts:
    """Pairs of systems that were compared, by codes, and their counts.

    Parameters
    ----------
    n_systems
        Size of the code range.
    first, second
        ``(n_pairs,)`` codes, first < second.
    counts
        Of the data itself: one round.
    n_units
        Units to draw from.
    """

    n_systems: int
    first: Codes
    second: Codes
    counts: PairCounts
    n_units: int
    _by_unit: csr_array | None  # (3 n_pairs, n_units); None: each unit is one comparison

    def resampled(
        self, rounds: int, rng: np.random.Generator, *, counts_at_once: int = AT_ONCE
    ) -> Iterator[PairCounts]:
        """Draw ``n_units`` units with replacement, ``rounds`` times; some rounds at a time.

        ``counts_at_once`` bounds the counts and weights of units held at once.
        """
        n_cells = 3 * self.first.size
        if not self.n_units:
            return
        n_counts = max(n_cells, 1 if self._by_unit is None else self.n_units)
        width = max(1, counts_at_once // n_counts)
        if self._by_unit is None:
            of_data = _cells(self.counts)
            for start in range(0, rounds, width):
                size = min(width, rounds - start)
                times = rng.multinomial(self.n_units, of_data / self.n_units, size=size)
                yield _pairs(times)
            return
        chunks = ItemResamples.draw(self.n_units, rounds, rng).chunks(width)
        next(chunks)  # the data itself
        for weights in chunks:
            yield _pairs((self._by_unit @ weights).T)


def count_comparisons(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    outcome: npt.ArrayLike,
    unit: npt.ArrayLike,
    *,
    n_systems: int,
) -> ComparisonCounts:
    """Count comparisons by pair and by unit.

    Parameters
    ----------
    first, second
        ``(n_comparisons,)`` codes of systems from 0.
    outcome
        ``(n_comparisons,)``: 1 the first wins, 0 tie, -1 the second wins.
    unit
        ``(n_comparisons,)`` whole numbers: what is drawn together.
    n_systems
        Size of the code range.

    Raises
    ------
    ValueError
        A code or an outcome outside its range, a system against itself.
    """
    one, other, outcome = checked(first, second, outcome, n_items=n_systems)
    # codes and outcome as one number: what follows looks at the distinct ones only
    numbers = one * n_systems
    numbers += other
    numbers *= 3
    numbers += outcome + 1
    kinds, times = distinct(numbers)
    sides, outcome = np.divmod(kinds, 3)
    one, other = np.divmod(sides, max(n_systems, 1))
    keys, pair = np.unique(
        np.minimum(one, other) * n_systems + np.maximum(one, other), return_inverse=True
    )
    low_pair, high_pair = np.divmod(keys, max(n_systems, 1))
    cell = 3 * pair.reshape(-1) + np.where(one < other, 2 - outcome, outcome)
    n_cells = 3 * keys.size
    unit = np.asarray(unit, np.int64)
    units, _ = distinct(unit)
    by_unit = None
    if units.size < numbers.size:
        rows = cell[places(numbers, kinds)], places(unit, units)
        by_unit = csr_array((np.ones(numbers.size), rows), shape=(n_cells, units.size))
        by_unit.sum_duplicates()
    counts = np.bincount(cell, times, minlength=n_cells)
    return ComparisonCounts(
        n_systems, low_pair, high_pair, _pairs(counts[None, :]), units.size, by_unit
    )


def _cells(counts: PairCounts) -> Floats:
    """Return ``(3 n_pairs,)`` of one round: wins, ties and losses of a pair side by side."""
    return np.stack([counts.wins[0], counts.ties[0], counts.losses[0]], axis=1).reshape(-1)


def _pairs(cells: Floats | Codes) -> PairCounts:
    """Return cells ``(n_rounds, 3 n_pairs)`` by kind."""
    return PairCounts(*(cells[:, kind::3].astype(np.float64, order="C") for kind in range(3)))
