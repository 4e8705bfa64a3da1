"""Bounded ranking aggregation: online ranking of items by wins and ties, on the scale [0, 1].

Item i has a score S_i ~ Beta(alpha_i, beta_i) with mode M_i; outcomes follow Rao & Kupper's
extension of Bradley & Terry to ties. After each comparison parameters grow, by the variance and
by how little the outcome was expected.

Source: Sakaguchi & Van Durme 2018, section 3.2 (eqs. 12 to 22). A tie of items that are further
apart than epsilon pulls them together (eqs. 16, 17), one of near items makes both more certain.
Reading: the paper does not say so, but all quantities of an update are those before it.

The result depends on the order of the comparisons. Swapping both items of a comparison changes
nothing, nor do the codes of items. Equal items that tie stay equal. An item that is never
compared keeps its start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.comparisons.waves import states, waves, winners_first
from annot_pipeline.methods.scores.easl import FRESH, beta_mode, beta_variance

_EQUAL = 1e-9
"""Scores that differ by epsilon up to this much differ by epsilon, so they are not further apart.

Without it .6 - .5 would be within .1 and .4 - .3 outside of it.
"""


@dataclass(frozen=True)
class BoundedRaParams:
    """Settings.

    Parameters
    ----------
    gamma
        Noise of one item in one comparison, in units of the score; > 0.
    epsilon
        Largest difference that is a tie, in units of the score; >= 0.
    """

    gamma: float = 0.1
    epsilon: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.gamma < np.inf:
            raise ValueError(f"gamma must be > 0, not {self.gamma}")
        if not 0 <= self.epsilon < np.inf:
            raise ValueError(f"epsilon must be >= 0, not {self.epsilon}")


@dataclass(frozen=True, eq=False)
class BoundedRaResult:
    """Arrays are ``(n_items,)``.

    Parameters
    ----------
    alpha, beta
        State of each item after all comparisons; ``start`` of a run that goes on.
    score, variance
        Mode and variance of that Beta distribution.
    n_comparisons
        Comparisons of each item in this run.
    params
        What was asked.
    """

    alpha: Floats
    beta: Floats
    score: Floats
    variance: Floats
    n_comparisons: Codes
    params: BoundedRaParams


def bounded_ra(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    outcome: npt.ArrayLike,
    *,
    n_items: int,
    params: BoundedRaParams | None = None,
    start: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
) -> BoundedRaResult:
    """Update states by comparisons, one after the other.

    Parameters
    ----------
    first, second
        ``(n_comparisons,)`` codes of items from 0, in the order of the updates.
    outcome
        ``(n_comparisons,)``: 1 the first wins, 0 tie, -1 the second wins.
    n_items
        Size of the code range.
    params
        Settings; default `BoundedRaParams`.
    start
        ``(alpha, beta)`` to go on from, each ``(n_items,)``. A run in parts ends, to the last
        bit, where one run over all comparisons does.

    Raises
    ------
    ValueError
        A code or an outcome outside its range, an item against itself, an invalid start.
    """
    params = params or BoundedRaParams()
    pairs, tie = winners_first(first, second, outcome, n_items=n_items)
    alpha, beta = states(start, (FRESH, FRESH), n_items)
    if not all(((part > 0) & np.isfinite(part)).all() for part in (alpha, beta)):
        raise ValueError("start must be finite and > 0")
    for wave in waves(*pairs, n_items=n_items):
        bounded_ra_update(alpha, beta, pairs[:, wave], tie[wave], params)
    return BoundedRaResult(
        alpha,
        beta,
        beta_mode(alpha, beta),
        beta_variance(alpha, beta),
        np.bincount(pairs.reshape(-1), minlength=n_items),
        params,
    )


def bounded_ra_update(
    alpha: Floats, beta: Floats, pair: Codes, tied: Flags, params: BoundedRaParams
) -> None:
    """Update the states of pairs, all at once and in place (eqs. 12 to 22).

    Parameters
    ----------
    alpha, beta
        ``(n_items,)`` states.
    pair
        ``(2, n_pairs)`` codes of winners and losers; no item twice.
    tied
        ``(n_pairs,)`` whether the pair tied; then either may be called the winner.
    params
        Settings.
    """
    noise, margin = 2 * params.gamma**2, params.epsilon + _EQUAL
    a, b = alpha[pair], beta[pair]
    score, variance = beta_mode(a, b), beta_variance(a, b)
    c = np.sqrt((variance[0] + variance[1]) + noise)
    gap, ties = score[0] - score[1], np.flatnonzero(tied)
    expected = win_probability(gap, params.epsilon)
    if ties.size:
        expected[ties] = tie_probability(gap[ties], params.epsilon)
    size = variance / c * (1 - expected)
    # a win speaks for the first, a tie for the lower, a tie of near ones for both
    speaks_for = np.empty(pair.shape, np.bool_)
    speaks_for[0] = ~(tied & (gap > margin))
    speaks_for[1] = tied & (gap >= -margin)
    alpha[pair] = a + size * speaks_for
    beta[pair] = b + size * speaks_for[::-1]


def win_probability(gap: Floats, epsilon: float) -> Floats:
    """Return how probable it is that the first wins, whose score is ``gap`` above the other's."""
    return np.asarray(expit(gap - epsilon))


def tie_probability(gap: Floats, epsilon: float) -> Floats:
    """Return how probable a tie of two scores is that are ``gap`` apart."""
    # eq. 22 is (1 - theta^-2) (1 - p_i) (1 - p_j); the product first, so that i and j may swap
    return np.asarray(-np.expm1(-2 * epsilon) * (expit(epsilon - gap) * expit(epsilon + gap)))
