"""Bradley-Terry: scores of systems from wins, losses and ties in pairs, by maximum likelihood.

P(i beats j) / P(j beats i) = exp(theta_i - theta_j), whoever judges, in whatever order (Bradley &
Terry 1952). Ties, by name:

- ``davidson``: P(tie) is nu times the geometric mean of these two (Davidson 1970); all pairs,
  whatever part they lie in, share one nu.
- ``half``: a tie counts as half a win of each.

Scores are on the log scale and sum to zero (in each part of the graph, in each component where
only those can be compared).

**Where there is no finite estimate.** A system that never lost to another is infinitely better:
unless the graph of comparisons is strongly connected (ties are edges both ways), scores are those
within components: the limit of the likelihood, for comparisons between components are then
certain. A system alone in its component has no score (NaN). Davidson's likelihood asks for
more: some cycle must hold more wins than ties (finite_estimates), else gaps and nu grow without
end and there are ranks but no scores. With ties only nu is infinite, and scores are equal at
every nu. Without ties nu is 0.

**Regularised**, between any two systems of a part so many virtual comparisons are added, half won
by each: all scores are finite. (Virtual ties would raise nu.) Then twice the data is not the same.

Rounds of a bootstrap that have no finite estimate of their own take a weak prior, ``WEAK``
virtual comparisons between any two systems of different components (where ties outgrow wins:
between any two). The scores of the largest component of each part are then their own up to one
constant; the order and signs of the others mean something, their sizes do not. It is for the
caller to use no size there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.comparisons.comparison_counts import PairCounts
from annot_pipeline.methods.comparisons.connectivity import Connectivity, connectivity
from annot_pipeline.methods.comparisons.davidson_newton import (
    Point,
    Rounds,
    anchored,
    information,
    maximise,
    rounds_of,
)
from annot_pipeline.methods.comparisons.finite_estimates import finite_components, ties_outgrow_wins
from annot_pipeline.methods.comparisons.waves import winners_first
from annot_pipeline.methods.comparisons.win_shares import sums_by_system

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Ties = Literal["davidson", "half"]

WEAK = 0.01
"""Virtual comparisons a pair in rounds that have no finite estimate."""

AT_ONCE = 4_000_000
"""Numbers in one matrix of rounds; some ten such are held at once."""


@dataclass(frozen=True)
class BradleyTerryParams:
    """Settings.

    Parameters
    ----------
    ties
        What a tie is.
    regularize
        Virtual comparisons between any two systems of a part, half won by each; >= 0.
    max_iterations
        Steps of Newton; some ten are needed.
    """

    ties: Ties = "davidson"
    regularize: float = 0.0
    max_iterations: int = 200

    def __post_init__(self) -> None:
        if self.ties not in ("davidson", "half"):
            raise ValueError(f"ties must be davidson or half, not {self.ties!r}")
        if not 0 <= self.regularize < np.inf:
            raise ValueError(f"regularize must be >= 0, not {self.regularize}")


@dataclass(frozen=True, eq=False)
class BradleyTerryResult:
    """One estimate.

    Parameters
    ----------
    score
        ``(n_systems,)`` NaN where a system has no finite score.
    covariance
        ``(n_systems, n_systems)`` inverse of the observed information, for scores that sum to
        zero (if regularised, of the penalised likelihood). NaN where a score is, zero between
        groups that share no comparison; all NaN where nu is infinite.
    group
        ``(n_systems,)`` within which scores sum to zero: the part, or else the component.
    order_score
        ``(n_systems,)`` what to order members of one component by: the score, or where
        there is none in Davidson's model the one with the weak prior.
    tie_parameter
        nu; 0 without ties, infinite where ties outgrow wins; NaN for ``half``.
    finite
        Whether all scores are.
    ties_only
        Whether nothing but ties lies within components.
    connectivity
        Parts, components and their order.
    converged, iterations
        Of Newton's method.
    params
        What was asked.
    """

    score: Floats
    covariance: Floats
    group: Codes
    order_score: Floats
    tie_parameter: float
    finite: bool
    ties_only: bool
    connectivity: Connectivity
    converged: bool
    iterations: int
    params: BradleyTerryParams


@dataclass(frozen=True, eq=False)
class BradleyTerryRounds:
    """Estimates of many rounds.

    Parameters
    ----------
    score
        ``(n_rounds, n_systems)`` summing to zero in each part; NaN for a system without
        comparisons in the round.
    weak
        ``(n_rounds,)`` whether the round had no finite estimate and took the weak prior.
    inside
        ``(n_rounds, n_systems)`` whether differences between scores are estimates: of all
        systems, in weak rounds of those in the largest component of their part.
    converged
        ``(n_rounds,)``
    """

    score: Floats
    weak: Flags
    inside: Flags
    converged: Flags


def bradley_terry(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    wins: npt.ArrayLike,
    ties: npt.ArrayLike,
    losses: npt.ArrayLike,
    *,
    n_systems: int,
    params: BradleyTerryParams | None = None,
) -> BradleyTerryResult:
    """Estimate scores, with their covariance.

    Parameters
    ----------
    first, second
        ``(n_pairs,)`` codes of systems from 0; each pair once.
    wins, ties, losses
        ``(n_pairs,)`` counts >= 0; wins are the first's.
    n_systems
        Size of the code range.
    params
        Settings; default `BradleyTerryParams`.

    Raises
    ------
    ValueError
        Codes outside their range, a pair twice, negative counts.
    """
    params = params or BradleyTerryParams()
    one, other, counts = _checked(first, second, (wins, ties, losses), n_systems)
    graph = _graph(one, other, counts, n_systems)
    group = graph.part if params.regularize else graph.component
    within = group[one] == group[other]
    inner = one[within], other[within], _columns(counts, within)
    outgrown = ties_only = False
    if params.ties == "davidson" and not params.regularize:
        outgrown = bool(ties_outgrow_wins(*inner)[0])
        ties_only = outgrown and not (inner[2].wins + inner[2].losses).any()
    virtual = WEAK if outgrown else params.regularize
    problem = rounds_of(*inner, group, davidson=params.ties == "davidson", virtual=virtual)
    maximum = maximise(problem, max_iterations=params.max_iterations)
    order_score = maximum.theta[0]
    score = np.where((np.bincount(group) == 1)[group] | (outgrown and not ties_only), np.nan, 0.0)
    score += order_score
    covariance = np.full((n_systems, n_systems), np.nan)
    if not outgrown:
        covariance = _covariance(problem, maximum.theta, maximum.delta)
        covariance[np.isnan(score)] = covariance[:, np.isnan(score)] = np.nan
    nu = np.inf if outgrown else float(np.exp(maximum.delta[0]))
    return BradleyTerryResult(
        score=score,
        covariance=covariance,
        group=group,
        order_score=order_score,
        tie_parameter=nu if params.ties == "davidson" else np.nan,
        finite=not np.isnan(score).any(),
        ties_only=ties_only,
        connectivity=graph,
        converged=bool(maximum.converged[0]),
        iterations=int(maximum.iterations[0]),
        params=params,
    )


def bradley_terry_rounds(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    wins: npt.ArrayLike,
    ties: npt.ArrayLike,
    losses: npt.ArrayLike,
    *,
    part: Codes,
    params: BradleyTerryParams | None = None,
    start: Floats | None = None,
) -> BradleyTerryRounds:
    """Estimate the scores of many rounds at once.

    Parameters
    ----------
    first, second
        ``(n_pairs,)`` codes of systems from 0; each pair once.
    wins, ties, losses
        ``(n_rounds, n_pairs)`` counts >= 0; wins are the first's.
    part
        ``(n_systems,)`` codes, from 0, of what is connected in the data that rounds are drawn of.
    params
        Settings; default `BradleyTerryParams`.
    start
        ``(n_systems,)`` finite scores to begin at, which sum to zero in each part: those of the
        data save a third of the steps.

    Raises
    ------
    ValueError
        Codes outside their range, a pair twice, a pair of two parts, negative counts.
    """
    params = params or BradleyTerryParams()
    n_systems = part.size
    one, other, counts = _checked(first, second, (wins, ties, losses), n_systems)
    if (part[one] != part[other]).any():
        raise ValueError("a pair joins two parts")
    pieces = []
    at_once = max(1, AT_ONCE // max(n_systems**2, one.size, 1))
    for place in range(0, len(counts.wins), at_once):
        some = counts.take(slice(place, place + at_once))
        pieces.append(_some_rounds(one, other, some, part, params, start))
    if not pieces:
        none = np.empty(0, np.bool_)
        return BradleyTerryRounds(np.empty((0, n_systems)), none, none.reshape(0, n_systems), none)
    return BradleyTerryRounds(*(np.concatenate(arrays) for arrays in zip(*pieces, strict=True)))


def _columns(counts: PairCounts, pairs: Flags) -> PairCounts:
    return PairCounts(counts.wins[:, pairs], counts.ties[:, pairs], counts.losses[:, pairs])


def _some_rounds(
    first: Codes,
    second: Codes,
    counts: PairCounts,
    part: Codes,
    params: BradleyTerryParams,
    start: Floats | None,
) -> tuple[Floats, Flags, Flags, Flags]:
    davidson = params.ties == "davidson"
    weak, component = np.zeros(len(counts.wins), np.bool_), None
    inside = np.ones((weak.size, part.size), np.bool_)
    if not params.regularize:
        weak, component, largest = finite_components(first, second, counts, part, davidson=davidson)
        inside[weak] = largest
    score = np.empty((weak.size, part.size))
    converged = np.empty(weak.size, np.bool_)
    for which, virtual, groups in ((~weak, params.regularize, None), (weak, WEAK, component)):
        if which.any():
            problem = rounds_of(
                first, second, counts.take(which), part,
                davidson=davidson, virtual=virtual, component=groups,
            )  # fmt: skip
            maximum = maximise(problem, max_iterations=params.max_iterations, start=start)
            score[which], converged[which] = maximum.theta, maximum.converged
    met = sums_by_system(first, counts.n, part.size) + sums_by_system(second, counts.n, part.size)
    score[met == 0] = np.nan
    return score, weak, inside & (met > 0), converged


def _covariance(problem: Rounds, theta: Floats, delta: Floats) -> Floats:
    """Return the covariance of scores that sum to zero in each group; nu is estimated too."""
    expected = Point.evaluate(problem, theta, delta).expected()
    of_theta, mixed, of_delta = (block[0] for block in information(problem, *expected))
    if problem.ties[0] > 0:  # what is left of theta once delta is known
        of_theta = of_theta - np.outer(mixed, mixed) / of_delta
    whole = anchored(of_theta[None], problem.group)[0]
    same = problem.group[:, None] == problem.group
    inverse: Floats = np.linalg.inv(whole)
    centred = inverse - _group_means(inverse, same)
    centred = centred - _group_means(centred.T, same).T
    return (centred + centred.T) / 2


def _group_means(matrix: Floats, same: Flags) -> Floats:
    """Each row's mean over the columns of a column's group."""
    means: Floats = matrix @ same / same.sum(axis=0)
    return means


def _graph(first: Codes, second: Codes, counts: PairCounts, n_systems: int) -> Connectivity:
    outcome = np.repeat([1, 0, -1], first.size)
    some = np.concatenate([counts.wins[0], counts.ties[0], counts.losses[0]]) > 0
    first, second = np.tile(first, 3), np.tile(second, 3)
    return connectivity(first[some], second[some], outcome[some], n_systems=n_systems)


def _checked(
    first: npt.ArrayLike, second: npt.ArrayLike, counts: tuple[npt.ArrayLike, ...], n_systems: int
) -> tuple[Codes, Codes, PairCounts]:
    """Check pairs and counts, and return them as arrays, counts by round."""
    pairs, _ = winners_first(first, second, np.zeros(np.size(first)), n_items=n_systems)
    if np.unique(pairs.min(axis=0) * n_systems + pairs.max(axis=0)).size < pairs.shape[1]:
        raise ValueError("a pair of systems stands twice")
    arrays = [np.atleast_2d(np.asarray(count, np.float64)) for count in counts]
    for count in arrays:
        if count.shape != (len(arrays[0]), pairs.shape[1]):
            raise ValueError(f"counts are of shape {count.shape}, pairs {pairs.shape[1]}")
        if not (np.isfinite(count) & (count >= 0)).all():
            raise ValueError("counts must be numbers >= 0")
    return pairs[0], pairs[1], PairCounts(*arrays)
