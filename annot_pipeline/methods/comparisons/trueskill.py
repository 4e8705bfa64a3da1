"""TrueSkill: online ranking of items by wins and ties, and how even a match would be.

Item i has a score S_i ~ N(mu_i, sigma_i^2); a comparison sees both with noise gamma and is a
tie while they differ by at most epsilon. After each comparison both beliefs move as far as the
outcome surprises: v moves means, w shrinks variances.

Sources: Sakaguchi & Van Durme 2018, section 3.1 (eqs. 3 to 10); Herbrich et al. 2006. The
paper names no start; Reading: N(0, 1), a setting.

The result depends on the order of the comparisons. Swapping both items of a comparison changes
nothing, nor do the codes of items. Equal items that tie keep equal means. An item that is never
compared keeps its start.

With R(x) = cdf(-x) / pdf(x) = sqrt(pi / 2) erfcx(x / sqrt(2)) no cdf ever underflows: v of a win
is 1 / R(epsilon - t) at any distance, and so for ties. Both equal exp(logpdf - log cdf), where
that difference of two large logarithms has digits left.

``q = sqrt(2 gamma^2 / c^2) exp(-(M_i - M_j)^2 / (2 c^2))`` with ``c^2 = 2 gamma^2 + var_i +
var_j`` (Sakaguchi & Van Durme 2018, eqs. 11 and 23; Herbrich et al. 2006). It lies in (0, 1];
far apart it falls below the smallest double, so all work is on its logarithm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import erfcx

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.comparisons.waves import states, waves, winners_first

_ROOT_HALF = np.sqrt(0.5)
_PER_R = np.sqrt(2 / np.pi)  # 1 / R(x) is this / erfcx(x / sqrt(2)), which cannot overflow
_FAR = 1e4  # from here on 1 - w is below 1 / distance^2, and v (v + t) errs by as much
_NARROW = 1e-5  # a tie margin below it counts as 0, which errs by less than its formula would


@dataclass(frozen=True)
class TrueSkillParams:
    """Settings.

    Parameters
    ----------
    gamma
        Noise of one item in one comparison, in units of the score; > 0.
    epsilon
        Largest difference that is a tie, in units of the score; >= 0.
    mean, sd
        Belief about an item before its first comparison; sd > 0.
    """

    gamma: float = 0.1
    epsilon: float = 0.1
    mean: float = 0.0
    sd: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.gamma < np.inf:
            raise ValueError(f"gamma must be > 0, not {self.gamma}")
        if not 0 <= self.epsilon < np.inf:
            raise ValueError(f"epsilon must be >= 0, not {self.epsilon}")
        if not np.isfinite(self.mean):
            raise ValueError(f"mean must be a number, not {self.mean}")
        if not 0 < self.sd < np.inf:
            raise ValueError(f"sd must be > 0, not {self.sd}")


@dataclass(frozen=True, eq=False)
class TrueSkillResult:
    """Arrays are ``(n_items,)``.

    Parameters
    ----------
    mean, sd
        Belief about each item after all comparisons; ``start`` of a run that goes on. ``sd`` is the
        model's sigma, no standard error: +-1.96 of it covers far less than 95%.
    n_comparisons
        Comparisons of each item in this run.
    params
        What was asked.
    """

    mean: Floats
    sd: Floats
    n_comparisons: Codes
    params: TrueSkillParams


def trueskill(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    outcome: npt.ArrayLike,
    *,
    n_items: int,
    params: TrueSkillParams | None = None,
    start: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
) -> TrueSkillResult:
    """Update beliefs by comparisons, one after the other.

    Parameters
    ----------
    first, second
        ``(n_comparisons,)`` codes of items from 0, in the order of the updates.
    outcome
        ``(n_comparisons,)``: 1 the first wins, 0 tie, -1 the second wins.
    n_items
        Size of the code range.
    params
        Settings; default `TrueSkillParams`.
    start
        ``(mean, sd)`` to go on from, each ``(n_items,)``. A run in parts ends, to the last
        bit, where one run over all comparisons does.

    Raises
    ------
    ValueError
        A code or an outcome outside its range, an item against itself, an invalid start.
    """
    params = params or TrueSkillParams()
    pairs, tie = winners_first(first, second, outcome, n_items=n_items)
    mean, sd = states(start, (params.mean, params.sd), n_items)
    if not np.isfinite(mean).all() or not ((sd > 0) & np.isfinite(sd)).all():
        raise ValueError("start must be finite, with sd > 0")
    for wave in waves(*pairs, n_items=n_items):
        trueskill_update(mean, sd, pairs[:, wave], tie[wave], params)
    return TrueSkillResult(mean, sd, np.bincount(pairs.reshape(-1), minlength=n_items), params)


def trueskill_update(
    mean: Floats, sd: Floats, pair: Codes, tied: Flags, params: TrueSkillParams
) -> None:
    """Update the beliefs of pairs, all at once and in place (eqs. 3, 4, 7, 8).

    Parameters
    ----------
    mean, sd
        ``(n_items,)`` beliefs.
    pair
        ``(2, n_pairs)`` codes of winners and losers; no item twice.
    tied
        ``(n_pairs,)`` whether the pair tied; then either may be called the winner.
    params
        Settings.
    """
    noise = 2 * params.gamma**2
    own_mean, own_sd = mean.take(pair), sd.take(pair)
    variance = own_sd * own_sd
    c2 = (variance[0] + variance[1]) + noise
    c = np.sqrt(c2)
    t, epsilon = (own_mean[0] - own_mean[1]) / c, params.epsilon / c
    v, w = surprisal_of_win(t, epsilon)
    ties = np.flatnonzero(tied)
    if ties.size:
        v[ties], w[ties] = surprisal_of_tie(t[ties], epsilon[ties])
    gain = variance / c * v
    np.negative(gain[1], out=gain[1])  # what the winner gains the loser loses
    mean[pair] = own_mean + gain
    # 1 - variance/c2 w as a sum of parts >= 0, so that sd cannot round to 0
    sd[pair] = own_sd * np.sqrt((variance * (1 - w) + variance[::-1] + noise) / c2)


def surprisal_of_win(t: npt.ArrayLike, epsilon: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return factors v and w of a win (eqs. 5, 9).

    Parameters
    ----------
    t
        Mean of the winner minus that of the loser, divided by c.
    epsilon
        Tie margin divided by c; of a shape that broadcasts with t.

    Returns
    -------
    v, w
        v >= 0; w in [0, 1].
    """
    x = np.asarray(t, dtype=np.float64) - np.asarray(epsilon, dtype=np.float64)
    v = _PER_R / erfcx(x * -_ROOT_HALF)  # erfcx is inf, so v is 0, where x is large
    return v, _shares(v * (v + x), -x, 0.0)


def surprisal_of_tie(t: npt.ArrayLike, epsilon: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return factors v and w of a tie (eqs. 6, 10).

    Parameters
    ----------
    t
        Mean of the first item minus that of the second, divided by c.
    epsilon
        Tie margin divided by c, >= 0; of a shape that broadcasts with t.

    Returns
    -------
    v, w
        v has the sign of -t: what the first item's mean gains; w in [0, 1]. With epsilon 0
        they are -t and 1.
    """
    t, epsilon = np.asarray(t, dtype=np.float64), np.asarray(epsilon, dtype=np.float64)
    s = np.abs(t)
    near, far = s - epsilon, s + epsilon  # distances to both margins
    growth = np.expm1(-2 * s * epsilon)  # pdf(far) / pdf(near) - 1
    narrow = epsilon < _NARROW
    # cdf(epsilon - t) - cdf(-epsilon - t), in units of pdf(near) / _PER_R
    z = erfcx(near * _ROOT_HALF) - (growth + 1) * erfcx(far * _ROOT_HALF)
    z = np.where(narrow, 1.0, z)
    v = np.where(narrow, -s, _PER_R * growth / z)
    w = v * v + _PER_R * (s * growth + epsilon * (growth + 2)) / z
    # 1 - w is the variance of a variable within epsilon of 0, so at most epsilon^2
    least = np.maximum(1 - epsilon * epsilon, 0.0)
    return np.where(t < 0, -v, v), _shares(np.where(narrow, 1.0, w), near, least)


def _shares(w: Floats, distance: Floats, least: Floats | float) -> Floats:
    """Return w within its bounds; rounding may leave them where t is far from the margin."""
    return np.where(distance > _FAR, 1.0, np.minimum(np.maximum(w, least), 1.0))


def log_match_quality(
    score: npt.ArrayLike,
    variance: npt.ArrayLike,
    other_score: npt.ArrayLike,
    other_variance: npt.ArrayLike,
    *,
    gamma: float,
) -> Floats:
    """Return the logarithm of the match quality of items and others; shapes broadcast.

    Parameters
    ----------
    score, other_score
        Where the items stand: the mode of a Beta distribution, or a Gaussian mean.
    variance, other_variance
        How uncertain that is.
    gamma
        Skill chain, above 0, in the unit of the scores.
    """
    chain = 2 * gamma * gamma
    spread = chain + np.asarray(variance, np.float64) + np.asarray(other_variance, np.float64)
    gap = np.asarray(score, np.float64) - np.asarray(other_score, np.float64)
    return np.asarray(0.5 * np.log(chain / spread) - gap * gap / (2 * spread))
