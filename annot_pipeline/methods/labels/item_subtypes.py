"""Judges who err together within a class: each class has subtypes of items.

Judges are independent given the subtype of an item, not given its class, so that items of a class
on which many judges err alike are a subtype of their own, and judges who see through it are told
apart from those who follow it (Li, Rubinstein & Cohn 2019, "Exploiting worker correlation for label
aggregation in crowdsourcing", ICML: EBCC). A member of the average (stacking), never published
alone: what predicts labels best need not be right.

The prior of confusion matrices is the paper's, 4 labels of the class itself and 1 of others: an
empirical one (hierarchical) would learn the shared mistake. The paper draws random starts and
follows mean-field updates; here EM starts from votes, without a seed: a class whose share of an
item's votes is s has s squared in its first subtype, clear items, and s (1 - s) in its second,
contested ones. More subtypes changed no public set.

Latent codes are class times `SUBTYPES` plus subtype. Degenerate input: without contested items the
second subtypes stay near empty.
"""

from __future__ import annotations

import numpy as np

from annot_pipeline.arrays import Floats
from annot_pipeline.methods.labels.e_step import expected_counts
from annot_pipeline.methods.labels.estimates import Counts, Estimates
from annot_pipeline.methods.labels.label_matrix import LabelCodes, LabelMatrix
from annot_pipeline.methods.numerics.blocks import Blocks

SUBTYPES = 2
OWN, OTHERS = 4.0, 1.0
"""Labels of each subtype that a judge borrows: of its class, and of all others together."""
BORROWED_ITEMS = 1.0
"""Items that each class, and each subtype, borrows."""
RARE = 0.01
"""Share of items below which a subtype is not looked at."""
TOLERANCE, MAX_ITERATIONS = 1e-6, 200
"""Relative change of the log likelihood at which the fit ends."""


def fit_subtypes(tasks: Blocks[LabelCodes]) -> Estimates | None:
    """Return estimates of subtypes in place of classes: ``log_pi`` is ``(1, K * SUBTYPES)``.

    None where a subtype has more labels of another class than of its own: it is that class.

    Parameters
    ----------
    tasks
        Labels of one task, in blocks of items.
    """
    matrices = tasks.keep(_matrix)
    counts = matrices.sum(_start)
    for _ in range(MAX_ITERATIONS):
        before, estimates = counts.log_likelihood, _m_step(counts)
        counts = matrices.sum(expected_counts, estimates)
        if np.abs(counts.log_likelihood - before) <= TOLERANCE * np.abs(before):
            break
    return estimates if _keep_their_class(counts) else None


def _keep_their_class(counts: Counts) -> bool:
    """Return whether most labels of each subtype, but of rare ones, are of its class."""
    latent = counts.pi.shape[1]
    labels = counts.theta.reshape(-1, latent // SUBTYPES, latent).sum(axis=0)
    is_own = labels.argmax(axis=0) == np.arange(latent) // SUBTYPES
    return bool((is_own | (counts.pi[0] < RARE * counts.pi.sum())).all())


def borrowed_by_subtype(k: int) -> Floats:
    """Return the labels that a judge borrows, ``(k, k * SUBTYPES)`` as [observed, true]."""
    by_class = np.full((k, k), OTHERS / max(k - 1, 1))
    np.fill_diagonal(by_class, OWN)
    return np.repeat(by_class, SUBTYPES, axis=1)


def _matrix(codes: LabelCodes) -> LabelMatrix:
    return LabelMatrix.from_tasks([0], [codes])


def _start(matrix: LabelMatrix) -> Counts:
    """Return counts by the votes: clear items first of each class, then contested ones."""
    k = matrix.n_labels
    votes = matrix.evidence @ np.tile(np.eye(k), (matrix.votes.shape[1] // k, 1))
    share = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1)
    latent = np.stack([share**2, share * (1 - share)], axis=2).reshape(-1, k * SUBTYPES)
    return Counts(matrix.votes_by_judge @ latent, matrix.members @ latent, np.zeros(1))


def _m_step(counts: Counts) -> Estimates:
    latent = counts.pi.shape[1]
    k = latent // SUBTYPES
    theta = counts.theta.reshape(-1, k, latent) + borrowed_by_subtype(k)
    theta /= theta.sum(axis=1, keepdims=True)
    within = counts.pi.reshape(k, SUBTYPES) + BORROWED_ITEMS
    classes = counts.pi.reshape(k, SUBTYPES).sum(axis=1) + BORROWED_ITEMS
    pi = within * (classes / classes.sum() / within.sum(axis=1))[:, None]
    return Estimates(np.log(pi).reshape(1, -1), np.log(theta), np.zeros(1), np.zeros(1))
