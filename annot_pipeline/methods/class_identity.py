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
import numpy.typing as npt

from annot_pipeline.methods.votes import Votes

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ClassIdentity:
    """What became of each class; arrays are ``(n_labels,)`` unless said otherwise.

    Parameters
    ----------
    inferred
        ``(n_items,)`` most probable class; ties go to the lower code.
    n_items
        Items inferred as the class.
    support
        Mean share of the votes that the inferred label got, over these items; NaN without.
    plurality_support
        Mean share that the most frequent label got, over the same items.
    plurality_agreement
        Share of the same items whose most frequent label (ties count) is the class.
    named, has_mass
        Whether judges who see the class most often give its own name; defined where the
        class has mass.
    names_truth, is_answered
        Whether the class is the most likely truth behind its own name; defined where
        somebody gave that name.
    item_support
        ``(n_items,)`` share of the item's votes that its inferred label got.
    """

    inferred: npt.NDArray[np.int64]
    n_items: npt.NDArray[np.int64]
    support: Floats
    plurality_support: Floats
    plurality_agreement: Floats
    named: Flags
    has_mass: Flags
    names_truth: Flags
    is_answered: Flags
    item_support: Floats


def class_identity(posterior: Floats, votes: Votes) -> ClassIdentity:
    """Measure class identity.

    Parameters
    ----------
    posterior
        ``(n_items, n_labels)`` probability of each class.
    votes
        Votes of the same items.
    """
    n_items, n_labels = posterior.shape
    if votes.counts.shape != posterior.shape:
        raise ValueError("posterior and votes must be about the same items and classes")
    inferred = posterior.argmax(axis=1)
    total = np.maximum(votes.counts.sum(axis=1), 1)
    rows = np.arange(n_items)
    item_support = votes.counts[rows, inferred] / total
    members = np.bincount(inferred, minlength=n_labels)

    def mean(values: Floats) -> Floats:
        sums = np.bincount(inferred, weights=values, minlength=n_labels)
        return np.where(members > 0, sums / np.maximum(members, 1), np.nan)

    pooled = posterior.T @ votes.counts.astype(np.float64)
    classes = np.arange(n_labels)
    return ClassIdentity(
        inferred=inferred,
        n_items=members,
        support=mean(item_support),
        plurality_support=mean(votes.majority_share),
        plurality_agreement=mean(votes.tied[rows, inferred].astype(np.float64)),
        named=pooled.argmax(axis=1) == classes,
        has_mass=members > 0,
        names_truth=pooled.argmax(axis=0) == classes,
        is_answered=votes.counts.sum(axis=0) > 0,
        item_support=item_support,
    )
