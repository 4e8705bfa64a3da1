"""Dawid-Skene: a model of annotation in which each judge has a confusion matrix.

An item's true class z_i is drawn from the prevalence pi; a judge j who sees an item of
class k answers l with probability theta[j, k, l]; given the class, answers are
independent. Fitted by EM for the smoothed maximum (MAP): ``smoothing`` is added to each
cell of theta and of pi, which is a Dirichlet(1 + smoothing) prior on each row.

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
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from annot_pipeline.methods.convergence import Convergence

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]

DIAGONAL_START = 0.7
"""Share on the diagonal of the ``diagonal`` start; the rest is spread over all K cells."""


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
class LabelCodes:
    """One task's labels in long form.

    Parameters
    ----------
    items, judges, labels
        ``(n_labels_given,)`` codes from 0; one element a label that was given.
    n_items, n_judges, n_labels
        Sizes of the code ranges; ``n_labels`` is K. Unused codes are allowed.
    """

    items: Codes
    judges: Codes
    labels: Codes
    n_items: int
    n_judges: int
    n_labels: int

    def __post_init__(self) -> None:
        for name, codes, size in (
            ("items", self.items, self.n_items),
            ("judges", self.judges, self.n_judges),
            ("labels", self.labels, self.n_labels),
        ):
            if codes.shape != self.items.shape or codes.ndim != 1:
                raise ValueError("items, judges and labels must be 1-d and of one length")
            if codes.size and not 0 <= codes.min() <= codes.max() < size:
                found = f"{codes.min()} to {codes.max()}"
                raise ValueError(f"{name} holds codes {found}, allowed are 0 to {size - 1}")


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
    return dawid_skene_batch([task], params=params)[0]


def dawid_skene_batch(
    tasks: Sequence[LabelCodes],
    *,
    params: DawidSkeneParams | None = None,
    progress: Progress | None = None,
) -> list[DawidSkeneResult]:
    """Fit each task's own model; equal to fitting them one by one, to the last bit.

    Parameters
    ----------
    tasks
        Tasks of any sizes; those with the same number of classes share their arrays.
    params
        Settings of every fit.
    progress
        Called with (tasks finished, iterations of the current group) now and then.

    Returns
    -------
    list of DawidSkeneResult
        In the order of ``tasks``.
    """
    params = params or DawidSkeneParams()
    results: dict[int, DawidSkeneResult] = {}
    for size in sorted({task.n_labels for task in tasks}):
        members = [t for t, task in enumerate(tasks) if task.n_labels == size]
        group = _Group.of(members, [tasks[t] for t in members])
        _fit(group, params, results, progress)
    return [results[t] for t in range(len(tasks))]


@dataclass(frozen=True)
class _Group:
    """Tasks with K classes, laid side by side: a block-diagonal label matrix."""

    tasks: Codes  # (n_tasks,) places in the caller's list
    item_starts: Codes  # (n_tasks + 1,)
    judge_starts: Codes  # (n_tasks + 1,)
    votes: csr_array  # (n_items, n_judges * K) labels given, column = judge * K + label
    votes_by_judge: csr_array  # its transpose
    members: csr_array  # (n_tasks, n_items) which item is whose
    n_labels: int

    @classmethod
    def of(cls, places: Sequence[int], tasks: Sequence[LabelCodes]) -> _Group:
        n_labels = tasks[0].n_labels
        item_starts = np.cumsum([0] + [task.n_items for task in tasks])
        judge_starts = np.cumsum([0] + [task.n_judges for task in tasks])
        shape = (int(item_starts[-1]), int(judge_starts[-1]) * n_labels)
        rows = np.concatenate([t.items + s for t, s in zip(tasks, item_starts, strict=False)])
        columns = np.concatenate(
            [
                (t.judges + s) * n_labels + t.labels
                for t, s in zip(tasks, judge_starts, strict=False)
            ]
        )
        votes = csr_array((np.ones(rows.size), (rows, columns)), shape=shape)
        votes.sum_duplicates()
        return cls._from_votes(np.asarray(places), item_starts, judge_starts, votes, n_labels)

    @classmethod
    def _from_votes(
        cls, tasks: Codes, item_starts: Codes, judge_starts: Codes, votes: csr_array, n_labels: int
    ) -> _Group:
        by_judge = votes.T.tocsr()
        by_judge.sort_indices()
        n_items = int(item_starts[-1])
        members = csr_array(
            (np.ones(n_items), np.arange(n_items), item_starts), shape=(tasks.size, n_items)
        )
        return cls(tasks, item_starts, judge_starts, votes, by_judge, members, n_labels)

    def keep(self, kept: npt.NDArray[np.bool_]) -> _Group:
        """The group without its finished tasks."""
        items = np.repeat(kept, np.diff(self.item_starts))
        columns = np.repeat(kept, np.diff(self.judge_starts) * self.n_labels)
        votes = self.votes[items][:, columns]
        votes.sort_indices()
        return self._from_votes(
            self.tasks[kept],
            np.concatenate([[0], np.cumsum(np.diff(self.item_starts)[kept])]),
            np.concatenate([[0], np.cumsum(np.diff(self.judge_starts)[kept])]),
            votes,
            self.n_labels,
        )


@dataclass
class _State:
    """Current estimates of a group: log pi (tasks, K), log theta (judges, observed, true)."""

    log_pi: Floats
    log_theta: Floats
    posterior: Floats
    log_likelihood: Floats  # (n_tasks,)
    log_prior: Floats  # (n_tasks,)

    def keep(self, group: _Group, kept: npt.NDArray[np.bool_]) -> _State:
        return _State(
            self.log_pi[kept],
            self.log_theta[np.repeat(kept, np.diff(group.judge_starts))],
            self.posterior[np.repeat(kept, np.diff(group.item_starts))],
            self.log_likelihood[kept],
            self.log_prior[kept],
        )


def _fit(
    group: _Group,
    params: DawidSkeneParams,
    results: dict[int, DawidSkeneResult],
    progress: Progress | None,
) -> None:
    """Run EM on a group; each task leaves when its own objective has settled."""
    state = _start(group, params)
    posteriors = {int(t): [p] for t, p in zip(group.tasks, _log_posterior(state), strict=True)}
    likelihoods = {int(t): [v] for t, v in zip(group.tasks, state.log_likelihood, strict=True)}
    running = np.ones(group.tasks.size, dtype=np.bool_)
    for iteration in range(1, params.max_iterations + 1):
        before = _objective(state, params)
        _maximise(group, state, params)
        _expect(group, state)
        after = _objective(state, params)
        settled = np.abs(after - before) <= params.tolerance * np.abs(before)
        for place in np.flatnonzero(running):
            t = int(group.tasks[place])
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
                results[t] = _result(group, state, int(place), convergence, params)
                running[place] = False
        if not running.any():
            break
        if np.diff(group.item_starts)[running].sum() * 2 < group.item_starts[-1]:
            group, state = group.keep(running), state.keep(group, running)
            running = np.ones(group.tasks.size, dtype=np.bool_)
        if progress and iteration % 25 == 0:
            progress(len(results), iteration)


def _start(group: _Group, params: DawidSkeneParams) -> _State:
    n_tasks, k = group.tasks.size, group.n_labels
    n_items, n_judges = int(group.item_starts[-1]), int(group.judge_starts[-1])
    theta = np.full((k, k), (1 - DIAGONAL_START) / k) + DIAGONAL_START * np.eye(k)
    state = _State(
        log_pi=np.full((n_tasks, k), -np.log(k)),
        log_theta=np.log(np.broadcast_to(theta, (n_judges, k, k))),
        posterior=np.empty((n_items, k)),
        log_likelihood=np.empty(n_tasks),
        log_prior=np.empty(n_tasks),
    )
    if params.start == "votes":
        shares = group.votes @ np.tile(np.eye(k), (n_judges, 1))
        total = shares.sum(axis=1, keepdims=True)
        state.posterior = np.where(total > 0, shares / np.where(total > 0, total, 1), 1 / k)
        _maximise(group, state, params)
    else:
        state.log_prior = _log_prior(group, state, params)
    _expect(group, state)
    return state


def _expect(group: _Group, state: _State) -> None:
    """E-step (Dawid & Skene eq. 2.5), in log space."""
    k = group.n_labels
    logits = group.votes @ state.log_theta.reshape(-1, k)
    logits += np.repeat(state.log_pi, np.diff(group.item_starts), axis=0)
    largest = logits.max(axis=1, keepdims=True)
    logits -= largest
    np.exp(logits, out=logits)
    total = logits.sum(axis=1, keepdims=True)
    logits /= total
    state.posterior = logits
    state.log_likelihood = group.members @ (np.log(total) + largest)[:, 0]


def _maximise(group: _Group, state: _State, params: DawidSkeneParams) -> None:
    """M-step (Dawid & Skene eqs. 2.3, 2.4) with smoothing."""
    k = group.n_labels
    theta = (group.votes_by_judge @ state.posterior).reshape(-1, k, k)
    theta += params.smoothing
    row = theta.sum(axis=1, keepdims=True)
    theta = np.where(row > 0, theta / np.where(row > 0, row, 1), 1 / k)
    pi = group.members @ state.posterior + params.smoothing
    pi /= pi.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):  # log 0 = -inf is meant, where nothing is smoothed
        state.log_theta, state.log_pi = np.log(theta), np.log(pi)
    state.log_prior = _log_prior(group, state, params)


def _log_prior(group: _Group, state: _State, params: DawidSkeneParams) -> Floats:
    """Log density of the Dirichlet(1 + smoothing) priors, without its constant."""
    if params.smoothing == 0:
        return np.zeros(group.tasks.size)
    by_judge = state.log_theta.reshape(state.log_theta.shape[0], -1).sum(axis=1)
    starts = group.judge_starts
    by_task = csr_array(
        (np.ones(by_judge.size), np.arange(by_judge.size), starts),
        shape=(group.tasks.size, by_judge.size),
    )
    prior: Floats = params.smoothing * (by_task @ by_judge + state.log_pi.sum(axis=1))
    return prior


def _log_posterior(state: _State) -> Floats:
    return state.log_likelihood + state.log_prior


def _objective(state: _State, params: DawidSkeneParams) -> Floats:
    return _log_posterior(state) if params.stop_on == "posterior" else state.log_likelihood


def _result(
    group: _Group, state: _State, place: int, convergence: Convergence, params: DawidSkeneParams
) -> DawidSkeneResult:
    items = slice(group.item_starts[place], group.item_starts[place + 1])
    judges = slice(group.judge_starts[place], group.judge_starts[place + 1])
    return DawidSkeneResult(
        posterior=state.posterior[items].copy(),
        prevalence=np.exp(state.log_pi[place]),
        confusion=np.exp(state.log_theta[judges].transpose(0, 2, 1)),
        convergence=convergence,
        params=params,
    )
