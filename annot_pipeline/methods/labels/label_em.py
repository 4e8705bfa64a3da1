"""EM of Dawid-Skene: from sums over items to estimates, and again.

What is asked of labels, wherever they lie, is their expected counts under some estimates: a sum
over items. The counts are small; all that is done with them is done here, and nothing is known
here of any item. So labels may lie in one matrix (dawid_skene) or in blocks on many machines
(label_blocks), whose counts are added in the order of the blocks.

Sources: Dawid & Skene 1979 (eqs. 2.3 to 2.5); Passonneau & Carpenter 2013, section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.labels.estimates import Counts, Estimates, log_dirichlet
from annot_pipeline.methods.labels.models import LABEL_MODELS
from annot_pipeline.methods.numerics.convergence import Convergence

if TYPE_CHECKING:
    from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

DIAGONAL_START = 0.7
"""Share on the diagonal of the ``diagonal`` start; the rest is spread over all K cells."""


class Labels(Protocol):
    """Labels of some tasks with K classes.

    ``judge_starts``, ``(n_tasks + 1,)``: where a task's judges start; ``items_of``, ``(n_tasks,)``:
    how many items it has.
    """

    @property
    def n_labels(self) -> int:
        """K."""

    @property
    def judge_starts(self) -> Codes:
        """Where a task's judges start."""

    @property
    def items_of(self) -> Codes:
        """How many items a task has."""

    def expected(self, estimates: Estimates) -> Counts:
        """E-step, added up."""

    def voted(self) -> Counts:
        """Counts where each item's share of labels stands for its probabilities."""

    def keep(self, kept: Flags) -> Self:
        """Without some tasks."""


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
    def of(cls, estimates: Estimates, counts: Counts, before: EMState | None = None) -> EMState:
        """After one more E-step."""
        log_posterior = counts.log_likelihood + estimates.log_prior
        return cls(
            before.iteration + 1 if before else 0,
            estimates,
            counts,
            (*(before.log_posterior if before else ()), log_posterior),
            (*(before.log_likelihood if before else ()), counts.log_likelihood),
        )

    def course(self, objective: str) -> tuple[Floats, ...]:
        """What EM raises."""
        return self.log_posterior if objective == "posterior" else self.log_likelihood

    def keep(self, judge_starts: Codes, kept: Flags) -> EMState:
        """Without some tasks."""
        judges, estimates, counts = np.diff(judge_starts), self.estimates, self.counts
        k = counts.pi.shape[1]
        return EMState(
            self.iteration,
            Estimates(
                estimates.log_pi[kept],
                estimates.log_theta[np.repeat(kept, judges)],
                estimates.log_prior[kept],
            ),
            Counts(
                counts.theta[np.repeat(kept, judges * k)],
                counts.pi[kept],
                counts.log_likelihood[kept],
            ),
            tuple(of[kept] for of in self.log_posterior),
            tuple(of[kept] for of in self.log_likelihood),
        )


L = TypeVar("L", bound=Labels)


def run_em(
    labels: L,
    prior: Floats | None,
    params: DawidSkeneParams,
    *,
    settled: Callable[[int, EMState, Convergence, L], None],
    progress: Callable[[int, EMState], None] = lambda _, __: None,
    state: EMState | None = None,
) -> None:
    """Run EM; each task leaves when its own objective has settled.

    Parameters
    ----------
    labels
        Of all tasks.
    prior
        ``(n_tasks, K, K)`` counts added to each judge's confusion, as [observed, true].
    params
        Settings.
    settled
        Told of each task that has settled: its place among the labels that are left, where EM
        stands, its course, and these labels.
    progress
        Told after each iteration how many tasks have settled, and where EM stands.
    state
        Where an earlier run stood.
    """
    m_step = LABEL_MODELS[params.model]
    state = state or _start(labels, prior, params)
    running = np.ones(labels.items_of.size, np.bool_)
    n_settled = 0
    while running.any():
        estimates = m_step(
            state.counts, labels.judge_starts, prior, params.smoothing, state.estimates
        )
        state = EMState.of(estimates, labels.expected(estimates), state)
        before, after = state.course(params.stop_on)[-2:]
        converged = np.abs(after - before) <= params.tolerance * np.abs(before)
        ends = running & (converged | (state.iteration >= params.max_iterations))
        for place in np.flatnonzero(ends).tolist():
            course = Convergence(
                bool(converged[place]),
                state.iteration,
                params.stop_on,
                np.array([of[place] for of in state.log_posterior]),
                np.array([of[place] for of in state.log_likelihood]),
            )
            settled(place, state, course, labels)
        n_settled += int(ends.sum())
        running &= ~ends
        if running.any() and labels.items_of[running].sum() * 2 < labels.items_of.sum():
            state = state.keep(labels.judge_starts, running)
            labels, prior = labels.keep(running), None if prior is None else prior[running]
            running = np.ones(labels.items_of.size, np.bool_)
        progress(n_settled, state)


def _start(labels: Labels, prior: Floats | None, params: DawidSkeneParams) -> EMState:
    n_tasks, k, n_judges = labels.items_of.size, labels.n_labels, int(labels.judge_starts[-1])
    theta = np.full((k, k), (1 - DIAGONAL_START) / k) + DIAGONAL_START * np.eye(k)
    log_pi = np.full((n_tasks, k), -np.log(k))
    log_theta = np.log(np.broadcast_to(theta, (n_judges, k, k)))
    log_prior = log_dirichlet(log_pi, log_theta, labels.judge_starts, prior, params.smoothing)
    estimates = Estimates(log_pi, log_theta, log_prior)
    if params.start == "votes":
        m_step = LABEL_MODELS[params.model]
        estimates = m_step(labels.voted(), labels.judge_starts, prior, params.smoothing, estimates)
    return EMState.of(estimates, labels.expected(estimates))
