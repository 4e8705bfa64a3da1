"""Agreement between judges on labels, and its 95% intervals.

Labels of one item err together, and labels of one judge. The variance is that of two-way clusters,
item + judge - both (Cameron, Gelbach & Miller 2011, eq. 2.8), from influence values; those of
judges, and of both, are divided by 1 - the judge's share of all pairs, as leaving the judge out
would (jackknife: Gwet 2014, chapter 5). What judges add to the variance by items is at least
`LEAST_ADDED` of their own: with few judges the difference is uncertain. The interval is one of t on
a transformed scale: logit for shares, Fisher's z for coefficients. Degrees of freedom follow
Satterthwaite 1946, with as many items and judges as carry the variance: (sum of squares)^2 / sum of
fourth powers, times `CARRYING_ITEMS` or `CARRYING_JUDGES`.

With fewer than `FEW_JUDGES` effective judges only items count as drawn: the interval is that of
these judges, and `reason` says so. Where coverage was measured to be too low or the interval says
nothing, there is none, and `reason` says why (studies.agreement_coverage).

Sources: Passonneau & Carpenter 2013, section 2 (agreement as a mean over pairs of judges); Cohen
1960 and Conger 1980 (chance by each judge's own shares of labels); Scott 1955 and Fleiss 1971
(chance by pooled shares); Gwet 2008 and 2014, chapters 4 and 5 (AC1; AC2 with quadratic weights);
Krippendorff 2011 (alpha). On a continuous scale: scale_agreement, score_differences.

Several judgments of an item by one judge all count, but two by the *same* judge are no pair, in any
statistic: rows that were copied move none but by the sizes of samples. What is undefined is NaN and
has a reason. All is written as
sums over blocks of items; an item lies in one block. Counts are integers and rows are sorted first,
so no digit depends on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.agreement.label_block import (
    MOST_JUDGES,
    Coefficient,
    JudgePairs,
    JudgeShares,
    LabelBlock,
    influence_sums,
)
from annot_pipeline.methods.agreement.label_sums import (
    LabelTotals,
    Meetings,
    chance_coefficients,
    cohen_coefficient,
    judge_shares,
    label_totals,
    meetings,
    mid_ranks,
    ordinal_sums,
    pair_tables,
)
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.numerics.blocks import Blocks, InMemoryBlocks
from annot_pipeline.methods.numerics.hyperbolic import tanh

FEW_JUDGES = 4
"""Effective judges below which judges do not count as drawn."""
FEWEST_ITEMS = 20
"""Items below which there is no interval."""
RARE_ITEMS, RARE_SHARE = 16.0, 1 / 3
"""Items' worth of labels outside the most frequent class, below which chance agreement is too
uncertain for an interval; where there are few items, that share of them is enough."""
CARRYING_ITEMS, CARRYING_JUDGES = 1.5, 3.0
"""Of the effective number of clusters: with normal influence values a third of all is found, and
items of rare classes have none that are normal."""
LEAST_ADDED = 0.25
"""Of the variance by judges, what it adds to that by items at the least."""
MOST_SHARE = 2 / 3
"""Of all pairs that one judge has, as far as it counts."""
ROUNDING = 1e-9

NO_ITEM_SHARED = "no item has labels by two judges"
ONE_CLASS = "all labels are of one class"
CERTAIN = "agreement by chance is certain: each judge has labels of one class"
ALL_AGREE = "all pairs of labels agree"
NONE_AGREES = "no pair of labels agrees"
FEW_ITEMS = f"fewer than {FEWEST_ITEMS} items for an interval"
RARE_CLASSES = "too few labels outside the most frequent class for an interval"
NO_SPREAD = "the labels do not vary enough for an interval"
MANY_JUDGES = "too many judges for an interval of a mean over pairs of judges"
THESE_JUDGES = f"interval for these judges only: fewer than {FEW_JUDGES}"


@dataclass(frozen=True)
class AgreementStatistic:
    """One statistic of one task.

    Parameters
    ----------
    value, ci_low, ci_high
        With its 95% interval; NaN where undefined.
    n_items
        Items it rests on: those with labels by two or more judges.
    n_judges
        Judges of these items.
    reason
        Why a number is NaN, or that the interval is of these judges only; None otherwise.
    """

    value: float
    ci_low: float
    ci_high: float
    n_items: int
    n_judges: int
    reason: str | None = None


@dataclass(frozen=True)
class Influence:
    """Sums of influence values of one statistic.

    Parameters
    ----------
    items, items_fourth, cells
        Of squares and of fourth powers by item; of squares by item and judge.
    judges
        ``(n_judges,)`` by judge.
    judge_shares
        ``(n_judges,)`` of all labels in pairs with other judges; sums to 1, or to 0 without.
    """

    items: float
    items_fourth: float
    cells: float
    judges: Floats
    judge_shares: Floats


def effective_judges(shares: Floats) -> float:
    """Return how many judges with equal shares are worth these; 0 without any."""
    squares = float((shares**2).sum())
    return 1 / squares if squares else 0.0


def variance(influence: Influence, n_items: int) -> tuple[float, float, bool]:
    """Return variance, degrees of freedom, and whether judges count as drawn."""
    by_item = influence.items * n_items / max(n_items - 1, 1)
    item_freedom = _freedom(influence.items, influence.items_fourth, n_items, CARRYING_ITEMS)
    shares = influence.judge_shares
    n_judges = effective_judges(shares)
    if n_judges < FEW_JUDGES - ROUNDING:
        return by_item, item_freedom, False
    inflation = 1 / (1 - np.minimum(2 * shares, MOST_SHARE))
    squares = (influence.judges * inflation) ** 2
    n = int(np.count_nonzero(shares))
    by_judge = float(squares.sum()) * (n - 1) / n
    by_both = influence.cells * float((shares * inflation**2).sum())
    combined = by_item + max(by_judge - by_both, LEAST_ADDED * by_judge)
    judge_freedom = _freedom(
        float(squares.sum()), float((squares**2).sum()), n_judges, CARRYING_JUDGES
    )
    spread = by_item**2 / item_freedom + min(by_judge, combined) ** 2 / judge_freedom
    return combined, max(combined**2 / spread, 1.0) if spread > 0 else 1.0, True


def _freedom(squares: float, fourth: float, n: float, carrying: float) -> float:
    carrying *= squares**2 / fourth if fourth > 0 else 0.0
    return max(min(n, carrying) - 1, 1.0)


def interval_statistic(
    value: float, influence: Influence, counts: tuple[int, int], *, is_share: bool
) -> AgreementStatistic:
    """Return a statistic with its interval.

    Parameters
    ----------
    value
        Of the statistic.
    influence
        Its influence values.
    counts
        Items and judges that it rests on.
    is_share
        Whether it is a share (0 to 1) or a coefficient (-1 to 1).
    """
    from scipy.special import stdtrit

    n_items, n_judges = counts
    squared_error, freedom, are_drawn = variance(influence, n_items)
    low_end = 0.0 if is_share else -1.0
    if not squared_error > 0 or not low_end < value < 1:
        return without_interval(value, counts, NO_SPREAD)
    half = float(stdtrit(freedom, 0.975)) * np.sqrt(squared_error)
    low, high = _logit_ends(value, half) if is_share else _fisher_ends(value, half)
    return AgreementStatistic(
        value, low, high, n_items, n_judges, None if are_drawn else THESE_JUDGES
    )


def without_interval(value: float, counts: tuple[int, int], reason: str) -> AgreementStatistic:
    """Return a statistic that has no interval, and the reason."""
    return AgreementStatistic(value, np.nan, np.nan, *counts, reason)


def _logit_ends(value: float, half: float) -> tuple[float, float]:
    centre, reach = np.log(value / (1 - value)), half / (value * (1 - value))
    return _expit(centre - reach), _expit(centre + reach)


def _expit(x: float) -> float:
    return float((1 + tanh(x / 2)) / 2)


def _fisher_ends(value: float, half: float) -> tuple[float, float]:
    centre, reach = np.arctanh(value), half / (1 - value**2)
    return float(tanh(centre - reach)), float(tanh(centre + reach))


PAIRS_AT_ONCE = 10_000_000
"""Pairs of labels whose judges are compared at once, some 100 bytes each, unless one judge has
more."""
MOST_SHARES = 20_000_000
"""Judges times classes up to which there is Cohen's kappa, which keeps a number for each."""
TOO_MANY_SHARES = "too many judges and classes"

SHARES = ("percent_agreement", "pooled_percent_agreement")
BY_CLASS_SHARES = ("cohen_kappa", "fleiss_kappa", "alpha_nominal", "alpha_ordinal")
"""Statistics whose expected disagreement vanishes where one class has all labels."""
NO_ORDER = "the classes have no order"


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
        Pooled over pairs of judges; chance by each judge's own shares of labels.
    fleiss_kappa
        Chance by the shares of labels pooled over judges (Scott's pi for two judges).
    gwet_ac1, gwet_ac2
        Chance that labels differ on items that are labelled at random; AC2 gives partial credit by
        the squared distance of the label codes, if they have an order.
    alpha_nominal, alpha_ordinal
        Krippendorff's alpha; ordinal by the order of the label codes, if they have one.
    n_judge_pairs
        Pairs of judges who share an item.
    n_label_pairs
        Pairs of labels of one item by distinct judges.
    """

    percent_agreement: AgreementStatistic
    pooled_percent_agreement: AgreementStatistic
    cohen_kappa: AgreementStatistic
    fleiss_kappa: AgreementStatistic
    gwet_ac1: AgreementStatistic
    alpha_nominal: AgreementStatistic
    alpha_ordinal: AgreementStatistic
    gwet_ac2: AgreementStatistic
    n_judge_pairs: int
    n_label_pairs: int


def nominal_agreement(
    items: npt.ArrayLike,
    judges: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    n_items: int,
    n_judges: int,
    n_labels: int,
    ordinal: bool = True,
    most_shares: int = MOST_SHARES,
) -> NominalAgreement:
    """Measure agreement on labels in long form; a judge may label an item many times.

    Parameters
    ----------
    items, judges, labels
        ``(n_labels_given,)`` codes from 0.
    n_items, n_judges
        Sizes of the code ranges; unused codes change nothing.
    n_labels
        Number of classes; Gwet's coefficients count those that no judge used.
    ordinal
        Whether the codes have an order; without one ordinal alpha and AC2 are NaN.
    most_shares
        Judges times classes up to which there is Cohen's kappa.

    Raises
    ------
    ValueError
        Arrays of different lengths, codes outside their ranges.
    """
    codes = LabelCodes(
        np.asarray(items, np.int64), np.asarray(judges, np.int64), np.asarray(labels, np.int64),
        n_items, n_judges, n_labels,
    )  # fmt: skip
    blocks = InMemoryBlocks([LabelBlock.from_codes(codes)])
    sizes = {"n_judges": n_judges, "n_labels": n_labels, "most_shares": most_shares}
    return label_agreement(blocks, ordinal=ordinal, **sizes)


def label_agreement(
    blocks: Blocks[LabelBlock],
    *,
    n_judges: int,
    n_labels: int,
    ordinal: bool,
    most_shares: int = MOST_SHARES,
    most_judges: int = MOST_JUDGES,
    pairs_at_once: int = PAIRS_AT_ONCE,
) -> NominalAgreement:
    """Measure agreement on labels that lie in blocks of items.

    Judges m and n have as many pairs of labels as there are on the items they share.
    Percent agreement is the unweighted mean over pairs of judges of the share that agrees.

    Cohen's kappa is (A - C) / (1 - C): A is the share of all pairs of labels by distinct judges
    that agree, C the mean over the same pairs of the chance sum_k p_mk p_nk that both judges'
    labels agree; p_mk is m's share of label k, where a label counts as often as another judge
    labelled its item. With two judges this is Cohen's kappa; with a complete table of labels it is
    Conger's. Shares are of all of a judge's labels, not of those shared with one other judge: of
    a handful of shared labels chance agreement is far too high, and kappa near 0.

    Fleiss' kappa for items with different numbers of labels: the observed share is the unweighted
    mean over items with labels by two judges of the share of the item's pairs of labels that agree,
    chance the sum of squared shares of the labels of these items, each label counting once. With
    one number of labels for every item this is Fleiss 1971.

    Gwet's coefficients have that observed share, and chance T / (q (q - 1)) sum_k p_k (1 - p_k)
    for q classes, with p_k the mean over all items of the share of their labels, and T the sum of
    all weights: q for AC1; for AC2 weights are 1 - (k - l)^2 / (q - 1)^2.

    Time is a sort and some passes over the labels, besides the pairs of labels once for percent
    agreement; memory is proportional to the labels of a block and to judges times classes.

    Parameters
    ----------
    blocks
        Labels of one task; each item lies in one block.
    n_judges, n_labels
        Sizes of the code ranges of all blocks.
    ordinal
        Whether the label codes have an order.
    most_shares
        Judges times classes up to which there is Cohen's kappa.
    most_judges
        Judges up to which the pairs of all of them are held at once.
    pairs_at_once
        Of more judges: pairs of labels that are compared at once, unless one judge has more.
    """
    has_shares = n_judges * n_labels <= most_shares
    n_bytes = n_judges * (n_labels if has_shares else 1) * 8
    totals = blocks.sum(label_totals, ordinal, has_shares, n_bytes=n_bytes)
    ranks = None
    if ordinal:
        scores = mid_ranks(totals.labels)
        ranks = scores, blocks.sum(ordinal_sums, scores)
    coefficients = chance_coefficients(totals, ranks)
    mean, table, n_judge_pairs = _mean_over_pairs(blocks, totals, most_judges, pairs_at_once)
    pairs = None if table is None else (mean, _pair_weights(table))
    cohen = None
    if has_shares:
        shares = judge_shares(totals)
        if table is None:
            pair_meetings = blocks.sum(meetings, shares, n_bytes=n_bytes)
        else:
            pair_meetings = Meetings(table @ shares)
        cohen = cohen_coefficient(totals, shares, pair_meetings)
    influence = _influence(blocks, totals, coefficients, cohen, pairs)
    coefficients |= {"percent_agreement": mean}
    if cohen is not None:
        coefficients |= {"cohen_kappa": cohen[0]}
    measured = _Measured(totals, coefficients, influence)
    return NominalAgreement(
        **{name: measured.statistic(name) for name in NAMES},
        n_judge_pairs=n_judge_pairs,
        n_label_pairs=int(totals.pairs),
    )


NAMES = (
    "percent_agreement", "pooled_percent_agreement", "cohen_kappa", "fleiss_kappa", "gwet_ac1",
    "alpha_nominal", "alpha_ordinal", "gwet_ac2",
)  # fmt: skip


def _mean_over_pairs(
    blocks: Blocks[LabelBlock], totals: LabelTotals, most_judges: int, pairs_at_once: int
) -> tuple[Coefficient, csr_array | None, int]:
    """Return percent agreement, pairs of labels by judge and judge (None: too many), judge pairs.

    The table is ``(n_judges, n_judges)``; a pair of labels counts in both places.
    """
    weights = totals.judge_labels.sum(axis=1)
    agreement, n_ordered, table = 0.0, 0, None
    for first, end in _spans(weights, most_judges, pairs_at_once):
        n_bytes = int(weights[first:end].sum()) * 24
        tables = blocks.sum(pair_tables, first, end, n_bytes=n_bytes)
        shared = tables.pairs
        keys, n = _entries(shared)
        some, agreeing = _entries(tables.agreeing)
        agreement += float((agreeing / n[np.searchsorted(keys, some)]).sum())
        n_ordered += shared.nnz
        if end - first == weights.size <= most_judges:
            table = shared
    observed = 1 - agreement / n_ordered if n_ordered else np.nan
    return Coefficient("pairs", 1.0, observed, 1.0), table, n_ordered // 2


def _pair_weights(table: csr_array) -> JudgePairs:
    """Return the weight of each pair of labels in the mean over pairs of judges."""
    n = table.toarray()
    return JudgePairs(np.where(n > 0, 2 / (np.where(n > 0, n, 1.0) * max(table.nnz, 1)), 0.0))


def _entries(table: csr_array) -> tuple[Codes, Floats]:
    """Return the place and value of each entry, in order of places."""
    table.sort_indices()
    entries = table.tocoo()
    return entries.row * np.int64(table.shape[1]) + entries.col, entries.data


def _spans(weights: Floats, most_judges: int, pairs_at_once: int) -> Iterator[tuple[int, int]]:
    """Yield runs of judges, first and end, with a bounded number of pairs of labels."""
    if weights.size <= most_judges:
        yield 0, weights.size
        return
    before = np.cumsum(weights) - weights
    starts = np.flatnonzero(np.diff(before // pairs_at_once, prepend=-1))
    yield from pairwise([*starts.tolist(), weights.size])


@dataclass(frozen=True)
class _Measured:
    """All statistics of a task: what they are, and sums of their influence values by name."""

    totals: LabelTotals
    coefficients: Mapping[str, Coefficient]
    influence: Mapping[str, Influence]

    def statistic(self, name: str) -> AgreementStatistic:
        """Return a statistic with its interval, or with the reason why there is none."""
        totals = self.totals
        counts = totals.n_shared, int(np.count_nonzero(totals.judge_labels.any(axis=1)))
        coefficient = self.coefficients.get(name)
        if coefficient is None:
            missing = TOO_MANY_SHARES if name == "cohen_kappa" else NO_ORDER
            return without_interval(np.nan, counts, missing)
        value = coefficient.value
        if np.isnan(value):
            return without_interval(value, counts, self._undefined(name, counts[0]))
        if reason := self._no_interval(name, coefficient, counts[0]):
            return without_interval(value, counts, reason)
        return interval_statistic(value, self.influence[name], counts, is_share=name in SHARES)

    def _undefined(self, name: str, n_items: int) -> str:
        if n_items:
            return CERTAIN if name == "cohen_kappa" else ONE_CLASS
        return NO_ITEM_SHARED

    def _no_interval(self, name: str, coefficient: Coefficient, n_items: int) -> str | None:
        """Return why a statistic with a value has no interval; None if it has."""
        if coefficient.observed <= 0:
            return ALL_AGREE
        if name in SHARES and coefficient.value <= 0:
            return NONE_AGREES
        if n_items < FEWEST_ITEMS:
            return FEW_ITEMS
        labels = self.totals.labels
        rare_items = n_items * (1 - float(labels.max()) / float(labels.sum()))
        if name in BY_CLASS_SHARES and rare_items < min(RARE_ITEMS, RARE_SHARE * n_items):
            return RARE_CLASSES
        return None if name in self.influence else MANY_JUDGES


def _influence(
    blocks: Blocks[LabelBlock],
    totals: LabelTotals,
    coefficients: Mapping[str, Coefficient],
    cohen: tuple[Coefficient, JudgeShares] | None,
    pairs: tuple[Coefficient, JudgePairs] | None,
) -> dict[str, Influence]:
    """Return influence values by statistic, of those that have a value."""
    plain = {name: one for name, one in coefficients.items() if not np.isnan(one.value)}
    if cohen is not None and np.isnan(cohen[0].value):
        cohen = None
    names = [*plain]
    names += ["cohen_kappa"] * (cohen is not None)
    names += ["percent_agreement"] * (pairs is not None)
    weights = totals.judge_labels.sum(axis=1)
    sums = blocks.sum(
        influence_sums, list(plain.values()), cohen, pairs, n_bytes=weights.size * len(names) * 8
    )
    shares = weights / max(float(weights.sum()), 1.0)
    return {
        name: Influence(
            float(sums.items[row]), float(sums.items_fourth[row]), float(sums.cells[row]),
            sums.judges[row], shares,
        )
        for row, name in enumerate(names)
    }  # fmt: skip
