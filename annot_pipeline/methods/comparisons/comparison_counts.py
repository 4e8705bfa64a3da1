"""Comparisons of systems as counts by pair: as they were asked, in rounds, and shares of wins.

All that wins, ties and losses of pairs decide (shares of wins, Bradley-Terry) needs no more than
three counts a pair. What is drawn again is a unit: a ranking, a judge, or a segment, with all of
its comparisons, for the errors of one unit are not independent. The counts of a round are the
counts of units (sparse) times how often each was drawn. Where every unit is one comparison, a
round is one multinomial draw of the counts instead, whatever the number of comparisons.

Rounds come in pieces of bounded memory. Counts are whole numbers, so sums have no rounding and
depend on nothing but the draws.

Where several systems gave the same text, a ranking shows it once, and the judgment counts for each
system: pairs of systems tell more than anybody was asked. Collapsed, the systems that share an
output in a ranking are one output, known under all their names (WMT15, "collapsed").

- ``wins``: wins / (wins + losses), ties left out (WMT's expected wins, Bojar et al. 2013).
- ``wins_ties_half``: (wins + ties / 2) / comparisons.

Neither looks at whom a system was compared with: a system that met weak ones only looks good.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.comparisons.waves import checked
from annot_pipeline.methods.numerics.bootstrap import ItemResamples
from annot_pipeline.methods.numerics.distinct import distinct, is_new, linked_groups, places

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


@dataclass(frozen=True)
class AskedComparisons:
    """One row a comparison that was asked.

    Parameters
    ----------
    first, second
        ``(n_asked,)`` codes of outputs. An output of one item has the code of the item; a
        shared one has a code from ``n_items`` on, the same in every ranking where the same
        items share it. first < second.
    rows
        ``(n_asked,)`` a row of the table that says the same.
    reversed_
        ``(n_asked,)`` whether that row has them the other way round.
    """

    first: Codes
    second: Codes
    rows: Codes
    reversed_: Flags


def asked_comparisons(
    rankings: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    same_output: npt.ArrayLike,
    *,
    n_items: int,
) -> AskedComparisons:
    """Leave out ties of shared outputs, and count a comparison of shared outputs once.

    Parameters
    ----------
    rankings
        ``(n_comparisons,)`` codes of what was judged at once.
    first, second
        ``(n_comparisons,)`` codes of items, from 0.
    same_output
        ``(n_comparisons,)`` whether both items are one output.
    n_items
        Size of the code range.

    Raises
    ------
    ValueError
        Arrays of different lengths, a code outside its range.
    """
    ranking, one, other = (np.asarray(column, np.int64) for column in (rankings, first, second))
    same = np.asarray(same_output, np.bool_)
    if ranking.ndim != 1 or not ranking.shape == one.shape == other.shape == same.shape:
        raise ValueError("rankings, first, second and same_output must be 1-d and of one length")
    both = np.concatenate([one, other])
    if both.size and not 0 <= both.min() <= both.max() < n_items:
        raise ValueError(
            f"items hold codes {both.min()} to {both.max()}, allowed are 0 to {n_items - 1}"
        )
    # a node is an item in a ranking
    nodes, places = np.unique(np.tile(ranking, 2) * n_items + both, return_inverse=True)
    one_node, other_node = places.reshape(2, -1)
    output = _outputs(nodes % max(n_items, 1), one_node[same], other_node[same], n_items)
    ends = np.stack([output[one_node], output[other_node]])
    candidates = np.flatnonzero(~same)
    low, high = ends[:, candidates].min(axis=0), ends[:, candidates].max(axis=0)
    keys = np.stack([ranking[candidates], low, high])
    order = np.lexsort((other[candidates], one[candidates], *keys[::-1]))
    chosen = np.sort(order[is_new(*keys[:, order])])
    rows = candidates[chosen]
    return AskedComparisons(low[chosen], high[chosen], rows, ends[0, rows] > ends[1, rows])


def _outputs(items: Codes, one: Codes, other: Codes, n_items: int) -> Codes:
    """Return ``(n_nodes,)`` code of the output of each node.

    An output is that of its item, or of the set of its items.
    """
    links = np.tile(np.arange(one.size), 2)
    group = linked_groups(np.concatenate([one, other]), links, items.size)
    order = np.lexsort((items, group))
    n = np.bincount(group)
    starts = np.cumsum(n) - n
    code = items[order][starts]
    base = n_items
    for k in range(1, int(n.max(initial=1))):  # as deep as the largest set
        deep = np.flatnonzero(n > k)
        _, names = np.unique(
            np.stack([code[deep], items[order][starts[deep] + k]]), axis=1, return_inverse=True
        )
        code[deep] = base + names.reshape(-1)
        base += int(names.max()) + 1
    return np.asarray(code[group])


TiesOfShares = Literal["out", "half"]


def win_shares(
    first: Codes,
    second: Codes,
    wins: Floats,
    ties: Floats,
    losses: Floats,
    *,
    n_systems: int,
    ties_count: TiesOfShares,
) -> Floats:
    """Return shares ``(n_rounds, n_systems)`` in [0, 1]; NaN where nothing counts.

    Parameters
    ----------
    first, second
        ``(n_pairs,)`` codes of systems.
    wins, ties, losses
        ``(n_rounds, n_pairs)`` counts; wins are the first's.
    n_systems
        Size of the code range.
    ties_count
        ``out``: not at all; ``half``: as half a win of each.
    """
    half = ties / 2 if ties_count == "half" else np.zeros_like(ties)
    won, lost = (
        sums_by_system(first, of_first, n_systems) + sums_by_system(second, of_second, n_systems)
        for of_first, of_second in ((wins + half, losses + half), (losses + half, wins + half))
    )
    total = won + lost
    shares: Floats = np.divide(won, total, out=np.full(total.shape, np.nan), where=total > 0)
    return shares


def sums_by_system(systems: Codes, values: Floats, n_systems: int) -> Floats:
    """Sum values of pairs ``(n_rounds, n_pairs)`` over the pairs of each system, in their order."""
    n_rounds = len(values)
    rows = (np.arange(n_rounds) * n_systems)[:, None] + systems
    summed = np.bincount(rows.reshape(-1), values.reshape(-1), minlength=n_rounds * n_systems)
    return np.asarray(summed.reshape(n_rounds, n_systems))
