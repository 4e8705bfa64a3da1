"""Ranks within groups and of pairs of judges, and values at places in the order of all.

As `mean_spearman` says it: ranks are held as in the full data, so that a round is a weighted
Pearson correlation of ranks.

Blocks count their values in the cells of a grid, which tells the cells that hold the places; then
they tell the values of those cells alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.distinct import is_new
from annot_pipeline.methods.numerics.whole_numbers import WholeMatrix, WholeNumbers


def dense_ranks(group: Codes, values: npt.NDArray[Any]) -> Codes:
    """Rank the members of each group.

    Parameters
    ----------
    group
        ``(n,)`` codes.
    values
        ``(n,)`` numbers, more is better; equal if they are equal to the last bit.

    Returns
    -------
    ndarray
        ``(n,)`` ranks from 1.
    """
    order = np.lexsort((-values, group))
    step = np.cumsum(is_new(group[order], values[order]))
    start = np.maximum.accumulate(np.where(is_new(group[order]), step, 0))
    rank = np.empty_like(order)
    rank[order] = step - start + 1
    return np.asarray(rank)


FEWEST_ITEMS = 3
"""Common items below which a pair has no correlation: that of two items is 1 or -1."""

_NO_VARIANCE = 1e-12  # of n times the sum of squares: what rounding may leave of equal ranks


@dataclass(frozen=True)
class PairRanks:
    """Ranks of some pairs of judges: doubled and less their mean, so that they are whole numbers.

    Parameters
    ----------
    ones
        ``(n_pairs, n_items)`` 1 for each common item.
    moments
        ``(6 n_pairs, n_items)`` of each pair one row after the other: 1, the ranks by the first
        judge and by the second, the squares of both, the products.
    """

    ones: WholeMatrix
    moments: WholeMatrix

    @classmethod
    def from_ranks(
        cls, items: Codes, x: Floats, y: Floats, bounds: Codes, n_items: int
    ) -> PairRanks:
        """Take the items and ranks of pairs that begin and end at ``bounds (n_pairs + 1,)``."""
        shape = (bounds.size - 1, n_items)
        ones = np.ones(items.size)
        matrices = [
            csr_array((part, items, bounds), shape=shape)
            for part in (ones, x, y, x * x, y * y, x * y)
        ]
        by_pair = np.arange(6 * shape[0]).reshape(6, -1).T.ravel()
        moments = vstack(matrices, format="csr")[by_pair]
        return cls(WholeMatrix.from_sparse(matrices[0]), WholeMatrix.from_sparse(moments))

    def weighed(self, times: WholeNumbers, whether: WholeNumbers) -> Floats:
        """Return correlations by their weights, and the weights: ``(2, n_pairs, n_rounds)``.

        Of how many times each item was drawn, and whether it was.
        """
        sums = self.moments @ times
        sums = sums.reshape(-1, 6, sums.shape[1]).transpose(1, 0, 2)
        n, x, y, xx, yy, xy = sums.astype(np.float64, order="C")
        xx *= n
        yy *= n
        x_varies, y_varies = xx - x * x, yy - y * y  # whole numbers: 0 is exact below 2^53
        defined = self.ones @ whether >= FEWEST_ITEMS
        defined &= (x_varies > _NO_VARIANCE * xx) & (y_varies > _NO_VARIANCE * yy)
        with np.errstate(invalid="ignore", divide="ignore"):
            rho = (n * xy - x * y) / np.sqrt(x_varies * y_varies)
        weight = np.where(defined, n - 1, 0)
        return np.stack([np.where(defined, np.clip(rho, -1, 1), 0) * weight, weight])


def ranks_within(pairs: Codes, places: Codes) -> Floats:
    """Return twice the average ranks less their mean, within runs of equal ``pairs``."""
    starts, n = runs(pairs)
    keys = np.repeat(np.arange(n.size), n) * (int(places.max(initial=0)) + 1) + places
    order = np.argsort(keys)  # rows of a pair stay where the pair is
    ties, size = runs(keys[order])
    pair = np.repeat(np.arange(n.size), n)[ties]
    ranks = np.empty(places.size)
    ranks[order] = np.repeat(2 * (ties - starts[pair]) + size - n[pair], size)
    return ranks


def runs(keys: Codes) -> tuple[Codes, Codes]:
    """Return where each run of equal keys starts, and how long it is."""
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    return starts, np.diff(np.append(starts, keys.size))


CELLS = 1 << 16
FURTHEST = 8.0
"""Beyond lie few z-scores; they are in the cells at both ends."""


def cells_of(values: Floats) -> Codes:
    """Return cell of each value, ``(n_values,)``; rising with the values."""
    scaled = (values + FURTHEST) * (CELLS / (2 * FURTHEST))
    return np.clip(np.floor(scaled), 0, CELLS - 1).astype(np.int64)


def cell_counts(values: Floats) -> Codes:
    """Return values in each cell, ``(CELLS,)``; of blocks they are added up."""
    return np.bincount(cells_of(values), minlength=CELLS)


def cells_of_places(counts: Codes, places: Codes) -> Codes:
    """Return the cells, each once, that hold places from 0 among all values."""
    return np.unique(np.searchsorted(np.cumsum(counts), places, side="right"))


def values_of_cells(values: Floats, cells: Codes) -> tuple[Floats, Codes]:
    """Return the distinct values of a block that lie in some cells, and how often each occurs."""
    distinct_values, n = np.unique(values[np.isin(cells_of(values), cells)], return_counts=True)
    return distinct_values, n


def values_at(
    counts: Codes, cells: Codes, values_by_block: Sequence[tuple[Floats, Codes]], places: Codes
) -> Floats:
    """Return the values at some places, ``(n_places,)``.

    Parameters
    ----------
    counts
        Of all blocks, added up.
    cells, values_by_block
        Cells, each once, and `values_of_cells` of all blocks.
    places
        From 0, among all values in order; they lie in these cells.
    """
    values, n = (np.concatenate([pair[part] for pair in values_by_block]) for part in (0, 1))
    order = np.argsort(values, kind="stable")
    values, ends = values[order], np.cumsum(n[order])
    unknown = counts.copy()
    unknown[cells] = 0  # what lies before a place, and is not among the values that are known
    of_places = np.searchsorted(np.cumsum(counts), places, side="right")
    before = np.cumsum(unknown)[of_places]
    return np.asarray(values[np.searchsorted(ends, places - before, side="right")])
