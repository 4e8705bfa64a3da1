"""EM of label models: from sums over items to estimates, and again.

Labels lie in blocks of items; what is asked of them are their expected counts under some estimates,
a sum over items. The counts are small; all that is done with them is done here, and nothing is
known here of any item.

Sources: Dawid & Skene 1979 (eqs. 2.3 to 2.5); Passonneau & Carpenter 2013, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.labels.e_step import expected_counts, voted_counts
from annot_pipeline.methods.labels.estimates import Counts, Estimates, log_dirichlet
from annot_pipeline.methods.labels.label_matrix import LabelMatrix
from annot_pipeline.methods.labels.models import LABEL_MODELS
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.numerics.convergence import Convergence

if TYPE_CHECKING:
    from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

DIAGONAL_START = 0.7
"""Share on the diagonal of the ``diagonal`` start; the rest is spread over all K cells."""


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

    def expected(self, estimates: Estimates) -> Counts:
        """E-step, added up."""
        return self.matrices.sum(expected_counts, estimates, n_bytes=self._n_bytes)

    def voted(self) -> Counts:
        """Counts where each item's share of labels stands for its probabilities."""
        return self.matrices.sum(voted_counts, n_bytes=self._n_bytes)

    def keep(self, mask: Flags) -> LabelBlocks:
        """Return the labels of the tasks that ``mask`` selects."""
        starts = np.concatenate([[0], np.cumsum(np.diff(self.judge_starts)[mask])])
        matrices = self.matrices.keep(LabelMatrix.keep, mask)
        return LabelBlocks(matrices, self.n_labels, starts, self.n_items[mask])

    @property
    def _n_bytes(self) -> int:
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
    """

    iteration: int
    estimates: Estimates
    counts: Counts
    log_posterior: tuple[Floats, ...]
    log_likelihood: tuple[Floats, ...]

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
        judges, estimates, counts = np.diff(judge_starts), self.estimates, self.counts
        k = counts.pi.shape[1]
        return EMState(
            self.iteration,
            Estimates(
                estimates.log_pi[mask],
                estimates.log_theta[np.repeat(mask, judges)],
                estimates.log_prior[mask],
                estimates.dependence[mask],
            ),
            Counts(
                counts.theta[np.repeat(mask, judges * k)],
                counts.pi[mask],
                counts.log_likelihood[mask],
            ),
            tuple(values[mask] for values in self.log_posterior),
            tuple(values[mask] for values in self.log_likelihood),
        )


@dataclass(frozen=True)
class EMResult:
    """Estimates of all tasks when each had settled, and how each settled, in order."""

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
    """Run EM; each task leaves when its own objective has settled.

    Parameters
    ----------
    labels
        Of all tasks.
    prior
        ``(n_tasks, K, K)`` counts added to each judge's confusion, as [observed, true].
    params
        Settings.
    progress
        Told after each iteration how many tasks have settled, and where EM stands.
    state
        Where an earlier run stood.
    """
    m_step = LABEL_MODELS[params.model]
    state = state or _start(labels, prior, params)
    starts, tasks = labels.judge_starts, np.arange(labels.n_items.size)
    final = Estimates(*(np.empty_like(array) for array in vars(state.estimates).values()))
    courses: dict[int, Convergence] = {}
    running = np.ones(tasks.size, np.bool_)
    while running.any():
        estimates = m_step(
            state.counts, labels.judge_starts, prior, params.smoothing, state.estimates
        )
        state = EMState.after_e_step(estimates, labels.expected(estimates), state)
        before, after = state.objective_trace(params.stop_on)[-2:]
        converged = np.abs(after - before) <= params.tolerance * np.abs(before)
        ends = running & (converged | (state.iteration >= params.max_iterations))
        for place in np.flatnonzero(ends).tolist():
            task = int(tasks[place])
            courses[task] = Convergence(
                bool(converged[place]),
                state.iteration,
                params.stop_on,
                np.array([values[place] for values in state.log_posterior]),
                np.array([values[place] for values in state.log_likelihood]),
            )
            final.log_pi[task] = estimates.log_pi[place]
            final.log_prior[task] = estimates.log_prior[place]
            final.dependence[task] = estimates.dependence[place]
            judges = slice(labels.judge_starts[place], labels.judge_starts[place + 1])
            final.log_theta[starts[task] : starts[task + 1]] = estimates.log_theta[judges]
        running &= ~ends
        if running.any() and labels.n_items[running].sum() * 2 < labels.n_items.sum():
            state = state.keep(labels.judge_starts, running)
            labels, prior = labels.keep(running), None if prior is None else prior[running]
            tasks = tasks[running]
            running = np.ones(tasks.size, np.bool_)
        progress(len(courses), state)
    return EMResult(final, [courses[task] for task in range(starts.size - 1)])


def _start(labels: LabelBlocks, prior: Floats | None, params: DawidSkeneParams) -> EMState:
    n_tasks, k, n_judges = labels.n_items.size, labels.n_labels, int(labels.judge_starts[-1])
    theta = np.full((k, k), (1 - DIAGONAL_START) / k) + DIAGONAL_START * np.eye(k)
    log_pi = np.full((n_tasks, k), -np.log(k))
    log_theta = np.log(np.broadcast_to(theta, (n_judges, k, k)))
    log_prior = log_dirichlet(log_pi, log_theta, labels.judge_starts, prior, params.smoothing)
    dependence = np.full(n_tasks, params.dependence)
    estimates = Estimates(log_pi, log_theta, log_prior, dependence)
    if params.start == "votes":
        estimates = LABEL_MODELS[params.model](
            labels.voted(), labels.judge_starts, prior, params.smoothing, estimates
        )
    return EMState.after_e_step(estimates, labels.expected(estimates))
