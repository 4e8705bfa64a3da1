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

from annot_pipeline.methods.numerics.additive import Additive
from annot_pipeline.methods.numerics.convergence import Convergence

if TYPE_CHECKING:
    from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

DIAGONAL_START = 0.7
"""Share on the diagonal of the ``diagonal`` start; the rest is spread over all K cells."""


@dataclass(frozen=True)
class Estimates:
    """Of some tasks with K classes, side by side.

    Parameters
    ----------
    log_pi, log_theta
        ``(n_tasks, K)`` and ``(n_judges, K, K)`` as [judge, observed, true].
    log_prior
        ``(n_tasks,)`` log density of the Dirichlet priors, without its constant.
    """

    log_pi: Floats
    log_theta: Floats
    log_prior: Floats


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
    state = state or _start(labels, prior, params)
    running = np.ones(labels.items_of.size, np.bool_)
    n_settled = 0
    while running.any():
        estimates = estimated(state.counts, labels.judge_starts, prior, params)
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
    if params.start == "votes":
        estimates = estimated(labels.voted(), labels.judge_starts, prior, params)
    else:
        theta = np.full((k, k), (1 - DIAGONAL_START) / k) + DIAGONAL_START * np.eye(k)
        log_pi = np.full((n_tasks, k), -np.log(k))
        log_theta = np.log(np.broadcast_to(theta, (n_judges, k, k)))
        log_prior = _log_prior(log_pi, log_theta, labels.judge_starts, prior, params)
        estimates = Estimates(log_pi, log_theta, log_prior)
    return EMState.of(estimates, labels.expected(estimates))


def estimated(
    counts: Counts, judge_starts: Codes, prior: Floats | None, params: DawidSkeneParams
) -> Estimates:
    """M-step (Dawid & Skene eqs. 2.3, 2.4) with smoothing."""
    k = counts.pi.shape[1]
    theta = counts.theta.reshape(-1, k, k) + params.smoothing
    if prior is not None:
        theta += np.repeat(prior, np.diff(judge_starts), axis=0)
    row = theta.sum(axis=1, keepdims=True)
    theta = np.where(row > 0, theta / np.where(row > 0, row, 1), 1 / k)
    pi = counts.pi + params.smoothing
    pi /= pi.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):  # log 0 = -inf is meant, where nothing is smoothed
        log_theta, log_pi = np.log(theta), np.log(pi)
    return Estimates(log_pi, log_theta, _log_prior(log_pi, log_theta, judge_starts, prior, params))


def _log_prior(
    log_pi: Floats,
    log_theta: Floats,
    starts: Codes,
    prior: Floats | None,
    params: DawidSkeneParams,
) -> Floats:
    """Log density of the Dirichlet(1 + counts) priors, without its constant."""
    n_tasks = starts.size - 1
    if params.smoothing == 0 and prior is None:
        return np.zeros(n_tasks)
    flat = log_theta.reshape(log_theta.shape[0], -1)
    from scipy.sparse import csr_array  # settings alone, which need Params, load no scipy

    by_task = csr_array(
        (np.ones(flat.shape[0]), np.arange(flat.shape[0]), starts), shape=(n_tasks, flat.shape[0])
    )
    log_prior = np.zeros(n_tasks)
    if params.smoothing > 0:  # without, a cell may be 0
        log_prior += params.smoothing * (by_task @ flat.sum(axis=1) + log_pi.sum(axis=1))
    if prior is not None:
        counts = prior.reshape(n_tasks, -1)
        of_cells = np.where(counts > 0, by_task @ flat, 0)
        log_prior += (counts * of_cells).sum(axis=1)
    return log_prior
