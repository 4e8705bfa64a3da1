"""One-coin Dawid-Skene: a judge is right with one probability, whatever the class.

A judge j answers an item of class k with k at probability a_j, and with each other class at
(1 - a_j) / (K - 1). Source: Zhang et al. 2014, section 2 (the homogeneous model).

Assumes that judges err independently given the class, and that all errors are equally likely.
With one class the accuracy is 1. A judge without labels has accuracy 1/K where nothing is smoothed.
"""

from __future__ import annotations

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.labels.estimates import (
    Counts,
    Estimates,
    cell_counts,
    log_dirichlet,
    prevalence,
)


def m_step(
    counts: Counts,
    judge_starts: Codes,
    prior: Floats | None,
    smoothing: float,
    previous: Estimates,
) -> Estimates:
    """Return the accuracies, as confusion matrices, that maximize the expected log posterior.

    The prior is that of Dawid-Skene, a Dirichlet(1 + smoothing) on each row, on these matrices.
    """
    cells = cell_counts(counts, judge_starts, prior, smoothing)
    k = cells.shape[1]
    right, total = np.einsum("jkk->j", cells), cells.sum(axis=(1, 2))
    accuracy = np.where(total > 0, right / np.where(total > 0, total, 1), 1 / k)
    wrong = (1 - accuracy) / max(k - 1, 1)
    with np.errstate(divide="ignore"):  # log 0 = -inf is meant, where nothing is smoothed
        log_right, log_wrong = np.log(accuracy), np.log(wrong)
        log_pi = np.log(prevalence(counts, smoothing))
    log_theta = np.where(np.eye(k, dtype=bool), log_right[:, None, None], log_wrong[:, None, None])
    log_prior = log_dirichlet(log_pi, log_theta, judge_starts, prior, smoothing)
    return Estimates(log_pi, log_theta, log_prior, previous.dependence)
