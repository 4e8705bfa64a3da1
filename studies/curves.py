"""Correlation with the oracle after each round: curves with bands, and what is gained over DA.

Intervals are of two kinds and say different things. Over repetitions: what would come out if
the same items (and recorded judgments) were asked again. Over items: what would come out for
other items like these. The band of a curve draws items (or systems) again in every repetition
and pools them all (Sakaguchi & Van Durme 2018, Figs. 6, 9, 11: 100 rounds). A gain is paired: the
same repetition, the same items drawn. Ranks in a bootstrap round are those of the full data,
for items drawn twice would tie (as `judge_correlations`).

A correlation with a constant is undefined: NaN, counted, and never 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.rounding import comparable

MEASURES = ("spearman", "pearson")
BASELINE = "DA"
DRAWS = 1000
"""Bootstrap rounds over repetitions."""
TAILS = (2.5, 97.5)
_NO_VARIANCE = 1e-12  # of values scaled to a standard deviation of 1
_AT_ONCE = 1 << 22
"""Numbers held at once."""


@dataclass(frozen=True, eq=False)
class Correlations:
    """Correlations with the oracle.

    Parameters
    ----------
    methods
        Names; the baseline is among them.
    judgments
        ``(n_points,)`` judgments of an item (or system) in the mean, rising.
    value
        ``(measures, repeats, methods, n_points)``.
    rounds
        ``(measures, repeats, methods, n_points, rounds)`` the same over items drawn anew.
    """

    methods: tuple[str, ...]
    judgments: Floats
    value: Floats
    rounds: Floats


def correlations(
    methods: tuple[str, ...],
    judgments: Floats,
    scores: Floats,
    truth: Floats,
    *,
    rounds: int,
    rng: np.random.Generator,
) -> Correlations:
    """Correlate the scores of every method and point with the truth.

    Parameters
    ----------
    methods, judgments
        As in `Correlations`.
    scores
        ``(repeats, methods, n_points, n_items)``; a point of which a score is NaN is undefined.
    truth
        ``(n_items,)``.
    rounds, rng
        Of the bootstrap over items.
    """
    n = truth.size
    counts = [np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(rounds)]
    weights = np.stack([np.ones(n), *counts])
    shape = scores.shape[:-1]
    flat = scores.reshape(-1, n)
    by_measure = [
        _weighted(x, y, weights).reshape(*shape, 1 + rounds)
        for x, y in ((_ranks(flat), _ranks(truth[None])[0]), (flat, truth))
    ]
    every = np.stack(by_measure)
    return Correlations(methods, judgments, every[..., 0], every[..., 1:])


def _ranks(values: Floats) -> Floats:
    """Return the mean ranks along the last axis; a row with NaN is NaN throughout."""
    from scipy.stats import rankdata

    rounded = np.array([comparable(row) for row in values])
    return np.asarray(rankdata(rounded, axis=-1, nan_policy="propagate"), np.float64)


def _weighted(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Return Pearson correlations ``(n_rows, n_rounds)`` of rows of x with y, weighted by items."""
    x, y = _standard(x), _standard(y[None])[0]
    n = weights.sum(axis=1)
    coefficients = np.empty((len(x), len(weights)))
    step = max(_AT_ONCE // max(x.shape[1], len(weights)), 1)
    for start in range(0, len(x), step):
        part = x[start : start + step]
        # not matmul: its sums depend on the number of threads
        mean_x = np.einsum("ri,bi->rb", part, weights) / n
        var_x = np.einsum("ri,bi->rb", part * part, weights) / n - mean_x**2
        mean_y = np.einsum("i,bi->b", y, weights) / n
        var_y = np.einsum("i,bi->b", y * y, weights) / n - mean_y**2
        both = np.einsum("ri,bi->rb", part * y, weights) / n - mean_x * mean_y
        defined = (var_x > _NO_VARIANCE) & (var_y > _NO_VARIANCE)
        size = np.sqrt(np.where(defined, var_x * var_y, np.nan))
        coefficients[start : start + step] = np.clip(both / size, -1, 1)
    return coefficients


def _standard(values: Floats) -> Floats:
    """Return rows with mean 0 and standard deviation 1; of equal values 0."""
    centred = values - values.mean(axis=-1, keepdims=True)
    largest = np.abs(values).max(axis=-1, keepdims=True)
    sd = np.sqrt((centred * centred).mean(axis=-1, keepdims=True))
    varies = sd > _NO_VARIANCE * largest
    zero = np.where(np.isnan(sd), np.nan, 0.0) * np.ones_like(centred)
    return np.asarray(np.divide(centred, sd, out=zero, where=varies))


# --- what is told of them ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Interval:
    """A value with the ends of its 95% interval; arrays of one shape, NaN where undefined."""

    value: Floats
    low: Floats
    high: Floats


def bands(correlation: Correlations) -> Interval:
    """Return the mean over repetitions with the pooled band, ``(measures, methods, n_points)``."""
    pooled = np.moveaxis(correlation.rounds, 1, -1)
    low, high = _percentiles(pooled.reshape(*pooled.shape[:3], -1))
    return Interval(_mean(correlation.value, axis=1), low, high)


def undefined(correlation: Correlations) -> tuple[Codes, Codes]:
    """Count repetitions and rounds without a value, each ``(measures, methods, n_points)``."""
    return np.isnan(correlation.value).sum(axis=1), np.isnan(correlation.rounds).sum(axis=(1, 4))


@dataclass(frozen=True, eq=False)
class Gains:
    """Differences to one method, ``(measures, methods, n_points)``.

    Parameters
    ----------
    to
        That method.
    over
        What the interval draws: repetitions, or items where there is one repetition.
    difference
        With that interval.
    items
        The same difference with an interval over items.
    """

    to: str
    over: str
    difference: Interval
    items: Interval


def gains(correlation: Correlations, rng: np.random.Generator, to: str = BASELINE) -> Gains:
    """Return the gain of each method over the method ``to`` in the same repetition."""
    base = correlation.methods.index(to)
    by_repeat = correlation.value - correlation.value[:, :, base : base + 1]
    mean = _mean(by_repeat, axis=1)
    by_items = _mean(correlation.rounds - correlation.rounds[:, :, base : base + 1], axis=1)
    items = Interval(mean, *_percentiles(by_items))
    n = by_repeat.shape[1]
    if n == 1:
        return Gains(to, "items", items, items)
    means = [_mean(by_repeat[:, rng.integers(n, size=n)], axis=1) for _ in range(DRAWS)]
    difference = Interval(mean, *_percentiles(np.stack(means, axis=-1)))
    return Gains(to, "repetitions", difference, items)


def reaches(correlation: Correlations, at: float, rng: np.random.Generator) -> Interval:
    """Return the judgments that each method needs for the baseline's correlation at ``at``.

    The shape is ``(measures, methods)``. Between two points the curve of means is a straight line;
    NaN: not reached, or there is no such point. A method that is there at the first point needs
    that many or fewer. The interval is over repetitions, or over items where there is one.
    """
    n = correlation.value.shape[1]
    if n == 1:
        draws = np.moveaxis(correlation.rounds[:, 0], -1, 0)
    else:
        draws = np.stack(
            [_mean(correlation.value[:, rng.integers(n, size=n)], axis=1) for _ in range(DRAWS)]
        )
    base = correlation.methods.index(BASELINE)
    value = _crossings(correlation.judgments, _mean(correlation.value, axis=1)[None], base, at)[0]
    # what is not reached is beyond all that is: no mean of two numbers
    among = np.nan_to_num(_crossings(correlation.judgments, draws, base, at), nan=np.inf)
    low, high = np.percentile(among, TAILS, axis=0, method="inverted_cdf")
    return Interval(value, *(np.where(np.isinf(end), np.nan, end) for end in (low, high)))


def _crossings(judgments: Floats, curves: Floats, base: int, at: float) -> Floats:
    """Return ``(..., methods)`` where curves ``(..., methods, n_points)`` reach the baseline."""
    shape = curves.shape[:-1]
    crossings = np.full(shape, np.nan)
    if not judgments[0] <= at <= judgments[-1]:
        return crossings
    for position in np.ndindex(shape[:-1]):
        target = np.interp(at, judgments, curves[position][base])
        for method, curve in enumerate(curves[position]):
            crossings[(*position, method)] = _crossing(judgments, curve, target)
    return crossings


def _crossing(judgments: Floats, curve: Floats, target: float) -> float:
    crossings = np.flatnonzero(curve >= target)  # NaN is nowhere
    if not crossings.size:
        return float("nan")
    k = int(crossings[0])
    if k == 0 or np.isnan(curve[k - 1]):
        return float(judgments[k])
    share = (target - curve[k - 1]) / (curve[k] - curve[k - 1])
    return float(judgments[k - 1] + share * (judgments[k] - judgments[k - 1]))


def _mean(values: Floats, axis: int) -> Floats:
    """Return the mean of defined values; NaN if there are none."""
    is_defined = ~np.isnan(values)
    n = is_defined.sum(axis=axis)
    total = np.where(is_defined, values, 0.0).sum(axis=axis)
    return np.asarray(np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0))


def _percentiles(values: Floats) -> tuple[Floats, Floats]:
    """Return ends of the 95% interval along the last axis, of what is defined."""
    low, high = (np.full(values.shape[:-1], np.nan) for _ in TAILS)
    some = ~np.isnan(values).all(axis=-1)
    if some.any():
        low[some], high[some] = np.nanpercentile(values[some], TAILS, axis=-1)
    return low, high
