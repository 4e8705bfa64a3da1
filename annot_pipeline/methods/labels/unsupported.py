"""Classes without a vote on an item: all of them together have little probability.

At most 1 / (max(n, d) + 2), n judges and d classes with votes, so that none of them is the label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats

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
