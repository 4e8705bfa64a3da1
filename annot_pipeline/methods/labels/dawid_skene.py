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
within its task, hence a task's result does not depend on the tasks beside it. A task too large
for that lies in blocks (label_blocks).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.labels.estimates import Counts, Estimates
from annot_pipeline.methods.labels.label_em import EMState, Flags, run_em
from annot_pipeline.methods.labels.label_matrix import LabelCodes, LabelMatrix
from annot_pipeline.methods.labels.models import LABEL_MODELS
from annot_pipeline.methods.numerics.convergence import Convergence

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]

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
    max_parameters
        Largest number of confusion probabilities, judges times classes squared, that is fitted;
        >= 1. Ten million take about 2 GB of memory.
    model
        Which confusion matrices judges may have: a name of `models.LABEL_MODELS`.
    """

    start: Literal["diagonal", "votes"] = "diagonal"
    smoothing: float = 0.01
    stop_on: Literal["posterior", "likelihood"] = "posterior"
    tolerance: float = 1e-10
    max_iterations: int = 5000
    max_parameters: int = 10_000_000
    model: str = "dawid_skene"

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
        if self.model not in LABEL_MODELS:
            raise ValueError(f"model must be one of {', '.join(LABEL_MODELS)}, not {self.model!r}")
        if self.max_parameters < 1:
            raise ValueError(f"max_parameters must be >= 1, not {self.max_parameters}")

    def can_fit(self, n_judges: int, n_labels: int) -> bool:
        """Whether a task of this size has at most ``max_parameters`` confusion probabilities."""
        return n_judges * n_labels**2 <= self.max_parameters


@dataclass(frozen=True)
class DawidSkeneModel:
    """What was fitted to one task, but for its items.

    Parameters
    ----------
    prevalence
        ``(n_labels,)`` pi.
    confusion
        ``(n_judges, n_labels, n_labels)`` theta as [judge, true, observed].
    convergence, params
        How the fit ended, and what it was asked.
    """

    prevalence: Floats
    confusion: Floats
    convergence: Convergence
    params: DawidSkeneParams


@dataclass(frozen=True)
class DawidSkeneResult(DawidSkeneModel):
    """Estimates of one task.

    Parameters
    ----------
    posterior
        ``(n_items, n_labels)`` probability of each class; from a last E-step, so it belongs
        to the other estimates.
    """

    posterior: Floats


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
        A code outside its range, arrays of different lengths, an invalid setting, or more
        confusion probabilities than ``params.max_parameters``.
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
    for task in tasks:
        if not params.can_fit(task.n_judges, task.n_labels):
            raise ValueError(
                f"{task.n_judges:,} judges times {task.n_labels:,} classes squared is more than "
                f"max_parameters, {params.max_parameters:,}: merge classes, or raise it"
            )
    results: dict[int, DawidSkeneResult] = {}
    for size in sorted({task.n_labels for task in tasks}):
        members = [t for t, task in enumerate(tasks) if task.n_labels == size]
        matrix = LabelMatrix.of(members, [tasks[t] for t in members])
        prior = None if priors is None else stacked_priors([priors[t] for t in members], size)
        _fit(matrix, prior, params, results, progress)
    return [results[t] for t in range(len(tasks))]


def stacked_priors(priors: Sequence[Floats], n_labels: int) -> Floats:
    """Counts of each task as (tasks, observed, true)."""
    for prior in priors:
        if prior.shape != (n_labels, n_labels) or not ((prior >= 0) & (prior < np.inf)).all():
            raise ValueError(f"prior must be counts >= 0 of shape {(n_labels, n_labels)}")
    return np.stack(priors).transpose(0, 2, 1)


class _InMemory:
    """Labels of a matrix, and the posterior of the last E-step."""

    def __init__(self, matrix: LabelMatrix) -> None:
        self.matrix = matrix
        self.posterior = np.empty((0, matrix.n_labels))

    @property
    def n_labels(self) -> int:
        return self.matrix.n_labels

    @property
    def judge_starts(self) -> Codes:
        return self.matrix.judge_starts

    @property
    def items_of(self) -> Codes:
        return np.diff(self.matrix.item_starts)

    def expected(self, estimates: Estimates) -> Counts:
        self.posterior, counts = expected_counts(self.matrix, estimates)
        return counts

    def voted(self) -> Counts:
        return voted_counts(self.matrix)

    def keep(self, kept: Flags) -> _InMemory:
        return _InMemory(self.matrix.keep(kept))


def _fit(
    matrix: LabelMatrix,
    prior: Floats | None,
    params: DawidSkeneParams,
    results: dict[int, DawidSkeneResult],
    progress: Progress | None,
) -> None:
    """Run EM on a matrix."""

    def settled(place: int, state: EMState, course: Convergence, labels: _InMemory) -> None:
        of = labels.matrix
        items = slice(of.item_starts[place], of.item_starts[place + 1])
        judges = slice(of.judge_starts[place], of.judge_starts[place + 1])
        results[int(of.tasks[place])] = DawidSkeneResult(
            **vars(fitted(state.estimates, course, params, place, judges)),
            posterior=labels.posterior[items].copy(),
        )

    def told(_: int, state: EMState) -> None:
        if progress and state.iteration % 25 == 0:
            progress(len(results), state.iteration)

    run_em(_InMemory(matrix), prior, params, settled=settled, progress=told)


def fitted(
    estimates: Estimates,
    course: Convergence,
    params: DawidSkeneParams,
    place: int = 0,
    judges: slice = slice(None),
) -> DawidSkeneModel:
    """The model of one of several tasks."""
    return DawidSkeneModel(
        prevalence=np.exp(estimates.log_pi[place]),
        confusion=np.exp(estimates.log_theta[judges].transpose(0, 2, 1)),
        convergence=course,
        params=params,
    )


def expected_counts(matrix: LabelMatrix, estimates: Estimates) -> tuple[Floats, Counts]:
    """E-step (Dawid & Skene eq. 2.5), in log space: posterior ``(n_items, K)``, and its counts."""
    logits = matrix.votes @ estimates.log_theta.reshape(-1, matrix.n_labels)
    logits += np.repeat(estimates.log_pi, np.diff(matrix.item_starts), axis=0)
    largest = largest_of_rows(logits)
    logits -= largest
    np.exp(logits, out=logits)
    total = logits.sum(axis=1, keepdims=True)
    logits /= total
    return logits, _counts(matrix, logits, (np.log(total) + largest)[:, 0])


def voted_counts(matrix: LabelMatrix) -> Counts:
    """Counts where each item's share of labels stands for its posterior."""
    k = matrix.n_labels
    shares = matrix.votes @ np.tile(np.eye(k), (matrix.votes.shape[1] // k, 1))
    total = shares.sum(axis=1, keepdims=True)
    posterior = np.where(total > 0, shares / np.where(total > 0, total, 1), 1 / k)
    return _counts(matrix, posterior, np.zeros(len(posterior)))


def _counts(matrix: LabelMatrix, posterior: Floats, log_likelihood: Floats) -> Counts:
    return Counts(
        matrix.votes_by_judge @ posterior,
        matrix.members @ posterior,
        matrix.members @ log_likelihood,
    )


def largest_of_rows(logits: Floats) -> Floats:
    """Largest of each row, ``(n_rows, 1)``; of few columns by columns: numpy is slow there."""
    if not 1 < logits.shape[1] <= FEW:
        return np.asarray(logits.max(axis=1, keepdims=True))
    return np.asarray(reduce(np.maximum, logits.T)[:, None])
