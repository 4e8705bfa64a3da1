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
within its task, hence a task's result does not depend on the tasks beside it. Items may lie in
blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.labels.e_step import e_step
from annot_pipeline.methods.labels.estimates import Estimates
from annot_pipeline.methods.labels.label_em import EMResult, EMState, LabelBlocks, Shape, run_em
from annot_pipeline.methods.labels.label_matrix import LabelCodes, LabelMatrix
from annot_pipeline.methods.labels.models import LABEL_MODELS
from annot_pipeline.methods.numerics.blocks import Blocks, InMemoryBlocks
from annot_pipeline.methods.numerics.convergence import Convergence

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]


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
        Stop when the absolute relative change of the objective falls below it; >= 0. With 0, EM
        is not accelerated: ``max_iterations`` are as many plain iterations.
    max_iterations
        Largest number of E-steps after the first; >= 1.
    max_parameters
        Largest number of confusion probabilities, judges times classes squared, that is fitted;
        >= 1. Ten million take about 2 GB of memory.
    model
        Which confusion matrices judges may have: a name of `models.LABEL_MODELS`.
    dependence
        Share of a judge's evidence on an item that another judge's repeats, in [0, 1]; the paper
        assumes 0.
    posterior_tolerance
        With ``stop_on: posterior``, stop only when no item's posterior changes by more than this,
        too; >= 0. EM is then accelerated (label_em). Infinity: plain EM that stops on the
        objective alone, for fits that repeat published results or are stopped early.
    """

    start: Literal["diagonal", "votes"] = "diagonal"
    smoothing: float = 0.01
    stop_on: Literal["posterior", "likelihood"] = "posterior"
    tolerance: float = 1e-10
    max_iterations: int = 5000
    max_parameters: int = 10_000_000
    model: str = "dawid_skene"
    dependence: float = 0.0
    posterior_tolerance: float = 1e-4

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
        if not 0 <= self.dependence <= 1:
            raise ValueError(f"dependence must be in [0, 1], not {self.dependence}")
        if not self.posterior_tolerance >= 0:
            raise ValueError(f"posterior_tolerance must be >= 0, not {self.posterior_tolerance}")
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
    shapes = [Shape(task.n_items, task.n_judges, task.n_labels) for task in tasks]
    by_task = None if priors is None else dict(enumerate(priors))
    results: dict[int, DawidSkeneResult] = {}

    def on_iteration(n_settled: int, state: EMState) -> None:
        if progress and state.iteration % 25 == 0:
            progress(len(results) + n_settled, state.iteration)

    for group in label_groups(InMemoryBlocks([tasks]), shapes, params):
        fitted = group.fit(params, by_task, on_iteration)
        [(matrix, posterior)] = group.labels.matrices.map(_posterior, fitted.em.estimates)
        for place, task in enumerate(group.tasks):
            items = slice(matrix.item_starts[place], matrix.item_starts[place + 1])
            results[task] = DawidSkeneResult(
                **vars(fitted.model(task)), posterior=posterior[items].copy()
            )
    return [results[t] for t in range(len(tasks))]


def _posterior(matrix: LabelMatrix, estimates: Estimates) -> tuple[LabelMatrix, Floats]:
    return matrix, e_step(matrix, estimates)[0]


@dataclass(frozen=True)
class LabelGroup:
    """Labels of tasks with one number of classes, side by side.

    Parameters
    ----------
    tasks
        Places of these tasks among all.
    labels
        Of them.
    """

    tasks: Sequence[int]
    labels: LabelBlocks

    def keep(self, wanted: Collection[int]) -> LabelGroup:
        """Return the group without its other tasks."""
        mask = np.array([task in wanted for task in self.tasks], np.bool_)
        if mask.all():
            return self
        return LabelGroup([task for task in self.tasks if task in wanted], self.labels.keep(mask))

    def fit(
        self,
        params: DawidSkeneParams,
        priors: Mapping[int, Floats] | None = None,
        progress: Callable[[int, EMState], None] = lambda _, __: None,
        state: EMState | None = None,
    ) -> FittedGroup:
        """Fit them.

        Parameters
        ----------
        params
            Settings.
        priors
            By task, as `dawid_skene` takes one.
        progress, state
            As `run_em` takes them.
        """
        prior = None
        if priors is not None:
            prior = stacked_priors([priors[t] for t in self.tasks], self.labels.n_labels)
        em = run_em(self.labels, prior, params, progress=progress, state=state)
        return FittedGroup(self.tasks, self.labels.judge_starts, em, params)


@dataclass(frozen=True)
class FittedGroup:
    """What was fitted to a group.

    Parameters
    ----------
    tasks
        Places of its tasks among all.
    judge_starts
        ``(n_tasks + 1,)`` where a task's judges start.
    em, params
        What EM found, and was asked.
    """

    tasks: Sequence[int]
    judge_starts: Codes
    em: EMResult
    params: DawidSkeneParams

    def estimates(self, task: int) -> Estimates:
        """Return the estimates of one of the tasks."""
        position, estimates = self.tasks.index(task), self.em.estimates
        judges = slice(self.judge_starts[position], self.judge_starts[position + 1])
        row = slice(position, position + 1)
        return Estimates(
            estimates.log_pi[row],
            estimates.log_theta[judges],
            estimates.log_prior[row],
            estimates.dependence[row],
        )

    def model(self, task: int) -> DawidSkeneModel:
        """Return the model of one of the tasks."""
        estimates = self.estimates(task)
        return DawidSkeneModel(
            prevalence=np.exp(estimates.log_pi[0]),
            confusion=np.exp(estimates.log_theta.transpose(0, 2, 1)),
            convergence=self.em.convergence[self.tasks.index(task)],
            params=self.params,
        )


def label_groups(
    tasks: Blocks[Sequence[LabelCodes]], shapes: Sequence[Shape], params: DawidSkeneParams
) -> list[LabelGroup]:
    """Lay tasks with one number of classes side by side, in each block.

    Parameters
    ----------
    tasks
        Of each block the labels of all tasks, with codes of whole tasks but for items.
    shapes
        Of each task, over all blocks.
    params
        Settings of the fits.

    Raises
    ------
    ValueError
        A task has more confusion probabilities than ``params.max_parameters``.
    """
    for shape in shapes:
        if not params.can_fit(shape.n_judges, shape.n_labels):
            raise ValueError(
                f"{shape.n_judges:,} judges times {shape.n_labels:,} classes squared is more than "
                f"max_parameters, {params.max_parameters:,}: merge classes, or raise it"
            )
    groups = []
    for size in sorted({shape.n_labels for shape in shapes}):
        members = [t for t, shape in enumerate(shapes) if shape.n_labels == size]
        matrices = tasks.keep(_matrix_of, members)
        groups.append(
            LabelGroup(members, LabelBlocks.from_matrices(matrices, [shapes[t] for t in members]))
        )
    return groups


def _matrix_of(tasks: Sequence[LabelCodes], members: Sequence[int]) -> LabelMatrix:
    return LabelMatrix.from_tasks(members, [tasks[t] for t in members])


def stacked_priors(priors: Sequence[Floats], n_labels: int) -> Floats:
    """Counts of each task as (tasks, observed, true)."""
    for prior in priors:
        if prior.shape != (n_labels, n_labels) or not ((prior >= 0) & (prior < np.inf)).all():
            raise ValueError(f"prior must be counts >= 0 of shape {(n_labels, n_labels)}")
    return np.stack(priors).transpose(0, 2, 1)
