"""EM of label models: from sums over items to estimates, and again.

Labels are in blocks of items. Each E-step sums the expected counts over blocks; the counts are
small, and all else is computed from them, without any item.

EM that stops on the posterior is accelerated where a model allows it (SQUAREM, Varadhan & Roland
2008): each third iteration extrapolates the expected counts of the three E-steps before it. The log
posterior never falls: a task that an extrapolation would lower stays where it is in that iteration.
A task is extrapolated only when its objective changes slowly, by less than `SLOW` in an iteration;
larger jumps may end in another optimum than that of the start. An iteration is one E-step, so that
`max_iterations` bounds the work of a fit as it does without acceleration.

Sources: Dawid & Skene 1979 (eqs. 2.3 to 2.5); Passonneau & Carpenter 2013, section 3; Varadhan &
Roland 2008, "Simple and globally convergent methods for accelerating the convergence of any EM
algorithm".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.labels.e_step import e_step, expected_counts, voted_counts
from annot_pipeline.methods.labels.estimates import (
    Counts,
    Estimates,
    extrapolate_counts,
    log_dirichlet,
)
from annot_pipeline.methods.labels.label_matrix import LabelMatrix
from annot_pipeline.methods.labels.models import LABEL_MODELS
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.numerics.convergence import Convergence

if TYPE_CHECKING:
    from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams


DIAGONAL_START = 0.7
"""Share on the diagonal of the ``diagonal`` start; the rest is spread over all K cells."""
SLOW = 1e-6
"""Relative change of the log posterior from which on a task is extrapolated. On 550 fits of real
and simulated labels, 1e-6 led none to another optimum than plain EM; 1e-5 led 6, 1e-3 led 16."""
ACCELERATED = ("dawid_skene", "one_coin")
"""Models whose estimates follow from expected counts alone, under a prior that stays the same."""


class Shape(NamedTuple):
    """Items, judges and classes of a task."""

    n_items: int
    n_judges: int
    n_labels: int


@dataclass(frozen=True)
class LabelBlocks:
    """Labels of some tasks with K classes, in blocks of items.

    Parameters
    ----------
    matrices
        Of each block the labels of all these tasks, side by side.
    n_labels
        K.
    judge_starts
        ``(n_tasks + 1,)`` where a task's judges start.
    n_items
        ``(n_tasks,)``.
    """

    matrices: Blocks[LabelMatrix]
    n_labels: int
    judge_starts: Codes
    n_items: Codes

    @classmethod
    def from_matrices(cls, matrices: Blocks[LabelMatrix], shapes: Sequence[Shape]) -> LabelBlocks:
        """Return the labels of tasks of some shapes."""
        starts = np.cumsum([0, *(shape.n_judges for shape in shapes)])
        return cls(
            matrices, shapes[0].n_labels, starts, np.array([shape.n_items for shape in shapes])
        )

    def keep(self, mask: Flags) -> LabelBlocks:
        """Return the labels of the tasks that ``mask`` selects."""
        starts = np.concatenate([[0], np.cumsum(np.diff(self.judge_starts)[mask])])
        matrices = self.matrices.keep(LabelMatrix.keep, mask)
        return LabelBlocks(matrices, self.n_labels, starts, self.n_items[mask])

    @property
    def n_bytes(self) -> int:
        """Return the approximate size of the counts of one block."""
        return int(self.judge_starts[-1]) * self.n_labels**2 * 8


@dataclass(frozen=True)
class EMState:
    """Where EM stands.

    Parameters
    ----------
    iteration
        Estimates made since the start.
    estimates, counts
        The latest, and what is expected under them.
    log_posterior, log_likelihood
        ``(iteration + 1, n_tasks)``.
    earlier
        Counts of the one or two E-steps before, where the next extrapolation needs them.
    """

    iteration: int
    estimates: Estimates
    counts: Counts
    log_posterior: tuple[Floats, ...]
    log_likelihood: tuple[Floats, ...]
    earlier: tuple[Counts, ...] = ()

    @classmethod
    def after_e_step(
        cls, estimates: Estimates, counts: Counts, before: EMState | None = None
    ) -> EMState:
        """Return the state after one more E-step."""
        log_posterior = counts.log_likelihood + estimates.log_prior
        return cls(
            before.iteration + 1 if before else 0,
            estimates,
            counts,
            (*(before.log_posterior if before else ()), log_posterior),
            (*(before.log_likelihood if before else ()), counts.log_likelihood),
        )

    def objective_trace(self, objective: str) -> tuple[Floats, ...]:
        """Return the trace of the objective that EM maximizes, by task."""
        return self.log_posterior if objective == "posterior" else self.log_likelihood

    def keep(self, judge_starts: Codes, mask: Flags) -> EMState:
        """Return the state of the tasks that ``mask`` selects."""
        return EMState(
            self.iteration,
            self.estimates.keep(judge_starts, mask),
            self.counts.keep(judge_starts, mask),
            tuple(values[mask] for values in self.log_posterior),
            tuple(values[mask] for values in self.log_likelihood),
            tuple(counts.keep(judge_starts, mask) for counts in self.earlier),
        )

    def revert(self, judge_starts: Codes, mask: Flags, before: EMState) -> EMState:
        """Return this state where the tasks that ``mask`` selects stay as they were ``before``."""
        log_posterior, log_likelihood = (
            (*trace[:-1], np.where(mask, previous[-1], trace[-1]))
            for trace, previous in (
                (self.log_posterior, before.log_posterior),
                (self.log_likelihood, before.log_likelihood),
            )
        )
        return EMState(
            self.iteration,
            self.estimates.replace_tasks(judge_starts, mask, before.estimates),
            self.counts.replace_tasks(judge_starts, mask, before.counts),
            log_posterior,
            log_likelihood,
            self.earlier,
        )


@dataclass(frozen=True)
class EMResult:
    """Estimates of all tasks when each ended, and how each ended, in order."""

    estimates: Estimates
    convergence: Sequence[Convergence]


def run_em(
    labels: LabelBlocks,
    prior: Floats | None,
    params: DawidSkeneParams,
    *,
    progress: Callable[[int, EMState], None] = lambda _, __: None,
    state: EMState | None = None,
) -> EMResult:
    """Run EM; each task ends when its own objective and posteriors have converged.

    A task has converged when the relative change of its objective is at most ``params.tolerance``
    and no item's posterior changes by more than ``params.posterior_tolerance``. Accelerated EM
    tests both in the iterations that extrapolate.

    Parameters
    ----------
    labels
        Of all tasks.
    prior
        ``(n_tasks, K, K)`` counts added to each judge's confusion, as [observed, true].
    params
        Settings.
    progress
        Called after each iteration with the number of tasks that have ended, and the state of EM.
    state
        Where an earlier run stood.
    """
    state = state or start_em(labels, first_estimates(labels, prior, params))
    starts, tasks = labels.judge_starts, np.arange(labels.n_items.size)
    final = Estimates(*(np.empty_like(array) for array in vars(state.estimates).values()))
    convergence_by_task: dict[int, Convergence] = {}
    running = np.ones(tasks.size, np.bool_)
    while running.any():
        state, converged = _iterate(state, labels, prior, params, running)
        estimates = state.estimates
        ends = running & (converged | (state.iteration >= params.max_iterations))
        for position in np.flatnonzero(ends).tolist():
            task = int(tasks[position])
            convergence_by_task[task] = Convergence(
                bool(converged[position]),
                state.iteration,
                params.stop_on,
                np.array([values[position] for values in state.log_posterior]),
                np.array([values[position] for values in state.log_likelihood]),
            )
            final.log_pi[task] = estimates.log_pi[position]
            final.log_prior[task] = estimates.log_prior[position]
            final.dependence[task] = estimates.dependence[position]
            judges = slice(labels.judge_starts[position], labels.judge_starts[position + 1])
            final.log_theta[starts[task] : starts[task + 1]] = estimates.log_theta[judges]
        running &= ~ends
        if running.any() and labels.n_items[running].sum() * 2 < labels.n_items.sum():
            state = state.keep(labels.judge_starts, running)
            labels, prior = labels.keep(running), None if prior is None else prior[running]
            tasks = tasks[running]
            running = np.ones(tasks.size, np.bool_)
        progress(len(convergence_by_task), state)
    return EMResult(final, [convergence_by_task[task] for task in range(starts.size - 1)])


def _iterate(
    state: EMState,
    labels: LabelBlocks,
    prior: Floats | None,
    params: DawidSkeneParams,
    running: Flags,
) -> tuple[EMState, Flags]:
    """Return the state after one more E-step, and which of the ``running`` tasks have converged."""
    starts, counts = labels.judge_starts, state.counts
    accelerates = _accelerates(params)
    extrapolates = accelerates and len(state.earlier) == 2
    extrapolated = np.zeros_like(running)
    if extrapolates:
        extrapolated = _is_stable(state.log_posterior, SLOW)
    if extrapolated.any():
        limits = extrapolate_counts((*state.earlier, counts), starts)
        counts = counts.replace_tasks(starts, extrapolated, limits)
    m_step = LABEL_MODELS[params.model]
    estimates = m_step(counts, starts, prior, params.smoothing, state.estimates)
    counts = labels.matrices.sum(expected_counts, estimates, n_bytes=labels.n_bytes)
    evaluated = EMState.after_e_step(estimates, counts, state)
    if accelerates and not extrapolates:
        # what an extrapolation tells of the distance to the limit, a small step does not
        return replace(evaluated, earlier=(*state.earlier, state.counts)), np.zeros_like(running)
    converged = _have_converged(labels, state, evaluated, params, running)
    is_higher = evaluated.log_posterior[-1] >= state.log_posterior[-1]
    lowered = extrapolated & ~is_higher
    return (evaluated.revert(starts, lowered, state) if lowered.any() else evaluated), converged


def _accelerates(params: DawidSkeneParams) -> bool:
    return (
        params.stop_on == "posterior"
        and params.model in ACCELERATED
        and params.tolerance > 0
        and params.posterior_tolerance < np.inf
    )


def _have_converged(
    labels: LabelBlocks, state: EMState, after: EMState, params: DawidSkeneParams, running: Flags
) -> Flags:
    """Return which ``running`` tasks changed little from a state to the one after it."""
    converged = running & _is_stable(after.objective_trace(params.stop_on), params.tolerance)
    if params.stop_on == "posterior" and params.posterior_tolerance < np.inf and converged.any():
        changes = _posterior_changes(labels, state.estimates, after.estimates, converged)
        converged[converged] = changes <= params.posterior_tolerance
    return converged


def _is_stable(objective_trace: tuple[Floats, ...], tolerance: float) -> Flags:
    before, after = objective_trace[-2:]
    return np.asarray(np.abs(after - before) <= tolerance * np.abs(before))


def _posterior_changes(
    labels: LabelBlocks, before: Estimates, after: Estimates, mask: Flags
) -> Floats:
    """Return by task, of those that ``mask`` selects, the largest change of an item's posterior.

    Posteriors are not stored: two more E-steps compute them, of these tasks alone.
    """
    selected = (estimates.keep(labels.judge_starts, mask) for estimates in (before, after))
    return np.asarray(np.max(labels.matrices.map(_changes_in_block, *selected, mask), axis=0))


def _changes_in_block(
    matrix: LabelMatrix, before: Estimates, after: Estimates, mask: Flags
) -> Floats:
    if not mask.all():
        matrix = matrix.keep(mask)
    change = np.abs(e_step(matrix, after)[0] - e_step(matrix, before)[0]).max(axis=1)
    largest = np.zeros(matrix.tasks.size)
    has_items = np.diff(matrix.item_starts) > 0  # in this block
    if has_items.any():
        largest[has_items] = np.maximum.reduceat(change, matrix.item_starts[:-1][has_items])
    return largest


def first_estimates(
    labels: LabelBlocks, prior: Floats | None, params: DawidSkeneParams
) -> Estimates:
    """Return the estimates that EM starts from."""
    n_tasks, k, n_judges = labels.n_items.size, labels.n_labels, int(labels.judge_starts[-1])
    theta = np.full((k, k), (1 - DIAGONAL_START) / k) + DIAGONAL_START * np.eye(k)
    log_pi = np.full((n_tasks, k), -np.log(k))
    log_theta = np.log(np.broadcast_to(theta, (n_judges, k, k)))
    log_prior = log_dirichlet(log_pi, log_theta, labels.judge_starts, prior, params.smoothing)
    dependence = np.full(n_tasks, params.dependence)
    estimates = Estimates(log_pi, log_theta, log_prior, dependence)
    if params.start == "votes":
        votes = labels.matrices.sum(voted_counts, n_bytes=labels.n_bytes)
        estimates = LABEL_MODELS[params.model](
            votes, labels.judge_starts, prior, params.smoothing, estimates
        )
    return estimates


def start_em(labels: LabelBlocks, estimates: Estimates) -> EMState:
    """Return the state of EM that starts from some estimates."""
    counts = labels.matrices.sum(expected_counts, estimates, n_bytes=labels.n_bytes)
    return EMState.after_e_step(estimates, counts)
