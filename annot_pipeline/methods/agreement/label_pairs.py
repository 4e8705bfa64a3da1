"""Agreement of each pair of judges on labels: means over pairs, of the data and of resamples.

Source: Passonneau & Carpenter 2013, section 2, as `nominal_agreement` says it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from annot_pipeline.methods.agreement.rating_counts import RatingCounts
from annot_pipeline.methods.agreement.rating_pairs import Partners
from annot_pipeline.methods.numerics.bootstrap import (
    Counts,
    Floats,
    ItemResamples,
    replicate_counts,
)
from annot_pipeline.methods.numerics.distinct import distinct, places, renumbered
from annot_pipeline.methods.numerics.whole_numbers import WholeMatrix, WholeNumbers, narrowest

Codes = npt.NDArray[np.int64]

# (judge pair, item) cells held at once, some 150 bytes each: small blocks take more rounds at a
# time, but each block reads the resamples anew, which is dear with many items
_FEWEST_IN_BLOCK, _MOST_IN_BLOCK = 100_000, 3_000_000

_STEP = 512
"""Pairs of judges whose sums are taken at once."""


@dataclass(frozen=True)
class JudgePairMeans:
    """Means over pairs of judges, ``(1 + rounds,)``, and how many pairs there are."""

    percent_agreement: Floats
    cohen_kappa: Floats
    n_pairs: int
    n_undefined: int

    @classmethod
    def from_sums(cls, sums: Floats) -> JudgePairMeans:
        """Divide sums over pairs of judges: of A, their number, of kappa, number of kappas."""
        agreement, n_pairs, kappa, n_kappas = sums
        with np.errstate(invalid="ignore", divide="ignore"):
            means = agreement / n_pairs, kappa / n_kappas
        return cls(*means, int(n_pairs[0]), int(n_pairs[0] - n_kappas[0]))


def judge_pair_means(
    cells: RatingCounts, partners: Partners, resamples: ItemResamples
) -> JudgePairMeans:
    """Compare each pair of judges on the labels of the items that both labelled.

    Parameters
    ----------
    cells
        The labels, counted.
    partners
        Of the cells.
    resamples
        Of the items.
    """
    sums = np.zeros((4, 1 + (resamples.rounds if resamples.n_items else 0)))
    for rows in _blocks_of_pairs(cells, partners):
        block = _PairBlock.from_cells(cells, partners, rows)
        sums += replicate_counts(block.sums, resamples, floats_per_round=block.floats_per_round)
    return JudgePairMeans.from_sums(sums)


def _blocks_of_pairs(cells: RatingCounts, partners: Partners) -> Iterator[Codes]:
    """All pairs of judges, as cells of first judges, whose pairs are a bounded number of cells."""
    firsts = np.flatnonzero(partners.counts)
    firsts = firsts[np.argsort(cells.judges[firsts], kind="stable")]
    judges = cells.judges[firsts]
    # pairs of a judge stay together: a block is cut at the last change of judge in reach
    changes = np.flatnonzero(np.diff(judges, prepend=-1))
    before = np.cumsum(partners.counts[firsts])[changes] - partners.counts[firsts][changes]
    size = min(max(cells.n_items, _FEWEST_IN_BLOCK), _MOST_IN_BLOCK)
    starts = changes[np.flatnonzero(np.diff(before // size, prepend=-1))]
    for start, stop in pairwise(np.append(starts, firsts.size)):
        yield firsts[start:stop]


@dataclass(frozen=True)
class PairCounts:
    """Labels that pairs of judges (m, n), m < n, gave to items of both, counted; a sum over items.

    Parameters
    ----------
    keys
        ``(n,)`` in order: (m, n, label), as (m n_judges + n) n_labels + label.
    counts
        ``(3, n)`` pairs of their labels in which m gave that label, n did, both did.
    """

    keys: Codes
    counts: Codes

    @classmethod
    def from_cells(cls, cells: RatingCounts, partners: Partners) -> PairCounts:
        """Count the labels of some items by pair of judges."""
        blocks = [
            _count_labels(cells, partners, rows) for rows in _blocks_of_pairs(cells, partners)
        ]
        return cls.joined(blocks)

    @classmethod
    def joined(cls, parts: Sequence[PairCounts]) -> PairCounts:
        """Add up the counts of several sets of items by pair of judges."""
        keys = np.concatenate([np.empty(0, np.int64), *(part.keys for part in parts)])
        counts = np.concatenate([np.empty((3, 0), np.int64), *(p.counts for p in parts)], axis=1)
        distinct_keys, at = renumbered(keys)
        summed = [
            np.bincount(at, column, minlength=distinct_keys.size).astype(np.int64)
            for column in counts
        ]
        return cls(distinct_keys, np.stack(summed))

    def sums(self, n_labels: int) -> Floats:
        """Return the sums for `JudgePairMeans.from_sums`, ``(4, 1)``; needs all counts of pairs."""
        starts = np.flatnonzero(np.diff(self.keys // n_labels, prepend=-1))
        first, second, agreeing = self.counts
        by_pair = [first, first * second, agreeing]
        pairs, like, agree = (
            np.add.reduceat(column, starts) if starts.size else column for column in by_pair
        )
        total = np.zeros(4)
        for start in range(0, starts.size, _STEP):
            rows = slice(start, start + _STEP)
            total += _sums(*(column[rows].astype(np.float64) for column in (pairs, like, agree)))
        return total[:, None]


def _count_labels(cells: RatingCounts, partners: Partners, rows: Codes) -> PairCounts:
    """Count the labels of the cells ``rows`` and of their partners."""
    pairs = _Paired.from_cells(cells, partners, rows)
    keys = np.concatenate([pairs.pair + pairs.labels, pairs.pair + pairs.others])
    distinct_keys, at = renumbered(keys)
    first, second = np.split(at, 2)
    agree = pairs.agree
    counts = [
        np.bincount(places, weights, minlength=distinct_keys.size).astype(np.int64)
        for places, weights in (
            (first, pairs.n), (second, pairs.n), (first[agree], pairs.n[agree])
        )
    ]  # fmt: skip
    return PairCounts(distinct_keys, np.stack(counts))


@dataclass(frozen=True)
class _Paired:
    """Cells with their partners, ``(n_pairs_of_cells,)`` each.

    Parameters
    ----------
    pair
        Of judges, times the number of labels.
    labels, others
        Of the first judge, of the second.
    items, n, agree
        Of both; pairs of labels; whether they agree.
    """

    pair: Codes
    labels: Codes
    others: Codes
    items: Codes
    n: Codes
    agree: npt.NDArray[np.bool_]

    @classmethod
    def from_cells(
        cls, cells: RatingCounts, partners: Partners, rows: Codes, lowest: int = 0
    ) -> _Paired:
        """Pair the cells ``rows`` with their partners; first judges are counted from ``lowest``."""
        counts = partners.counts[rows]
        begin = partners.starts[rows] - (np.cumsum(counts) - counts)
        items, judges, labels, times = (
            np.repeat(column[rows], counts)
            for column in (cells.items, cells.judges, cells.labels, cells.n)
        )
        second = np.arange(items.size) + np.repeat(begin, counts)
        others = cells.labels[second]
        pair = ((judges - lowest) * cells.n_judges + cells.judges[second]) * cells.n_labels
        return cls(pair, labels, others, items, times * cells.n[second], labels == others)

    def only(self, some: npt.NDArray[np.bool_]) -> _Paired:
        """Return the selected pairs."""
        return _Paired(*(values[some] for values in vars(self).values()))


@dataclass(frozen=True)
class _PairBlock:
    """Sparse counts of some pairs of judges (m, n), m < n, by item.

    Judges who met on one item alone agree there or do not, however often it is drawn, and their
    kappa is undefined or 0: they are counted by item, and have no row of their own.

    Parameters
    ----------
    once
        ``(2, n_items)`` pairs of judges who met on that item alone: those who agree, who do not.
    first, second
        ``(n_pair_labels, n_items)`` pairs of labels in which m (n) gave that label; a row is a
        pair of judges with a label that either of them gave.
    agreeing
        ``(n_pairs, n_items)`` pairs of labels that agree.
    members
        ``(n_pairs, n_pair_labels)`` ones: sums rows by pair of judges.
    """

    once: WholeMatrix
    first: WholeMatrix
    second: WholeMatrix
    agreeing: WholeMatrix
    members: WholeMatrix

    @classmethod
    def from_cells(cls, cells: RatingCounts, partners: Partners, rows: Codes) -> _PairBlock:
        """Pair the cells ``rows`` with their partners."""
        pairs, k = (
            _Paired.from_cells(cells, partners, rows, int(cells.judges[rows].min())),
            cells.n_labels,
        )
        met, times_met = distinct(pairs.pair)
        once = times_met[places(pairs.pair, met)] == 1
        by_items = [
            np.bincount(pairs.items[once & selected], minlength=cells.n_items)
            for selected in (pairs.agree, ~pairs.agree)
        ]
        pairs = pairs.only(~once)
        items, n, agree = pairs.items, pairs.n, pairs.agree
        keys = np.concatenate([pairs.pair + pairs.labels, pairs.pair + pairs.others])
        distinct_keys, at = renumbered(keys)
        new_pair = np.diff(distinct_keys // k, prepend=-1) > 0
        pair_of = np.cumsum(new_pair) - 1
        n_pairs, shape = int(new_pair.sum()), (distinct_keys.size, cells.n_items)
        at_first, at_second = at[: n.size], at[n.size :]
        members = np.append(np.flatnonzero(new_pair), distinct_keys.size)
        ones = (np.ones(distinct_keys.size, np.int64), np.arange(distinct_keys.size), members)
        by_item = (
            coo_array(np.stack(by_items)),
            coo_array((n, (at_first, items)), shape=shape),
            coo_array((n, (at_second, items)), shape=shape),
            coo_array(
                (n[agree], (pair_of[at_first[agree]], items[agree])), shape=(n_pairs, shape[1])
            ),
            csr_array(ones, (n_pairs, distinct_keys.size)),
        )
        return cls(*(WholeMatrix.from_sparse(matrix.tocsr()) for matrix in by_item))

    @property
    def floats_per_round(self) -> int:
        """Work arrays of one resample."""
        n_pairs, n_pair_labels = self.members.matrix.shape
        return int(self.first.matrix.shape[1] + 3 * n_pair_labels + 6 * n_pairs)

    def sums(self, weights: Counts) -> Floats:
        """Return sum of A, number of pairs, sum of kappa, number of kappas: ``(4, n_rounds)``."""
        drawn = WholeNumbers.from_array(weights)
        first, second = self.first @ drawn, self.second @ drawn
        pairs = self.members @ WholeNumbers.from_array(first)
        kind = narrowest(int(pairs.max(initial=0)) ** 2)
        both = np.multiply(first, second, dtype=kind, casting="unsafe")
        like = self.members @ WholeNumbers.from_array(both)
        agreeing = self.agreeing @ drawn
        agree, differ = self.once @ WholeNumbers.from_array((weights > 0).astype(np.int16))
        total = np.stack([agree, agree + differ, np.zeros_like(agree), differ]).astype(np.float64)
        for start in range(0, len(pairs), _STEP):  # what these hold stays in the cache
            rows = slice(start, start + _STEP)
            total += _sums(*(counts[rows].astype(np.float64) for counts in (pairs, like, agreeing)))
        return total


def _sums(pairs: Floats, like: Floats, agreeing: Floats) -> Floats:
    """Return the four sums over pairs of judges by their counts of labels: ``(4, n_rounds)``."""
    unlike = pairs * pairs - like  # (1 - C) pairs^2; integers, so 0 is exact
    met, defined = pairs > 0, unlike > 0
    agreement = agreeing / np.maximum(pairs, 1)
    kappa = defined - (pairs - agreeing) * pairs / np.maximum(unlike, 1)
    return np.stack([values.sum(axis=0) for values in (agreement, met, kappa, defined)])
