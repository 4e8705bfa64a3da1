"""Intervals of judges' effects that allow for scores of one judge that depend on each other.

Scores of several criteria of one output move together, and so do outputs of one HIT (a judge has
good and bad hours). The variance of a judge's mean is that of clusters, one an output (Liang &
Zeger 1986, with the factor of small samples); it is multiplied by the design effect of HITs (Kish
1965), whose correlation is estimated over all judges that worked on several. The interval is the
wider of two: by the judge's own variance, and by one that is moderated by that of all judges
(Smyth 2004), so that few scores that happen to be equal are no proof.

For shares the same design effect divides the number of answers, and the interval is that of Clopper
& Pearson 1934. What does not belong here: tests (grouped_tests), what follows from an interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.moments import means, sums

CONFIDENCE = 0.95
PRIOR_FREEDOM = 4.0
"""Degrees of freedom that the variance of all judges adds to that of one."""
LARGEST_CORRELATION = 0.95
USUAL_CORRELATION = 0.1
"""Of outputs of one HIT, where judges of several HITs do not tell it; WMT22's is 0.075."""
PRIOR_PAIRS = 200.0
"""Pairs of outputs of one HIT that the usual correlation counts for."""


@dataclass(frozen=True)
class ControlScores:
    """Scores, or differences of scores, of one kind of control; arrays are ``(n_rows,)``.

    Parameters
    ----------
    unit
        Code of the judge.
    value
        The score or difference.
    output
        Code of judge and output: rows of one output count as one observation.
    hit
        Code of judge and HIT; all rows of an output are of one.
    """

    unit: Codes
    value: Floats
    output: Codes
    hit: Codes


@dataclass(frozen=True)
class MeanErrors:
    """Variance of means by judge, ``(n_units,)``; NaN where it is unknown.

    Parameters
    ----------
    own
        By the judge's own scores.
    pooled
        By the variance of all judges of the stratum.
    effective
        Number of independent observations that are worth as much as the judge's outputs.
    """

    own: Floats
    pooled: Floats
    effective: Floats


def mean_errors(scores: ControlScores, strata: Codes) -> MeanErrors:
    """Return the variances of the means of judges; ``strata`` says whose variances are pooled."""
    n_units = strata.size
    n = np.bincount(scores.unit, minlength=n_units)
    mean = means(scores.unit, scores.value, n_groups=n_units)
    cluster, first, positions = np.unique(scores.output, return_index=True, return_inverse=True)
    unit, hit = scores.unit[first], scores.hit[first]
    residual = sums(positions.reshape(-1), scores.value - mean[scores.unit], n_groups=cluster.size)
    n_outputs = np.bincount(unit, minlength=n_units)
    squares = sums(unit, residual**2, n_groups=n_units)
    with np.errstate(invalid="ignore", divide="ignore"):
        own = np.where(n_outputs >= 2, n_outputs / (n_outputs - 1) * squares / n**2, np.nan)
        variance = np.where(n_outputs >= 2, own * n_outputs, 0.0)
    pooled = _pooled(strata, variance, np.maximum(n_outputs - 1, 0))[strata]
    design = _design_effect(unit, hit, residual, n_units, strata)
    with np.errstate(invalid="ignore", divide="ignore"):
        return MeanErrors(own * design, pooled / n_outputs * design, n_outputs / design)


def effect_interval(effect: Floats, *samples: MeanErrors) -> tuple[Floats, Floats]:
    """Return the 95% interval of effects; NaN where fewer than two observations tell it.

    Parameters
    ----------
    effect
        ``(n_units,)`` mean of the first sample, less that of the second if there is one.
    samples
        Errors of their means.
    """
    smallest = np.min([sample.effective for sample in samples], axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        own = np.sum([sample.own for sample in samples], axis=0)
        parts = np.sum([s.own**2 / np.maximum(s.effective - 1, 1e-9) for s in samples], axis=0)
        freedom = np.where(parts > 0, own**2 / parts, smallest - 1)  # Satterthwaite 1946
        moderated = np.zeros_like(own)
        for sample in samples:
            weight = sample.effective - 1
            moderated += (weight * sample.own + PRIOR_FREEDOM * sample.pooled) / (
                weight + PRIOR_FREEDOM
            )
    is_defined = smallest >= 2
    reach = np.maximum(
        _half_width(own, freedom, is_defined),
        _half_width(moderated, freedom + PRIOR_FREEDOM, is_defined),
    )
    return effect - reach, effect + reach


@dataclass(frozen=True)
class Answers:
    """Known answers; arrays are ``(n_answers,)``, codes as in `ControlScores`."""

    unit: Codes
    right: npt.NDArray[np.bool_]
    output: Codes
    hit: Codes


def accuracy_interval(answers: Answers, strata: Codes) -> tuple[Floats, Floats]:
    """Return the 95% interval of judges' shares of right answers; NaN without answers.

    A question that a judge answered several times counts as one.
    """
    n_units = strata.size
    if not answers.unit.size:
        return np.full(n_units, np.nan), np.full(n_units, np.nan)
    from scipy.special import betaincinv

    n = np.bincount(answers.unit, minlength=n_units)
    right = np.bincount(answers.unit[answers.right], minlength=n_units)
    share = right / np.maximum(n, 1)
    cluster, first, positions = np.unique(answers.output, return_index=True, return_inverse=True)
    unit, hit = answers.unit[first], answers.hit[first]
    residual = sums(
        positions.reshape(-1), answers.right - share[answers.unit], n_groups=cluster.size
    )
    n_outputs = np.bincount(unit, minlength=n_units)
    size = n_outputs / _design_effect(unit, hit, residual, n_units, strata)
    k, tail = share * size, (1 - CONFIDENCE) / 2
    some = n > 0
    with np.errstate(invalid="ignore"):
        low = np.where(k > 0, betaincinv(np.maximum(k, 1e-9), size - k + 1, tail), 0.0)
        high = np.where(
            size - k > 1e-9, betaincinv(k + 1, np.maximum(size - k, 1e-9), 1 - tail), 1.0
        )
    return np.where(some, low, np.nan), np.where(some, high, np.nan)


def _design_effect(
    unit: Codes, hit: Codes, residual: Floats, n_units: int, strata: Codes
) -> Floats:
    """Return how much variance HITs add to the means of judges: 1 + (mean size - 1) x correlation.

    The correlation of outputs of one HIT is estimated over judges with outputs of several, for
    each stratum, and drawn a little to the usual one; residuals about a judge's own mean are
    correlated -1/n by themselves.
    """
    hits, positions, size = np.unique(hit, return_inverse=True, return_counts=True)
    positions = positions.reshape(-1)
    of_hit = np.zeros(hits.size, np.int64)
    of_hit[positions] = unit
    n = np.bincount(unit, minlength=n_units).astype(np.float64)
    n_hits = np.bincount(of_hit, minlength=n_units)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_size = np.where(
            n > 0, sums(of_hit, size.astype(np.float64) ** 2, n_groups=n_units) / n, 1
        )
    squares = sums(unit, residual**2, n_groups=n_units)
    total = sums(positions, residual, n_groups=hits.size)
    cross = sums(of_hit, total**2, n_groups=n_units) - squares
    pairs = n * (mean_size - 1)  # ordered pairs of outputs of one HIT
    tells = (n_hits >= 2) & (pairs > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = np.where(n >= 2, squares / (n - 1), 0.0)
        above = np.where(tells, cross + pairs * variance / n, 0.0)
        below = np.where(tells, pairs * variance * (1 - (mean_size - 1) / n), 0.0)
    n_strata = int(strata.max(initial=-1)) + 1
    over, under = (sums(strata, part, n_groups=n_strata) for part in (above, below))
    prior = PRIOR_PAIRS * _pooled(strata, variance, np.maximum(n - 1, 0).astype(np.int64))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = (over + USUAL_CORRELATION * prior) / (under + prior)
    correlation = np.where(np.isfinite(correlation), correlation, USUAL_CORRELATION)
    correlation = np.clip(correlation, 0, LARGEST_CORRELATION)
    return np.asarray(1 + (mean_size - 1) * correlation[strata], np.float64)


def _pooled(strata: Codes, variance: Floats, weight: Codes) -> Floats:
    """Return the mean variance of each stratum, weighed by degrees of freedom."""
    n_strata = int(strata.max(initial=-1)) + 1
    total = sums(strata, variance * weight, n_groups=n_strata)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total / np.bincount(strata, weights=weight, minlength=n_strata))


def _half_width(variance: Floats, freedom: Floats, is_defined: npt.NDArray[np.bool_]) -> Floats:
    """Return half the width of a t interval; scipy is not loaded where no interval is defined."""
    if not is_defined.any():
        return np.full(is_defined.size, np.nan)
    from scipy.special import stdtrit

    freedom = np.where(is_defined, np.maximum(freedom, 1.0), 1.0)
    with np.errstate(invalid="ignore"):
        reach = stdtrit(freedom, (1 + CONFIDENCE) / 2) * np.sqrt(variance)
    return np.where(is_defined, reach, np.nan)
