"""Labels of some items, counted: what statistics of agreement add up over blocks of items.

A pair of labels is two labels of one item; `cross` are pairs of labels by distinct judges, `own`
pairs of two labels by one judge. Disagreement of a pair is 0 or 1, or with scores of the labels the
square of their difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.agreement.rating_counts import RatingCounts
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.numerics.distinct import renumbered

WIDE = 8
"""Items times labels for each cell, up to which a table of all is counted."""
SHARES_AT_ONCE, PAIRS_AT_ONCE = 2_000_000, 1_000_000
"""Items times classes whose shares are in memory at once, and pairs of cells."""


@dataclass(frozen=True)
class PairSums:
    """Sums over the pairs of each label with labels of its item; ``(n_cells,)`` each.

    Parameters
    ----------
    cross
        With labels by other judges.
    own
        Half of those with labels by the same judge, so that both ends of a pair make one.
    """

    cross: Floats
    own: Floats | None


@dataclass(frozen=True)
class LabelBlock:
    """Labels of some items, by item, judge and label.

    Parameters
    ----------
    cells
        Counts of labels; all items, also those with one label.
    shares_at_once
        Items times classes whose shares are in memory at once.
    pairs_at_once
        Pairs of cells in memory at once.
    """

    cells: RatingCounts
    shares_at_once: int = SHARES_AT_ONCE
    pairs_at_once: int = PAIRS_AT_ONCE

    @classmethod
    def from_codes(cls, codes: LabelCodes) -> LabelBlock:
        """Count labels in long form; the same for any order of the rows."""
        return cls(
            RatingCounts.from_ratings(
                codes.items, codes.judges, codes.labels, codes.n_items, codes.n_judges,
                codes.n_labels,
            )
        )  # fmt: skip

    @cached_property
    def counts(self) -> Floats:
        """Return labels in each cell ``(n_cells,)``."""
        return self.cells.n.astype(np.float64)

    @cached_property
    def n(self) -> Floats:
        """Return labels of each item ``(n_items,)``."""
        return self.by_item(None)

    @cached_property
    def item_labels(self) -> Floats:
        """Return labels of the item of each cell ``(n_cells,)``."""
        return self.n[self.cells.items]

    @cached_property
    def runs(self) -> Codes:
        """Return the first cell of each item and judge ``(n_runs,)``."""
        keys = self.cells.items * self.cells.n_judges + self.cells.judges
        return np.flatnonzero(np.diff(keys, prepend=-1))

    @cached_property
    def run_codes(self) -> Codes:
        """Return the item and judge of each cell as a place among `runs` ``(n_cells,)``."""
        is_first = np.zeros(self.cells.n.size, np.int64)
        is_first[self.runs] = 1
        return np.cumsum(is_first) - 1

    @cached_property
    def has_repeats(self) -> bool:
        """Return whether a judge labelled an item twice."""
        return self.runs.size < self.cells.n.size or bool((self.cells.n > 1).any())

    @cached_property
    def own(self) -> Floats:
        """Return labels of the item by the judge of each cell ``(n_cells,)``."""
        return self._run_sums(self.counts)

    @cached_property
    def alike(self) -> Floats:
        """Return labels of the item and of the class of each cell ``(n_cells,)``."""
        keys = self.cells.items * self.cells.n_labels + self.cells.labels
        n_keys = self.cells.n_items * self.cells.n_labels
        if n_keys > WIDE * max(keys.size, 1):
            distinct_keys, keys = renumbered(keys)
            n_keys = distinct_keys.size
        return np.asarray(_sums(keys, self.counts, n_keys)[keys])

    @cached_property
    def judges_by_item(self) -> csr_array:
        """Return counts of labels, ``(n_items, n_judges)``."""
        cells, runs = self.cells, self.runs
        sizes = np.bincount(cells.items[runs], minlength=cells.n_items)
        ends = np.concatenate([[0], np.cumsum(sizes)])
        counts = np.add.reduceat(self.counts, runs) if runs.size else self.counts
        return csr_array((counts, cells.judges[runs], ends), (cells.n_items, cells.n_judges))

    @cached_property
    def pairs(self) -> PairSums:
        """Return pairs of each label."""
        cross = self.item_labels - self.own
        return PairSums(cross, (self.own - 1) / 2 if self.has_repeats else None)

    @cached_property
    def differing(self) -> PairSums:
        """Return pairs of each label with labels of another class."""
        cross = self.item_labels - self.alike
        if not self.has_repeats:
            return PairSums(cross, None)
        own = self.own - self.counts
        return PairSums(cross - own, own / 2)

    def squares(self, scores: Floats) -> PairSums:
        """Return sums of squared differences of each label's score to others of its item.

        Parameters
        ----------
        scores
            ``(n_labels,)`` of the classes.
        """
        score = scores[self.cells.labels]
        weighted = score * self.counts
        total, squares = self.by_item(weighted), self.by_item(weighted * score)
        everyone = self._spread(
            score, self.item_labels, total[self.cells.items], squares[self.cells.items]
        )
        if not self.has_repeats:
            return PairSums(everyone, None)
        own = self._spread(
            score, self.own, self._run_sums(weighted), self._run_sums(weighted * score)
        )
        return PairSums(everyone - own, own / 2)

    def by_item(self, values: Floats | None) -> Floats:
        """Return sums of values of cells by item ``(n_items,)``; None counts labels."""
        weights = self.counts if values is None else values
        return _sums(self.cells.items, weights, self.cells.n_items)

    def by_run(self, values: Floats) -> Floats:
        """Return sums of values of cells by item and judge ``(n_runs,)``."""
        if self.runs.size == values.size:
            return values
        return np.add.reduceat(values, self.runs) if self.runs.size else values

    def by_judge(self, values: Floats) -> Floats:
        """Return sums of values of cells by judge ``(n_judges,)``."""
        return _sums(self.cells.judges, values, self.cells.n_judges)

    def by_label(self, values: Floats) -> Floats:
        """Return sums of values of cells by class ``(n_labels,)``."""
        return _sums(self.cells.labels, values, self.cells.n_labels)

    def item_pairs(self, sums: PairSums) -> tuple[Floats, Floats]:
        """Return sums over pairs of each item ``(n_items,)``: by distinct judges, and all."""
        cross = self.by_item(self.counts * sums.cross) / 2
        if sums.own is None:
            return cross, cross
        return cross, cross + self.by_item(self.counts * sums.own)

    def _run_sums(self, values: Floats) -> Floats:
        """Return sums by item and judge, for each cell ``(n_cells,)``."""
        if self.runs.size == values.size:
            return values
        return self.by_run(values)[self.run_codes]

    @staticmethod
    def _spread(score: Floats, n: Floats, total: Floats, squares: Floats) -> Floats:
        return np.asarray(np.maximum(n * score**2 - 2 * score * total + squares, 0))


def _sums(codes: Codes, values: Floats, n: int) -> Floats:
    return np.bincount(codes, values, minlength=n).astype(np.float64, copy=False)
