"""Which systems differ: intervals, p-values, wins, ranks and clusters from estimates of systems.

Judges and segments repeat, and judgments of one judge, or of one segment, err together. The
variance of a difference is that of two-way clusters, judge + segment - both (Cameron, Gelbach &
Miller 2011, eq. 2.8), at least the mean of the two; its degrees of freedom follow from those of
each (Satterthwaite 1946). Tests are one-sided, of all ordered pairs, and corrected by Holm 1979.

Where segments have documents, these are the clusters in place of segments.

Assumes that judges were drawn from those who are to be spoken of. With fewer than `FEW` judges
only segments count as drawn: what is said is then said of these judges; likewise with few segments.

A pair that data cannot tell apart has no test, and a reason (`NO_TEST`). A win of a pair with fewer
than `CONFIRMED_JUDGES` effective judges or `CONFIRMED_SEGMENTS` segments cuts no clusters: with so
few the error rates of many tests together were found to be too high.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.numerics.multiplicity import adjust

FEW = 4
"""Clusters below which they do not count as drawn."""
CONFIRMED_JUDGES, CONFIRMED_SEGMENTS = 10, 20
"""Effective numbers of a pair from which on a win cuts clusters."""
ROUNDING = 0.5
"""Effective numbers are rounded: ten judges with nearly as many judgments each are ten."""
NEGLIGIBLE = 1e-12
"""Variance of a difference that is none: a share of the largest, or of its share of the largest
squared estimate, where all that varies are the last digits."""

TESTED, ONE_SYSTEM, NOT_CONNECTED, NO_VARIATION, TOO_FEW, ONE_ORDER = range(6)
NO_TEST = {
    ONE_SYSTEM: "nothing to compare it with",
    NOT_CONNECTED: "no judge connects these systems",
    NO_VARIATION: "judges and segments agree fully, so the error of the difference is unknown",
    TOO_FEW: "too few judges or segments",
    ONE_ORDER: "pairs are shown in one order only: position and system cannot be separated",
}
"""Why there is no test, by code; `TESTED` has one."""


@dataclass(frozen=True)
class ClusterVariance:
    """The covariance of estimates from clusters of one kind: judges, or segments.

    Parameters
    ----------
    covariance
        ``(K, K)``.
    degrees_of_freedom
        ``(K, K)`` of the difference of each pair.
    """

    covariance: Floats
    degrees_of_freedom: Floats


@dataclass(frozen=True)
class SystemEstimates:
    """Estimates of K systems, and how they vary together.

    Parameters
    ----------
    values
        ``(K,)``; NaN for a system without judgments.
    judges, segments
        From clusters of judges and of segments; None where there are too few.
    both
        ``(K, K)`` covariance from clusters of judge and segment; used if there are both others.
    component
        ``(K,)`` codes: systems of different components cannot be compared.
    has_documents
        Whether clusters of segments are the documents that they are of.
    one_order
        ``(K, K)`` pairs whose systems cannot be told from the position in which they were shown;
        None: there are none.
    """

    values: Floats
    judges: ClusterVariance | None
    segments: ClusterVariance | None
    both: Floats | None
    component: Codes
    has_documents: bool = False
    one_order: Flags | None = None

    def variance(self) -> tuple[Floats, Floats]:
        """Return the variance of the difference of each pair and its degrees of freedom."""
        return self._combined(difference_variance, [kind.degrees_of_freedom for kind in self.kinds])

    def variance_from_others(self) -> tuple[Floats, Floats]:
        """Return ``(K,)`` variances of differences from the mean of the others of a component.

        The degrees of freedom are the fewest of the system's pairs, so that intervals are not too
        narrow.
        """
        is_other = self.is_other
        contrast = (
            np.eye(self.values.size) - is_other / np.maximum(is_other.sum(axis=1), 1)[:, None]
        )

        def contrast_variance(covariance: Floats) -> Floats:
            return np.asarray(np.maximum(((contrast @ covariance) * contrast).sum(axis=1), 0))

        freedom = [
            np.where(is_other, kind.degrees_of_freedom, np.inf).min(axis=1, initial=np.inf)
            for kind in self.kinds
        ]
        return self._combined(contrast_variance, freedom)

    @property
    def is_other(self) -> Flags:
        """Return ``(K, K)`` which systems with a value are others of a system's component."""
        is_same = (self.component[:, None] == self.component) & ~np.isnan(self.values)
        return np.asarray(is_same & ~np.eye(self.values.size, dtype=np.bool_))

    @property
    def kinds(self) -> list[ClusterVariance]:
        """Return the kinds of clusters that count as drawn."""
        return [kind for kind in (self.judges, self.segments) if kind is not None]

    def _combined(
        self, variance_of: Callable[[Floats], Floats], freedom: Sequence[Floats]
    ) -> tuple[Floats, Floats]:
        """Return variances from all clusters, and degrees of freedom after Satterthwaite."""
        variances = [variance_of(kind.covariance) for kind in self.kinds]
        if len(variances) == 1 or self.both is None:
            return variances[0], freedom[0]
        sum_of_two = variances[0] + variances[1]
        variance = np.maximum(sum_of_two - variance_of(self.both), sum_of_two / 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = [one**2 / own for one, own in zip(variances, freedom, strict=True)]
            combined = variance**2 / (squares[0] + squares[1])
        return variance, np.nan_to_num(combined, nan=0.0, posinf=0.0)


@dataclass(frozen=True)
class RankingInference:
    """What estimates say of K systems; arrays of pairs are ``(K, K)``, row against column.

    Parameters
    ----------
    difference, low, high
        Of the row's estimate to the column's, with its 95% interval (or that of ``level``).
    half_width
        ``(K,)`` of the interval of a system's difference from the mean of the others of its
        component; NaN where a pair of it has no test.
    error, degrees_of_freedom
        Standard error of the difference, NaN without test.
    p_value, p_adjusted
        One-sided, that the row is better; after Holm over all pairs. NaN without test.
    reason
        Code of why there is no test; `TESTED` where there is one.
    beats
        Whether the row is better, after Holm.
    is_confirmed
        Whether a win would cut clusters.
    rank, best_rank, worst_rank
        ``(K,)`` within the component, 1 is best; 0 for a system without judgments. The best is
        after the systems that beat it, the worst before those that it beats.
    cluster
        ``(K,)`` from 1, within the component.
    effective_judges, effective_segments
        ``(K, K)`` 1 + degrees of freedom of either variance; NaN where it is not used.
    of_these_judges
        Whether judges are too few to speak of others.
    has_documents
        Whether clusters of segments are documents.
    """

    difference: Floats
    low: Floats
    high: Floats
    half_width: Floats
    error: Floats
    degrees_of_freedom: Floats
    p_value: Floats
    p_adjusted: Floats
    reason: Codes
    beats: Flags
    is_confirmed: Flags
    rank: Codes
    best_rank: Codes
    worst_rank: Codes
    cluster: Codes
    effective_judges: Floats
    effective_segments: Floats
    of_these_judges: bool
    has_documents: bool


def compare_estimates(
    estimates: SystemEstimates, *, level: float = 0.95, alpha: float = 0.05
) -> RankingInference:
    """Compare all systems.

    Parameters
    ----------
    estimates
        Of the systems.
    level
        Of intervals.
    alpha
        Level of the tests, of all together.
    """
    from scipy.special import stdtr, stdtrit

    n_systems = estimates.values.size
    variance, freedom = estimates.variance()
    difference = estimates.values[:, None] - estimates.values
    reason = _reasons(estimates, variance, freedom)
    is_tested = reason == TESTED
    error = np.sqrt(np.where(is_tested, variance, np.nan))
    freedom = np.where(is_tested, freedom, np.nan)
    p_value, half = np.full((2, n_systems, n_systems), np.nan)
    t = difference[is_tested] / error[is_tested]
    p_value[is_tested] = stdtr(freedom[is_tested], -t)
    half[is_tested] = stdtrit(freedom[is_tested], 0.5 + level / 2) * error[is_tested]
    p_adjusted = adjust(p_value.reshape(-1), "holm").reshape(p_value.shape)
    beats = np.nan_to_num(p_adjusted, nan=1.0) < alpha
    is_confirmed = is_tested & _are_enough(estimates)
    rank, best, worst, cluster = _ranks(estimates, beats, beats & is_confirmed)
    return RankingInference(
        np.where(reason == NOT_CONNECTED, np.nan, difference),
        difference - half,
        difference + half,
        _half_widths(estimates, is_tested, level),
        error,
        freedom,
        p_value,
        p_adjusted,
        reason,
        beats,
        is_confirmed,
        rank,
        best,
        worst,
        cluster,
        _effective(estimates.judges, is_tested),
        _effective(estimates.segments, is_tested),
        estimates.judges is None,
        estimates.has_documents,
    )


def _half_widths(estimates: SystemEstimates, is_tested: Flags, level: float) -> Floats:
    """Return half the interval of a system's difference from the mean of the others."""
    from scipy.special import stdtrit

    variance, freedom = estimates.variance_from_others()
    is_other = estimates.is_other
    has_interval = is_other.any(axis=1) & (is_tested | ~is_other).all(axis=1) & (freedom >= 1)
    half = np.full(estimates.values.size, np.nan)
    half[has_interval] = stdtrit(freedom[has_interval], 0.5 + level / 2) * np.sqrt(
        variance[has_interval]
    )
    return half


def difference_variance(covariance: Floats) -> Floats:
    """Return the variance of the difference of each pair, ``(K, K)``."""
    own = np.diag(covariance)
    return np.asarray(np.maximum(own[:, None] + own - covariance - covariance.T, 0))


def _reasons(estimates: SystemEstimates, variance: Floats, freedom: Floats) -> Codes:
    """Return why there is no test of a pair."""
    n_systems = estimates.values.size
    reason = np.full((n_systems, n_systems), TESTED)
    reason[freedom < 1] = TOO_FEW
    rounding = NEGLIGIBLE * np.square(np.nan_to_num(estimates.values)).max(initial=0)
    reason[variance <= NEGLIGIBLE * variance.max(initial=rounding)] = NO_VARIATION
    if estimates.one_order is not None:
        reason[estimates.one_order] = ONE_ORDER
    has_value = ~np.isnan(estimates.values)
    is_separate = estimates.component[:, None] != estimates.component
    reason[is_separate | ~(has_value[:, None] & has_value)] = NOT_CONNECTED
    np.fill_diagonal(reason, ONE_SYSTEM)
    return reason


def _effective(clusters: ClusterVariance | None, is_tested: Flags) -> Floats:
    """Return the effective number of clusters of each pair with a test."""
    if clusters is None:
        return np.full(is_tested.shape, np.nan)
    return np.where(is_tested, 1 + clusters.degrees_of_freedom, np.nan)


def _are_enough(estimates: SystemEstimates) -> Flags:
    """Return whether a pair has enough effective judges and segments to cut clusters."""
    enough = np.ones((estimates.values.size,) * 2, np.bool_)
    for clusters, least in (
        (estimates.judges, CONFIRMED_JUDGES),
        (estimates.segments, CONFIRMED_SEGMENTS),
    ):
        if clusters is None:
            return np.zeros_like(enough)
        enough &= clusters.degrees_of_freedom >= least - 1 - ROUNDING
    return enough


def _ranks(
    estimates: SystemEstimates, beats: Flags, confirmed: Flags
) -> tuple[Codes, Codes, Codes, Codes]:
    """Return rank, best and worst rank, and cluster of each system, within components."""
    rank, best, worst, cluster = np.zeros((4, estimates.values.size), np.int64)
    for component in np.unique(estimates.component):
        members = np.flatnonzero((estimates.component == component) & ~np.isnan(estimates.values))
        members = members[np.argsort(-estimates.values[members], kind="stable")]
        values, won = estimates.values[members], beats[np.ix_(members, members)]
        rank[members] = 1 + (values[:, None] < values).sum(axis=1)
        best[members] = 1 + won.sum(axis=0)
        worst[members] = members.size - won.sum(axis=1)
        cuts = confirmed[np.ix_(members, members)]
        ends = [bool(cuts[:n, n:].all()) for n in range(1, members.size)]
        cluster[members] = 1 + np.concatenate([[0], np.cumsum(ends)])[: members.size]
    return rank, best, worst, cluster
