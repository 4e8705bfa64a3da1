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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Floats
from annot_pipeline.methods.labels.e_step import e_step
from annot_pipeline.methods.labels.estimates import Estimates
from annot_pipeline.methods.labels.label_em import Shape, run_em
from annot_pipeline.methods.labels.label_matrix import LabelCodes, LabelMatrix
from annot_pipeline.methods.labels.model_fits import label_groups
from annot_pipeline.methods.labels.models import LABEL_MODELS
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.methods.numerics.convergence import Convergence


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
        """Return whether a task of this size has at most ``max_parameters`` probabilities."""
        return n_judges * n_labels**2 <= self.max_parameters


@dataclass(frozen=True)
class DawidSkeneResult:
    """Estimates of one task.

    Parameters
    ----------
    prevalence
        ``(n_labels,)`` pi.
    confusion
        ``(n_judges, n_labels, n_labels)`` theta as [judge, true, observed].
    convergence, params
        How the fit ended, and its settings.
    posterior
        ``(n_items, n_labels)`` probability of each class; from a last E-step, so it belongs
        to the other estimates.
    """

    prevalence: Floats
    confusion: Floats
    convergence: Convergence
    params: DawidSkeneParams
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

    Returns
    -------
    list of DawidSkeneResult
        In the order of ``tasks``.
    """
    params = params or DawidSkeneParams()
    shapes = [Shape(task.n_items, task.n_judges, task.n_labels) for task in tasks]
    results: dict[int, DawidSkeneResult] = {}

    for group in label_groups(InMemoryBlocks([tasks]), shapes, params):
        labels, prior = group.labels, None
        if priors is not None:
            prior = stacked_priors([priors[t] for t in group.tasks], labels.n_labels)
        em = run_em(labels, prior, params)
        [(matrix, posterior)] = labels.matrices.map(_posterior, em.estimates)
        for n, (task, fit) in enumerate(group.fits(em, params).items()):
            items = slice(matrix.item_starts[n], matrix.item_starts[n + 1])
            results[task] = DawidSkeneResult(
                fit.prevalence, fit.confusion, fit.convergence, params, posterior[items].copy()
            )
    return [results[t] for t in range(len(tasks))]


def _posterior(matrix: LabelMatrix, estimates: Estimates) -> tuple[LabelMatrix, Floats]:
    return matrix, e_step(matrix, estimates)[0]


def stacked_priors(priors: Sequence[Floats], n_labels: int) -> Floats:
    """Return counts of each task as (tasks, observed, true)."""
    for prior in priors:
        if prior.shape != (n_labels, n_labels) or not ((prior >= 0) & (prior < np.inf)).all():
            raise ValueError(f"prior must be counts >= 0 of shape {(n_labels, n_labels)}")
    return np.stack(priors).transpose(0, 2, 1)
