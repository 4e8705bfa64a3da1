"""Agreement between judges on labels.

Sources: Passonneau & Carpenter 2013, section 2 (agreement as a mean over pairs of judges); Cohen
1960 and Conger 1980 (chance by each judge's own shares of labels); Scott 1955 and Fleiss 1971
(chance by pooled shares); Gwet 2008 and 2014, chapters 4 and 5 (AC1; AC2 with quadratic weights);
Krippendorff 2011 (alpha). On a continuous scale: scale_agreement, score_differences.

Several judgments of an item by one judge all count, but two by the *same* judge are not a pair
of judges. Intervals: label_intervals. What is undefined is NaN and has a reason. All is written as
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
from annot_pipeline.methods.agreement.label_block import LabelBlock
from annot_pipeline.methods.agreement.label_influence import (
    MOST_JUDGES,
    Coefficient,
    JudgePairs,
    JudgeShares,
    influence_sums,
)
from annot_pipeline.methods.agreement.label_intervals import (
    ALL_AGREE,
    CERTAIN,
    FEW_ITEMS,
    FEWEST_ITEMS,
    MANY_JUDGES,
    NO_ITEM_REPEATED,
    NO_ITEM_SHARED,
    NONE_AGREES,
    ONE_CLASS,
    RARE_CLASSES,
    RARE_ITEMS,
    RARE_SHARE,
    AgreementStatistic,
    Influence,
    interval_statistic,
    without_interval,
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

PAIRS_AT_ONCE = 10_000_000
"""Pairs of labels whose judges are compared at once, some 100 bytes each, unless one judge has
more."""
MOST_SHARES = 20_000_000
"""Judges times classes up to which there is Cohen's kappa, which keeps a number for each."""
TOO_MANY_SHARES = "too many judges and classes"

OF_JUDGES = ("percent_agreement", "pooled_percent_agreement", "cohen_kappa")
"""Statistics that rest on items with labels by two judges; others on items with two labels."""
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
    mean over items with two or more labels of the share of the item's pairs of labels that agree,
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
        counts = (totals.n_several, int(np.count_nonzero(totals.several_judges)))
        if name in OF_JUDGES:
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
        return NO_ITEM_SHARED if name in OF_JUDGES else NO_ITEM_REPEATED

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
