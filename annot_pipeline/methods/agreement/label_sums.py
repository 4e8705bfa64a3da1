"""What statistics of agreement on labels take from all blocks, and the statistics.

Sources: Passonneau & Carpenter 2013, section 2 (mean over pairs of judges); Cohen 1960 and Conger
1980 (each judge's own shares of labels; pooled over pairs of judges by shared labels); Scott 1955
and Fleiss 1971 (pooled shares); Gwet 2008 and 2014, section 4.3 (AC1, and AC2 with quadratic
weights); Krippendorff 2011 (alpha).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from annot_pipeline.arrays import Floats
from annot_pipeline.methods.agreement.label_block import (
    Coefficient,
    JudgeShares,
    LabelBlock,
    item_shares,
)
from annot_pipeline.methods.numerics.moments import Additive


@dataclass(frozen=True)
class LabelTotals(Additive):
    """Counts and sums over items; those with pairs have labels by two judges.

    Parameters
    ----------
    n_labelled, n_shared
        Items with labels, with pairs.
    labels, even_labels
        ``(n_labels,)`` labels of items with pairs; and of all items, each item alike.
    pairs, differing
        Pairs of labels, and those that differ.
    differing_items, differing_labels
        Pairs of labels that differ, each item alike, and each item by its labels.
    squares
        As ``differing_items``, of squared differences of codes.
    pair_squares
        Sum over items of squares of their pairs.
    judge_labels
        ``(n_judges, n_labels)`` labels by judge, each as often as there are labels of the item by
        other judges.
    """

    n_labelled: int
    n_shared: int
    labels: Floats
    even_labels: Floats
    pairs: float
    differing: float
    differing_items: float
    differing_labels: float
    squares: float
    pair_squares: float
    judge_labels: Floats


def label_totals(block: LabelBlock, is_ordinal: bool, has_shares: bool) -> LabelTotals:
    """Return the totals of a block's items; without shares, labels by judge are not by class."""
    cells, pairs = block.cells, block.n_pairs
    differing = block.item_sums(block.differing)
    items, labels = block.pair_weights("items"), block.pair_weights("labels")
    squares = 0.0
    if is_ordinal:
        codes = np.arange(cells.n_labels, dtype=np.float64)
        squares = _dot(items, block.item_sums(block.squares(codes)))
    paired = block.counts * block.pairs
    width = cells.n_labels if has_shares else 1
    keys = cells.judges * cells.n_labels + cells.labels if has_shares else cells.judges
    judge_labels: Floats = np.bincount(keys, paired, minlength=cells.n_judges * width).astype(
        np.float64
    )
    return LabelTotals(
        int(np.count_nonzero(block.n)),
        int(np.count_nonzero(pairs)),
        block.by_label((pairs > 0)[cells.items] * block.counts),
        block.by_label(block.counts / block.item_labels),
        float(pairs.sum()),
        float(differing.sum()),
        _dot(items, differing),
        _dot(labels, differing),
        squares,
        float((pairs**2).sum()),
        judge_labels.reshape(cells.n_judges, width),
    )


@dataclass(frozen=True)
class OrdinalSums(Additive):
    """Disagreement by scores of the classes, each item by its labels, and its derivative.

    Parameters
    ----------
    squares
        Sum over pairs of labels.
    gradient
        ``(n_labels,)`` by the score of a class.
    """

    squares: float
    gradient: Floats


def ordinal_sums(block: LabelBlock, scores: Floats) -> OrdinalSums:
    """Return the sums of a block; ``scores`` ``(n_labels,)``."""
    cells, weights = block.cells, block.pair_weights("labels")
    score = scores[cells.labels]
    weighted = score * block.counts
    spread = block.item_labels * score - block.by_item(weighted)[cells.items]
    if block.has_repeats:
        spread -= block.own * score - block.run_sums(weighted)
    gradient = block.by_label(2 * weights[cells.items] * block.counts * spread)
    squares = block.item_sums(block.squares(scores))
    return OrdinalSums(_dot(weights, squares), gradient)


@dataclass(frozen=True)
class Meetings(Additive):
    """``(n_judges, n_labels)`` sums over pairs of the shares of the judge's partner."""

    shares: Floats


def meetings(block: LabelBlock, shares: Floats) -> Meetings:
    """Return the sums of a block; ``shares`` ``(n_judges, n_labels)``."""
    totals = np.zeros_like(shares)
    n_judges = block.cells.n_judges
    for cells, judges, sums in item_shares(block, shares):
        counts, own = block.counts[cells], block.own[cells]
        n = judges.size
        matrix = csr_array((counts, (judges, np.arange(n))), (n_judges, n))
        totals += matrix @ sums
        totals -= np.bincount(judges, counts * own, minlength=n_judges)[:, None] * shares
    return Meetings(totals)


@dataclass(frozen=True)
class PairTables(Additive):
    """Pairs of labels by pair of judges, and those that agree: sparse ``(n_some, n_judges)``."""

    pairs: csr_array
    agreeing: csr_array


def pair_tables(block: LabelBlock, first: int, end: int) -> PairTables:
    """Return pairs of labels of the judges from ``first`` to before ``end`` with all others."""
    cells, n_judges = block.cells, block.cells.n_judges
    keys = cells.items * cells.n_labels + cells.labels
    order = np.argsort(keys, kind="stable")
    codes = np.cumsum(np.diff(keys[order], prepend=-1) > 0) - 1
    n_codes = int(codes[-1]) + 1 if codes.size else 0
    by_label = csr_array((block.counts[order], (codes, cells.judges[order])), (n_codes, n_judges))
    tables = []
    for matrix in (block.judges_by_item, by_label):
        some = matrix if (first, end) == (0, n_judges) else matrix.tocsc()[:, first:end]
        table = (some.T @ matrix).tocoo()
        is_other = table.row + first != table.col
        tables.append(
            csr_array(
                (table.data[is_other], (table.row[is_other], table.col[is_other])),
                (end - first, n_judges),
            )
        )
    return PairTables(*tables)


def chance_coefficients(
    totals: LabelTotals, ordinal: tuple[Floats, OrdinalSums] | None
) -> dict[str, Coefficient]:
    """Return the statistics that take no notice of who judged, and pooled percent agreement.

    Parameters
    ----------
    totals
        Of all blocks.
    ordinal
        Scores of the classes by `mid_ranks`, and their sums over all blocks; None without order.
    """
    n, n_labels = float(totals.labels.sum()), totals.labels.size
    coefficients = {
        "pooled_percent_agreement": Coefficient(
            "pairs", totals.pairs, _ratio(totals.differing, totals.pairs), 1.0
        )
    }
    shares = totals.labels / max(n, 1)
    unlike = _unlike(totals.labels)
    by_items = _ratio(totals.differing_items, totals.n_shared)
    by_labels = _ratio(totals.differing_labels, n)
    correction = n / max(n - 1, 1)
    values = _centered(-2 * shares, shares)
    coefficients["fleiss_kappa"] = Coefficient(
        "items", totals.n_shared, by_items, unlike, None,
        _label_values(by_items, unlike, values), "labels", n,
    )  # fmt: skip
    expected = unlike * correction
    coefficients["alpha_nominal"] = Coefficient(
        "labels", n, by_labels, expected, None,
        _label_values(by_labels, expected, values * correction), "labels", n,
    )  # fmt: skip
    even = totals.even_labels / max(totals.n_labelled, 1)
    coefficients["gwet_ac1"] = _gwet(totals, even, by_items, None)
    if ordinal is not None:
        scores, sums = ordinal
        coefficients["alpha_ordinal"] = _ordinal_alpha(n, shares, scores, sums)
        width = max(n_labels - 1, 1)
        observed = _ratio(totals.squares, totals.n_shared) / width**2
        coefficients["gwet_ac2"] = _gwet(
            totals, even, observed, np.arange(n_labels, dtype=np.float64) / width
        )
    return coefficients


def _gwet(
    totals: LabelTotals, shares: Floats, observed: float, scores: Floats | None
) -> Coefficient:
    """Return AC1, or AC2 with quadratic weights: expected agreement T/(q (q - 1)) sum p (1 - p)."""
    q = shares.size
    total_weight = float(q)  # the identity's
    if scores is not None:
        total_weight = q**2 - q**2 * (q + 1) / (6 * max(q - 1, 1))
    factor = total_weight / max(q * (q - 1), 1)
    expected = 1 - factor * float((shares * (1 - shares)).sum())
    if q < 2:
        expected = 0.0
    values = _centered(-factor * (1 - 2 * shares), shares)
    return Coefficient(
        "items", totals.n_shared, observed, expected, scores,
        _label_values(observed, expected, values), "items", totals.n_labelled,
    )  # fmt: skip


def mid_ranks(labels: Floats) -> Floats:
    """Return ``(n_labels,)`` shares of labels below each class and half of its own, less 1/2."""
    n = max(float(labels.sum()), 1.0)
    return np.asarray((np.cumsum(labels) - labels / 2 - labels.sum() / 2) / n)


def _ordinal_alpha(n: float, shares: Floats, scores: Floats, sums: OrdinalSums) -> Coefficient:
    """Return alpha on mid-ranks, which move with the shares of labels themselves."""
    factor = 2 * n / max(n - 1, 1)
    observed = _ratio(sums.squares, n)
    expected = factor * _dot(shares, scores**2)
    direct = _label_values(observed, expected, _centered(factor * scores**2, shares))
    values = direct
    if expected > 0:
        by_score = -sums.gradient / n / expected
        by_score = by_score + observed / expected**2 * factor * 2 * shares * scores
        above = by_score.sum() - np.cumsum(by_score)
        values = direct + _centered(above + by_score / 2, shares)
    return Coefficient("labels", n, observed, expected, scores, values, "labels", n)


def cohen_coefficient(
    totals: LabelTotals, shares: Floats, pair_meetings: Meetings
) -> tuple[Coefficient, JudgeShares]:
    """Return Cohen's kappa pooled over pairs of judges, and what its influence takes."""
    chance = _ratio(float((shares * pair_meetings.shares).sum()) / 2, totals.pairs)
    expected = 1 - chance
    coefficient = Coefficient(
        "pairs", totals.pairs, _ratio(totals.differing, totals.pairs), expected
    )
    weights = totals.judge_labels.sum(axis=1)
    return coefficient, JudgeShares(shares, pair_meetings.shares, weights, chance)


def judge_shares(totals: LabelTotals) -> Floats:
    """Return ``(n_judges, n_labels)`` shares of a judge's labels; 0 for judges without pairs."""
    weights = totals.judge_labels.sum(axis=1)
    return np.asarray(totals.judge_labels / np.where(weights > 0, weights, 1.0)[:, None])


def _unlike(labels: Floats) -> float:
    """Return the chance that two labels differ; whole numbers, so 0 is exact."""
    n = float(labels.sum())
    return float(n * n - (labels**2).sum()) / (n * n) if n else 0.0


def _centered(values: Floats, shares: Floats) -> Floats:
    return np.asarray(values - _dot(values, shares))


def _label_values(observed: float, expected: float, gradient: Floats) -> Floats:
    """Return the influence of a label through the expected disagreement."""
    return gradient * (observed / expected**2 if expected > 0 else 0.0)


def _dot(first: Floats, second: Floats) -> float:
    """Return the sum of products; not matmul, whose sums depend on the number of threads."""
    return float((first * second).sum())


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else np.nan
