"""Dawid-Skene: a model of annotation in which each judge has a confusion matrix.

An item's true class z_i is drawn from the prevalence pi; a judge j who sees an item of
class k answers l with probability theta[j, k, l]; given the class, answers are
independent. Fitted by EM for the smoothed maximum (MAP): ``smoothing`` is added to each
cell of theta and of pi, which is a Dirichlet(1 + smoothing) prior on each row. ``prior`` adds
counts of its own to each cell of every theta: what is known of judges before they answer
(label_calibration).

Sources: Dawid & Skene 1979 (eqs. 2.3 to 2.5); Passonneau & Carpenter 2013, section 3.

Assumes that judges err independently given the class. They do not on hard items, so the
posterior is overconfident there. A judge may label an item any number of times; every
repeat counts. Degenerate input: an item without labels gets the prevalence; a class that
no judge used keeps its smoothed mass; with ``smoothing=0`` the row of a class that a judge
never met has no estimate and is set to 1/K. Ties are never broken here.

Many tasks are one batch: labels form one sparse item x (judge, label) matrix, so both
steps are one sparse product whatever the number of tasks. Every sum runs in code order
within its task, hence a task's result does not depend on the tasks beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.convergence import Convergence
from annot_pipeline.methods.label_matrix import LabelCodes, LabelMatrix

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]

DIAGONAL_START = 0.7
"""Share on the diagonal of the ``diagonal`` start; the rest is spread over all K cells."""

FEW = 16
"""Classes up to which a row is short."""


@dataclass(frozen=True)
class DawidSkeneParams:
    """Settings of one fit.

    Parameters
    ----------
    start
        ``diagonal``: theta .7 + .3/K on the diagonal, pi uniform, E-step first (Passonneau &
        Carpenter's own program). ``votes``: each item's share of labels, M-step first
        (Dawid & Skene 1979). The start decides which optimum EM finds.
    smoothing
        Count added to each cell of theta and of pi; >= 0.
    stop_on
        ``posterior``: the objective that MAP EM raises, so it never falls. ``likelihood``
        exists to repeat published results; it may fall or stall at a saddle.
    tolerance
        Stop when the absolute relative change of the objective falls below it; >= 0.
    max_iterations
        >= 1.
    """

    start: Literal["diagonal", "votes"] = "diagonal"
    smoothing: float = 0.01
    stop_on: Literal["posterior", "likelihood"] = "posterior"
    tolerance: float = 1e-10
    max_iterations: int = 5000

    def __post_init__(self) -> None:
        if self.start not in ("diagonal", "votes"):
            raise ValueError(f"start must be diagonal or votes, not {self.start!r}")
        if self.stop_on not in ("posterior", "likelihood"):
            raise ValueError(f"stop_on must be posterior or likelihood, not {self.stop_on!r}")
        if not 0 <= self.smoothing < np.inf:
            raise ValueError(f"smoothing must be a count >= 0, not {self.smoothing}")
        if not 0 <= self.tolerance < 1:
            raise ValueError(f"tolerance must be in [0, 1), not {self.tolerance}")
        if self.max_iterations < 1:
            raise ValueError(f"max_iterations must be >= 1, not {self.max_iterations}")


@dataclass(frozen=True)
class DawidSkeneResult:
    """Estimates of one task.

    Parameters
    ----------
    posterior
        ``(n_items, n_labels)`` probability of each class; from a last E-step, so it belongs
        to the other estimates.
    prevalence
        ``(n_labels,)`` pi.
    confusion
        ``(n_judges, n_labels, n_labels)`` theta as [judge, true, observed].
    convergence, params
        How the fit ended, and what it was asked.
    """

    posterior: Floats
    prevalence: Floats
    confusion: Floats
    convergence: Convergence
    params: DawidSkeneParams


def dawid_skene(
    items: npt.ArrayLike,
    judges: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    n_items: int,
    n_judges: int,
    n_labels: int,
    params: DawidSkeneParams | None = None,
    prior: Floats | None = None,
) -> DawidSkeneResult:
    """Fit the model to one task.

    Parameters
    ----------
    items, judges, labels
        ``(n_labels_given,)`` integer codes from 0.
    n_items, n_judges, n_labels
        Sizes of the code ranges.
    params
        Settings; default `DawidSkeneParams`.
    prior
        ``(n_labels, n_labels)`` counts >= 0 added to each judge's confusion, as [true, observed].

    Raises
    ------
    ValueError
        A code outside its range, arrays of different lengths, an invalid setting.
    """
    task = LabelCodes(
        np.asarray(items, dtype=np.int64),
        np.asarray(judges, dtype=np.int64),
        np.asarray(labels, dtype=np.int64),
        n_items,
        n_judges,
        n_labels,
    )
    priors = None if prior is None else [prior]
    return dawid_skene_batch([task], params=params, priors=priors)[0]


def dawid_skene_batch(
    tasks: Sequence[LabelCodes],
    *,
    params: DawidSkeneParams | None = None,
    priors: Sequence[Floats] | None = None,
    progress: Progress | None = None,
) -> list[DawidSkeneResult]:
    """Fit each task's own model; equal to fitting them one by one, to the last bit.

    Parameters
    ----------
    tasks
        Tasks of any sizes; those with the same number of classes share their arrays.
    params
        Settings of every fit.
    priors
        Of each task, as `dawid_skene` takes one.
    progress
        Called with (tasks finished, iterations of the current matrix) now and then.

    Returns
    -------
    list of DawidSkeneResult
        In the order of ``tasks``.
    """
    params = params or DawidSkeneParams()
    results: dict[int, DawidSkeneResult] = {}
    for size in sorted({task.n_labels for task in tasks}):
        members = [t for t, task in enumerate(tasks) if task.n_labels == size]
        matrix = LabelMatrix.of(members, [tasks[t] for t in members])
        prior = None if priors is None else _priors([priors[t] for t in members], size)
        _fit(matrix, prior, params, results, progress)
    return [results[t] for t in range(len(tasks))]


def _priors(priors: Sequence[Floats], n_labels: int) -> Floats:
    """Counts of each task as (tasks, observed, true)."""
    for prior in priors:
        if prior.shape != (n_labels, n_labels) or not ((prior >= 0) & (prior < np.inf)).all():
            raise ValueError(f"prior must be counts >= 0 of shape {(n_labels, n_labels)}")
    return np.stack(priors).transpose(0, 2, 1)


@dataclass
class _State:
    """Current estimates of a matrix: log pi (tasks, K), log theta (judges, observed, true)."""

    prior: Floats | None  # (n_tasks, observed, true)
    log_pi: Floats
    log_theta: Floats
    posterior: Floats
    log_likelihood: Floats  # (n_tasks,)
    log_prior: Floats  # (n_tasks,)

    def keep(self, matrix: LabelMatrix, kept: npt.NDArray[np.bool_]) -> _State:
        return _State(
            None if self.prior is None else self.prior[kept],
            self.log_pi[kept],
            self.log_theta[np.repeat(kept, np.diff(matrix.judge_starts))],
            self.posterior[np.repeat(kept, np.diff(matrix.item_starts))],
            self.log_likelihood[kept],
            self.log_prior[kept],
        )


def _fit(
    matrix: LabelMatrix,
    prior: Floats | None,
    params: DawidSkeneParams,
    results: dict[int, DawidSkeneResult],
    progress: Progress | None,
) -> None:
    """Run EM on a matrix; each task leaves when its own objective has settled."""
    state = _start(matrix, prior, params)
    posteriors = {int(t): [p] for t, p in zip(matrix.tasks, _log_posterior(state), strict=True)}
    likelihoods = {int(t): [v] for t, v in zip(matrix.tasks, state.log_likelihood, strict=True)}
    running = np.ones(matrix.tasks.size, dtype=np.bool_)
    for iteration in range(1, params.max_iterations + 1):
        before = _objective(state, params)
        _maximise(matrix, state, params)
        _expect(matrix, state)
        after = _objective(state, params)
        settled = np.abs(after - before) <= params.tolerance * np.abs(before)
        for place in np.flatnonzero(running):
            t = int(matrix.tasks[place])
            posteriors[t].append(_log_posterior(state)[place])
            likelihoods[t].append(state.log_likelihood[place])
            if settled[place] or iteration == params.max_iterations:
                convergence = Convergence(
                    bool(settled[place]),
                    iteration,
                    params.stop_on,
                    np.array(posteriors.pop(t)),
                    np.array(likelihoods.pop(t)),
                )
                results[t] = _result(matrix, state, int(place), convergence, params)
                running[place] = False
        if not running.any():
            break
        if np.diff(matrix.item_starts)[running].sum() * 2 < matrix.item_starts[-1]:
            matrix, state = matrix.keep(running), state.keep(matrix, running)
            running = np.ones(matrix.tasks.size, dtype=np.bool_)
        if progress and iteration % 25 == 0:
            progress(len(results), iteration)


def _start(matrix: LabelMatrix, prior: Floats | None, params: DawidSkeneParams) -> _State:
    n_tasks, k = matrix.tasks.size, matrix.n_labels
    n_items, n_judges = int(matrix.item_starts[-1]), int(matrix.judge_starts[-1])
    theta = np.full((k, k), (1 - DIAGONAL_START) / k) + DIAGONAL_START * np.eye(k)
    state = _State(
        prior=prior,
        log_pi=np.full((n_tasks, k), -np.log(k)),
        log_theta=np.log(np.broadcast_to(theta, (n_judges, k, k))),
        posterior=np.empty((n_items, k)),
        log_likelihood=np.empty(n_tasks),
        log_prior=np.empty(n_tasks),
    )
    if params.start == "votes":
        shares = matrix.votes @ np.tile(np.eye(k), (n_judges, 1))
        total = shares.sum(axis=1, keepdims=True)
        state.posterior = np.where(total > 0, shares / np.where(total > 0, total, 1), 1 / k)
        _maximise(matrix, state, params)
    else:
        state.log_prior = _log_prior(matrix, state, params)
    _expect(matrix, state)
    return state


def _expect(matrix: LabelMatrix, state: _State) -> None:
    """E-step (Dawid & Skene eq. 2.5), in log space."""
    k = matrix.n_labels
    logits = matrix.votes @ state.log_theta.reshape(-1, k)
    logits += np.repeat(state.log_pi, np.diff(matrix.item_starts), axis=0)
    largest = largest_of_rows(logits)
    logits -= largest
    np.exp(logits, out=logits)
    total = logits.sum(axis=1, keepdims=True)
    logits /= total
    state.posterior = logits
    state.log_likelihood = matrix.members @ (np.log(total) + largest)[:, 0]


def largest_of_rows(logits: Floats) -> Floats:
    """Largest of each row, ``(n_rows, 1)``; of few columns by columns: numpy is slow there."""
    if not 1 < logits.shape[1] <= FEW:
        return np.asarray(logits.max(axis=1, keepdims=True))
    return np.asarray(reduce(np.maximum, logits.T)[:, None])


def _maximise(matrix: LabelMatrix, state: _State, params: DawidSkeneParams) -> None:
    """M-step (Dawid & Skene eqs. 2.3, 2.4) with smoothing."""
    k = matrix.n_labels
    theta = (matrix.votes_by_judge @ state.posterior).reshape(-1, k, k)
    theta += params.smoothing
    if state.prior is not None:
        theta += np.repeat(state.prior, np.diff(matrix.judge_starts), axis=0)
    row = theta.sum(axis=1, keepdims=True)
    theta = np.where(row > 0, theta / np.where(row > 0, row, 1), 1 / k)
    pi = matrix.members @ state.posterior + params.smoothing
    pi /= pi.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):  # log 0 = -inf is meant, where nothing is smoothed
        state.log_theta, state.log_pi = np.log(theta), np.log(pi)
    state.log_prior = _log_prior(matrix, state, params)


def _log_prior(matrix: LabelMatrix, state: _State, params: DawidSkeneParams) -> Floats:
    """Log density of the Dirichlet(1 + counts) priors, without its constant."""
    if params.smoothing == 0 and state.prior is None:
        return np.zeros(matrix.tasks.size)
    log_theta = state.log_theta.reshape(state.log_theta.shape[0], -1)
    starts = matrix.judge_starts
    from scipy.sparse import csr_array  # settings alone, which need Params, load no scipy

    by_task = csr_array(
        (np.ones(log_theta.shape[0]), np.arange(log_theta.shape[0]), starts),
        shape=(matrix.tasks.size, log_theta.shape[0]),
    )
    log_prior = np.zeros(matrix.tasks.size)
    if params.smoothing > 0:  # without, a cell may be 0
        log_prior += params.smoothing * (by_task @ log_theta.sum(axis=1) + state.log_pi.sum(axis=1))
    if state.prior is not None:
        counts = state.prior.reshape(matrix.tasks.size, -1)
        of_cells = np.where(counts > 0, by_task @ log_theta, 0)
        log_prior += (counts * of_cells).sum(axis=1)
    return log_prior


def _log_posterior(state: _State) -> Floats:
    return state.log_likelihood + state.log_prior


def _objective(state: _State, params: DawidSkeneParams) -> Floats:
    return _log_posterior(state) if params.stop_on == "posterior" else state.log_likelihood


def _result(
    matrix: LabelMatrix,
    state: _State,
    place: int,
    convergence: Convergence,
    params: DawidSkeneParams,
) -> DawidSkeneResult:
    items = slice(matrix.item_starts[place], matrix.item_starts[place + 1])
    judges = slice(matrix.judge_starts[place], matrix.judge_starts[place + 1])
    return DawidSkeneResult(
        posterior=state.posterior[items].copy(),
        prevalence=np.exp(state.log_pi[place]),
        confusion=np.exp(state.log_theta[judges].transpose(0, 2, 1)),
        convergence=convergence,
        params=params,
    )
