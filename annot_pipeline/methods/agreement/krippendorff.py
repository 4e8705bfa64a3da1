"""Krippendorff's alpha: 1 - observed / expected disagreement, of labels and of scores.

Source: Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability". Units with fewer than
two values hold no pair and are left out first. With n_u values in unit u, n in all, and the
squared distance d(c, k) of the metric,

    observed = 1/n       sum_u 1/(n_u - 1) sum of d over ordered pairs of values of u
    expected = 1/(n (n - 1))               sum of d over ordered pairs of all values

No matrix of values x values is built. Nominal: d = [c != k], from counts. Interval: (c - k)^2,
from sums of squares within units and in all. Ordinal: interval on mid-ranks of the n values (the
paper's sum of counts from c to k less half of both ends *is* a difference of mid-ranks). Ratio:
((c - k)/(c + k))^2, by pairs in chunks.

Degenerate input: no unit with two values, or no two values that differ (no expected
disagreement), is NaN; so is a bootstrap round of that kind, which is then left out.

As `krippendorff` has it: ordinal, interval and ratio. Sums are made of the data and of resamples.
Ordinal and ratio count every value that was given: of more than `MOST_VALUES` they are NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics import bootstrap
from annot_pipeline.methods.numerics.distinct import renumbered, renumbered_values
from annot_pipeline.methods.numerics.moments import means, sums
from annot_pipeline.methods.numerics.whole_numbers import WholeMatrix, WholeNumbers

Metric = Literal["nominal", "ordinal", "interval", "ratio"]

MOST_RATIO_VALUES = 20_000  # distinct values: 4e8 distances a chunk of rounds
_ROUNDING = 1e-12  # of a sum of squares, what is left where all values are one
PAIRS_AT_ONCE = 200_000
"""Pairs of values whose distances are computed at once: they stay in the cache."""


@dataclass(frozen=True)
class Alpha:
    """Alpha with its 95% bootstrap interval over units.

    Parameters
    ----------
    value, ci_low, ci_high
        As in `Estimate`; NaN where undefined.
    n_units
        Units with two or more values.
    n_values
        Values in these units.
    """

    value: float
    ci_low: float
    ci_high: float
    n_units: int
    n_values: int


@dataclass(frozen=True)
class RatingTable:
    """Pairable ratings as counts unit x code; the same for any order of the ratings.

    Parameters
    ----------
    n
        ``(n_units,)`` ratings of each unit, two or more.
    agreeing
        ``(n_units,)`` ordered pairs of ratings of the same code.
    by_code, by_unit
        ``(n_codes, n_units)`` and its transpose: ratings of that code.
    """

    n: Floats
    agreeing: Floats
    by_code: WholeMatrix
    by_unit: csr_array

    @classmethod
    def from_ratings(cls, units: Codes, codes: Codes, *, n_units: int, n_codes: int) -> RatingTable:
        """Count ratings in long form, each of a unit with two or more."""
        ones = np.ones(units.size)
        by_unit = coo_array((ones, (units, codes)), shape=(n_units, n_codes)).tocsr()
        squares = csr_array((by_unit.data**2, by_unit.indices, by_unit.indptr), by_unit.shape)
        n = np.bincount(units, minlength=n_units).astype(np.float64)
        agreeing = squares @ np.ones(n_codes) - n
        return cls(n, agreeing, WholeMatrix.from_sparse(by_unit.T.tocsr()), by_unit)

    def code_counts(self, times: bootstrap.Counts) -> Floats:
        """Count ratings of drawn units ``(n_units, n_rounds)`` by code, ``(n_codes, n_rounds)``."""
        return (self.by_code @ WholeNumbers.from_array(times)).astype(np.float64)


def krippendorff_alpha(
    units: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    n_units: int,
    metric: Metric,
    rounds: int = 0,
    rng: bootstrap.Rng | None = None,
    most_ratio_values: int = MOST_RATIO_VALUES,
    pairs_at_once: int = PAIRS_AT_ONCE,
) -> Alpha:
    """Compute alpha of values in long form.

    Memory is proportional to the values. Time: a sort, and for each round a pass over the
    values (nominal, ordinal) or the units (interval). Ratio takes the pairs of values within
    units once, and for each round V^2 steps for V distinct values: over 20,000 of them alpha is
    not computed, but NaN. Ratio is meant for values of 0 and more; where c + k = 0 the distance
    is taken as 0.

    Parameters
    ----------
    units
        ``(n_values,)`` codes from 0.
    values
        ``(n_values,)`` real values; for nominal and ordinal only their identity and order count.
    n_units
        Size of the code range; units without values are allowed.
    metric
        Level of measurement.
    rounds
        Bootstrap rounds.
    rng
        Generator or seed; needed with rounds.
    most_ratio_values
        Distinct values up to which alpha is computed for ratio.
    pairs_at_once
        Pairs of values whose distances are computed at once, for ratio.

    Raises
    ------
    ValueError
        Arrays of different lengths, codes outside their range, values that are not finite, an
        unknown metric, or rounds without a generator.
    """
    units, values = np.asarray(units, np.int64), np.asarray(values, np.float64)
    _check(units, values, n_units, metric)
    if rounds and rng is None:
        raise ValueError("rounds need rng, a generator or a seed")
    is_pairable, units = pairable(units, n_units=n_units)
    values = values[is_pairable]
    m = int(units.max()) + 1 if units.size else 0
    domain, codes = renumbered_values(values)
    table = RatingTable.from_ratings(units, codes, n_units=m, n_codes=domain.size)
    resamples = bootstrap.ItemResamples.draw(m, rounds, 0 if rng is None else rng)
    estimate = bootstrap.Estimate(float("nan"), float("nan"), float("nan"))
    if m and (metric != "ratio" or domain.size <= most_ratio_values):
        statistic = _statistic(table, domain, metric, pairs_at_once)
        n_floats = 5 * m + (5 * domain.size if metric != "interval" else 0)
        estimate = bootstrap.Estimate.from_replicates(
            bootstrap.replicate_counts(statistic, resamples, floats_per_round=n_floats)[0]
        )
    return Alpha(estimate.value, estimate.ci_low, estimate.ci_high, m, values.size)


def pairable(units: Codes, *, n_units: int) -> tuple[npt.NDArray[np.bool_], Codes]:
    """Find rows of units with two or more rows, and the units of these rows renumbered from 0."""
    enough = np.bincount(units, minlength=n_units) >= 2
    is_pairable = enough[units]
    return is_pairable, (np.cumsum(enough) - 1)[units[is_pairable]]


def means_by_judge(
    units: Codes, judges: Codes, values: Floats, *, n_judges: int
) -> tuple[Codes, Floats]:
    """Return units and values, one by each judge of a unit: the mean of several.

    Alpha is defined on one value of each judge: who repeats himself agrees with nobody by that.
    """
    cells, groups = renumbered(units * n_judges + judges)
    if cells.size == units.size:
        return units, values
    return cells // n_judges, means(groups, values, n_groups=cells.size)


def nominal_within(table: RatingTable, weights: Floats) -> Floats:
    """Return disagreement on names within weighted units ``(n_rounds,)``: a sum over units."""
    within = (table.n * (table.n - 1) - table.agreeing) / (table.n - 1)
    return _total(within, weights)


def nominal_alpha(within: Floats, code_counts: Floats) -> Floats:
    """Return alpha on names ``(n_rounds,)``.

    ``code_counts (n_codes, n_rounds)`` of the same units.
    """
    n = code_counts.sum(axis=0)
    # counts are integers: without expected disagreement the difference is 0, not nearly 0
    return _alpha(within, n * n - (code_counts**2).sum(axis=0), n)


def ordinal_within(table: RatingTable, weights: Floats, code_counts: Floats) -> Floats:
    """Sum the disagreement on the order of codes within weighted units, over units.

    ``code_counts`` are those of all units, of which these may be some: ranks are among them.
    """
    ranks = _mid_ranks(code_counts)
    squares = ranks**2

    def spread(units: slice) -> Floats:
        # sum of (x - y)^2 over ordered pairs = 2 (n_u sum x^2 - (sum x)^2)
        counts = table.by_unit[units]
        total = counts @ ranks
        total *= total
        disagreement: Floats = counts @ squares
        disagreement *= table.n[units, None]
        disagreement -= total
        return disagreement

    return bootstrap.weighted_cells(spread, weights, scale=2 / (table.n - 1))


def ordinal_alpha(within: Floats, code_counts: Floats) -> Floats:
    """Return alpha on the order of the codes ``(n_rounds,)``; parameters as `nominal_alpha`'s."""
    n, ranks = code_counts.sum(axis=0), _mid_ranks(code_counts)
    return _alpha(within, 2 * n * (code_counts * ranks**2).sum(axis=0), n)


def _mid_ranks(code_counts: Floats) -> Floats:
    """Return mid-ranks about their mean, n / 2: halves of integers: equal ratings differ by 0."""
    ranks: Floats = np.cumsum(code_counts, axis=0) - code_counts / 2
    ranks -= code_counts.sum(axis=0) / 2
    return ranks


def _statistic(
    table: RatingTable, domain: Floats, metric: Metric, pairs_at_once: int
) -> Callable[[bootstrap.Counts], Floats]:
    if metric == "interval":
        return partial(_interval_alpha, _moments(table, domain))
    if metric == "ratio":
        within = ratio_within(table, domain, pairs_at_once=pairs_at_once)
        return partial(_ratio_alpha, table, domain, within, pairs_at_once)

    def alpha(times: bootstrap.Counts) -> Floats:
        weights, counts = times.astype(np.float64), table.code_counts(times)
        if metric == "nominal":
            alphas = nominal_alpha(nominal_within(table, weights), counts)
        else:
            alphas = ordinal_alpha(ordinal_within(table, weights, counts), counts)
        return alphas[None, :]

    return alpha


@dataclass(frozen=True)
class _Moments:
    """Of each unit ``(n_units,)``: size, mean, sum of squares about it, least and greatest."""

    n: Floats
    mean: Floats
    squares: Floats
    low: Floats
    high: Floats


def _moments(table: RatingTable, domain: Floats) -> _Moments:
    # about a value in the middle, so that a large common part is taken off without rounding
    x = _scaled(_scaled(domain) - _scaled(domain)[domain.size // 2])
    counts, starts = table.by_unit, table.by_unit.indptr[:-1]
    unit, value = np.repeat(np.arange(table.n.size), np.diff(counts.indptr)), x[counts.indices]
    mean = np.add.reduceat(counts.data * value, starts) / table.n
    low, high = np.minimum.reduceat(value, starts), np.maximum.reduceat(value, starts)
    squares = np.add.reduceat(counts.data * (value - mean[unit]) ** 2, starts)
    return _Moments(table.n, mean, squares, low, high)


def _interval_alpha(moments: _Moments, times: bootstrap.Counts) -> Floats:
    weights = times.astype(np.float64)
    n = _total(moments.n, weights)
    mean = _total(moments.n * moments.mean, weights) / n

    def about(units: slice) -> Floats:
        squares: Floats = moments.mean[units, None] - mean
        squares *= squares
        squares *= moments.n[units, None]
        squares += moments.squares[units, None]
        return squares

    total = bootstrap.weighted_cells(about, weights)
    total[_are_alike(moments, weights)] = 0  # rounding of the mean is no disagreement
    observed = _total(2 * moments.n * moments.squares / (moments.n - 1), weights)
    return _alpha(observed, 2 * n * total, n)[None, :]


def interval_sums(units: Codes, values: Floats, times: bootstrap.Counts, *, n_units: int) -> Floats:
    """Return the sums that some units add to interval alpha, by resample: ``(5, n_rounds)``.

    Values, their means and squares of these about 0, squares about the means, disagreement.

    Parameters
    ----------
    units, values
        ``(n_values,)``, of units with two or more; values about what is near the mean of all, and
        not far beyond 1.
    times
        ``(n_units, n_rounds)``.
    """
    n = np.bincount(units, minlength=n_units).astype(np.float64)
    mean = means(units, values, n_groups=n_units)
    squares = sums(units, (values - mean[units]) ** 2, n_groups=n_units)
    weights = times.astype(np.float64)
    of_units = (n, n * mean, n * mean**2, squares, 2 * n * squares / (n - 1))
    return np.stack([_total(values, weights) for values in of_units])


def interval_alpha(unit_sums: Floats) -> Floats:
    """Return alpha ``(n_rounds,)``, computed from `interval_sums` of all units."""
    n, first, second, squares, observed = unit_sums
    with np.errstate(invalid="ignore"):
        between = second - first**2 / n
    total = squares + np.where(between > _ROUNDING * second, between, 0.0)
    return _alpha(observed, 2 * n * total, n)


def _are_alike(moments: _Moments, weights: Floats) -> npt.NDArray[np.bool_]:
    """Return whether all values drawn in a round are one value, ``(n_rounds,)``."""
    unlike = (moments.low < moments.high).astype(np.float64)
    alike: npt.NDArray[np.bool_] = _total(unlike, weights) == 0
    if alike.any():  # each unit drawn holds one value only
        is_drawn = weights[:, alike] > 0
        low = np.where(is_drawn, moments.low[:, None], np.inf).min(axis=0)
        high = np.where(is_drawn, moments.high[:, None], -np.inf).max(axis=0)
        alike[alike] = low == high
    return alike


def _ratio_alpha(
    table: RatingTable, domain: Floats, within: Floats, pairs_at_once: int, times: bootstrap.Counts
) -> Floats:
    observed, counts = _total(within, times.astype(np.float64)), table.code_counts(times)
    return ratio_alpha(observed, counts, domain, pairs_at_once=pairs_at_once)[None, :]


def ratio_alpha(
    within: Floats, code_counts: Floats, domain: Floats, *, pairs_at_once: int = PAIRS_AT_ONCE
) -> Floats:
    """Return alpha on ratios ``(n_rounds,)``.

    Parameters
    ----------
    within
        ``(n_rounds,)`` sums of `ratio_within` over units.
    code_counts
        ``(n_codes, n_rounds)`` of the same units.
    domain
        ``(n_codes,)`` values of the codes, in order.
    pairs_at_once
        Pairs of values whose distances are computed at once.
    """
    x, expected = _scaled(domain), np.zeros(code_counts.shape[1])
    step = max(pairs_at_once // x.size, 1)
    for start in range(0, x.size, step):
        rows = slice(start, min(start + step, x.size))
        distances = _ratio_distances(x[rows, None], x[None, start:])
        distances[:, step:] *= 2  # pairs that no later chunk meets the other way round
        facing = np.einsum("av,vr->ar", distances, code_counts[start:])
        expected += np.einsum("ar,ar->r", code_counts[rows], facing)
    return _alpha(within, expected, code_counts.sum(axis=0))


def ratio_within(
    table: RatingTable, domain: Floats, *, pairs_at_once: int = PAIRS_AT_ONCE
) -> Floats:
    """Return the sum of distances over ordered pairs of a unit, over n_u - 1.

    The sum runs over pairs of its values.
    """
    cells, x = table.by_unit, _scaled(domain)
    ends = np.repeat(cells.indptr[1:], np.diff(cells.indptr)).astype(np.int64)
    partners = ends - np.arange(ends.size) - 1  # the cells after each one in its unit
    unit = np.repeat(np.arange(table.n.size), np.diff(cells.indptr))
    within = np.zeros(table.n.size)
    for first, second in pairs_in_chunks(np.arange(1, ends.size + 1), partners, pairs_at_once):
        distances = _ratio_distances(x[cells.indices[first]], x[cells.indices[second]])
        pairs = 2 * cells.data[first] * cells.data[second]
        within += np.bincount(unit[first], weights=pairs * distances, minlength=within.size)
    return within / (table.n - 1)


def pairs_in_chunks(starts: Codes, counts: Codes, most: int) -> Iterator[tuple[Codes, Codes]]:
    """Pair each position p with the ``counts[p]`` positions from ``starts[p]`` on.

    Parameters
    ----------
    starts, counts
        ``(n,)``.
    most
        Pairs in a chunk; a chunk may begin and end among the partners of one position.

    Yields
    ------
    tuple[Codes, Codes]
        First and second positions, up to ``most`` of each.
    """
    ends = np.cumsum(counts)
    total = int(ends[-1]) if ends.size else 0
    for low in range(0, total, most):
        high = min(low + most, total)
        p = np.arange(np.searchsorted(ends, low, "right"), np.searchsorted(ends, high) + 1)
        begin = ends[p] - counts[p]
        sizes = np.minimum(ends[p], high) - np.maximum(begin, low)
        yield np.repeat(p, sizes), np.arange(low, high) + np.repeat(starts[p] - begin, sizes)


def _alpha(observed: Floats, expected: Floats, n: Floats) -> Floats:
    """Return alpha from sums over ordered pairs: in units, each over n_u - 1, and of all values."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 0, 1 - (n - 1) * observed / expected, np.nan)


def _total(per_unit: Floats, weights: Floats) -> Floats:
    # not matmul: its sums depend on the number of threads
    total: Floats = np.einsum("u,ur->r", per_unit, weights)
    return total


def _ratio_distances(c: Floats, k: Floats) -> Floats:
    total, distances = c + k, c - k
    with np.errstate(invalid="ignore", divide="ignore"):
        distances /= total
    distances[total == 0] = 0
    distances *= distances
    return distances


def _scaled(x: Floats) -> Floats:
    """Divide by a power of two, which is exact, so that no square overflows or vanishes."""
    largest = np.abs(x).max(initial=0)
    scaled: Floats = np.ldexp(x, -int(np.frexp(largest)[1]))
    return scaled


def _check(units: Codes, values: Floats, n_units: int, metric: str) -> None:
    if metric not in get_args(Metric):
        raise ValueError(f"metric is {metric!r}, allowed are {', '.join(get_args(Metric))}")
    if units.shape != values.shape or units.ndim != 1:
        raise ValueError("units and values must be 1-d and of one length")
    if units.size and not 0 <= units.min() <= units.max() < n_units:
        code_range = f"{units.min()} to {units.max()}"
        raise ValueError(f"units holds codes {code_range}, allowed are 0 to {n_units - 1}")
    if not np.isfinite(values).all():
        raise ValueError("values must be finite")


MOST_VALUES = 2_000
"""Distinct scores: their counts in each resample are added up over blocks."""
INTERVAL_SUMS = 5
"""Rows of `ScoreUnits.sums` for interval alpha; then one for ratio alpha, then those by value."""


@dataclass(frozen=True)
class Scale:
    """What blocks take of the scores of all units with two or more.

    Parameters
    ----------
    domain
        ``(n_values,)`` distinct scores, in order; of too many none.
    centre, largest
        A value near their mean, and how far the furthest is from it.
    is_constant
        Whether all scores are one value.
    """

    domain: Floats
    centre: float
    largest: float
    is_constant: bool

    def about(self, scores: Floats) -> Floats:
        """Return scores about the centre, between -1 and 1."""
        exponent = int(np.frexp(self.largest)[1])
        return np.asarray(np.ldexp(scores - self.centre, -exponent))


@dataclass(frozen=True)
class ScoreUnits:
    """Units of a block with two or more scores.

    Parameters
    ----------
    units, values
        ``(n_scores,)`` codes of units from 0, and scores as `Scale.about` has them.
    n_units
        How many there are.
    n_values
        Distinct scores of all blocks; 0 if these are too many.
    table
        Counts by distinct score; None without units, or if these are too many.
    within
        ``(n_units,)`` disagreement as ratio alpha has it.
    """

    units: Codes
    values: Floats
    n_units: int
    n_values: int
    table: RatingTable | None
    within: Floats

    @classmethod
    def from_scores(cls, units: Codes, scores: Floats, *, n_units: int, scale: Scale) -> ScoreUnits:
        """Take scores in long form; units with fewer than two are left out."""
        is_pairable, codes_of_units = pairable(units, n_units=n_units)
        scores, m = scores[is_pairable], int(codes_of_units.max(initial=-1)) + 1
        table, within = None, np.zeros(m)
        if scale.domain.size and m:
            codes = np.searchsorted(scale.domain, scores)
            table = RatingTable.from_ratings(
                codes_of_units, codes, n_units=m, n_codes=scale.domain.size
            )
            within = ratio_within(table, scale.domain)
        return cls(codes_of_units, scale.about(scores), m, scale.domain.size, table, within)

    @property
    def floats_per_round(self) -> int:
        """Work arrays of one resample."""
        return 5 * (self.n_units + self.n_values)

    def sums(self, times: bootstrap.Counts) -> Floats:
        """Return sums over units that are drawn ``(n_units, n_rounds)``.

        Rows as `INTERVAL_SUMS` says.
        """
        interval = interval_sums(self.units, self.values, times, n_units=self.n_units)
        ratio = bootstrap.weighted(self.within, times.astype(np.float64))
        counts = np.zeros((self.n_values, times.shape[1]))
        if self.table:
            counts = self.table.code_counts(times)
        return np.concatenate([interval, ratio[None, :], counts])

    def ordinal_sum(self, times: bootstrap.Counts, sums: Floats) -> Floats:
        """Return disagreement as ordinal alpha has it ``(n_rounds,)``.

        ``sums`` are of all units.
        """
        if self.table is None:
            return np.zeros(times.shape[1])
        counts = sums[INTERVAL_SUMS + 1 :]
        return ordinal_within(self.table, times.astype(np.float64), counts)


def alphas_of_sums(sums: Floats, ordinal_sum: Floats, scale: Scale) -> dict[str, Floats]:
    """Return alphas by metric ``(n_rounds,)``, computed from the sums of all units."""
    interval, ratio, counts = np.split(sums, [INTERVAL_SUMS, INTERVAL_SUMS + 1])
    unknown = np.full(sums.shape[1], np.nan)
    alphas = {"ordinal": unknown, "interval": unknown, "ratio": unknown}
    if not scale.is_constant:  # what rounding leaves is no disagreement
        alphas["interval"] = interval_alpha(interval)
    if scale.domain.size and counts.any():
        alphas["ordinal"] = ordinal_alpha(ordinal_sum, counts)
        if scale.domain[0] >= 0:
            alphas["ratio"] = ratio_alpha(ratio[0], counts, scale.domain)
    return alphas
