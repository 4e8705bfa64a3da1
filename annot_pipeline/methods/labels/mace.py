"""MACE: a judge knows the class or picks a label without looking.

A judge j knows the class of an item with probability t_j, and else answers l with probability
x_jl: a confusion matrix t_j I + (1 - t_j) x_j. All classes are equally common. Source: Hovy et al.
2013, section 2 (EM with fractional counts, which are smoothed as section 3.1 has it).

Assumes that judges err independently given the class, and that what they pick does not depend on
it. With one class nothing tells t. A judge without labels has t = 1/2 and picks each class alike.
"""

from __future__ import annotations

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.labels.estimates import (
    Counts,
    Estimates,
    cell_counts,
    log_dirichlet,
    smoothed_shares,
)


def m_step(
    counts: Counts,
    judge_starts: Codes,
    prior: Floats | None,
    smoothing: float,
    previous: Estimates,
) -> Estimates:
    """Return the confusion matrices that maximize the expected log posterior.

    The prior is a Beta(1 + smoothing) on t and a Dirichlet(1 + smoothing) on x.
    """
    cells = cell_counts(counts, judge_starts, prior, 0.0)
    k, n_tasks = cells.shape[1], counts.pi.shape[0]
    right = np.einsum("jkk->jk", cells)
    known_counts = right * _share_known(previous)
    picked = np.maximum(cells.sum(axis=2) - known_counts, 0.0)
    knows = smoothed_shares(
        np.stack([known_counts.sum(axis=1), picked.sum(axis=1)], axis=1), smoothing
    )
    picks = smoothed_shares(picked, smoothing)
    theta = knows[:, :1, None] * np.eye(k) + knows[:, 1:, None] * picks[:, :, None]
    with np.errstate(divide="ignore"):  # log 0 = -inf is meant, where nothing is smoothed
        log_theta = np.log(theta)
        log_knows, log_picks = np.log(knows), np.log(picks)
    log_pi = np.full((n_tasks, k), -np.log(k))
    log_prior = log_dirichlet(log_pi, log_theta, judge_starts, prior, 0.0)
    if smoothing > 0:  # without, a share may be 0
        of_judge = log_knows.sum(axis=1) + log_picks.sum(axis=1)
        task = np.repeat(np.arange(n_tasks), np.diff(judge_starts))
        log_prior += smoothing * np.bincount(task, weights=of_judge, minlength=n_tasks)
    return Estimates(log_pi, log_theta, log_prior, previous.dependence)


def _share_known(previous: Estimates) -> Floats:
    """Return the probability that a right label was known and not picked, ``(n_judges, K)``."""
    theta = np.exp(previous.log_theta)
    k = theta.shape[1]
    right = np.einsum("jkk->jk", theta)
    each = np.arange(k)
    picked = theta[:, each, (each + 1) % k] if k > 1 else np.zeros_like(right)
    return np.where(right > 0, 1 - picked / np.where(right > 0, right, 1.0), 0.0)
