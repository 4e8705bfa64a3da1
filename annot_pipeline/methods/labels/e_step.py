"""E-step of label models: the probability of each class of an item, and the counts it adds to.

Source: Dawid & Skene 1979, eq. 2.5.

Where judges have families, each of a family's m labels of an item has weight 1/m in the evidence,
and a family is one judge. Counts are of whole labels: each judge's confusion is estimated from all
labels of the judge. EM then finds a fixed point, but its objective may fall on the way.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.labels.estimates import Counts, Estimates, smoothed_shares
from annot_pipeline.methods.labels.label_matrix import LabelMatrix

FEW = 16
"""Classes up to which a row is short."""


def e_step(matrix: LabelMatrix, estimates: Estimates) -> tuple[Floats, Floats]:
    """Return the posterior ``(n_items, K)`` and the log likelihood ``(n_items,)``, in log space."""
    logits = matrix.evidence @ estimates.log_theta.reshape(-1, estimates.log_pi.shape[1])
    items = np.diff(matrix.item_starts)
    logits += np.repeat(estimates.log_pi, items, axis=0)
    repeats = None
    if estimates.dependence.any():
        repeats = design_effect(matrix.judges_per_item, np.repeat(estimates.dependence, items))
        logits /= repeats[:, None]
    largest = largest_of_rows(logits)
    logits -= largest
    np.exp(logits, out=logits)
    total = logits.sum(axis=1, keepdims=True)
    logits /= total
    log_likelihood = (np.log(total) + largest)[:, 0]
    if repeats is not None:
        log_likelihood *= repeats
    return logits, log_likelihood


def design_effect(n_judges: Codes, dependence: Floats | float) -> Floats:
    """Return the design effect of dependent judges, 1 + (n - 1) dependence (Kish 1965).

    EM with log posteriors that are divided by it climbs the sum over items of this number times
    the log of the sum over classes of the tempered joint probability: the E-step is the slope of
    that convex function of the log probabilities, so that its objective never falls.

    Parameters
    ----------
    n_judges
        ``(n_items,)``; judges of one family are one.
    dependence
        Share of a judge's evidence that another's repeats, one or by item.
    """
    return np.asarray(1 + np.maximum(n_judges - 1, 0) * dependence)


def expected_counts(matrix: LabelMatrix, estimates: Estimates) -> Counts:
    """Return the labels and items that each class is expected to have, and the log likelihood."""
    posterior, log_likelihood = e_step(matrix, estimates)
    return Counts(
        matrix.votes_by_judge @ posterior,
        matrix.members @ posterior,
        matrix.members @ log_likelihood,
    )


def voted_counts(matrix: LabelMatrix) -> Counts:
    """Return counts where each item's share of labels stands for its posterior."""
    k = matrix.n_labels
    shares = matrix.evidence @ np.tile(np.eye(k), (matrix.votes.shape[1] // k, 1))
    posterior = smoothed_shares(shares)
    return Counts(
        matrix.votes_by_judge @ posterior,
        matrix.members @ posterior,
        matrix.members @ np.zeros(len(posterior)),
    )


def tempered(log_posterior: Floats, n_judges: Codes, dependence: Floats | float) -> Floats:
    """Return the posterior of n judges of whom each repeats others by ``dependence``."""
    logs = log_posterior / design_effect(n_judges, dependence)[:, None]
    logs -= largest_of_rows(logs)
    p = np.exp(logs, out=logs)
    p /= np.einsum("ik->i", p)[:, None]
    return np.asarray(p)


def tempered_classes(
    log_posterior: Floats, n_judges: Codes, dependence: Floats | float, n_classes: int
) -> Floats:
    """Return the posterior of subtypes whose classes are tempered, but not subtypes within them."""
    if log_posterior.shape[1] == n_classes:
        return tempered(log_posterior, n_judges, dependence)
    n_items, n_subtypes = log_posterior.shape
    by_class = log_posterior.reshape(n_items, n_classes, n_subtypes // n_classes)
    logs = np.logaddexp.reduce(by_class, axis=2)
    within = np.exp(by_class - np.where(np.isfinite(logs), logs, 0)[:, :, None])
    p = tempered(logs, n_judges, dependence)[:, :, None] * within
    return np.asarray(p.reshape(log_posterior.shape))


def largest_of_rows(logits: Floats) -> Floats:
    """Return the largest of each row, ``(n_rows, 1)``.

    A few columns are taken one by one: numpy is slow there.
    """
    if not 1 < logits.shape[1] <= FEW:
        return np.asarray(logits.max(axis=1, keepdims=True))
    return np.asarray(reduce(np.maximum, logits.T)[:, None])
