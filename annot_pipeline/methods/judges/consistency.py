"""Does a judge of scores agree with the others better than chance? A permutation test.

The statistic is the correlation of a judge's scores with the mean that the others gave the same
items (leave one out). The null hypothesis is that the judge's scores have nothing to do with the
items: then each order of them over the judge's items is as likely (Pitman 1937, "Significance tests
which may be applied to samples from any populations. II", Supplement to the JRSS 4, 225-232).
Scores are permuted within a criterion and task, and sums of squares and products are about their
means there. p is one-sided.

All orders are tried where they are few; else p is (1 + orders drawn with as large a correlation) /
(1 + orders drawn) (Davison & Hinkley 1997, section 4.3). Draws follow from the seed and the judge's
name, whatever the order of rows and the other judges. Where fewer than ten of 999 draws reach the
correlation, beyond 200 items, and in a large crowd beyond 20, p is that of Pitman's approximation:
a t with the degrees of freedom that give the correlation the variance of all orders.

Degenerate input: a judge who gives all items of a stratum one score agrees no better than chance: p
is 1, and there is no correlation. Where the means of the others do not vary, or with fewer than
three items, both are NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.judges import leave_one_out
from annot_pipeline.methods.judges.judge_figures import FEWEST_ITEMS, SquareSums
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.numerics.bootstrap import seed_of_name
from annot_pipeline.methods.numerics.hyperbolic import tanh

PERMUTATIONS = 999
MOST_PERMUTED = 200
"""Items of a judge beyond which p is that of t: the two differ by a few thousandths."""
MOST_WORK = 1_000_000_000
"""Items times permutations of all judges, some 15 seconds, beyond which few items are permuted."""
MOST_OF_CROWD = 20
"""Items of a judge up to which they are, then."""
FEWEST_REACHED = 10
"""Draws that reach the correlation, below which p is that of t."""
ALL_ORDERS = 6
"""Items up to which all orders are tried: there are 720 at most."""
_TOLERANCE = 1e-9
"""Of the largest possible product: orders that give one sum differ by rounding."""


@dataclass(frozen=True)
class Correlations:
    """Correlations of judges with the others, without a test; arrays are ``(n_judges,)``.

    Parameters
    ----------
    n, effective, correlation
        As `Consistency` has them.
    is_constant
        Whether all scores of the judge are equal, and the means of the others are not.
    """

    n: Codes
    effective: Floats
    correlation: Floats
    is_constant: Flags


@dataclass(frozen=True)
class Consistency:
    """Correlations of judges with the others; arrays are ``(n_judges,)``, NaN where undefined.

    Parameters
    ----------
    n
        Items and criteria that another judge of the reference scored too.
    effective
        Size of a sample of one stratum whose orders give a correlation as much variance.
    correlation
        With the mean of the others.
    statistic
        t of the correlation.
    p_value
        Chance of such a correlation if the judge's scores have nothing to do with the items.
    low, high
        95% interval of the correlation (Fisher's z).
    least_p
        p of the largest correlation that any order of the scores could have.
    """

    n: Codes
    effective: Floats
    correlation: Floats
    statistic: Floats
    p_value: Floats
    low: Floats
    high: Floats
    least_p: Floats


def judge_correlations(
    moments: leave_one_out.SharedMoments, judge: Codes, task: Codes, *, n_judges: int
) -> Correlations:
    """Correlate each judge with the mean of the others.

    Parameters
    ----------
    moments
        Of scores as they are; a series is what one judge gave in one criterion of a task.
    judge, task
        ``(n_series,)`` codes of judges, and of tasks, whose scores are of one scale.
    n_judges
        Size of the range of ``judge``.
    """
    sums = SquareSums.from_moments(moments)
    weight = _weights(sums, task)

    def by_judge(values: npt.ArrayLike) -> Floats:
        total = np.bincount(judge, np.asarray(values, np.float64), minlength=n_judges)
        return total.astype(np.float64)

    n = by_judge(sums.n)
    own, rest, cross = (by_judge(weight * x) for x in (sums.own, sums.rest, sums.cross))
    product = by_judge(sums.own * sums.rest * weight**2 / np.maximum(sums.freedom, 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        effective = np.where(product > 0, own * rest / product, by_judge(sums.freedom)) + 1
        correlation = np.clip(cross / np.sqrt(own * rest), -1, 1)
    is_tested = (n >= FEWEST_ITEMS) & (rest > 0)
    return Correlations(
        n.astype(np.int64),
        effective,
        np.where(is_tested & (own > 0), correlation, np.nan),
        is_tested & (own == 0),
    )


def judge_consistency(
    blocks: Blocks[leave_one_out.SharedScores],
    moments: leave_one_out.SharedMoments,
    reference: Flags,
    judge: Codes,
    task: Codes,
    *,
    names: Sequence[str],
    seed: int,
    most_work: int = MOST_WORK,
) -> Consistency:
    """Correlate each judge with the mean of the others, and test the correlation.

    Parameters
    ----------
    blocks
        Scores; a series is what one judge gave in one criterion of a task.
    moments
        Of the scores as they are, with this reference (`shared_moments`).
    reference
        ``(n_series,)`` whether a series counts in the mean of the others.
    judge, task
        ``(n_series,)`` codes of judges, and of tasks, whose scores are of one scale.
    names
        Names of the judges, from which their draws follow.
    seed
        Not negative.
    most_work
        Scores, over draws, beyond which only judges with few items are permuted.

    Notes
    -----
    The rows of judges with up to 200 items are held at once; 999 draws of 90 items take 1 ms.
    """
    correlations = judge_correlations(moments, judge, task, n_judges=len(names))
    correlation, effective = correlations.correlation, correlations.effective
    statistic, p_value = _t_test(correlation, effective)
    p_value = np.where(correlations.is_constant, 1.0, p_value)
    is_permuted = np.isfinite(correlation) & (correlations.n <= MOST_PERMUTED)
    if correlations.n[is_permuted].sum() * PERMUTATIONS > most_work:
        is_permuted &= correlations.n <= MOST_OF_CROWD
    permuted = np.flatnonzero(is_permuted)
    if permuted.size:
        weight = _weights(SquareSums.from_moments(moments), task)
        _permute(p_value, permuted, blocks, reference, judge, weight, names=names, seed=seed)
    low, high = correlation_interval(correlation, effective)
    least_p = _least_p(moments.own.n, judge, len(names))
    return Consistency(
        correlations.n, effective, correlation, statistic, p_value, low, high, least_p
    )


def correlation_interval(correlation: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Return the 95% interval of correlations of samples of n (Fisher 1921); NaN up to n = 3."""
    with np.errstate(invalid="ignore", divide="ignore"):
        z, error = np.arctanh(correlation), 1 / np.sqrt(n - 3)
        reach = np.where(n > 3, 1.959964 * error, np.nan)
        low, high = tanh(z - reach), tanh(z + reach)
    return low, high


def _weights(sums: SquareSums, task: Codes) -> Floats:
    """Return 1 / variance of the scores of each series' task, so that scales do not matter."""
    n_tasks = int(task.max(initial=-1)) + 1
    squares = np.bincount(task, sums.own, minlength=n_tasks)
    freedom = np.bincount(task, sums.freedom, minlength=n_tasks)
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = np.where(squares > 0, freedom / squares, 1.0)
    return np.asarray(weight[task], np.float64)


def _t_test(correlation: Floats, effective: Floats) -> tuple[Floats, Floats]:
    """Return t and its one-sided p by Pitman's approximation."""
    freedom = effective - 2
    is_defined = np.isfinite(correlation) & (freedom > 0)
    if not is_defined.any():
        return np.full(correlation.size, np.nan), np.full(correlation.size, np.nan)
    from scipy.special import stdtr

    with np.errstate(invalid="ignore", divide="ignore"):
        t = correlation * np.sqrt(freedom / (1 - correlation**2))
        p = stdtr(freedom, -t)
    return np.where(is_defined, t, np.nan), np.where(is_defined, p, np.nan)


def _least_p(n: Codes, judge: Codes, n_judges: int) -> Floats:
    """Return 1 / number of orders, ``(n_judges,)``."""
    if not n.any():  # scipy need not load
        return np.ones(n_judges)
    from scipy.special import gammaln

    orders = np.bincount(judge, gammaln(n + 1.0), minlength=n_judges)
    return np.asarray(np.exp(-orders), np.float64)


def _permute(
    p_value: Floats,
    permuted: Codes,
    blocks: Blocks[leave_one_out.SharedScores],
    reference: Flags,
    judge: Codes,
    weight: Floats,
    *,
    names: Sequence[str],
    seed: int,
) -> None:
    """Put p of the permutations of some judges in the place of those of t."""
    is_permuted = np.zeros(p_value.size, np.bool_)
    is_permuted[permuted] = True
    rows = _joined(blocks.map(leave_one_out.rows_of_series, reference, is_permuted[judge]))
    unit = judge[rows.series]
    order = np.lexsort((rows.own, rows.rest, rows.series, unit))
    unit, series = unit[order], rows.series[order]
    own, rest = (values[order] * np.sqrt(weight[series]) for values in (rows.own, rows.rest))
    bounds = np.searchsorted(unit, np.append(permuted, permuted[-1] + 1))
    for n, code in enumerate(permuted.tolist()):
        part = slice(bounds[n], np.searchsorted(unit, code, side="right"))
        rng = np.random.default_rng([seed, seed_of_name(names[code])])
        reached, n_orders, is_exact = _reached(own[part], rest[part], series[part], rng)
        if is_exact:
            p_value[code] = reached / n_orders
            continue
        share = (1 + reached) / (1 + n_orders)
        p_value[code] = share if reached >= FEWEST_REACHED else min(share, p_value[code])


def _reached(
    own: Floats, rest: Floats, series: Codes, rng: np.random.Generator
) -> tuple[int, int, bool]:
    """Return how many orders reach the sum of products, of how many; whether these are all."""
    strata = [np.flatnonzero(series == code) for code in np.unique(series)]
    pairs = [(own[rows] - own[rows].mean(), rest[rows] - rest[rows].mean()) for rows in strata]
    observed = sum(float(x @ y) for x, y in pairs)
    largest = sum(float(np.sqrt((x @ x) * (y @ y))) for x, y in pairs)
    is_exact = len(pairs) == 1 and own.size <= ALL_ORDERS
    if is_exact:
        [(x, y)] = pairs
        products = np.array(list(permutations(x))) @ y
    else:
        products = np.zeros(PERMUTATIONS)
        for x, y in pairs:
            copies = np.broadcast_to(x, (PERMUTATIONS, x.size))
            products += rng.permuted(copies, axis=1) @ y
    reached = int((products >= observed - _TOLERANCE * largest).sum())
    return reached, products.size, is_exact


def _joined(blocks: Sequence[leave_one_out.LeaveOneOut]) -> leave_one_out.LeaveOneOut:
    return leave_one_out.LeaveOneOut(
        *(
            np.concatenate([getattr(block, name) for block in blocks])
            for name in ("series", "own", "rest", "n_others")
        )
    )
