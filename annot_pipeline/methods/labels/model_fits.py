"""Fits of label models to tasks: EM of tasks with one number of classes side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from annot_pipeline.arrays import Floats
from annot_pipeline.methods.labels import label_em
from annot_pipeline.methods.labels.estimates import Estimates
from annot_pipeline.methods.labels.label_matrix import LabelCodes, LabelMatrix
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.numerics.convergence import Convergence

if TYPE_CHECKING:
    from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams


OnIteration = Callable[[int, label_em.EMState], None]
Watch = Callable[[str], tuple[label_em.EMState | None, OnIteration]]
"""Takes the name of a fit; returns the state that an earlier run reached, and a callback for each
iteration."""


def watch_nothing(_: str) -> tuple[None, OnIteration]:
    """Return no state, and a callback that does nothing."""
    return None, lambda _, __: None


@dataclass(frozen=True)
class ModelFit:
    """A label model fitted to a task: its settings, estimates, and how the fit ended."""

    params: DawidSkeneParams
    estimates: Estimates
    convergence: Convergence

    @property
    def prevalence(self) -> Floats:
        """Return ``(K,)`` shares of items by class."""
        return np.asarray(np.exp(self.estimates.log_pi[0]))

    @property
    def confusion(self) -> Floats:
        """Return ``(n_judges, K, K)`` confusion matrices as [judge, true, observed]."""
        return np.asarray(np.exp(self.estimates.log_theta.transpose(0, 2, 1)))


@dataclass(frozen=True)
class LabelGroup:
    """Labels of tasks with one number of classes, side by side.

    Parameters
    ----------
    tasks
        Positions of these tasks among all.
    labels
        Of them.
    """

    tasks: Sequence[int]
    labels: label_em.LabelBlocks

    def fits(self, em: label_em.EMResult, params: DawidSkeneParams) -> dict[int, ModelFit]:
        """Return the fit of each task, by its position among all.

        Parameters
        ----------
        em
            Estimates of all tasks of the group.
        params
            Settings of the fit.
        """
        fits, starts = {}, self.labels.judge_starts
        for n, (task, convergence) in enumerate(zip(self.tasks, em.convergence, strict=True)):
            estimates = Estimates(
                em.estimates.log_pi[n : n + 1],
                em.estimates.log_theta[starts[n] : starts[n + 1]],
                em.estimates.log_prior[n : n + 1],
                em.estimates.dependence[n : n + 1],
            )
            fits[task] = ModelFit(params, estimates, convergence)
        return fits


def label_groups(
    tasks: Blocks[Sequence[LabelCodes]], shapes: Sequence[label_em.Shape], params: DawidSkeneParams
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
            LabelGroup(
                members, label_em.LabelBlocks.from_matrices(matrices, [shapes[t] for t in members])
            )
        )
    return groups


def _matrix_of(tasks: Sequence[LabelCodes], members: Sequence[int]) -> LabelMatrix:
    return LabelMatrix.from_tasks(members, [tasks[t] for t in members])


def fit_models(
    tasks: Blocks[Sequence[LabelCodes]],
    shapes: Sequence[label_em.Shape],
    params_by_model: Sequence[DawidSkeneParams],
    watch: Watch,
) -> list[list[ModelFit]]:
    """Fit label models to every task, those with one number of classes side by side.

    Each model starts where the one before it ended.
    """
    groups = label_groups(tasks, shapes, params_by_model[0])
    previous: list[label_em.EMResult | None] = [None] * len(groups)
    by_model = []
    for params in params_by_model:
        state, progress = watch(_name_of(params))
        fits: dict[int, ModelFit] = {}
        for n, group in enumerate(groups):
            start = state or _start_at(group.labels, previous[n], params)
            on_iteration = _add_finished(len(fits), progress)
            em = label_em.run_em(group.labels, None, params, progress=on_iteration, state=start)
            fits |= group.fits(em, params)
            previous[n] = em
        by_model.append([fits[t] for t in range(len(shapes))])
    return by_model


def _start_at(
    labels: label_em.LabelBlocks, previous: label_em.EMResult | None, params: DawidSkeneParams
) -> label_em.EMState | None:
    """Return where a fit starts that follows another; None for the first."""
    if previous is None:
        return None
    dependence = np.full(labels.n_items.size, params.dependence)
    estimates = replace(previous.estimates, dependence=dependence)
    return label_em.start_em(labels, estimates)


def _add_finished(n_finished: int, progress: OnIteration) -> OnIteration:
    """Return a callback of a group that adds the tasks of groups that are finished."""
    return lambda n_converged, state: progress(n_finished + n_converged, state)


def _name_of(params: DawidSkeneParams) -> str:
    if params.model == "hierarchical":
        return f"hierarchical model, dependence {params.dependence:g}"
    return {"dawid_skene": "Dawid-Skene"}.get(params.model, params.model)
