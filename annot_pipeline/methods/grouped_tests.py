"""Two-sample tests for many groups at once: one-sided, is the first sample larger?

A group is a judge (judge control) or a pair of systems. Every function takes codes from 0
and returns arrays ``(n_groups,)``; no loop runs over groups or rows.

p-values by normal approximation carry the correction for ties and for continuity (Wilcoxon
1945; Mann & Whitney 1947; as R's ``wilcox.test(exact=FALSE)``). Degenerate input: fewer than
two observations in a sample, or a test without any information, has NaN as statistic and p;
where the variance is zero the means decide: p is 0 if the first is larger, else 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, stdtr

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class GroupedTest:
    """Results by group; arrays are ``(n_groups,)``.

    Parameters
    ----------
    statistic
        t for t-tests, standard normal z for rank tests.
    effect
        Mean of the first sample minus mean of the second (mean difference, where paired).
    p_value
        One-sided: the chance of such a statistic if the first sample is not larger.
    n
        Observations: pairs, or those of the smaller sample.
    """

    statistic: Floats
    effect: Floats
    p_value: Floats
    n: Codes


def paired_t(groups: Codes, differences: Floats, *, n_groups: int) -> GroupedTest:
    """Student's paired t-test of differences > 0."""
    n, mean, variance = _moments(groups, differences, n_groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = mean / np.sqrt(variance / n)
        p = np.asarray(stdtr(n - 1, -statistic), np.float64)
    return _decided(GroupedTest(statistic, mean, p, n), variance, n >= 2)


def welch(
    first_groups: Codes, first: Floats, second_groups: Codes, second: Floats, *, n_groups: int
) -> GroupedTest:
    """Welch's t-test: unequal variances."""
    n1, m1, v1 = _moments(first_groups, first, n_groups)
    n2, m2, v2 = _moments(second_groups, second, n_groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = v1 / n1, v2 / n2
        statistic = (m1 - m2) / np.sqrt(a + b)
        freedom = (a + b) ** 2 / (a**2 / (n1 - 1) + b**2 / (n2 - 1))
        p = np.asarray(stdtr(freedom, -statistic), np.float64)
    n = np.minimum(n1, n2)
    return _decided(GroupedTest(statistic, m1 - m2, p, n), v1 + v2, n >= 2)


def signed_rank(groups: Codes, differences: Floats, *, n_groups: int) -> GroupedTest:
    """Wilcoxon's signed-rank test of differences > 0; zero differences are left out."""
    n_all, mean, _ = _moments(groups, differences, n_groups)
    kept = differences != 0
    groups, differences = groups[kept], differences[kept]
    ranks, ties = _ranks(groups, np.abs(differences), n_groups)
    n = np.bincount(groups, minlength=n_groups).astype(np.float64)
    positive = np.bincount(groups, weights=ranks * (differences > 0), minlength=n_groups)
    expected = n * (n + 1) / 4
    variance = n * (n + 1) * (2 * n + 1) / 24 - ties / 48
    statistic, p = _normal(positive - expected, variance)
    return _decided(GroupedTest(statistic, mean, p, n_all), variance, n_all >= 2)


def mann_whitney(
    first_groups: Codes, first: Floats, second_groups: Codes, second: Floats, *, n_groups: int
) -> GroupedTest:
    """Mann-Whitney's (Wilcoxon's rank-sum) test."""
    groups = np.concatenate([first_groups, second_groups])
    ranks, ties = _ranks(groups, np.concatenate([first, second]), n_groups)
    n1 = np.bincount(first_groups, minlength=n_groups).astype(np.float64)
    n2 = np.bincount(second_groups, minlength=n_groups).astype(np.float64)
    rank_sum = np.bincount(first_groups, weights=ranks[: first.size], minlength=n_groups)
    u = rank_sum - n1 * (n1 + 1) / 2
    total = n1 + n2
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = n1 * n2 / 12 * (total + 1 - ties / (total * (total - 1)))
    statistic, p = _normal(u - n1 * n2 / 2, variance)
    effect = _means(first_groups, first, n_groups) - _means(second_groups, second, n_groups)
    n = np.minimum(n1, n2).astype(np.int64)
    return _decided(GroupedTest(statistic, effect, p, n), variance, n >= 1)


def _moments(groups: Codes, values: Floats, n_groups: int) -> tuple[Codes, Floats, Floats]:
    """Size, mean and variance (ddof 1) of each group; summed in two passes."""
    n = np.bincount(groups, minlength=n_groups)
    mean = _means(groups, values, n_groups)
    squares = np.bincount(groups, weights=(values - mean[groups]) ** 2, minlength=n_groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        return n, mean, squares / (n - 1)


def _means(groups: Codes, values: Floats, n_groups: int) -> Floats:
    with np.errstate(invalid="ignore"):
        means: Floats = np.bincount(groups, weights=values, minlength=n_groups) / np.bincount(
            groups, minlength=n_groups
        )
    return means


def _ranks(groups: Codes, values: Floats, n_groups: int) -> tuple[Floats, Floats]:
    """Average ranks within each group, and sum of (t^3 - t) over ties of size t by group."""
    order = np.lexsort((values, groups))
    g, v = groups[order], values[order]
    new = np.ones(g.size, dtype=np.bool_)
    new[1:] = (g[1:] != g[:-1]) | (v[1:] != v[:-1])
    run = np.cumsum(new) - 1
    starts = np.flatnonzero(new)
    sizes = np.diff(np.append(starts, g.size))
    first = np.searchsorted(g, np.arange(n_groups))  # where each group starts
    average = starts + (sizes + 1) / 2 - first[g[starts]] if g.size else np.empty(0)
    ranks = np.empty(g.size)
    ranks[order] = average[run]
    ties = np.bincount(g[starts], weights=sizes.astype(float) ** 3 - sizes, minlength=n_groups)
    return ranks, ties.astype(np.float64)


def _normal(distance: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """z with continuity correction towards the middle of R: one-sided, minus one half."""
    with np.errstate(invalid="ignore", divide="ignore"):
        z = (distance - 0.5) / np.sqrt(variance)
    p: Floats = ndtr(-z)
    return z, p


def _decided(test: GroupedTest, variance: Floats, enough: npt.NDArray[np.bool_]) -> GroupedTest:
    """Zero variance is decided by the means; too few observations are undefined."""
    constant = enough & (variance <= 0)
    p = np.where(constant, np.where(test.effect > 0, 0.0, 1.0), test.p_value)
    decided = np.select([test.effect > 0, test.effect < 0], [np.inf, -np.inf], 0.0)
    statistic = np.where(constant, decided, test.statistic)
    nan = np.full_like(p, np.nan)
    return GroupedTest(
        np.where(enough, statistic, nan), test.effect, np.where(enough, p, nan), test.n
    )
