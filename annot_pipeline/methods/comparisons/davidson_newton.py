"""Newton's method for Bradley-Terry with Davidson's ties, for many rounds of counts at once.

With d = theta_i - theta_j and nu = exp(delta) the outcomes i, tie, j have probabilities in the
proportion exp(d / 2) : nu : exp(-d / 2) (Davidson 1970, eq. 2.6); nu = 0 is Bradley-Terry. It is
an exponential family: all that a round says is each pair's number of comparisons, each system's
surplus of wins, and the number of ties. So the likelihood is concave, and a step of Newton that
is halved until it does not fall finds the maximum, if there is one. Whether there is one is not
decided here (bradley_terry).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.comparisons.comparison_counts import PairCounts
from annot_pipeline.methods.comparisons.win_shares import sums_by_system

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

DECREMENT = 1e-14
"""Twice what a step promises to gain, in nats: the one below it is the last.

Steps double the digits here, so after it only rounding is left.
"""
_ROUNDING = 1e-13  # by which a likelihood may fall, as a share of it
_HALVINGS = 60
_RIDGE = 1e-13  # of the largest curvature: keeps a step solvable, moves no maximum


@dataclass(frozen=True, eq=False)
class Rounds:
    """Counts of rounds; pairs are distinct.

    Parameters
    ----------
    first, second
        ``(n_pairs,)`` codes of systems.
    n
        ``(n_rounds, n_pairs)`` comparisons, >= 0.
    surplus
        ``(n_rounds, n_systems)`` half of wins minus losses.
    ties
        ``(n_rounds,)`` ties; where 0, nu is 0. Fewer than the comparisons.
    group
        ``(n_systems,)`` codes: scores sum to zero in each; no pair joins two.
    """

    first: Codes
    second: Codes
    n: Floats
    surplus: Floats
    ties: Floats
    group: Codes

    def take(self, rounds: Flags) -> Rounds:
        """Return the selected rounds, or this object if all are selected."""
        if rounds.all():
            return self
        return Rounds(
            self.first, self.second, self.n[rounds], self.surplus[rounds], self.ties[rounds],
            self.group,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Maximum:
    """Parameters of each round: theta ``(n_rounds, n_systems)``, delta ``(n_rounds,)``.

    Parameters
    ----------
    converged, iterations
        ``(n_rounds,)``.
    """

    theta: Floats
    delta: Floats
    converged: Flags
    iterations: Codes


def rounds_of(
    first: Codes,
    second: Codes,
    counts: PairCounts,
    group: Codes,
    *,
    davidson: bool,
    virtual: float,
    component: Codes | None = None,
) -> Rounds:
    """Counts as they are maximised.

    Parameters
    ----------
    first, second, group
        As `Rounds` has them.
    counts
        ``(n_rounds, n_pairs)`` each.
    davidson
        Whether ties are Davidson's, or half a win of each.
    virtual
        Comparisons added to any pair of a group, half won by each, ...
    component
        ``(n_rounds, n_systems)`` ... or only to pairs of different components.
    """
    n, half = counts.n, (counts.wins - counts.losses) / 2
    surplus = sums_by_system(first, half, group.size) - sums_by_system(second, half, group.size)
    if virtual:
        low, high = np.minimum(first, second), np.maximum(first, second)
        first, second = np.nonzero(np.triu(group[:, None] == group, 1))
        real = np.searchsorted(first * group.size + second, low * group.size + high)
        met, n = n, np.full((len(n), first.size), virtual)
        if component is not None:
            n *= component[:, first] != component[:, second]
        n[:, real] += met
    tied = counts.ties.sum(axis=1) if davidson else np.zeros(len(n))
    return Rounds(first, second, n, surplus, tied, group)


def maximise(rounds: Rounds, *, max_iterations: int, start: Floats | None = None) -> Maximum:
    """Find the maximum of each round, from ``start`` ``(n_systems,)`` or from equal scores."""
    theta = np.zeros_like(rounds.surplus)
    if start is not None:
        theta += start
    delta = np.full(len(theta), -np.inf)
    some = rounds.ties > 0
    decided = rounds.n.sum(axis=1)[some] - rounds.ties[some]
    delta[some] = np.log(2 * rounds.ties[some] / decided)  # as if all systems were equal
    iterations = np.zeros(len(theta), np.int64)
    open_rounds, running, at = np.arange(len(theta)), rounds, Point.evaluate(rounds, theta, delta)
    for _ in range(max_iterations):
        if not open_rounds.size:
            break
        step, tie_step, decrement = _newton_step(running, at)
        at = _line_search(running, at, step, tie_step)
        theta[open_rounds], delta[open_rounds] = at.theta, at.delta
        iterations[open_rounds] += 1
        on = decrement > DECREMENT
        open_rounds, running, at = open_rounds[on], running.take(on), at.take(on)
    converged = np.ones(len(theta), np.bool_)
    converged[open_rounds] = False
    return Maximum(theta, delta, converged, iterations)


@dataclass(frozen=True, eq=False)
class Point:
    """Parameters of rounds, and what follows from them; made once, for a step needs all.

    Parameters
    ----------
    theta, delta
        ``(n_rounds, n_systems)``, ``(n_rounds,)``
    gap
        d, ``(n_rounds, n_pairs)``.
    near, nu_near
        exp(-|d| / 2) and nu times that: chances of outcomes relative to the likeliest win.
    log_likelihood
        ``(n_rounds,)`` in nats.
    """

    theta: Floats
    delta: Floats
    gap: Floats
    near: Floats
    nu_near: Floats
    log_likelihood: Floats

    @classmethod
    def evaluate(cls, rounds: Rounds, theta: Floats, delta: Floats) -> Point:
        """Evaluate the model of each round."""
        gap = theta[:, rounds.first] - theta[:, rounds.second]
        half = np.abs(gap) / 2
        near, nu_near = np.exp(-half), np.exp(delta[:, None] - half)
        spread = rounds.n * (half + np.log1p(near * near + nu_near))
        tied = np.where(rounds.ties > 0, rounds.ties * np.where(rounds.ties > 0, delta, 0.0), 0.0)
        gained = (rounds.surplus * theta).sum(axis=1) + tied - spread.sum(axis=1)
        return cls(theta, delta, gap, near, nu_near, gained)

    def take(self, rounds: Flags) -> Point:
        """Return the selected rounds, or this object if all are selected."""
        if rounds.all():
            return self
        return Point(*(values[rounds] for values in vars(self).values()))

    def expected(self) -> tuple[Floats, Floats]:
        """Half of P(first wins) - P(second wins), and P(tie); ``(n_rounds, n_pairs)``."""
        total = 1 + self.near * self.near + self.nu_near
        half_gap = np.sign(self.gap) * -np.expm1(-np.abs(self.gap)) / total / 2
        return half_gap, self.nu_near / total


def information(rounds: Rounds, half_gap: Floats, tie: Floats) -> tuple[Floats, Floats, Floats]:
    """Minus the second derivatives: of theta, of theta and delta, of delta.

    Parameters
    ----------
    rounds
        The counts.
    half_gap, tie
        What `Point.expected` gives.

    Returns
    -------
    of_theta
        ``(n_rounds, n_systems, n_systems)``; its null space is a constant in each group.
    mixed
        ``(n_rounds, n_systems)``
    of_delta
        ``(n_rounds,)``
    """
    weight = rounds.n * ((1 - tie) / 4 - half_gap**2)
    n_systems = rounds.group.size
    of_theta = np.zeros((len(weight), n_systems, n_systems))
    of_theta[:, rounds.first, rounds.second] = -weight
    of_theta[:, rounds.second, rounds.first] = -weight
    diagonal = np.arange(n_systems)
    of_theta[:, diagonal, diagonal] = -of_theta.sum(axis=2)
    mixed = _by_system(rounds, -rounds.n * half_gap * tie)
    return of_theta, mixed, (rounds.n * tie * (1 - tie)).sum(axis=1)


def anchored(of_theta: Floats, group: Codes) -> Floats:
    """The matrix with the constants of groups added, so that it can be inverted."""
    scale = np.maximum(of_theta.diagonal(axis1=1, axis2=2).max(axis=1, initial=0.0), 1e-300)
    same = (group[:, None] == group) + _RIDGE * np.eye(group.size)
    whole: Floats = of_theta + scale[:, None, None] * same
    return whole


def _newton_step(rounds: Rounds, at: Point) -> tuple[Floats, Floats, Floats]:
    """Return the steps in theta and delta, and the Newton decrement squared."""
    half_gap, tie = at.expected()
    gradient = rounds.surplus - _by_system(rounds, rounds.n * half_gap)
    tie_gradient = rounds.ties - (rounds.n * tie).sum(axis=1)
    of_theta, mixed, of_delta = information(rounds, half_gap, tie)
    solved = np.linalg.solve(anchored(of_theta, rounds.group), np.stack([gradient, mixed], axis=2))
    by_gradient, by_mixed = solved[..., 0], solved[..., 1]
    curvature = of_delta - (mixed * by_mixed).sum(axis=1)  # > 0 unless nu is fixed
    free = (rounds.ties > 0) & (curvature > 0)
    tie_step = np.zeros_like(at.delta)
    rest = tie_gradient - (mixed * by_gradient).sum(axis=1)
    tie_step[free] = rest[free] / curvature[free]
    step = by_gradient - by_mixed * tie_step[:, None]
    decrement = (gradient * step).sum(axis=1) + tie_gradient * tie_step
    return step, tie_step, decrement


def _line_search(rounds: Rounds, at: Point, step: Floats, tie_step: Floats) -> Point:
    """Take the step, halved until the likelihood does not fall."""
    floor = at.log_likelihood - _ROUNDING * (1 + np.abs(at.log_likelihood))
    size = np.ones(len(floor))
    for _ in range(_HALVINGS):
        reached = Point.evaluate(
            rounds, at.theta + size[:, None] * step, at.delta + size * tie_step
        )
        low = reached.log_likelihood < floor
        if not low.any():
            break
        size[low] /= 2
    return reached


def _by_system(rounds: Rounds, values: Floats) -> Floats:
    """Sum over the pairs of a system, with the sign of its side."""
    n_systems = rounds.surplus.shape[1]
    return sums_by_system(rounds.first, values, n_systems) - sums_by_system(
        rounds.second, values, n_systems
    )
