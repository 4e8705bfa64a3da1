"""Votes: what the labels of an item say before any model.

Three simple estimates of prevalence stand side by side, for they differ and papers mix them
(Passonneau & Carpenter 2013, section 7, Figure 2): the share of raw labels, the share of
items whose most frequent label a class is, and the share of items where more than half of
the labels are it. Ties are broken by class order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.numerics.moments import Additive

VOTES = 1.0
"""Votes, distributed as all labels are, that are added to an item's votes."""


DIGITS = 9
"""Digits after the point to which shares of votes are compared."""


@dataclass(frozen=True)
class VoteSums(Additive):
    """What the votes of items add up to; arrays are ``(n_labels,)``.

    Parameters
    ----------
    labels
        Labels given.
    plurality, majority
        Items whose most frequent label a class is, and with more than half of the labels.
    n_voted
        Items with labels.
    """

    labels: Codes
    plurality: Codes
    majority: Codes
    n_voted: int

    @property
    def vote_share(self) -> Floats:
        """Return the share of the labels that were given."""
        return self.labels / max(int(self.labels.sum()), 1)

    @property
    def plurality_frequency(self) -> Floats:
        """Return the share of items whose most frequent label a class is.

        Ties go to the lower code.
        """
        return self.plurality / max(self.n_voted, 1)

    @property
    def majority_frequency(self) -> Floats:
        """Return the share of items where more than half of the labels are of a class."""
        return self.majority / max(self.n_voted, 1)


@dataclass(frozen=True)
class Votes:
    """Votes of items of one task.

    Parameters
    ----------
    counts
        ``(n_items, n_labels)`` labels given.
    majority
        ``(n_items,)`` code of the label with most votes; ties go to the lower code.
    majority_share
        ``(n_items,)`` its share of the item's labels; 0 without labels.
    tied
        ``(n_items, n_labels)`` whether the label has (one of) the most votes.
    sums
        The three estimates of prevalence, of these items or added up.
    """

    counts: Codes
    majority: Codes
    majority_share: Floats
    tied: npt.NDArray[np.bool_]
    sums: VoteSums


def count_votes(
    items: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    n_items: int,
    n_labels: int,
    judges: npt.ArrayLike | None = None,
) -> Votes:
    """Count the labels of each item.

    Parameters
    ----------
    items, labels
        ``(n_labels_given,)`` codes from 0.
    judges
        ``(n_labels_given,)`` codes from 0: the labels that a judge gave an item share one vote in
        the majority. None: each label is a vote.
    n_items, n_labels
        Sizes of the code ranges.

    Raises
    ------
    ValueError
        Arrays of different lengths, or a code outside its range.
    """
    items, labels = np.asarray(items, dtype=np.int64), np.asarray(labels, dtype=np.int64)
    if items.shape != labels.shape:
        raise ValueError("items and labels must be of one length")
    if items.size and (items.max() >= n_items or labels.max() >= n_labels):
        raise ValueError("a code lies outside its range")
    flat = np.bincount(items * n_labels + labels, minlength=n_items * n_labels)
    counts = flat.reshape(n_items, n_labels).astype(np.int64)
    votes = counts.astype(np.float64)
    if judges is not None:
        weights = vote_weights(items, judges)
        flat = np.bincount(items * n_labels + labels, weights, minlength=n_items * n_labels)
        votes = np.round(flat.reshape(n_items, n_labels), DIGITS)
    total, n_votes = counts.sum(axis=1), votes.sum(axis=1)
    tied = (votes == votes.max(axis=1)[:, None]) & (votes > 0)
    voted, majority = total > 0, votes.argmax(axis=1)
    of_majority = np.take_along_axis(counts, majority[:, None], axis=1)[:, 0]
    return Votes(
        counts=counts,
        majority=majority,
        majority_share=of_majority / np.maximum(total, 1),
        tied=tied,
        sums=VoteSums(
            labels=counts.sum(axis=0),
            plurality=np.bincount(majority[voted], minlength=n_labels),
            majority=(votes * 2 > n_votes[:, None]).sum(axis=0),
            n_voted=int(voted.sum()),
        ),
    )


def vote_weights(items: npt.ArrayLike, judges: npt.ArrayLike) -> Floats:
    """Return the weight of each label: 1 over the labels that its judge gave the item."""
    judge = np.asarray(judges, np.int64)
    pairs = np.asarray(items, np.int64) * (int(judge.max(initial=0)) + 1) + judge
    _, pair, n = np.unique(pairs, return_inverse=True, return_counts=True)
    return np.asarray(1 / n[pair.reshape(-1)], np.float64)


def count_judges(task: LabelCodes) -> Codes:
    """Return the number of judges of each item, ``(n_items,)``."""
    pairs = task.items * max(task.n_judges, 1) + task.judges
    pairs, _ = np.unique(pairs, return_counts=True)  # sorts; without counts numpy hashes: slower
    return np.bincount(pairs // max(task.n_judges, 1), minlength=task.n_items)


def smoothed_votes(votes: Floats, shares: Floats) -> Floats:
    """Return the shares of votes by class, with `VOTES` votes distributed as all labels are."""
    return np.asarray((votes + VOTES * shares) / (votes.sum(axis=1, keepdims=True) + VOTES))
