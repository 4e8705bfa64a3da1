"""Class identity: does an inferred class still mean what its name says?

A latent class model may raise its likelihood by giving a class with few votes to a group of
judges; the class then no longer means its name, and nothing in the fit shows it. Measured
here per class: how much the votes support the inferred label, how often it agrees with the
plurality, and whether its own name heads its row and its column of the pooled confusion
counts sum_i p(z_i = k) votes[i, l].

Source: this project's reading of Dawid & Skene 1979; see the project's notes on methods.
Degenerate input: a class without items has NaN supports, a class or a name without mass
counts as undefined (``has_mass``, ``is_answered``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.labels.votes import Votes
from annot_pipeline.methods.numerics.moments import Additive


@dataclass(frozen=True)
class ClassIdentity(Additive):
    """What became of each class, as sums over items; arrays are ``(n_labels,)``.

    Parameters
    ----------
    n_items
        Items inferred as the class.
    item_support, item_plurality_support, item_plurality_agreement
        Sums over these items: of the share of the votes that the inferred label got, of the
        share that the most frequent label got, and of whether the inferred label is a most
        frequent one.
    expected
        ``(n_labels, n_labels)`` votes for each label, by the probability of each class.
    answers
        Votes for each label.
    """

    n_items: Codes
    item_support: Floats
    item_plurality_support: Floats
    item_plurality_agreement: Floats
    expected: Floats
    answers: Codes

    @property
    def support(self) -> Floats:
        """Return the mean share of the votes that the inferred label got, over the items.

        NaN without items.
        """
        return self._mean(self.item_support)

    @property
    def plurality_support(self) -> Floats:
        """Return the mean share that the most frequent label got, over the same items."""
        return self._mean(self.item_plurality_support)

    @property
    def plurality_agreement(self) -> Floats:
        """Return the share of these items whose inferred label is (one of) the most frequent."""
        return self._mean(self.item_plurality_agreement)

    @property
    def named(self) -> Flags:
        """Return whether judges who see the class most often give its own name."""
        return np.asarray(self.expected.argmax(axis=1) == np.arange(self.n_items.size))

    @property
    def has_mass(self) -> Flags:
        """Return where ``named`` is defined."""
        return np.asarray(self.n_items > 0)

    @property
    def names_truth(self) -> Flags:
        """Return whether the class is the most likely truth behind its own name."""
        return np.asarray(self.expected.argmax(axis=0) == np.arange(self.n_items.size))

    @property
    def is_answered(self) -> Flags:
        """Return where ``names_truth`` is defined: somebody gave that name."""
        return np.asarray(self.answers > 0)

    def _mean(self, sums: Floats) -> Floats:
        return np.where(self.n_items > 0, sums / np.maximum(self.n_items, 1), np.nan)


def item_support(inferred: Codes, votes: Votes) -> Floats:
    """Return ``(n_items,)`` share of an item's votes that its inferred label got."""
    of_inferred = votes.counts[np.arange(inferred.size), inferred]
    return np.asarray(of_inferred / np.maximum(votes.counts.sum(axis=1), 1), np.float64)


def class_identity(posterior: Floats, votes: Votes) -> ClassIdentity:
    """Measure class identity.

    Parameters
    ----------
    posterior
        ``(n_items, n_labels)`` probability of each class; ties go to the lower code.
    votes
        Votes of the same items.
    """
    n_items, n_labels = posterior.shape
    if votes.counts.shape != posterior.shape:
        raise ValueError("posterior and votes must be about the same items and classes")
    inferred = posterior.argmax(axis=1)

    def summed(values: Floats) -> Floats:
        return np.asarray(np.bincount(inferred, weights=values, minlength=n_labels), np.float64)

    return ClassIdentity(
        n_items=np.bincount(inferred, minlength=n_labels),
        item_support=summed(item_support(inferred, votes)),
        item_plurality_support=summed(votes.majority_share),
        item_plurality_agreement=summed(
            votes.tied[np.arange(n_items), inferred].astype(np.float64)
        ),
        expected=posterior.T @ votes.counts.astype(np.float64),
        answers=votes.counts.sum(axis=0),
    )
