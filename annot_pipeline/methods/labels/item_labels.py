"""Labels of a block of items, each (item, judge, label) once, and classes without a vote.

Judges of one family count as one judge: a family's m labels of an item are 1/m of a vote each.

At most 1 / (max(n, d) + 2), n judges and d classes with votes, so that none of them is the label.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.numerics.distinct import is_new

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LEAST = 1e-12
"""Probability of classes with votes at least; below it, votes are all there is to go by."""


@dataclass(frozen=True)
class UnsupportedClasses:
    """Classes without a vote on some items.

    Parameters
    ----------
    votes
        ``(n_items, K)``.
    without
        ``(n_items, K)`` whether a class has no vote; never of items without judges.
    most
        ``(n_items,)`` probability of all of them at most.
    """

    votes: Floats
    without: Flags
    most: Floats

    @classmethod
    def from_votes(cls, votes: Floats, n_judges: Codes) -> UnsupportedClasses:
        """Return the classes without a vote; ``n_judges``: ``(n_items,)``."""
        has_votes = votes > 0
        n_classes = np.einsum("ik->i", has_votes.astype(np.int64))  # sum over few columns is slow
        without = ~has_votes & (n_judges > 0)[:, None]
        return cls(votes, without, 1 / (np.maximum(n_judges, n_classes) + 2))

    def cap(self, posterior: Floats) -> Floats:
        """Return probabilities ``(n_items, K)`` in which these classes have `most` at most.

        Of ``(n_items, K * n)`` probabilities, n of each class, these are of the n together.
        """
        n = posterior.shape[1] // self.votes.shape[1]
        all_without, votes = np.repeat(self.without, n, axis=1), np.repeat(self.votes, n, axis=1)
        mass = np.einsum("ik,ik->i", posterior, all_without)
        high = np.flatnonzero(mass > self.most)
        capped = posterior.copy()
        without, most = all_without[high], self.most[high]
        # by votes where the classes that have some are left no probability
        rest = np.where(without, 0.0, posterior[high])
        total = rest.sum(axis=1)
        is_empty = total < LEAST
        rest[is_empty] = votes[high][is_empty]
        total[is_empty] = rest[is_empty].sum(axis=1)
        down, up = most / mass[high], (1 - most) / total
        capped[high] = np.where(without, posterior[high] * down[:, None], rest * up[:, None])
        return capped


@dataclass(frozen=True)
class ItemLabels:
    """Labels of a block of items of one task, each (item, judge, label) once.

    Parameters
    ----------
    item, judge, label, times
        ``(n_cells,)``, sorted by item and judge; ``times`` a judge gave the label.
    pair
        ``(n_cells,)`` code of (item, judge), from 0.
    voter
        ``(n_cells,)`` place of (item, family) among `voter_item`; without families that of
        (item, judge).
    voter_item
        ``(n_voters,)``.
    n_votes
        ``(n_voters,)`` labels that share one vote; 1 without families.
    n_items, n_labels
        Sizes; n_labels is K.
    """

    item: Codes
    judge: Codes
    label: Codes
    times: Floats
    pair: Codes
    voter: Codes
    voter_item: Codes
    n_votes: Floats
    n_items: int
    n_labels: int

    @classmethod
    def from_codes(cls, codes: LabelCodes) -> ItemLabels:
        """Return labels in this layout."""
        j, k = codes.n_judges, codes.n_labels
        cells, times = np.unique(
            (codes.items * j + codes.judges) * k + codes.labels, return_counts=True
        )
        item, judge, times = cells // k // j, cells // k % j, times.astype(np.float64)
        is_first = is_new(cells // k)  # cells are sorted
        pairs, pair = (cells // k)[is_first], np.cumsum(is_first) - 1
        voters, voter, n_votes = pairs, pair, np.ones(pairs.size)
        if codes.families is not None:
            if (codes.families != np.arange(j)).any():
                voters, voter = np.unique(item * j + codes.families[judge], return_inverse=True)
                voter = voter.reshape(-1)
            n_votes = np.asarray(np.bincount(voter, times, voters.size), np.float64)
        return cls(
            item,
            judge,
            cells % k,
            times,
            pair,
            voter,
            voters // j,
            n_votes,
            codes.n_items,
            k,
        )

    @cached_property
    def n_judges(self) -> Codes:
        """Return judges of each item, ``(n_items,)``; those of one family are one."""
        return np.bincount(self.voter_item, minlength=self.n_items)

    @cached_property
    def n_others(self) -> Codes:
        """Return how many other judges or families the item has, ``(n_voters,)``."""
        return np.asarray(self.n_judges[self.voter_item] - 1)

    @cached_property
    def votes(self) -> Floats:
        """Return votes on each item by class, ``(n_items, K)``; above 0 where there is a label."""
        cells = self.item * self.n_labels + self.label
        votes = np.bincount(cells, weights=self.weights, minlength=self.n_items * self.n_labels)
        return np.asarray(votes.reshape(self.n_items, self.n_labels), np.float64)

    @cached_property
    def weights(self) -> Floats:
        """Return votes that each label has with its repeats, ``(n_cells,)``."""
        return np.asarray(self.times / self.n_votes[self.voter])

    @cached_property
    def votes_of_others(self) -> Floats:
        """Return votes on an item by other judges or families, ``(n_voters, K)``."""
        own = self.sum_by_voter(np.eye(self.n_labels)[self.label])
        # exactly 0 where no other judge has a vote: then the sum is that of one number and zeros
        return np.asarray(self.sum_by_item(own)[self.voter_item] - own)

    @cached_property
    def unsupported(self) -> UnsupportedClasses:
        """Return classes without a vote, by item."""
        return UnsupportedClasses.from_votes(self.votes, self.n_judges)

    @cached_property
    def unsupported_by_others(self) -> UnsupportedClasses:
        """Return classes without a vote of other judges or families, by voter."""
        return UnsupportedClasses.from_votes(self.votes_of_others, self.n_others)

    def sum_by_pair(self, values: Floats) -> Floats:
        """Return sums of ``(n_cells, ...)`` values, each times its label's times, by pair."""
        n_pairs = int(self.pair.max(initial=-1)) + 1
        return np.asarray(self._by(self.pair, n_pairs, self.times) @ values)

    def sum_by_voter(self, values: Floats) -> Floats:
        """Return sums of ``(n_cells, ...)`` values, each times its label's votes, by voter."""
        return np.asarray(self._by(self.voter, self.voter_item.size, self.weights) @ values)

    def sum_by_item(self, values: Floats) -> Floats:
        """Return sums of ``(n_voters, ...)`` values by item."""
        ones = np.ones(self.voter_item.size)
        return np.asarray(self._by(self.voter_item, self.n_items, ones) @ values)

    def _by(self, group: Codes, n_groups: int, weights: Floats) -> csr_array:
        from scipy.sparse import csr_array

        places = (group, np.arange(group.size))
        return csr_array((weights, places), shape=(n_groups, group.size))
