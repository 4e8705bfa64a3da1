"""Hierarchical Dawid-Skene: confusion matrices that borrow from the confusion common to a task.

Each judge's matrix is estimated from the judge's own labels and from `BORROWED` labels of each
class that follow the common confusion. That is the confusion of all judges together, drawn towards
judges who copy the class with probability a or else guess labels as b says. A class keeps a row of
its own only as far as its own label leads there: rare classes cannot be taken over.

Extends Dawid & Skene 1979 (eqs. 2.3, 2.4) by an empirical Dirichlet prior, as hierarchical models
of annotation do (Paun et al. 2018, "Comparing Bayesian models of annotation", section 3). The
copy-or-guess confusion is that of MACE (Hovy et al. 2013) for all judges of a task.

Assumes that judges err independently given the class, or alike with the dependence of the
estimates (Kish 1965). With one class nothing is estimated; a judge without labels has the common
confusion. The prior follows the estimates: the log posterior that is reported may fall from one
iteration to the next.
"""

from __future__ import annotations

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.labels.estimates import Counts, Estimates, smoothed_shares

BORROWED = 6.0
"""Labels of each class that a judge borrows from the common confusion."""
BORROWED_ITEMS = 40.0
"""Items, distributed as all labels are, that the prevalence borrows. With 4, fits of pilots raised
the prevalence of one class, and overruled votes of two to one, wrongly two times of three."""
COMMON_LABELS = 50.0
"""Labels by which a class's row of the common confusion is drawn to copy-or-guess."""
FULL_TRUST = 2.0
"""Slope of the trust in a class's own row: 2 trusts it fully where its diagonal is at least twice
the largest other cell, and not at all where it is below it."""
PRIOR_GUESSES = 0.1
"""Guesses of each label before any is seen: a Dirichlet(1.1) prior."""
COPY_TOLERANCE = 1e-8
"""Step of Newton's method in a that is the last: the next would be its square."""


def m_step(
    counts: Counts,
    judge_starts: Codes,
    prior: Floats | None,
    smoothing: float,
    previous: Estimates,
) -> Estimates:
    """Return the confusion matrices and prevalence under the empirical prior of each task.

    ``smoothing`` is added to each cell of a confusion matrix, and to each class of the shares of
    labels that the prevalence is drawn to.
    """
    k = counts.pi.shape[1]
    cells = counts.theta.reshape(-1, k, k)
    judges = np.diff(judge_starts)
    by_task = np.zeros((judges.size, k, k))
    np.add.at(by_task, np.repeat(np.arange(judges.size), judges), cells)
    added = borrowed_counts(by_task, smoothing)
    if prior is not None:
        added += prior
    borrowed = np.repeat(added, judges, axis=0)
    shares = smoothed_shares(by_task.sum(axis=2), smoothing)
    pi = counts.pi + BORROWED_ITEMS * shares
    with np.errstate(divide="ignore"):  # log 0 = -inf is meant, where nothing is smoothed
        log_theta, log_pi = np.log(smoothed_shares(cells + borrowed)), np.log(smoothed_shares(pi))
    log_prior = _log_prior(log_pi, log_theta, judges, borrowed, shares)
    return Estimates(log_pi, log_theta, log_prior, previous.dependence)


def borrowed_counts(cells: Floats, smoothing: float) -> Floats:
    """Return the labels that each judge of a task borrows, as [task, observed, true].

    ``cells``: ``(n_tasks, K, K)`` expected labels of all judges as [task, observed, true].
    """
    common = common_confusion(cells.transpose(0, 2, 1)).transpose(0, 2, 1)
    return np.asarray(BORROWED * common + smoothing)


def common_confusion(counts: Floats) -> Floats:
    """Return the confusion of all judges of each task, ``(n_tasks, K, K)`` as [true, observed].

    Parameters
    ----------
    counts
        ``(n_tasks, K, K)`` expected labels of all judges as [task, true, observed].
    """
    k = counts.shape[1]
    copy, guess = copy_or_guess(counts)
    guessing = copy[:, None, None] * np.eye(k) + ((1 - copy)[:, None] * guess)[:, None, :]
    row = counts + COMMON_LABELS * guessing
    row /= row.sum(axis=2, keepdims=True)
    own = row.diagonal(axis1=1, axis2=2)
    other = np.where(np.eye(k, dtype=bool), 0.0, row).max(axis=2)
    trust = np.clip(FULL_TRUST * (1 - other / own), 0, 1)[:, :, None]
    return np.asarray(trust * row + (1 - trust) * guessing)


def copy_or_guess(counts: Floats) -> tuple[Floats, Floats]:
    """Return a, the probability that a label is copied, and b, how the others are guessed.

    The posterior mode with a Beta(2, 2) prior on a ``(n_tasks,)`` and a Dirichlet(1.1) prior on
    b ``(n_tasks, K)``, found by Newton's method within bounds of a. Where its gradient is zero, a
    determines how often each label is guessed, ``(1 - a) b``: the root of a quadratic. They must
    add up to 1 - a.
    """
    right, observed = np.ascontiguousarray(counts.diagonal(axis1=1, axis2=2)), counts.sum(axis=1)
    weight = observed.sum(axis=1, keepdims=True) + 2
    low, copy = np.zeros_like(weight), (right.sum(axis=1, keepdims=True) + 1) / weight
    high, excess = copy, counts.shape[1] * PRIOR_GUESSES - 1
    observed, wrong = observed + PRIOR_GUESSES, observed - right + PRIOR_GUESSES
    is_running = np.ones(copy.shape, np.bool_)
    while True:
        n_guessed = weight * (1 - copy) + excess
        share = (1 - copy) / n_guessed
        middle = copy - share * observed
        product = share * copy * wrong
        root = np.sqrt(middle * middle + 4 * product)
        sum_of_both = np.abs(middle) + root
        guessed = np.where(middle > 0, 2 * product / sum_of_both, sum_of_both / 2)
        gap = np.add.reduce(guessed, axis=1, keepdims=True) - (1 - copy)
        if not is_running.any():
            return copy[:, 0], guessed / np.add.reduce(guessed, axis=1, keepdims=True)
        share_slope = -excess / (n_guessed * n_guessed)
        slopes = (share + share_slope * copy) * wrong - guessed * (1 - share_slope * observed)
        slope = np.add.reduce(slopes / root, axis=1, keepdims=True) + 1
        low, high = np.where(gap < 0, copy, low), np.where(gap < 0, high, copy)
        step = copy - gap / slope
        step = np.where((low <= step) & (step <= high), step, (low + high) / 2)
        step = np.where(is_running, step, copy)
        is_running, copy = np.abs(step - copy) > COPY_TOLERANCE, step


def _log_prior(
    log_pi: Floats, log_theta: Floats, judges: Codes, borrowed: Floats, shares: Floats
) -> Floats:
    """Return the log density of the empirical Dirichlet priors by task, but a constant."""
    task = np.repeat(np.arange(judges.size), judges)
    with np.errstate(invalid="ignore"):  # 0 log 0 is 0
        of_judge = np.where(borrowed > 0, borrowed * log_theta, 0).sum(axis=(1, 2))
        of_classes = np.where(shares > 0, shares * log_pi, 0).sum(axis=1)
    log_prior = np.bincount(task, weights=of_judge, minlength=judges.size)
    return np.asarray(log_prior + BORROWED_ITEMS * of_classes)
