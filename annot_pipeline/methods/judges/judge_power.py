"""Power of the tests of judge control, and what a careful judge shows by those who pass.

Two figures of every test, by its sample sizes: the least p that a perfect record reaches, exactly,
and the chance that a judge with a given effect passes. Sources: noncentral t; moments of the
rank statistics under a shift of normal scores (Lehmann 1975, sections 2.3 and 4.2); the exact
binomial. All take independent observations, as the tests do: scores of several criteria of one
output are not, so that power is at most what is said here.

All functions work element by element on arrays that broadcast.

Judges who pass show more than they have, and the more so the less power the test had: of six
questions with two classes only six right answers pass, and all who pass look perfect. Given that a
judge passed, the estimate follows a truncated distribution, and what is wanted is the value whose
median (of means) or mean (of right answers) is what was observed. Sources: Zhong & Prentice 2008,
Biostatistics 9, 621-634, section 2 (estimates conditional on significance); the truncated binomial
by maximum likelihood (Finney 1949).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats

Power = Callable[[Floats], Floats]
"""Power by the number of controls."""

SEARCHED = 1 << 14
"""Controls up to which a number that is enough is looked for."""


def least_p_signed_rank(n: npt.ArrayLike) -> Floats:
    """Return p if all of n pairs are positive: one of 2^n equally likely patterns of signs."""
    return np.asarray(np.exp2(-np.asarray(n, np.float64)), np.float64)


def least_p_mann_whitney(n_first: npt.ArrayLike, n_second: npt.ArrayLike) -> Floats:
    """Return p if all of the first sample are larger: one of C(n1 + n2, n1) orders."""
    from scipy.special import binom

    first, second = np.asarray(n_first, np.float64), np.asarray(n_second, np.float64)
    with np.errstate(over="ignore"):
        return np.asarray(1 / binom(first + second, np.minimum(first, second)), np.float64)


def least_p_known_answers(n: npt.ArrayLike, chance: npt.ArrayLike) -> Floats:
    """Return p if all of n answers are right: chance to the power of n."""
    return np.asarray(np.asarray(chance, np.float64) ** np.asarray(n, np.float64), np.float64)


def power_paired_t(n: Floats, effect: Floats, sd: Floats, alpha: Floats) -> Floats:
    """Return the power of the one-sided paired t-test of n differences."""
    with np.errstate(invalid="ignore", divide="ignore"):
        shift = effect / (sd / np.sqrt(n))
    return _noncentral_t(shift, n - 1, alpha, defined=n >= 2)


def power_welch(
    n_first: Floats,
    n_second: Floats,
    effect: Floats,
    sd_first: Floats,
    sd_second: Floats,
    alpha: Floats,
) -> Floats:
    """Return the power of Welch's one-sided t-test."""
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = sd_first**2 / n_first, sd_second**2 / n_second
        shift = effect / np.sqrt(a + b)
        freedom = (a + b) ** 2 / (a**2 / (n_first - 1) + b**2 / (n_second - 1))
        freedom = np.where(a + b > 0, freedom, n_first + n_second - 2)
    return _noncentral_t(shift, freedom, alpha, defined=np.minimum(n_first, n_second) >= 2)


def power_signed_rank(n: Floats, effect: Floats, sd: Floats, alpha: Floats) -> Floats:
    """Return the power of the signed-rank test of n normal differences.

    By the normal approximation of the rank sum; where only a perfect record passes, the chance
    that all differences are positive.
    """
    from scipy.special import ndtr

    h = _standardized(effect, sd)
    above, both = ndtr(h), ndtr(np.sqrt(2) * h)
    three = _orthant(np.sqrt(2) * h, 0.5)
    pairs = n * (n - 1) / 2
    mean = pairs * both + n * above
    variance = (
        2 * pairs * (n - 2) * (three - both**2)
        + pairs * (2 * (above - both) ** 2 + 3 * both * (1 - both))
        + n * above * (1 - above)
    )
    most = n * (n + 1) / 2
    least = _critical(n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24, alpha)
    power = _reaches(least, mean, variance, most)
    power = np.where(least == most, above**n, power)
    return np.where((least_p_signed_rank(n) < alpha) & (n >= 2), power, 0.0)


def power_mann_whitney(
    n_first: Floats,
    n_second: Floats,
    effect: Floats,
    sd_first: Floats,
    sd_second: Floats,
    alpha: Floats,
) -> Floats:
    """Return the power of the Mann-Whitney test of two normal samples."""
    from scipy.special import ndtr

    total = sd_first**2 + sd_second**2
    h = _standardized(effect, np.sqrt(total))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(total > 0, sd_first**2 / total, 0.5)
    above = ndtr(h)
    by_first, by_second = _orthant(h, share), _orthant(h, 1 - share)
    pairs = n_first * n_second
    variance = pairs * (
        above * (1 - above)
        + (n_second - 1) * (by_first - above**2)
        + (n_first - 1) * (by_second - above**2)
    )
    least = _critical(pairs / 2, pairs * (n_first + n_second + 1) / 12, alpha)
    power = _reaches(least, pairs * above, variance, pairs)
    can = (least_p_mann_whitney(n_first, n_second) < alpha) & (np.minimum(n_first, n_second) >= 2)
    return np.where(can, power, 0.0)


def power_correlation(n: Floats, correlation: Floats, alpha: Floats) -> Floats:
    """Return the power of the one-sided test of a correlation of n pairs (Fisher's z, 1921)."""
    if not np.any(n > 3):  # scipy need not load
        return np.zeros(np.shape(n))
    from scipy.special import ndtr, ndtri

    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.arctanh(np.minimum(correlation, 1 - 1e-12)) * np.sqrt(np.maximum(n - 3, 0))
    return np.where(n > 3, ndtr(z - ndtri(1 - alpha)), 0.0)


def power_known_answers(n: Floats, accuracy: Floats, chance: Floats, alpha: Floats) -> Floats:
    """Return the power of the exact binomial test against chance, at an accuracy."""
    from scipy.special import bdtrc

    least = least_right(n, chance, alpha)
    size = np.asarray(n).astype(np.int64)
    can = least <= size
    least = np.where(can, least, 1)
    power = np.where(accuracy >= 1, 1.0, bdtrc(least - 1, np.maximum(size, 1), accuracy))
    return np.where(can, power, 0.0)


def least_right(n: npt.ArrayLike, chance: npt.ArrayLike, alpha: npt.ArrayLike) -> Codes:
    """Return the number of right answers from which on a judge passes; n + 1 where none is enough.

    Parameters
    ----------
    n, chance, alpha
        Known answers, share of right ones without looking, and what p is to be below.
    """
    from scipy.special import bdtrc

    n, chance, alpha = np.broadcast_arrays(n, chance, alpha)
    size = n.astype(np.int64)
    low, high = np.zeros(size.shape, np.int64), size + 1  # least that passes is above low
    for _ in range(int(size.max(initial=0)).bit_length() + 1):
        middle = np.maximum((low + high) // 2, 1)
        passes = bdtrc(middle - 1, np.maximum(size, middle), chance) < alpha
        high = np.where(passes & (middle < high), middle, high)
        low = np.where(passes, low, np.minimum(middle, size))
    return np.where(size > 0, high, 1)


def typical_sd(variance: Floats, freedom: Codes, strata: Codes) -> Floats:
    """Return the standard deviation within judges of each stratum, ``(n_strata,)``.

    It is pooled by the median, weighed by degrees of freedom: the mean would be that of judges who
    answer at random, who vary most, and would hide them. Each variance is first divided by what
    the median of its distribution (chi squared) is of the true one, as that of few scores is too
    small more often than not. Judges whose scores do not vary at all tell nothing of the others.

    Parameters
    ----------
    variance, freedom
        ``(n_units,)`` of each judge.
    strata
        ``(n_units,)`` codes from 0.

    Returns
    -------
    sd
        NaN where no judge has two scores; 0 where no judge's scores vary.
    """
    n_strata = int(strata.max(initial=-1)) + 1
    some = (freedom > 0) & (variance > 0)
    has_scores = np.bincount(strata[freedom > 0], minlength=n_strata) > 0
    if not some.any():  # scipy need not load
        return np.where(has_scores, 0.0, np.nan)
    from scipy.special import chdtri

    stratum, weight = strata[some], freedom[some].astype(np.float64)
    value = variance[some] * weight / chdtri(weight, 0.5)
    order = np.lexsort((value, stratum))
    stratum, weight, value = stratum[order], weight[order], value[order]
    total = np.bincount(stratum, weights=weight, minlength=n_strata)
    until = np.cumsum(weight) - np.concatenate([[0.0], np.cumsum(total)])[stratum]
    first, last = (until * 2 >= total[stratum]), (until * 2 > total[stratum])
    medians = np.zeros(n_strata)
    for reached in (first, last):  # they differ where half of the weight ends between two judges
        positions = np.flatnonzero(reached)
        _, at = np.unique(stratum[positions], return_index=True)
        medians[stratum[positions[at]]] += value[positions[at]] / 2
    return np.asarray(np.where(has_scores, np.sqrt(medians), np.nan), np.float64)


def enough_controls(power: Power, target: float, *, least: int = 1) -> int | None:
    """Return the number of controls from which on the power stays at a wanted one or above.

    Parameters
    ----------
    power
        By the number of controls; may fall a little as it grows, as that of exact tests does.
    target
        Power.
    least
        Fewest that may be returned.

    Returns
    -------
    number
        None where `SEARCHED` controls are not enough.
    """
    size = 64
    while size <= SEARCHED:
        n = np.arange(1, size + 1, dtype=np.float64)
        below = np.flatnonzero(~(power(n) >= target))
        last = int(below[-1]) + 1 if below.size else 0
        if last <= size // 2:  # the other half shows that it stays so
            return max(last + 1, least)
        size *= 4
    return None


def _noncentral_t(
    shift: Floats, freedom: Floats, alpha: Floats, *, defined: npt.NDArray[np.bool_]
) -> Floats:
    """Return the chance that t passes; an infinite shift (scores that do not vary) always does."""
    from scipy.special import nctdtr, ndtr, stdtrit

    freedom = np.where(defined, freedom, 1.0)
    least = stdtrit(freedom, 1 - alpha)
    is_finite = np.isfinite(shift)
    finite = np.where(is_finite, shift, 0.0)
    with np.errstate(invalid="ignore"):
        power = 1 - nctdtr(freedom, finite, least)
        normal = ndtr((finite - least) / np.sqrt(1 + least**2 / (2 * freedom)))
    power = np.where(np.isnan(power) | (np.abs(finite) > 30), normal, np.clip(power, 0, 1))
    power = np.where(
        is_finite, power, np.where(np.isnan(shift), np.nan, np.where(shift > 0, 1.0, 0.0))
    )
    return np.where(defined, power, 0.0)


def _standardized(effect: Floats, sd: Floats) -> Floats:
    """Return the effect by its standard deviation; without limit where scores do not vary."""
    with np.errstate(invalid="ignore", divide="ignore"):
        size: Floats = np.where(np.asarray(sd) > 0, effect / sd, np.where(effect > 0, 40.0, 0.0))
    return size


def _orthant(h: Floats, correlation: npt.ArrayLike) -> Floats:
    """Return chance that two standard normals of a correlation are both above -h (Owen 1956)."""
    from scipy.special import ndtr, owens_t

    rho = np.asarray(correlation, np.float64)
    return np.asarray(ndtr(h) - 2 * owens_t(h, np.sqrt((1 - rho) / (1 + rho))), np.float64)


def _critical(mean: Floats, variance: Floats, alpha: Floats) -> Floats:
    """Return the least whole statistic that passes, as the tests calculate p."""
    from scipy.special import ndtri

    least: Floats = np.floor(mean + 0.5 + ndtri(1 - alpha) * np.sqrt(variance)) + 1
    return least


def _reaches(least: Floats, mean: Floats, variance: Floats, most: Floats) -> Floats:
    """Return chance that a statistic of such moments is at least so large, continuity corrected."""
    from scipy.special import ndtr

    with np.errstate(invalid="ignore", divide="ignore"):
        reached = ndtr((mean - least + 0.5) / np.sqrt(variance))
    reached = np.where(variance > 0, reached, np.where(mean >= least, 1.0, 0.0))
    return np.where(least <= most, reached, 0.0)


HALVINGS = 52
"""Of an interval, until its ends are neighbours."""


def effect_given_passing(effect: Floats, error: Floats, least: Floats) -> Floats:
    """Return median-unbiased effects of judges who pass, from 0 to the effects observed.

    Parameters
    ----------
    effect
        ``(n_judges,)`` means that passed.
    error
        ``(n_judges,)`` their standard errors, by what judges vary; 0 where nothing varies.
    least
        ``(n_judges,)`` the effect from which on the judge passes, given how its scores vary. (Mean
        and variance of normal scores are independent, so that the mean of those who pass is
        normal, truncated here.)
    """
    from scipy.special import log_ndtr

    varies = error > 0
    unit = np.where(varies, error, 1.0)
    low, high = np.zeros(effect.size), np.maximum(effect, 0.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        # chance of more than was observed, given that the judge passes
        above = log_ndtr((middle - effect) / unit) - log_ndtr((middle - least) / unit)
        rises = above < np.log(0.5)
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    return np.where(varies, high, np.maximum(effect, 0.0))


def accuracy_given_passing(
    right: Codes, n: Codes, least: Codes, strata: Codes, chance: Floats
) -> Floats:
    """Return the common accuracy of judges who pass, ``(n_strata,)``, by maximum likelihood.

    Parameters
    ----------
    right, n
        ``(n_judges,)`` known answers given right, and asked.
    least
        ``(n_judges,)`` right answers with which a judge passes.
    strata
        ``(n_judges,)`` codes from 0.
    chance
        ``(n_strata,)`` share of right answers without looking.

    Returns
    -------
    accuracy
        NaN where passing tells nothing: where only perfect records pass, all who pass are perfect,
        and where those who pass show no more than luck does.
    """
    from scipy.special import bdtrc

    n_strata = chance.size
    tells = least < n
    right, n, least, strata = (x[tells] for x in (right, n, least, strata))

    def total(values: npt.ArrayLike) -> Floats:
        sums = np.bincount(strata, weights=np.asarray(values, np.float64), minlength=n_strata)
        return sums.astype(np.float64, copy=False)

    def expected(accuracy: Floats) -> Floats:
        p = accuracy[strata]
        with np.errstate(invalid="ignore", divide="ignore"):
            return total(n * p * bdtrc(least - 2, n - 1, p) / bdtrc(least - 1, n, p))

    # where all are right the likelihood has no maximum below 1; half an answer less is its median
    observed = np.minimum(total(right), total(n) - 0.5)
    low, high = chance.copy(), np.ones(n_strata)
    is_informative = (total(n) > 0) & (expected(low) < observed)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        rises = expected(middle) < observed
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    return np.where(is_informative, high, np.nan)
