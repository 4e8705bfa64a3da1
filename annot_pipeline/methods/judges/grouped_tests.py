"""Two-sample tests for many groups at once: one-sided, is the first sample larger?

A group is a judge (judge control) or a pair of systems. Every function takes codes from 0
and returns arrays ``(n_groups,)``; no loop runs over groups or rows.

p-values by normal approximation carry the correction for ties and for continuity (Wilcoxon
1945; Mann & Whitney 1947; as R's ``wilcox.test(exact=FALSE)``). Degenerate input: fewer than
two observations in a sample, or a test without any information, has NaN as statistic and p;
where the variance is zero the means decide: p is 0 if the first is larger, else 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.numerics.distinct import is_new, ordered_codes
from annot_pipeline.methods.numerics.moments import means, moments
from annot_pipeline.methods.numerics.rounding import comparable


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
    freedom
        Degrees of freedom of t; infinite where the statistic is standard normal.
    """

    statistic: Floats
    effect: Floats
    p_value: Floats
    n: Codes
    freedom: Floats | Codes


def paired_t(groups: Codes, differences: Floats, *, n_groups: int) -> GroupedTest:
    """Run Student's paired t-test of differences > 0."""
    sample = moments(groups, differences, n_groups=n_groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = sample.mean / np.sqrt(sample.variance / sample.n)
        p = _t_above(statistic, sample.n - 1)
    test = GroupedTest(statistic, sample.mean, p, sample.n, sample.n - 1)
    return _resolve_degenerate(test, sample.variance, sample.n >= 2)


def welch(
    first_groups: Codes, first: Floats, second_groups: Codes, second: Floats, *, n_groups: int
) -> GroupedTest:
    """Run Welch's t-test, which allows unequal variances."""
    one = moments(first_groups, first, n_groups=n_groups)
    two = moments(second_groups, second, n_groups=n_groups)
    effect, n = one.mean - two.mean, np.minimum(one.n, two.n)
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = one.variance / one.n, two.variance / two.n
        statistic = effect / np.sqrt(a + b)
        freedom = (a + b) ** 2 / (a**2 / (one.n - 1) + b**2 / (two.n - 1))
        p = _t_above(statistic, freedom)
    test = GroupedTest(statistic, effect, p, n, freedom)
    return _resolve_degenerate(test, one.variance + two.variance, n >= 2)


def signed_rank(groups: Codes, differences: Floats, *, n_groups: int) -> GroupedTest:
    """Run Wilcoxon's signed-rank test of differences > 0; zero differences are left out."""
    sample = moments(groups, differences, n_groups=n_groups)
    differences = comparable(differences)
    nonzero = differences != 0
    groups, differences = groups[nonzero], differences[nonzero]
    codes, n_values = ordered_codes(np.abs(differences))
    ranked = _Ranked.from_codes(
        groups, codes, differences > 0, n_groups=n_groups, n_values=n_values
    )
    n, ties, positive = ranked.n, ranked.ties(), ranked.flagged_sum()
    expected = n * (n + 1) / 4
    variance = n * (n + 1) * (2 * n + 1) / 24 - ties / 48
    statistic, p = _normal(positive - expected, variance)
    test = GroupedTest(statistic, sample.mean, p, sample.n, np.full(n_groups, np.inf))
    return _resolve_degenerate(test, variance, sample.n >= 2)


def mann_whitney(
    first_groups: Codes, first: Floats, second_groups: Codes, second: Floats, *, n_groups: int
) -> GroupedTest:
    """Run Mann-Whitney's (Wilcoxon's rank-sum) test."""
    values = comparable(np.concatenate([first, second]))
    codes, n_values = ordered_codes(values)
    ranks = rank_sums(
        np.concatenate([first_groups, second_groups]),
        codes,
        np.repeat([False, True], [first.size, second.size]),
        n_groups=n_groups,
        n_values=n_values,
    )
    effect = means(first_groups, first, n_groups=n_groups)
    effect = effect - means(second_groups, second, n_groups=n_groups)
    test = GroupedTest(ranks.statistic, effect, ranks.p_value, ranks.n, np.full(n_groups, np.inf))
    return _resolve_degenerate(test, ranks.variance, ranks.n >= 1)


@dataclass(frozen=True)
class RankSums:
    """Rank-sum statistics by group; arrays are ``(n_groups,)``.

    Parameters
    ----------
    statistic, p_value
        Is the first sample larger? Standard normal z, with the corrections for ties and
        continuity; one-sided p.
    p_reverse
        One-sided: is the second sample larger?
    variance
        Of U, with the correction for ties; 0 where all values are equal.
    n
        Values of the smaller sample.
    """

    statistic: Floats
    p_value: Floats
    p_reverse: Floats
    variance: Floats
    n: Codes


def rank_sums(
    groups: Codes,
    codes: Codes,
    is_second: Flags,
    *,
    n_groups: int,
    n_values: int,
) -> RankSums:
    """Run the rank-sum test on values coded in their order, by one sort of integers.

    Parameters
    ----------
    groups
        ``(n_rows,)`` codes of groups from 0.
    codes
        ``(n_rows,)`` codes in the order of values, equal for equal ones, below ``n_values``.
    is_second
        ``(n_rows,)`` whether a row belongs to the second sample.
    """
    ranked = _Ranked.from_codes(groups, codes, ~is_second, n_groups=n_groups, n_values=n_values)
    n, ties = ranked.n, ranked.ties()
    n1 = np.bincount(ranked.group, weights=ranked.n_flagged, minlength=n_groups)
    u = ranked.flagged_sum() - n1 * (n1 + 1) / 2
    n2 = n - n1
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = n1 * n2 / 12 * (n + 1 - ties / (n * (n - 1)))
    distance = u - n1 * n2 / 2
    statistic, p = _normal(distance, variance)
    _, reverse = _normal(-distance, variance)
    return RankSums(statistic, p, reverse, variance, np.minimum(n1, n2).astype(np.int64))


@dataclass(frozen=True)
class _Ranked:
    """Values ranked within their groups: each run of equal values, ``(n_runs,)``.

    Parameters
    ----------
    n
        ``(n_groups,)`` values of each group.
    group
        Code of the run's group.
    size, n_flagged
        Values of the run, and how many of them are flagged.
    rank
        Their average rank in the group, from 1.
    """

    n: Floats
    group: Codes
    size: Floats
    n_flagged: Codes
    rank: Floats

    @classmethod
    def from_codes(
        cls,
        groups: Codes,
        codes: Codes,
        flagged: Flags,
        *,
        n_groups: int,
        n_values: int,
    ) -> _Ranked:
        """Rank values given as codes in their order, by one sort of integers."""
        kind = np.min_scalar_type(2 * n_groups * n_values)  # half the bytes, half the time
        keys = np.multiply(groups, n_values, dtype=kind, casting="unsafe")
        keys += codes.astype(kind)
        keys *= 2
        keys += flagged
        keys.sort()
        runs = keys >> 1
        starts = np.flatnonzero(is_new(runs))
        group = runs[starts] // max(n_values, 1)
        size = np.diff(np.append(starts, keys.size)).astype(np.float64)
        n = _sums(group, size, n_groups)
        before = np.cumsum(n) - n  # rows of earlier groups
        keys &= 1
        flagged_until = np.append(0, np.cumsum(keys, dtype=np.int64))
        n_flagged = np.diff(flagged_until[np.append(starts, keys.size)])
        return cls(n, group, size, n_flagged, starts - before[group] + (size + 1) / 2)

    def flagged_sum(self) -> Floats:
        """Return the sum of the flagged values' ranks, by group."""
        return _sums(self.group, self.rank * self.n_flagged, self.n.size)

    def ties(self) -> Floats:
        """Return the sum of t^3 - t over ties of size t, by group."""
        return _sums(self.group, self.size**3 - self.size, self.n.size)


def _sums(groups: Codes, values: Floats, n_groups: int) -> Floats:
    """Return sums of whole and half numbers, which are exact."""
    return np.bincount(groups, weights=values, minlength=n_groups).astype(np.float64, copy=False)


def _normal(distance: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Return z with continuity correction towards the middle of R: one-sided, minus one half."""
    from scipy.special import ndtr

    with np.errstate(invalid="ignore", divide="ignore"):
        z = (distance - 0.5) / np.sqrt(variance)
    p: Floats = ndtr(-z)
    return z, p


def _t_above(statistic: Floats, freedom: Floats | Codes) -> Floats:
    """Return chance that Student's t is larger; where nobody is tested, scipy need not load."""
    if np.isnan(statistic).all():
        return np.full_like(statistic, np.nan)
    from scipy.special import stdtr

    return np.asarray(stdtr(freedom, -statistic), np.float64)


def _resolve_degenerate(test: GroupedTest, variance: Floats, enough: Flags) -> GroupedTest:
    """Resolve zero variance by the means, and set too few observations undefined."""
    constant = enough & (variance <= 0)
    p = np.where(constant, np.where(test.effect > 0, 0.0, 1.0), test.p_value)
    decided = np.select([test.effect > 0, test.effect < 0], [np.inf, -np.inf], 0.0)
    statistic = np.where(constant, decided, test.statistic)
    nan = np.full_like(p, np.nan)
    return replace(
        test, statistic=np.where(enough, statistic, nan), p_value=np.where(enough, p, nan)
    )
