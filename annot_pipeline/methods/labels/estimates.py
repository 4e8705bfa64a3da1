"""Estimates of a label model and the expected counts they follow from; the M-step of Dawid-Skene.

Source: Dawid & Skene 1979, eqs. 2.3 and 2.4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.numerics.additive import Additive

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Estimates:
    """Of some tasks with K classes, side by side.

    Parameters
    ----------
    log_pi, log_theta
        ``(n_tasks, K)`` and ``(n_judges, K, K)`` as [judge, observed, true].
    log_prior
        ``(n_tasks,)`` log density of the Dirichlet priors, without its constant.
    dependence
        ``(n_tasks,)`` share of a judge's evidence on an item that another judge's repeats, in
        [0, 1]; 0: judges err independently given the class.
    """

    log_pi: Floats
    log_theta: Floats
    log_prior: Floats
    dependence: Floats


@dataclass(frozen=True)
class Counts(Additive):
    """What items add up to under some estimates.

    Parameters
    ----------
    theta
        ``(n_judges * K, K)`` labels of a judge by the probability of each true class.
    pi
        ``(n_tasks, K)`` items of each class.
    log_likelihood
        ``(n_tasks,)``.
    """

    theta: Floats
    pi: Floats
    log_likelihood: Floats


def m_step(
    counts: Counts,
    judge_starts: Codes,
    prior: Floats | None,
    smoothing: float,
    previous: Estimates,
) -> Estimates:
    """Return the confusion matrices and prevalence that maximize the expected log posterior.

    Each cell of a confusion matrix is free (Dawid & Skene 1979, eqs. 2.3, 2.4), with a
    Dirichlet(1 + smoothing) prior on each row.
    """
    theta = cell_counts(counts, judge_starts, prior, smoothing)
    row = theta.sum(axis=1, keepdims=True)
    theta = np.where(row > 0, theta / np.where(row > 0, row, 1), 1 / theta.shape[1])
    with np.errstate(divide="ignore"):  # log 0 = -inf is meant, where nothing is smoothed
        log_theta, log_pi = np.log(theta), np.log(prevalence(counts, smoothing))
    log_prior = log_dirichlet(log_pi, log_theta, judge_starts, prior, smoothing)
    return Estimates(log_pi, log_theta, log_prior, previous.dependence)


def cell_counts(
    counts: Counts, judge_starts: Codes, prior: Floats | None, smoothing: float
) -> Floats:
    """Return ``(n_judges, K, K)`` expected counts as [observed, true], with those of priors."""
    k = counts.pi.shape[1]
    theta: Floats = counts.theta.reshape(-1, k, k) + smoothing
    if prior is not None:
        theta += np.repeat(prior, np.diff(judge_starts), axis=0)
    return theta


def prevalence(counts: Counts, smoothing: float) -> Floats:
    """Return ``(n_tasks, K)`` shares of items by class."""
    pi = counts.pi + smoothing
    return np.asarray(pi / pi.sum(axis=1, keepdims=True))


def log_dirichlet(
    log_pi: Floats,
    log_theta: Floats,
    judge_starts: Codes,
    prior: Floats | None,
    smoothing: float,
) -> Floats:
    """Return the log density of Dirichlet(1 + counts) priors, ``(n_tasks,)``, but a constant."""
    n_tasks = judge_starts.size - 1
    if smoothing == 0 and prior is None:
        return np.zeros(n_tasks)
    flat = log_theta.reshape(log_theta.shape[0], -1)
    from scipy.sparse import csr_array  # settings alone, which need Params, load no scipy

    by_task = csr_array(
        (np.ones(flat.shape[0]), np.arange(flat.shape[0]), judge_starts),
        shape=(n_tasks, flat.shape[0]),
    )
    log_prior = np.zeros(n_tasks)
    if smoothing > 0:  # without, a cell may be 0
        log_prior += smoothing * (by_task @ flat.sum(axis=1) + log_pi.sum(axis=1))
    if prior is not None:
        counts = prior.reshape(n_tasks, -1)
        of_cells = np.where(counts > 0, by_task @ flat, 0)
        log_prior += (counts * of_cells).sum(axis=1)
    return log_prior
