"""Estimates of a label model and the expected counts they follow from; the M-step of Dawid-Skene.

Sources: Dawid & Skene 1979, eqs. 2.3 and 2.4; Varadhan & Roland 2008, "Simple and globally
convergent methods for accelerating the convergence of any EM algorithm" (extrapolation).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.numerics.moments import Additive

LEAST_SHARE = 0.1
"""Least value of an extrapolated count, as a share of the latest expected count."""


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

    def keep(self, judge_starts: Codes, mask: Flags) -> Estimates:
        """Return the estimates of the tasks that ``mask`` selects."""
        return Estimates(
            self.log_pi[mask],
            self.log_theta[np.repeat(mask, np.diff(judge_starts))],
            self.log_prior[mask],
            self.dependence[mask],
        )

    def replace_tasks(self, judge_starts: Codes, mask: Flags, other: Estimates) -> Estimates:
        """Return these estimates with ``other`` for the tasks that ``mask`` selects."""
        if mask.all():
            return other
        judges = np.repeat(mask, np.diff(judge_starts))
        return Estimates(
            np.where(mask[:, None], other.log_pi, self.log_pi),
            np.where(judges[:, None, None], other.log_theta, self.log_theta),
            np.where(mask, other.log_prior, self.log_prior),
            np.where(mask, other.dependence, self.dependence),
        )


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

    def keep(self, judge_starts: Codes, mask: Flags) -> Counts:
        """Return the counts of the tasks that ``mask`` selects."""
        rows = np.repeat(mask, np.diff(judge_starts) * self.pi.shape[1])
        return Counts(self.theta[rows], self.pi[mask], self.log_likelihood[mask])

    def replace_tasks(self, judge_starts: Codes, mask: Flags, other: Counts) -> Counts:
        """Return these counts with ``other`` for the tasks that ``mask`` selects."""
        if mask.all():
            return other
        rows = np.repeat(mask, np.diff(judge_starts) * self.pi.shape[1])
        return Counts(
            np.where(rows[:, None], other.theta, self.theta),
            np.where(mask[:, None], other.pi, self.pi),
            np.where(mask, other.log_likelihood, self.log_likelihood),
        )


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
    theta = smoothed_shares(cell_counts(counts, judge_starts, prior, smoothing))
    with np.errstate(divide="ignore"):  # log 0 = -inf is meant, where nothing is smoothed
        log_theta, log_pi = np.log(theta), np.log(prevalence(counts, smoothing))
    log_prior = log_dirichlet(log_pi, log_theta, judge_starts, prior, smoothing)
    return Estimates(log_pi, log_theta, log_prior, previous.dependence)


def smoothed_shares(counts: Floats, smoothing: float = 0.0) -> Floats:
    """Return counts divided by their sum over axis 1; of nothing, even shares."""
    if smoothing:
        counts = counts + smoothing
    total = counts.sum(axis=1, keepdims=True)
    return np.where(total > 0, counts / np.where(total > 0, total, 1), 1 / counts.shape[1])


def extrapolate_counts(counts: Sequence[Counts], judge_starts: Codes) -> Counts:
    """Return the counts that EM approaches from three successive ones, by task (SQUAREM).

    With the differences r = c1 - c0 and v = (c2 - c1) - r, these are c0 + 2 a r + a^2 v, where the
    step length a is |r| / |v|, but at least 1, which is c2 (Varadhan & Roland 2008, scheme S3).
    They add up to the labels and items that c0, c1 and c2 add up to. A count that would fall below
    `LEAST_SHARE` of that in c2 is set to it: a positive count stays positive, so that any M-step
    gives valid estimates and no class is lost.

    Parameters
    ----------
    counts
        Expected counts c0, c1, c2, each under the estimates that follow from the one before.
    judge_starts
        ``(n_tasks + 1,)`` where a task's judges start.
    """
    n_rows = np.diff(judge_starts) * counts[0].pi.shape[1]
    thetas, pis = [c.theta for c in counts], [c.pi for c in counts]
    theta_r, pi_r = thetas[1] - thetas[0], pis[1] - pis[0]
    theta_v, pi_v = thetas[2] - thetas[1], pis[2] - pis[1]
    theta_v -= theta_r
    pi_v -= pi_r
    squared_r = _squared_norms(theta_r, pi_r, n_rows)
    squared_v = _squared_norms(theta_v, pi_v, n_rows)
    is_curved = squared_v > 0
    step = np.sqrt(squared_r / np.where(is_curved, squared_v, 1.0))
    step = np.where(is_curved, np.maximum(step, 1.0), 1.0)
    return Counts(
        _extrapolate(thetas, theta_r, theta_v, np.repeat(step, n_rows)),
        _extrapolate(pis, pi_r, pi_v, step),
        counts[2].log_likelihood,
    )


def _extrapolate(counts: Sequence[Floats], r: Floats, v: Floats, step: Floats) -> Floats:
    """Return c0 + 2 a r + a^2 v, bounded from below; overwrites ``r`` and ``v`` to save memory."""
    step = step[:, None]
    r *= 2 * step
    v *= step * step
    v += r
    v += counts[0]
    return np.maximum(v, LEAST_SHARE * counts[2], out=v)


def _squared_norms(theta: Floats, pi: Floats, n_rows: Codes) -> Floats:
    """Return the squared norm by task, which does not depend on the tasks beside it."""
    task = np.repeat(np.arange(n_rows.size), n_rows)
    of_theta = np.bincount(task, weights=(theta * theta).sum(axis=1), minlength=n_rows.size)
    return np.asarray(of_theta + (pi * pi).sum(axis=1))


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
