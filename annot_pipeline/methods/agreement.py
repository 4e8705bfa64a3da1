"""Agreement between judges on labels.

Sources: Passonneau & Carpenter 2013, section 2 (pairwise agreement as a mean over pairs of
judges; chance by each judge's own shares, Cohen 1960, or by the pooled ones, Scott 1955 and
Fleiss 1971); Krippendorff 2011 (alpha). On a continuous scale: scale_agreement.

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

from annot_pipeline.methods.bootstrap import (
    Counts,
    Estimate,
    Floats,
    ItemResamples,
    Rng,
    replicate,
    replicate_counts,
    weighted,
)
from annot_pipeline.methods.krippendorff import (
    RatingTable,
    nominal_alpha,
    ordinal_alpha,
    pairable,
)
from annot_pipeline.methods.label_matrix import LabelCodes
from annot_pipeline.methods.rating_counts import Overlap, RatingCounts, n_distinct
from annot_pipeline.methods.rating_pairs import Partners
from annot_pipeline.methods.whole_numbers import WholeMatrix, WholeNumbers, narrowest

Codes = npt.NDArray[np.int64]

# (judge pair, item) cells held at once, some 150 bytes each: small blocks take more rounds at a
# time, but each block draws the resamples anew, which is dear with many items
_FEWEST_IN_BLOCK, _MOST_IN_BLOCK = 100_000, 3_000_000

MOST_PAIR_WORK = 4_000_000_000
"""Pairs of labels by rounds, beyond which means over pairs of judges get no interval: it would
take minutes."""


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
        Krippendorff's alpha; ordinal by the order of the label codes, if they have one.
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


def nominal_agreement(
    items: npt.ArrayLike,
    judges: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    n_items: int,
    n_judges: int,
    n_labels: int,
    ordinal: bool = True,
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
    10 ns each: an item with labels by r judges has r (r - 1)/2 of these. Beyond
    ``MOST_PAIR_WORK`` of these times rounds, means over pairs of judges get no interval.

    Parameters
    ----------
    items, judges, labels
        ``(n_labels_given,)`` codes from 0.
    n_items, n_judges, n_labels
        Sizes of the code ranges; unused codes change nothing.
    ordinal
        Whether the codes have an order; without one ordinal alpha is NaN.
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
    cells = RatingCounts.of(units, codes.judges[kept], codes.labels[kept], m, n_judges, n_labels)
    table = RatingTable.of(units, codes.labels[kept], n_units=m, n_codes=n_labels)
    pairs, agreeing = cells.inter_judge_pairs()
    resamples = ItemResamples.draw(m, rounds, rng)
    by_unit = replicate(
        partial(_unit_statistics, table, pairs, agreeing, ordinal),
        resamples,
        floats_per_round=5 * (m + n_labels),
    )
    partners = Partners.of(cells.items, cells.judges)
    affordable = int(partners.counts.sum()) * rounds <= MOST_PAIR_WORK
    by_pair = _judge_pair_statistics(
        cells, partners, resamples if affordable else ItemResamples.draw(m, 0, rng)
    )

    labelled = Overlap(m, n_distinct(cells.judges))
    shared = Overlap(int((pairs > 0).sum()), n_distinct(cells.judges[(pairs > 0)[cells.items]]))
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


def _unit_statistics(
    table: RatingTable, pairs: Codes, agreeing: Codes, has_order: bool, weights: Floats
) -> Floats:
    """Pooled agreement, Fleiss' kappa, nominal and ordinal alpha: ``(4, n_rounds)``."""
    counts = table.by_code @ weights
    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = weighted(agreeing, weights) / weighted(pairs, weights)
        observed = weighted(table.agreeing / (table.n * (table.n - 1)), weights)
        observed /= weights.sum(axis=0)
        n = counts.sum(axis=0)
        unlike = (n * n - (counts**2).sum(axis=0)) / (n * n)  # 1 - Pr(e)
        fleiss = 1 - (1 - observed) / unlike  # with one label only both are 0 exactly: NaN
        nominal = nominal_alpha(table, weights, counts)
        ordinal = np.full_like(n, np.nan)
        if has_order:
            ordinal = ordinal_alpha(table, weights, counts)
    return np.stack([pooled, fleiss, nominal, ordinal])


@dataclass(frozen=True)
class _JudgePairs:
    """Means over pairs of judges, ``(1 + rounds,)``, and how many pairs there are."""

    percent_agreement: Floats
    cohen_kappa: Floats
    n_pairs: int
    n_undefined: int


def _judge_pair_statistics(
    cells: RatingCounts, partners: Partners, resamples: ItemResamples
) -> _JudgePairs:
    sums = np.zeros((4, 1 + (resamples.rounds if resamples.n_items else 0)))
    for block in _pair_blocks(cells, partners):
        sums += replicate_counts(block.sums, resamples, floats_per_round=block.floats_per_round)
    agreement, n_pairs, kappa, n_kappas = sums
    with np.errstate(invalid="ignore", divide="ignore"):
        means = agreement / n_pairs, kappa / n_kappas
    return _JudgePairs(*means, int(n_pairs[0]), int(n_pairs[0] - n_kappas[0]))


def _pair_blocks(cells: RatingCounts, partners: Partners) -> Iterator[_PairBlock]:
    """All pairs of judges, in blocks of first judges with a bounded number of cells."""
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

    first: WholeMatrix
    second: WholeMatrix
    agreeing: WholeMatrix
    members: WholeMatrix

    @classmethod
    def of(cls, cells: RatingCounts, partners: Partners, rows: Codes) -> _PairBlock:
        """Pair the cells ``rows`` with their partners."""
        counts = partners.counts[rows]
        begin = partners.starts[rows] - (np.cumsum(counts) - counts)
        items, judges, labels, times = (
            np.repeat(of[rows], counts) for of in (cells.items, cells.judges, cells.labels, cells.n)
        )
        second = np.arange(items.size) + np.repeat(begin, counts)
        n, others = times * cells.n[second], cells.labels[second]
        lowest, k = int(cells.judges[rows].min()), cells.n_labels
        pair = ((judges - lowest) * cells.n_judges + cells.judges[second]) * k
        agree = labels == others
        keys = np.concatenate([pair + labels, pair + others])
        found, places = _renumber(keys)
        new_pair = np.diff(found // k, prepend=-1) > 0
        pair_of = np.cumsum(new_pair) - 1
        n_pairs, shape = int(pair_of[-1]) + 1, (found.size, cells.n_items)
        at_first, at_second = places[: n.size], places[n.size :]
        members = np.append(np.flatnonzero(new_pair), found.size)
        ones = (np.ones(found.size, np.int64), np.arange(found.size), members)
        by_item = (
            coo_array((n, (at_first, items)), shape=shape),
            coo_array((n, (at_second, items)), shape=shape),
            coo_array(
                (n[agree], (pair_of[at_first[agree]], items[agree])), shape=(n_pairs, shape[1])
            ),
            csr_array(ones, (n_pairs, found.size)),
        )
        return cls(*(WholeMatrix.of(matrix.tocsr()) for matrix in by_item))

    @property
    def floats_per_round(self) -> int:
        """Work arrays of one resample."""
        n_pairs, n_pair_labels = self.members.matrix.shape
        return int(self.first.matrix.shape[1] + 3 * n_pair_labels + 6 * n_pairs)

    def sums(self, weights: Counts) -> Floats:
        """Sum of A, number of pairs, sum of kappa, number of kappas: ``(4, n_rounds)``."""
        drawn = WholeNumbers.of(weights)
        first, second = self.first @ drawn, self.second @ drawn
        pairs = (self.members @ WholeNumbers.of(first)).astype(np.float64)
        kind = narrowest(int(pairs.max(initial=0)) ** 2)
        both = np.multiply(first, second, dtype=kind, casting="unsafe")
        like = self.members @ WholeNumbers.of(both)
        unlike = pairs**2 - like  # (1 - C) pairs^2; integers, so 0 is exact
        agreeing = (self.agreeing @ drawn).astype(np.float64)
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


def _statistic(replicates: Floats, of: Overlap) -> AgreementStatistic:
    estimate = Estimate.of(replicates)
    return AgreementStatistic(
        estimate.value, estimate.ci_low, estimate.ci_high, of.n_items, of.n_judges
    )
