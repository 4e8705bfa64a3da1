"""Agreement between judges on labels.

Sources: Passonneau & Carpenter 2013, section 2 (pairwise agreement as a mean over pairs of
judges; chance by each judge's own shares, Cohen 1960, or by the pooled ones, Scott 1955 and
Fleiss 1971); Krippendorff 2011 (alpha). On a continuous scale: scale_agreement,
score_differences.

Several judgments of an item by one judge all count, but two by the *same* judge are not a pair
of judges. Intervals are bootstraps over items. What is undefined is NaN: a kappa whose chance
agreement is 1, an alpha without expected disagreement, any statistic without a pair.
Counts are integers and rows are sorted first, so no digit depends on the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.agreement.krippendorff import (
    RatingTable,
    nominal_alpha,
    nominal_within,
    ordinal_alpha,
    ordinal_within,
    pairable,
)
from annot_pipeline.methods.agreement.label_pairs import JudgePairMeans, judge_pair_means
from annot_pipeline.methods.agreement.rating_counts import Overlap, RatingCounts, n_distinct
from annot_pipeline.methods.agreement.rating_pairs import Partners
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.numerics.bootstrap import (
    Counts,
    Estimate,
    Floats,
    ItemResamples,
    Rng,
    replicate_counts,
    weighted,
)

Codes = npt.NDArray[np.int64]

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
    units, cells = ItemAgreement.from_codes(codes)
    resamples = ItemResamples.draw(units.n_items, rounds, rng)
    by_item = replicate_counts(
        partial(_statistics_of_units, units, ordinal),
        resamples,
        floats_per_round=units.floats_per_round,
    )
    partners = Partners.from_rows(cells.items, cells.judges)
    affordable = int(partners.counts.sum()) * rounds <= MOST_PAIR_WORK
    by_pair = judge_pair_means(
        cells, partners, resamples if affordable else ItemResamples.draw(units.n_items, 0, rng)
    )
    shared = units.pairs > 0
    return agreement_of(
        by_item,
        by_pair,
        labelled=Overlap(units.n_items, n_distinct(cells.judges)),
        shared=Overlap(int(shared.sum()), n_distinct(cells.judges[shared[cells.items]])),
        n_label_pairs=int(units.pairs.sum()),
        rounds=rounds,
    )


@dataclass(frozen=True)
class ItemAgreement:
    """What items with two or more labels add to statistics of all of them.

    Parameters
    ----------
    table
        Their labels.
    pairs, agreeing
        ``(n_items,)`` pairs of labels by distinct judges, and those of them that agree.
    """

    table: RatingTable
    pairs: Codes
    agreeing: Codes

    @classmethod
    def from_codes(cls, codes: LabelCodes) -> tuple[ItemAgreement, RatingCounts]:
        """Count labels in long form, by item and by item, judge and label."""
        is_pairable, units = pairable(codes.items, n_units=codes.n_items)
        m, judges, labels = (
            _count_units(units),
            codes.judges[is_pairable],
            codes.labels[is_pairable],
        )
        cells = RatingCounts.from_ratings(units, judges, labels, m, codes.n_judges, codes.n_labels)
        table = RatingTable.from_ratings(units, labels, n_units=m, n_codes=codes.n_labels)
        return cls(table, *cells.inter_judge_pairs()), cells

    @property
    def n_items(self) -> int:
        """With two or more labels."""
        return self.pairs.size

    @property
    def floats_per_round(self) -> int:
        """Work arrays of one resample."""
        return 5 * int(sum(self.table.by_unit.shape))

    def sums(self, times: Counts) -> Floats:
        """Sums over items that are drawn ``(n_items, n_rounds)``: ``(5 + n_labels, n_rounds)``.

        Items, pairs of labels, those that agree, shares of an item's pairs that agree,
        disagreement as nominal alpha has it; then labels, by code.
        """
        table, weights = self.table, times.astype(np.float64)
        return np.stack(
            [
                weights.sum(axis=0),
                weighted(self.pairs, weights),
                weighted(self.agreeing, weights),
                weighted(table.agreeing / (table.n * (table.n - 1)), weights),
                nominal_within(table, weights),
                *table.code_counts(times),
            ]
        )

    def ordinal_sum(self, times: Counts, sums: Floats) -> Floats:
        """Disagreement as ordinal alpha has it, ``(n_rounds,)``; ``sums`` are of all items."""
        return ordinal_within(self.table, times.astype(np.float64), sums[_BEFORE_CODES:])


_BEFORE_CODES = 5
"""Rows of `ItemAgreement.sums` before those by code."""


def statistics_of_sums(sums: Floats, ordinal_sum: Floats | None) -> Floats:
    """Pooled agreement, Fleiss' kappa, nominal and ordinal alpha: ``(4, n_rounds)``.

    Parameters
    ----------
    sums, ordinal_sum
        As `ItemAgreement` gives them, over all items; None where codes have no order.
    """
    (n_items, pairs, agreeing, shares, within), counts = np.split(sums, [_BEFORE_CODES])
    with np.errstate(invalid="ignore", divide="ignore"):
        n = counts.sum(axis=0)
        unlike = (n * n - (counts**2).sum(axis=0)) / (n * n)  # 1 - Pr(e)
        # with one label only both are 0 exactly: NaN
        fleiss = 1 - (1 - shares / n_items) / unlike
        nominal = nominal_alpha(within, counts)
        ordinal = np.full_like(n, np.nan)
        if ordinal_sum is not None:
            ordinal = ordinal_alpha(ordinal_sum, counts)
        return np.stack([agreeing / pairs, fleiss, nominal, ordinal])


def agreement_of(
    by_item: Floats,
    by_pair: JudgePairMeans,
    *,
    labelled: Overlap,
    shared: Overlap,
    n_label_pairs: int,
    rounds: int,
) -> NominalAgreement:
    """Statistics with their intervals.

    Parameters
    ----------
    by_item
        As `statistics_of_sums` gives them, of the data and of resamples.
    by_pair
        Means over pairs of judges.
    labelled, shared
        Items with two or more labels, and those with labels by two or more judges.
    n_label_pairs, rounds
        As in `NominalAgreement`.
    """
    return NominalAgreement(
        percent_agreement=_statistic(by_pair.percent_agreement, shared),
        pooled_percent_agreement=_statistic(by_item[0], shared),
        cohen_kappa=_statistic(by_pair.cohen_kappa, shared),
        fleiss_kappa=_statistic(by_item[1], labelled),
        alpha_nominal=_statistic(by_item[2], labelled),
        alpha_ordinal=_statistic(by_item[3], labelled),
        n_judge_pairs=by_pair.n_pairs,
        n_undefined_judge_pairs=by_pair.n_undefined,
        n_label_pairs=n_label_pairs,
        rounds=rounds,
    )


def _statistics_of_units(units: ItemAgreement, has_order: bool, times: Counts) -> Floats:
    sums = units.sums(times)
    return statistics_of_sums(sums, units.ordinal_sum(times, sums) if has_order else None)


def _count_units(units: Codes) -> int:
    return int(units.max(initial=-1)) + 1


def _statistic(replicates: Floats, overlap: Overlap) -> AgreementStatistic:
    estimate = Estimate.from_replicates(replicates)
    return AgreementStatistic(
        estimate.value, estimate.ci_low, estimate.ci_high, overlap.n_items, overlap.n_judges
    )
