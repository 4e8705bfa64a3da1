"""Ratings counted by item, judge and label, in pairs, and by the order of systems.

Where one system is always shown first, that it wins says nothing of the side: the better system may
stand there. In a pair of systems that stands in both orders, the mean of both orders' shares of
wins of what is shown first does not depend on which system is better (to first order; Davidson &
Beaver 1977 model the same effect of order).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.numerics.distinct import is_new, ranges, renumbered


def shared_items(
    items: npt.ArrayLike, judges: npt.ArrayLike, *, n_items: int, n_judges: int
) -> tuple[Flags, Flags]:
    """Return whether an item has two or more distinct judges, and whether a judge has such an item.

    Raises
    ------
    ValueError
        Arrays of different lengths, codes outside their ranges.
    """
    items, judges = np.asarray(items, np.int64), np.asarray(judges, np.int64)
    LabelCodes(items, judges, items, n_items, n_judges, n_items)
    low, high = np.full(n_items, n_judges), np.full(n_items, -1)
    np.minimum.at(low, items, judges)
    np.maximum.at(high, items, judges)
    shared = low < high
    of_judges = np.zeros(n_judges, np.bool_)
    of_judges[judges[shared[items]]] = True
    return shared, of_judges


@dataclass(frozen=True)
class RatingCounts:
    """Ratings counted by (item, judge, label), in that order; ``(n_cells,)`` each."""

    items: Codes
    judges: Codes
    labels: Codes
    n: Codes
    n_items: int
    n_judges: int
    n_labels: int

    @classmethod
    def from_ratings(
        cls,
        items: Codes,
        judges: Codes,
        labels: Codes,
        n_items: int,
        n_judges: int,
        n_labels: int,
    ) -> RatingCounts:
        """Count ratings in long form.

        Raises
        ------
        ValueError
            Code ranges whose product passes 2^63.
        """
        if max(n_items, n_judges) * n_judges * n_labels >= 2**63:
            raise ValueError("too many codes: cells and pairs of judges by label pass 2^63")
        keys, n = np.unique((items * n_judges + judges) * n_labels + labels, return_counts=True)
        keys, labels = np.divmod(keys, max(n_labels, 1))
        items, judges = np.divmod(keys, max(n_judges, 1))
        return cls(items, judges, labels, n, n_items, n_judges, n_labels)

    def inter_judge_pairs(self) -> tuple[Codes, Codes]:
        """Return pairs of labels by distinct judges ``(n_items,)``, and how many of them agree."""
        of_item = np.bincount(self.items, self.n, minlength=self.n_items).astype(np.int64)
        same_judge = self._pairs(self.items * self.n_judges + self.judges, self.items, self.n)
        by_label = self.items * self.n_labels + self.labels
        order = np.argsort(by_label, kind="stable")  # fast, as items are in order
        agreeing = self._pairs(by_label[order], self.items[order], self.n[order])
        agreeing -= self._pairs(np.arange(self.n.size), self.items, self.n)
        return of_item * (of_item - 1) // 2 - same_judge, agreeing

    def _pairs(self, groups: Codes, items: Codes, n: Codes) -> Codes:
        """Return pairs of labels within each run of equal groups, by item."""
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        if starts.size < n.size:
            items, n = items[starts], np.add.reduceat(n, starts)
        some = n > 1
        items, n = items[some], n[some]
        # whole numbers: exact as doubles, too
        pairs = np.bincount(items, n * (n - 1) // 2, minlength=self.n_items)
        return pairs.astype(np.int64)


OUTCOMES = 3
"""Decisions: the second output is better, a tie, the first is."""


def decision_codes(*columns: npt.ArrayLike) -> tuple[Codes, Codes, Codes, Codes]:
    """Return items, judges, decisions and segments of comparisons, ``(n_comparisons,)`` each.

    Raises
    ------
    ValueError
        Arrays of different lengths, negative codes, decisions other than 1, 0 and -1.
    """
    item, judge, decision, segment = codes = [np.asarray(column, np.int64) for column in columns]
    if any(column.ndim != 1 or column.shape != item.shape for column in codes):
        raise ValueError("items, judges, decisions and segments must be 1-d, of one length")
    if min(column.min(initial=0) for column in (item, judge, segment)) < 0:
        raise ValueError("codes of items, judges and segments must be 0 or more")
    if np.abs(decision).max(initial=0) > 1:
        raise ValueError("decisions must be 1, 0 or -1")
    return item, judge, decision, segment


def outcome_counts(groups: Codes, outcomes: Codes, n_groups: int) -> Codes:
    """Return how often each group has each outcome 0, 1, 2: ``(n_groups, 3)``."""
    keys = groups * OUTCOMES + outcomes
    return np.bincount(keys, minlength=n_groups * OUTCOMES).reshape(n_groups, OUTCOMES)


def n_distinct(codes: Codes) -> int:
    """Return the number of different codes."""
    return int(np.unique(codes).size)


@dataclass(frozen=True)
class Partners:
    """Of rows in order of item and judge: the rows after each one, same item, other judge."""

    starts: Codes
    counts: Codes

    @classmethod
    def from_rows(cls, items: Codes, judges: Codes) -> Partners:
        """Find the partners of rows sorted by item and judge."""
        starts = _ends(is_new(items, judges))
        return cls(starts, _ends(is_new(items)) - starts)

    def pairs(self, rows: Codes) -> tuple[Codes, Codes]:
        """Return each of these rows with each of its partners."""
        counts = self.counts[rows]
        return np.repeat(rows, counts), ranges(self.starts[rows], counts)


def _ends(new: npt.NDArray[np.bool_]) -> Codes:
    """Return where the run of each position ends; ``new`` marks the first of a run."""
    bounds = np.append(np.flatnonzero(new), new.size)
    return np.repeat(bounds[1:], np.diff(bounds))


def order_weights(first: Codes, second: Codes, is_turned: Flags) -> Floats:
    """Return ``(n_comparisons,)`` weights; 0 for pairs of systems that stand in one order only.

    Both orders of a pair have the same total weight, half the harmonic mean of their numbers, so
    that a pair counts by the information that it holds on the side.

    Parameters
    ----------
    first, second
        ``(n_comparisons,)`` codes of two systems.
    is_turned
        Whether the second was shown first.
    """
    low, high = np.minimum(first, second), np.maximum(first, second)
    low_is_first = (first < second) ^ is_turned
    _, pairs = renumbered(low * (int(high.max(initial=0)) + 1) + high)
    n = [
        np.bincount(pairs, of_order, minlength=int(pairs.max(initial=-1)) + 1)
        for of_order in (~low_is_first, low_is_first)
    ]
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.stack([n[1] / (n[0] + n[1]), n[0] / (n[0] + n[1])])
    weights = shares[low_is_first.astype(np.int64), pairs]
    return np.where(first == second, 0.0, weights)
