"""Agreement of the final ranks that judges give the outputs of a segment.

For every segment and every two of its judges: Pearson's and Spearman's correlation of the ranks
of the outputs that both ranked. Source: Pighin, Formiga & Marquez 2012, section 4.2 ("Pearson's
and Spearman's correlations are computed from the final ranks") and Figure 2.

**Reading**: the unweighted mean over pairs of judges of all segments (the paper has two judges).
Ranks are those of each judge's whole graph; only for Spearman they are ranked again, among the
common outputs, equal ranks having their average. Undefined, so left out and counted, never 0:
pairs with fewer than three common outputs (of two the correlation is 1 or -1 whoever judges),
and pairs of which one judge has all common outputs on one rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.agreement.rating_counts import Partners, n_distinct
from annot_pipeline.methods.agreement.segment_ratio import segment_ratio
from annot_pipeline.methods.numerics.bootstrap import Estimate, Rng
from annot_pipeline.methods.numerics.distinct import is_new

FEWEST_OUTPUTS = 3
"""Common outputs below which a pair of judges has no correlation."""

COMMON_OUTPUTS = 2_000_000
"""Common outputs of pairs held at once, some 200 bytes each."""


@dataclass(frozen=True)
class RankAgreement:
    """Agreement of final ranks.

    Parameters
    ----------
    pearson, spearman
        Means over pairs of judges, with intervals over segments.
    segments, first, second, n_common
        ``(n_pairs,)`` the pairs of judges that share an output of a segment: codes of segment
        and judges (first < second), and the number of common outputs. Sorted.
    of_pearson, of_spearman
        ``(n_pairs,)`` their correlations; NaN where undefined.
    n_segments, n_judges
        Segments and judges of the pairs that have a correlation.
    n_few, n_constant
        Pairs left out: too few common outputs; enough, but constant ranks.
    """

    pearson: Estimate
    spearman: Estimate
    segments: Codes
    first: Codes
    second: Codes
    n_common: Codes
    of_pearson: Floats
    of_spearman: Floats
    n_segments: int
    n_judges: int
    n_few: int
    n_constant: int


def rank_agreement(
    segments: npt.ArrayLike,
    judges: npt.ArrayLike,
    outputs: npt.ArrayLike,
    ranks: npt.ArrayLike,
    *,
    rounds: int,
    rng: Rng,
    common_at_once: int = COMMON_OUTPUTS,
) -> RankAgreement:
    """Correlate the ranks of every two judges of a segment.

    Time and memory follow the common outputs of pairs of judges: an output that r judges ranked
    has r (r - 1)/2 of these.

    Parameters
    ----------
    segments, judges, outputs
        ``(n_ranked,)`` codes from 0; a row is one judge's rank of one output of a segment.
    ranks
        ``(n_ranked,)`` whole numbers.
    rounds, rng
        Bootstrap rounds, 0 for no interval; generator or seed.
    common_at_once
        Common outputs of pairs held at once, unless one segment has more.

    Raises
    ------
    ValueError
        Arrays of different lengths, negative codes, an output that a judge ranks twice.
    """
    segment, judge, output, rank = _rows(segments, judges, outputs, ranks)
    positions = np.cumsum(is_new(segment, output)) - 1  # of output in segment
    partners = Partners.from_rows(positions, judge)
    pairs = _Pairs.joined(
        [
            _Pairs.from_ranks(segment, judge, rank, partners, rows)
            for rows in _blocks(segment, partners, common_at_once)
        ]
    )
    is_defined, few = ~np.isnan(pairs.pearson), pairs.n < FEWEST_OUTPUTS
    generator, ones = np.random.default_rng(rng), np.ones(int(is_defined.sum()))
    pearson, spearman = (
        segment_ratio(
            pairs.segment[is_defined], rho[is_defined], ones, rounds=rounds, rng=generator
        )
        for rho in (pairs.pearson, pairs.spearman)
    )
    return RankAgreement(
        pearson=pearson,
        spearman=spearman,
        segments=pairs.segment,
        first=pairs.first,
        second=pairs.second,
        n_common=pairs.n,
        of_pearson=pairs.pearson,
        of_spearman=pairs.spearman,
        n_segments=n_distinct(pairs.segment[is_defined]),
        n_judges=n_distinct(np.concatenate([pairs.first[is_defined], pairs.second[is_defined]])),
        n_few=int(few.sum()),
        n_constant=int((~is_defined & ~few).sum()),
    )


def _rows(*columns: npt.ArrayLike) -> Codes:
    """Check the arrays and return them sorted by segment, output, judge: ``(4, n_ranked)``."""
    codes = [np.asarray(column, np.int64) for column in columns]
    if any(column.ndim != 1 or column.shape != codes[0].shape for column in codes):
        raise ValueError("segments, judges, outputs and ranks must be 1-d and of one length")
    segment, judge, output, _ = rows = np.stack(codes)
    if rows[:3].min(initial=0) < 0:
        raise ValueError("codes of segments, judges and outputs must be 0 or more")
    rows = rows[:, np.lexsort((judge, output, segment))]
    twice = int((~is_new(*rows[:3])).sum())
    if twice:
        raise ValueError(f"{twice} outputs are ranked twice by one judge")
    return rows


def _blocks(segment: Codes, partners: Partners, common_at_once: int) -> Iterator[Codes]:
    """Yield rows in blocks of whole segments: no pair of judges of a segment is in two."""
    starts = np.flatnonzero(is_new(segment))
    before = np.cumsum(partners.counts)[starts] - partners.counts[starts]
    blocks = starts[is_new(before // common_at_once)]
    for start, stop in pairwise(np.append(blocks, segment.size)):
        rows = np.arange(start, stop)
        yield rows[partners.counts[rows] > 0]


@dataclass(frozen=True)
class _Pairs:
    """Pairs of judges of a segment, ``(n_pairs,)``: sorted by segment and judges."""

    segment: Codes
    first: Codes
    second: Codes
    n: Codes
    pearson: Floats
    spearman: Floats

    @classmethod
    def from_ranks(
        cls, segment: Codes, judge: Codes, rank: Codes, partners: Partners, rows: Codes
    ) -> _Pairs:
        first, second = partners.pairs(rows)
        order = np.lexsort((judge[second], judge[first], segment[first]))
        first, second = first[order], second[order]
        keys = np.stack([segment[first], judge[first], judge[second]])
        new = is_new(*keys)
        pair, keys = np.cumsum(new) - 1, keys[:, new]
        n = np.bincount(pair, minlength=keys.shape[1])
        x, y = rank[first], rank[second]
        pearson = _correlations(pair, x, y, n)
        spearman = _correlations(pair, _average_ranks(pair, x), _average_ranks(pair, y), n)
        return cls(keys[0], keys[1], keys[2], n, pearson, spearman)

    @classmethod
    def joined(cls, parts: list[_Pairs]) -> _Pairs:
        codes = [
            np.concatenate([np.empty(0, np.int64), *(getattr(part, name) for part in parts)])
            for name in ("segment", "first", "second", "n")
        ]
        rhos = [
            np.concatenate([np.empty(0), *(getattr(part, name) for part in parts)])
            for name in ("pearson", "spearman")
        ]
        return cls(codes[0], codes[1], codes[2], codes[3], rhos[0], rhos[1])


def _correlations(pair: Codes, x: Codes, y: Codes, n: Codes) -> Floats:
    """Return Pearson's r of each pair, ``(n_pairs,)``, from whole numbers.

    Constant columns are found exactly.
    """

    def total(values: Codes) -> Codes:
        sums = np.zeros(n.size, np.int64)
        np.add.at(sums, pair, values)
        return sums

    sum_x, sum_y = total(x), total(y)
    x_varies, y_varies = n * total(x * x) - sum_x**2, n * total(y * y) - sum_y**2
    defined = (n >= FEWEST_OUTPUTS) & (x_varies > 0) & (y_varies > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        # one root of the product: equal ranks have exactly 1
        both = np.sqrt(x_varies.astype(np.float64) * y_varies)
        r = (n * total(x * y) - sum_x * sum_y) / both
    return np.where(defined, np.clip(r, -1, 1), np.nan)


def _average_ranks(pair: Codes, values: Codes) -> Codes:
    """Return twice the average ranks of values among those of the pair."""
    order = np.lexsort((values, pair))
    starts = np.flatnonzero(is_new(pair[order], values[order]))
    size = np.diff(np.append(starts, pair.size))
    ranks = np.empty(pair.size, np.int64)
    start_of_pair = np.searchsorted(pair, pair[order][starts])  # rows of a pair lie together
    ranks[order] = np.repeat(2 * (starts - start_of_pair) + size + 1, size)
    return ranks
