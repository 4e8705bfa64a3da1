"""Agreement between judges: on labels, and on a continuous scale.

Sources: Passonneau & Carpenter 2013, section 2 (pairwise agreement as a mean over pairs of
judges; chance by each judge's own shares, Cohen 1960, or by the pooled ones, Scott 1955 and
Fleiss 1971); Krippendorff 2011 (alpha); Graham et al. 2013, Tables 1 to 3 (a scale cut into
bins, with the chance 1/k; differences of scores).

Several judgments of an item by one judge all count, but two by the *same* judge are not a pair
of judges. Intervals are bootstraps over items. What is undefined is NaN: a kappa whose chance
agreement is 1, an alpha without expected disagreement, any statistic without a pair.
Counts are integers and rows are sorted first, so no digit depends on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from annot_pipeline.methods.bootstrap import Estimate, Floats, ItemResamples, Rng, replicate
from annot_pipeline.methods.krippendorff import (
    RatingTable,
    nominal_alpha,
    ordinal_alpha,
    pairable,
    pairs_in_chunks,
)
from annot_pipeline.methods.label_matrix import LabelCodes

Codes = npt.NDArray[np.int64]

# (judge pair, item) cells held at once, some 150 bytes each: small blocks take more rounds at a
# time, but each block draws the resamples anew, which is dear with many items
_FEWEST_IN_BLOCK, _MOST_IN_BLOCK = 100_000, 3_000_000


@dataclass(frozen=True)
class AgreementStatistic:
    """One statistic of one task.

    Parameters
    ----------
    value, ci_low, ci_high
        As in `Estimate`; NaN where undefined.
    n_items
        Items it rests on: those with labels by two or more judges; for Fleiss' kappa and alpha,
        which take no notice of judges, those with two or more labels.
    n_judges
        Judges of these items.
    """

    value: float
    ci_low: float
    ci_high: float
    n_items: int
    n_judges: int


@dataclass(frozen=True)
class NominalAgreement:
    """Agreement on labels.

    Parameters
    ----------
    percent_agreement
        Mean over pairs of judges of the share of their pairs of labels that agree.
    pooled_percent_agreement
        Share of all pairs of labels of one item by distinct judges that agree.
    cohen_kappa
        Mean over pairs of judges.
    fleiss_kappa
        Chance by the shares of labels pooled over judges (Scott's pi for two judges).
    alpha_nominal, alpha_ordinal
        Krippendorff's alpha; ordinal by the order of the label codes.
    n_judge_pairs
        Pairs of judges who share an item.
    n_undefined_judge_pairs
        Those whose chance agreement is 1, left out of Cohen's kappa.
    n_label_pairs
        Pairs of labels of one item by distinct judges.
    rounds
        Bootstrap rounds.
    """

    percent_agreement: AgreementStatistic
    pooled_percent_agreement: AgreementStatistic
    cohen_kappa: AgreementStatistic
    fleiss_kappa: AgreementStatistic
    alpha_nominal: AgreementStatistic
    alpha_ordinal: AgreementStatistic
    n_judge_pairs: int
    n_undefined_judge_pairs: int
    n_label_pairs: int
    rounds: int


@dataclass(frozen=True)
class BinnedAgreement:
    """Agreement on a scale cut into k categories.

    Parameters
    ----------
    percent_agreement
        Pr(a): the share of pairs that fall in one bin.
    kappa
        (Pr(a) - 1/k) / (1 - 1/k).
    n_categories
        k.
    n_items, n_pairs
        Items with pairs, and their pairs.
    """

    percent_agreement: Estimate
    kappa: Estimate
    n_categories: int
    n_items: int
    n_pairs: int


@dataclass(frozen=True)
class ScoreDifferences:
    """Absolute differences of two scores of one item, in points of the scale.

    Parameters
    ----------
    mean
        Mean over pairs, with its interval.
    sd
        Standard deviation over pairs (ddof 1); NaN for fewer than two.
    n_items, n_pairs
        Items with pairs, and their pairs.
    """

    mean: Estimate
    sd: float
    n_items: int
    n_pairs: int


@dataclass(frozen=True)
class Overlap:
    """How much there is to compare: items with two or more judges, and the judges of these."""

    n_items: int
    n_judges: int


def nominal_agreement(
    items: npt.ArrayLike,
    judges: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    n_items: int,
    n_judges: int,
    n_labels: int,
    rounds: int,
    rng: Rng,
) -> NominalAgreement:
    """Measure agreement on labels in long form; a judge may label an item many times.

    Pairs of judges m, n: their pairs of labels are those of m with those of n on each item they
    share. A_mn is the share of these that agree (paper: A), C_mn the sum over labels of the
    product of both judges' shares *in these pairs*, Cohen's kappa (A_mn - C_mn)/(1 - C_mn). Both
    means are unweighted: a pair who share one item count as much as a pair who share a thousand,
    and one item gives a kappa of 0 or none. Where most pairs share a handful of items, kappa is
    biased by their small number, more so in a resample, and its percentile interval may miss it.

    Fleiss' kappa for items with different numbers of labels: Pr(a) is the unweighted mean over
    items with two or more labels of the share of the item's pairs of labels that agree, Pr(e)
    the sum of squared shares of the labels of these items, each label counting once. With one
    number of labels for every item this is Fleiss 1971.

    Items with fewer than two labels take no part, in the resamples neither. A round without a
    shared item for a pair of judges leaves out the pair. Memory is proportional to the labels;
    time is a sort, and for each round the number of labels and of (pair of judges, item), about
    10 ns each: an item with labels by r judges has r (r - 1)/2 of these.

    Parameters
    ----------
    items, judges, labels
        ``(n_labels_given,)`` codes from 0.
    n_items, n_judges, n_labels
        Sizes of the code ranges; unused codes change nothing.
    rounds
        Bootstrap rounds; 0 for no intervals. All statistics share the resampled items.
    rng
        Generator (which moves on) or seed.

    Raises
    ------
    ValueError
        Arrays of different lengths, codes outside their ranges, negative rounds.
    """
    codes = LabelCodes(
        np.asarray(items, np.int64),
        np.asarray(judges, np.int64),
        np.asarray(labels, np.int64),
        n_items,
        n_judges,
        n_labels,
    )
    kept, units = pairable(codes.items, n_units=n_items)
    m = int(units.max()) + 1 if units.size else 0
    cells = _Cells.of(units, codes.judges[kept], codes.labels[kept], m, n_judges, n_labels)
    table = RatingTable.of(units, codes.labels[kept], n_units=m, n_codes=n_labels)
    pairs, agreeing = cells.inter_judge_pairs()
    resamples = ItemResamples.draw(m, rounds, rng)
    by_unit = replicate(
        partial(_unit_statistics, table, pairs, agreeing),
        resamples,
        floats_per_round=5 * (m + n_labels),
    )
    by_pair = _judge_pair_statistics(cells, resamples)

    labelled = Overlap(m, _n_distinct(cells.judges))
    shared = Overlap(int((pairs > 0).sum()), _n_distinct(cells.judges[(pairs > 0)[cells.items]]))
    return NominalAgreement(
        percent_agreement=_statistic(by_pair.percent_agreement, shared),
        pooled_percent_agreement=_statistic(by_unit[0], shared),
        cohen_kappa=_statistic(by_pair.cohen_kappa, shared),
        fleiss_kappa=_statistic(by_unit[1], labelled),
        alpha_nominal=_statistic(by_unit[2], labelled),
        alpha_ordinal=_statistic(by_unit[3], labelled),
        n_judge_pairs=by_pair.n_pairs,
        n_undefined_judge_pairs=by_pair.n_undefined,
        n_label_pairs=int(pairs.sum()),
        rounds=rounds,
    )


def kappa_of_share(agreement: npt.ArrayLike, n_categories: int) -> Floats:
    """Kappa of Pr(a) with the chance 1/k of the 2013 tables; NaN for one category."""
    share = np.asarray(agreement, np.float64)
    if n_categories == 1:
        return np.full_like(share, np.nan)
    kappa: Floats = (share - 1 / n_categories) / (1 - 1 / n_categories)
    return kappa


def equal_bins(scores: npt.ArrayLike, low: float, high: float, k: int) -> Codes:
    """Cut scores into k equal bins of the declared scale.

    A score on an inner edge belongs to the bin above it, the top of the scale to the last bin.

    Raises
    ------
    ValueError
        Scores outside the scale or not finite, an empty scale, k below 1.
    """
    scores = np.asarray(scores, np.float64)
    if k < 1 or not low < high:
        raise ValueError(f"k is {k} and the scale {low} to {high}: nothing to cut")
    outside = scores[~((scores >= low) & (scores <= high))]
    if outside.size:
        raise ValueError(
            f"{outside.size} scores outside the scale {low} to {high}: {outside[:5].tolist()}"
        )
    # product first: whole numbers on a whole edge stay exact
    bins = np.floor((scores - low) * k / (high - low)).astype(np.int64)
    return np.minimum(bins, k - 1)


def percentile_bins(z: npt.ArrayLike, k: int, reference: npt.ArrayLike) -> Codes:
    """Cut z-scores by the percentiles of all z-scores together.

    The edges are values of ``reference``: the least that j/k of it do not exceed, j = 1 to k - 1
    (no interpolation, so equal values never fall on two sides). A value on an edge belongs to the
    bin below, "in the bottom 20th percentile". Many ties leave bins unequal or empty.

    Raises
    ------
    ValueError
        Values that are not finite, k below 1, or values to cut without a reference.
    """
    z, reference = np.asarray(z, np.float64), np.asarray(reference, np.float64)
    if k < 1:
        raise ValueError(f"k is {k}, allowed are 1 and more")
    if not (np.isfinite(z).all() and np.isfinite(reference).all()):
        raise ValueError("z-scores must be finite: leave out judgments without one")
    if z.size and not reference.size:
        raise ValueError("no reference to take percentiles of")
    if not reference.size:
        return np.empty(0, np.int64)
    # ceil(j n / k) - 1 in whole numbers, as j / k is not exact
    places = -(-np.arange(1, k) * reference.size // k) - 1
    return np.searchsorted(np.sort(reference)[places], z, side="left").astype(np.int64)


def binned_agreement(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    items: npt.ArrayLike,
    *,
    n_items: int,
    n_categories: int,
    rounds: int,
    rng: Rng,
) -> BinnedAgreement:
    """Measure agreement over given pairs, such as a judge's first and second score of an item.

    Parameters
    ----------
    first, second
        ``(n_pairs,)`` codes of the bins of both scores.
    items
        ``(n_pairs,)`` codes of the items; a resample draws an item with all its pairs.
    n_items, n_categories
        Sizes of the code ranges; the chance agreement is 1/n_categories.
    rounds, rng
        Bootstrap rounds; generator or seed.

    Raises
    ------
    ValueError
        Arrays of different lengths, codes outside their ranges, negative rounds.
    """
    first, second = np.asarray(first, np.int64), np.asarray(second, np.int64)
    items = np.asarray(items, np.int64)
    for bins in (first, second):
        LabelCodes(items, items, bins, n_items, n_items, n_categories)
    pairs = np.bincount(items, minlength=n_items)
    agreeing = np.bincount(items[first == second], minlength=n_items)
    return _binned(pairs, agreeing, n_categories, rounds, rng)


def inter_judge_binned_agreement(
    items: npt.ArrayLike,
    judges: npt.ArrayLike,
    bins: npt.ArrayLike,
    *,
    n_items: int,
    n_judges: int,
    n_categories: int,
    rounds: int,
    rng: Rng,
) -> BinnedAgreement:
    """Measure agreement over all pairs of scores of one item by distinct judges.

    As `binned_agreement` over `rating_pairs`, but from counts: no pair is listed, the time is
    that of a sort.

    Parameters
    ----------
    items, judges, bins
        ``(n_judgments,)`` codes from 0.
    n_items, n_judges, n_categories
        Sizes of the code ranges; the chance agreement is 1/n_categories.
    rounds, rng
        Bootstrap rounds; generator or seed.

    Raises
    ------
    ValueError
        Arrays of different lengths, codes outside their ranges, negative rounds.
    """
    codes = LabelCodes(
        np.asarray(items, np.int64),
        np.asarray(judges, np.int64),
        np.asarray(bins, np.int64),
        n_items,
        n_judges,
        n_categories,
    )
    cells = _Cells.of(codes.items, codes.judges, codes.labels, n_items, n_judges, n_categories)
    pairs, agreeing = cells.inter_judge_pairs()
    return _binned(pairs, agreeing, n_categories, rounds, rng)


def score_differences(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    items: npt.ArrayLike,
    *,
    n_items: int,
    rounds: int,
    rng: Rng,
) -> ScoreDifferences:
    """Mean and sd of |first - second| over given pairs (Graham et al. 2013, Table 1).

    Parameters
    ----------
    first, second
        ``(n_pairs,)`` scores in points of the scale.
    items
        ``(n_pairs,)`` codes of the items; a resample draws an item with all its pairs.
    n_items
        Size of the code range.
    rounds, rng
        Bootstrap rounds, for the mean; generator or seed.

    Raises
    ------
    ValueError
        Arrays of different lengths, codes outside their range, scores that are not finite.
    """
    first, second = np.asarray(first, np.float64), np.asarray(second, np.float64)
    items = np.asarray(items, np.int64)
    _check_scores(items, first, n_items)
    _check_scores(items, second, n_items)
    differences = np.abs(first - second)
    order = np.lexsort((differences, items))  # one order of sums, whatever that of the rows
    moments = _Moments.none(n_items).plus(items[order], differences[order])
    return moments.summary(rounds, rng)


def inter_judge_score_differences(
    items: npt.ArrayLike,
    judges: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    n_items: int,
    rounds: int,
    rng: Rng,
) -> ScoreDifferences:
    """Mean and sd of |difference| over all pairs of scores of one item by distinct judges.

    Pairs are met in chunks: memory is bounded, time proportional to the pairs.

    Parameters
    ----------
    items, judges
        ``(n_judgments,)`` codes from 0.
    scores
        ``(n_judgments,)`` points of the scale.
    n_items
        Size of the code range.
    rounds, rng
        Bootstrap rounds, for the mean; generator or seed.

    Raises
    ------
    ValueError
        Arrays of different lengths, codes outside their range, scores that are not finite.
    """
    items, judges = np.asarray(items, np.int64), np.asarray(judges, np.int64)
    scores = np.asarray(scores, np.float64)
    _check_scores(items, scores, n_items)
    moments = _Moments.none(n_items)
    for first, second in rating_pairs(items, judges, scores):
        moments = moments.plus(items[first], np.abs(scores[first] - scores[second]))
    return moments.summary(rounds, rng)


def rating_pairs(
    items: npt.ArrayLike,
    judges: npt.ArrayLike,
    values: npt.ArrayLike | None = None,
    *,
    chunk_pairs: int = 2_000_000,
) -> Iterator[tuple[Codes, Codes]]:
    """Enumerate the pairs of ratings of one item by distinct judges, each pair once.

    Pairs come by item, then by the lower judge code, which is the first of the pair. An item may
    go on over many chunks, so 100,000 ratings of one item need no more memory than others.

    Parameters
    ----------
    items, judges
        ``(n_ratings,)`` codes from 0.
    values
        ``(n_ratings,)`` puts several ratings of an item by one judge in order; without it they
        are paired in the order of the rows.
    chunk_pairs
        Most pairs in a chunk.

    Yields
    ------
    tuple[Codes, Codes]
        Rows of the first and the second rating, ``(up to chunk_pairs,)`` each.

    Raises
    ------
    ValueError
        Arrays of different lengths, negative codes, ``chunk_pairs`` below 1.
    """
    items, judges = np.asarray(items, np.int64), np.asarray(judges, np.int64)
    values = np.zeros(items.size) if values is None else np.asarray(values)
    if not items.shape == judges.shape == values.shape or items.ndim != 1:
        raise ValueError("items, judges and values must be 1-d and of one length")
    if items.size and (items.min() < 0 or judges.min() < 0):
        raise ValueError("codes must not be negative")
    if chunk_pairs < 1:
        raise ValueError(f"chunk_pairs is {chunk_pairs}, allowed are 1 and more")
    order = np.lexsort((values, judges, items))
    partners = _Partners.of(items[order], judges[order])
    for first, second in pairs_in_chunks(partners.starts, partners.counts, chunk_pairs):
        yield order[first], order[second]


def overlap(items: npt.ArrayLike, judges: npt.ArrayLike, *, n_items: int, n_judges: int) -> Overlap:
    """Count the items with two or more distinct judges, and the judges of these items.

    Raises
    ------
    ValueError
        Arrays of different lengths, codes outside their ranges.
    """
    items, judges = np.asarray(items, np.int64), np.asarray(judges, np.int64)
    LabelCodes(items, judges, items, n_items, n_judges, n_items)
    low, high = np.full(n_items, n_judges), np.full(n_items, -1)
    np.minimum.at(low, items, judges)
    np.maximum.at(high, items, judges)
    shared = low < high
    return Overlap(int(shared.sum()), _n_distinct(judges[shared[items]]))


@dataclass(frozen=True)
class _Partners:
    """Of rows in order of item and judge: the rows after each one, same item, other judge."""

    starts: Codes
    counts: Codes

    @classmethod
    def of(cls, items: Codes, judges: Codes) -> _Partners:
        new_item = np.ones(items.size, dtype=np.bool_)
        new_item[1:] = items[1:] != items[:-1]
        new_judge = new_item.copy()
        new_judge[1:] |= judges[1:] != judges[:-1]
        starts = _ends(new_judge)
        return cls(starts, _ends(new_item) - starts)


def _ends(new: npt.NDArray[np.bool_]) -> Codes:
    """Where the run of each position ends; ``new`` marks the first of a run."""
    bounds = np.append(np.flatnonzero(new), new.size)
    return np.repeat(bounds[1:], np.diff(bounds))


@dataclass(frozen=True)
class _Cells:
    """Labels counted by (item, judge, label), in that order; ``(n_cells,)`` each."""

    items: Codes
    judges: Codes
    labels: Codes
    n: Codes
    n_items: int
    n_judges: int
    n_labels: int

    @classmethod
    def of(
        cls,
        items: Codes,
        judges: Codes,
        labels: Codes,
        n_items: int,
        n_judges: int,
        n_labels: int,
    ) -> _Cells:
        if max(n_items, n_judges) * n_judges * n_labels >= 2**63:
            raise ValueError("too many codes: cells and pairs of judges by label pass 2^63")
        keys, n = np.unique((items * n_judges + judges) * n_labels + labels, return_counts=True)
        keys, labels = np.divmod(keys, max(n_labels, 1))
        items, judges = np.divmod(keys, max(n_judges, 1))
        return cls(items, judges, labels, n, n_items, n_judges, n_labels)

    def inter_judge_pairs(self) -> tuple[Codes, Codes]:
        """Pairs of labels by distinct judges ``(n_items,)``, and those of them that agree."""
        by_judge = self.items * self.n_judges + self.judges
        by_label = self.items * self.n_labels + self.labels
        pairs = self._pairs(self.items) - self._pairs(by_judge)
        agreeing = self._pairs(by_label) - self._pairs(by_judge * self.n_labels + self.labels)
        return pairs, agreeing

    def _pairs(self, groups: Codes) -> Codes:
        """Pairs of labels within each group, by item."""
        order = np.argsort(groups, kind="stable")
        starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
        n = np.add.reduceat(self.n[order], starts)
        total = np.zeros(self.n_items, np.int64)
        np.add.at(total, self.items[order[starts]], n * (n - 1) // 2)
        return total


def _unit_statistics(table: RatingTable, pairs: Codes, agreeing: Codes, weights: Floats) -> Floats:
    """Pooled agreement, Fleiss' kappa, nominal and ordinal alpha: ``(4, n_rounds)``."""
    counts = table.by_code @ weights
    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = _weighted(agreeing, weights) / _weighted(pairs, weights)
        observed = _weighted(table.agreeing / (table.n * (table.n - 1)), weights)
        observed /= weights.sum(axis=0)
        n = counts.sum(axis=0)
        unlike = (n * n - (counts**2).sum(axis=0)) / (n * n)  # 1 - Pr(e)
        fleiss = 1 - (1 - observed) / unlike  # with one label only both are 0 exactly: NaN
        nominal = nominal_alpha(table, weights, counts)
        ordinal = ordinal_alpha(table, weights, counts)
    return np.stack([pooled, fleiss, nominal, ordinal])


@dataclass(frozen=True)
class _JudgePairs:
    """Means over pairs of judges, ``(1 + rounds,)``, and how many pairs there are."""

    percent_agreement: Floats
    cohen_kappa: Floats
    n_pairs: int
    n_undefined: int


def _judge_pair_statistics(cells: _Cells, resamples: ItemResamples) -> _JudgePairs:
    sums = np.zeros((4, 1 + (resamples.rounds if resamples.n_items else 0)))
    for block in _pair_blocks(cells):
        sums += replicate(block.sums, resamples, floats_per_round=block.floats_per_round)
    agreement, n_pairs, kappa, n_kappas = sums
    with np.errstate(invalid="ignore", divide="ignore"):
        means = agreement / n_pairs, kappa / n_kappas
    return _JudgePairs(*means, int(n_pairs[0]), int(n_pairs[0] - n_kappas[0]))


def _pair_blocks(cells: _Cells) -> Iterator[_PairBlock]:
    """All pairs of judges, in blocks of first judges with a bounded number of cells."""
    partners = _Partners.of(cells.items, cells.judges)
    firsts = np.flatnonzero(partners.counts)
    firsts = firsts[np.argsort(cells.judges[firsts], kind="stable")]
    judges = cells.judges[firsts]
    # pairs of a judge stay together: a block is cut at the last change of judge in reach
    changes = np.flatnonzero(np.diff(judges, prepend=-1))
    before = np.cumsum(partners.counts[firsts])[changes] - partners.counts[firsts][changes]
    size = min(max(cells.n_items, _FEWEST_IN_BLOCK), _MOST_IN_BLOCK)
    starts = changes[np.flatnonzero(np.diff(before // size, prepend=-1))]
    for start, stop in pairwise(np.append(starts, firsts.size)):
        yield _PairBlock.of(cells, partners, firsts[start:stop])


@dataclass(frozen=True)
class _PairBlock:
    """Sparse counts of some pairs of judges (m, n), m < n, by item.

    Parameters
    ----------
    first, second
        ``(n_pair_labels, n_items)`` pairs of labels in which m (n) gave that label; a row is a
        pair of judges with a label that either of them gave.
    agreeing
        ``(n_pairs, n_items)`` pairs of labels that agree.
    members
        ``(n_pairs, n_pair_labels)`` ones: sums rows by pair of judges.
    """

    first: csr_array
    second: csr_array
    agreeing: csr_array
    members: csr_array

    @classmethod
    def of(cls, cells: _Cells, partners: _Partners, rows: Codes) -> _PairBlock:
        """Pair the cells ``rows`` with their partners."""
        counts = partners.counts[rows]
        begin = partners.starts[rows] - (np.cumsum(counts) - counts)
        first = np.repeat(rows, counts)
        second = np.arange(first.size) + np.repeat(begin, counts)
        items, n = cells.items[first], (cells.n[first] * cells.n[second]).astype(np.float64)
        lowest, k = int(cells.judges[rows].min()), cells.n_labels
        pair = (cells.judges[first] - lowest) * cells.n_judges + cells.judges[second]
        agree = cells.labels[first] == cells.labels[second]
        keys = np.concatenate([pair * k + cells.labels[first], pair * k + cells.labels[second]])
        found, places = _renumber(keys)
        new_pair = np.diff(found // k, prepend=-1) > 0
        pair_of = np.cumsum(new_pair) - 1
        n_pairs, shape = int(pair_of[-1]) + 1, (found.size, cells.n_items)
        at_first, at_second = places[: n.size], places[n.size :]
        agreeing = (n[agree], (pair_of[at_first[agree]], items[agree]))
        members = np.append(np.flatnonzero(new_pair), found.size)
        return cls(
            first=coo_array((n, (at_first, items)), shape=shape).tocsr(),
            second=coo_array((n, (at_second, items)), shape=shape).tocsr(),
            agreeing=coo_array(agreeing, shape=(n_pairs, cells.n_items)).tocsr(),
            members=csr_array(
                (np.ones(found.size), np.arange(found.size), members), (n_pairs, found.size)
            ),
        )

    @property
    def floats_per_round(self) -> int:
        """Work arrays of one resample."""
        n_pairs, n_pair_labels = self.members.shape
        return int(self.first.shape[1] + 3 * n_pair_labels + 6 * n_pairs)

    def sums(self, weights: Floats) -> Floats:
        """Sum of A, number of pairs, sum of kappa, number of kappas: ``(4, n_rounds)``."""
        first = self.first @ weights
        pairs = self.members @ first
        first *= self.second @ weights
        unlike = pairs**2 - self.members @ first  # (1 - C) pairs^2; integers, so 0 is exact
        agreeing = self.agreeing @ weights
        with np.errstate(invalid="ignore", divide="ignore"):
            agreement = agreeing / pairs
            kappa = 1 - (pairs - agreeing) * pairs / unlike
        met, defined = pairs > 0, unlike > 0
        return np.stack(
            [
                np.where(met, agreement, 0).sum(axis=0),
                met.sum(axis=0),
                np.where(defined, kappa, 0).sum(axis=0),
                defined.sum(axis=0),
            ]
        )


def _renumber(keys: Codes) -> tuple[Codes, Codes]:
    """Distinct keys in order, and the place of each key among them."""
    span = int(keys.max()) + 1
    if span > 8 * keys.size:
        found, places = np.unique(keys, return_inverse=True)
        return found, places
    present = np.zeros(span, dtype=np.bool_)  # few possible keys: no sort needed
    present[keys] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[keys]


def _binned(
    pairs: Codes, agreeing: Codes, n_categories: int, rounds: int, rng: Rng
) -> BinnedAgreement:
    used = pairs > 0
    shares = _share_of_counts(agreeing[used], pairs[used], rounds, rng)
    return BinnedAgreement(
        Estimate.of(shares),
        Estimate.of(kappa_of_share(shares, n_categories)),
        n_categories,
        int(used.sum()),
        int(pairs.sum()),
    )


def _share_of_counts(parts: Codes, wholes: Codes, rounds: int, rng: Rng) -> Floats:
    """As `_share`, of counts: items with equal counts are one kind, drawn as often by chance.

    How often each kind is among the items drawn is multinomial: the same resamples, without
    drawing a million items to count a dozen kinds.
    """
    if not parts.size:
        return np.full(1, np.nan)
    width = int(wholes.max()) + 1
    kinds, n = np.unique(parts * width + wholes, return_counts=True)
    generator = np.random.default_rng(rng)
    drawn = np.concatenate([n[None, :], generator.multinomial(parts.size, n / n.sum(), rounds)])
    # whole numbers: exact in any order
    shares: Floats = (drawn * (kinds // width)).sum(axis=1) / (drawn * (kinds % width)).sum(axis=1)
    return shares


def _share(parts: Floats | Codes, wholes: Floats | Codes, rounds: int, rng: Rng) -> Floats:
    """Sum of parts over sum of wholes of resampled items, ``(1 + rounds,)``."""

    def share(weights: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            return np.stack([_weighted(parts, weights) / _weighted(wholes, weights)])

    resamples = ItemResamples.draw(parts.size, rounds, rng)
    return replicate(share, resamples, floats_per_round=parts.size).ravel()


@dataclass(frozen=True)
class _Moments:
    """Sums of differences, added chunk by chunk (Chan, Golub & LeVeque 1983, eq. 2.1)."""

    sums: Floats  # (n_items,)
    pairs: Codes  # (n_items,)
    n: int
    mean: float
    squares: float  # sum of squares about the mean

    @classmethod
    def none(cls, n_items: int) -> _Moments:
        return cls(np.zeros(n_items), np.zeros(n_items, np.int64), 0, 0.0, 0.0)

    def plus(self, items: Codes, differences: Floats) -> _Moments:
        """Add pairs."""
        if not items.size:
            return self
        size, mean = items.size, float(differences.mean())
        squares, step = float(((differences - mean) ** 2).sum()), mean - self.mean
        n = self.n + size
        return _Moments(
            self.sums + np.bincount(items, weights=differences, minlength=self.sums.size),
            self.pairs + np.bincount(items, minlength=self.sums.size),
            n,
            self.mean + step * size / n,
            self.squares + squares + step**2 * self.n * size / n,
        )

    def summary(self, rounds: int, rng: Rng) -> ScoreDifferences:
        """Mean with its interval over items, and sd."""
        used = self.pairs > 0
        means = _share(self.sums[used], self.pairs[used], rounds, rng)
        sd = float(np.sqrt(self.squares / (self.n - 1))) if self.n > 1 else float("nan")
        return ScoreDifferences(Estimate.of(means), sd, int(used.sum()), self.n)


def _weighted(per_item: Floats | Codes, weights: Floats) -> Floats:
    # not matmul: its sums depend on the number of threads
    total: Floats = np.einsum("i,ir->r", per_item.astype(np.float64), weights)
    return total


def _statistic(replicates: Floats, of: Overlap) -> AgreementStatistic:
    estimate = Estimate.of(replicates)
    return AgreementStatistic(
        estimate.value, estimate.ci_low, estimate.ci_high, of.n_items, of.n_judges
    )


def _n_distinct(codes: Codes) -> int:
    return int(np.unique(codes).size)


def _check_scores(items: Codes, scores: Floats, n_items: int) -> None:
    LabelCodes(items, items, items, n_items, n_items, n_items)
    if items.shape != scores.shape:
        raise ValueError("items and scores must be 1-d and of one length")
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite")
