"""Influence of items, judges and labels on statistics of agreement.

Each statistic here is 1 - observed / expected disagreement: a weighted mean over pairs of labels,
over a function of the shares of labels. Its influence values say how far it moves with the weight
of a pair, or of a label. Sums of squares of these by item, by judge and by item and judge give a
variance for items and judges that repeat (methods.agreement.label_intervals).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.agreement.krippendorff import pairs_in_chunks
from annot_pipeline.methods.agreement.label_block import LabelBlock
from annot_pipeline.methods.numerics.additive import Additive

Weights = Literal["pairs", "items", "labels"]
"""How pairs of labels weigh: pairs by distinct judges each alike; all pairs, each item alike; all
pairs, each item by its number of labels."""
MOST_JUDGES = 1_000
"""Judges up to which a mean over pairs of judges has an interval: a table of all pairs is read."""


@dataclass(frozen=True)
class Coefficient:
    """One statistic, 1 - observed / expected, and its derivatives.

    Parameters
    ----------
    weights
        How pairs weigh.
    total
        The sum of their weights: pairs, items, or labels.
    observed, expected
        Disagreement; expected 1 where nothing is corrected for chance.
    scores
        ``(n_labels,)`` whose squared differences are the disagreement; None: labels differ or not.
    label_values
        ``(n_labels,)`` influence of a label by its class, with mean 0; None without.
    label_weights
        ``labels``: each label of an item with two or more weighs 1 / ``label_total``; ``items``:
        each of any item with n weighs 1 / (n ``label_total``).
    label_total
        Labels, or items.
    """

    weights: Weights
    total: float
    observed: float
    expected: float
    scores: Floats | None = None
    label_values: Floats | None = None
    label_weights: Literal["labels", "items"] = "labels"
    label_total: float = 1.0

    @property
    def value(self) -> float:
        """Return the statistic; NaN where nothing is expected or nothing is observed."""
        return 1 - self.observed / self.expected if self.expected > 0 else np.nan


@dataclass(frozen=True)
class JudgeShares:
    """What Cohen's kappa pooled over pairs of judges takes from judges.

    Parameters
    ----------
    shares
        ``(n_judges, n_labels)`` of a judge's labels; each counts as often as another judge
        labelled the item.
    meetings
        ``(n_judges, n_labels)`` sums of the shares of the judges that a judge meets, over pairs.
    weights
        ``(n_judges,)`` pairs of labels of a judge.
    chance
        Expected agreement.
    """

    shares: Floats
    meetings: Floats
    weights: Floats
    chance: float


@dataclass(frozen=True)
class JudgePairs:
    """What the mean over pairs of judges takes from pairs: ``(n_judges, n_judges)`` weights."""

    weights: Floats


@dataclass(frozen=True)
class InfluenceSums(Additive):
    """Sums of powers of influence values, by statistic.

    Parameters
    ----------
    items, items_fourth, cells
        ``(n_statistics,)`` of squares and fourth powers by item; of squares by item and judge.
    judges
        ``(n_statistics, n_judges)`` influence of judges.
    """

    items: Floats
    items_fourth: Floats
    cells: Floats
    judges: Floats


def influence_sums(
    block: LabelBlock,
    coefficients: Sequence[Coefficient],
    cohen: tuple[Coefficient, JudgeShares] | None,
    pairwise: tuple[Coefficient, JudgePairs] | None,
) -> InfluenceSums:
    """Return sums of influence values of a block's items: of coefficients, Cohen's, pairwise."""
    sums = [_coefficient_sums(block, coefficient) for coefficient in coefficients]
    if cohen is not None:
        sums.append(_cohen_sums(block, *cohen))
    if pairwise is not None:
        sums.append(_pairwise_sums(block, *pairwise))
    return InfluenceSums(
        np.array([one.items for one in sums]),
        np.array([one.items_fourth for one in sums]),
        np.array([one.cells for one in sums]),
        np.array([one.judges for one in sums]).reshape(len(sums), block.cells.n_judges),
    )


@dataclass(frozen=True)
class _Sums:
    items: float
    items_fourth: float
    cells: float
    judges: Floats


def _powers(block: LabelBlock, cross: Floats, own: Floats | None) -> _Sums:
    """Return sums of powers; ``cross`` and ``own`` are influences of cells ``(n_cells,)``.

    Pairs with other judges count in both cells and once in the item.
    """
    whole = cross if own is None else cross + own
    cells = block.by_run(whole)
    items = block.by_item(cross / 2 if own is None else cross / 2 + own)
    squares = items**2
    return _Sums(
        float(squares.sum()), float((squares**2).sum()), float((cells**2).sum()),
        block.by_judge(whole),
    )  # fmt: skip


def _coefficient_sums(block: LabelBlock, coefficient: Coefficient) -> _Sums:
    weights = pair_weights(block.n, coefficient.weights) / coefficient.total
    scale = (weights / -coefficient.expected)[block.cells.items]
    scale *= block.counts
    scores = coefficient.scores
    differing = block.differing if scores is None else block.squares(scores)
    mean = coefficient.observed
    cross = scale * (differing.cross - mean * block.pairs.cross)
    own: Floats | None = None
    if coefficient.weights != "pairs" and differing.own is not None and block.pairs.own is not None:
        own = scale * (differing.own - mean * block.pairs.own)
    if coefficient.label_values is not None:
        values = coefficient.label_values / coefficient.label_total
        labels = values[block.cells.labels] * block.counts
        if coefficient.label_weights == "items":
            labels /= block.item_labels
        else:
            labels *= block.item_labels > 1
        own = labels if own is None else own + labels
    return _powers(block, cross, own)


def pair_weights(n: Floats, weights: Weights) -> Floats:
    """Return the weight of each pair of labels of items with n labels ``(n_items,)``."""
    if weights == "pairs":
        return np.ones_like(n)
    several = np.maximum(n, 2)
    per_pair = 2 / (several - 1) if weights == "labels" else 2 / (several * (several - 1))
    return np.where(n > 1, per_pair, 0.0)


def _cohen_sums(block: LabelBlock, coefficient: Coefficient, judges: JudgeShares) -> _Sums:
    cells, total = block.cells, coefficient.total
    with_others = judge_products(block, judges.shares)
    observed, expected = coefficient.observed, coefficient.expected
    pairs = block.pairs.cross
    cross = (block.differing.cross - observed * pairs) / -expected
    cross -= (observed / expected**2) * (with_others - judges.chance * pairs)
    cross *= block.counts / total
    own = (judges.shares * judges.meetings).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = (judges.meetings - own[:, None]) / judges.weights[:, None]
    values = np.where(judges.weights[:, None] > 0, values, 0.0)
    labels = values[cells.judges, cells.labels] * block.counts * pairs
    labels *= -observed / (expected**2 * total)
    return _powers(block, cross, labels)


def judge_products(block: LabelBlock, shares: Floats) -> Floats:
    """Return the judge's shares times those of the item's other judges, summed ``(n_cells,)``."""
    products = np.empty(block.cells.n.size)
    for cells, judges, sums in item_shares(block, shares):
        own = shares[judges]
        rest = sums - block.own[cells, None] * own
        products[cells] = np.einsum("ck,ck->c", own, rest)
    return products


def item_shares(block: LabelBlock, shares: Floats) -> Iterator[tuple[slice, Codes, Floats]]:
    """Yield some cells, their judges, and the shares of all labels of the item summed."""
    matrix, starts = (
        block.judges_by_item,
        np.searchsorted(block.cells.items, np.arange(block.cells.n_items + 1)),
    )
    step = max(block.shares_at_once // max(shares.shape[1], 1), 1)
    for first in range(0, block.cells.n_items, step):
        end = min(first + step, block.cells.n_items)
        cells = slice(int(starts[first]), int(starts[end]))
        sums = matrix[first:end] @ shares
        yield cells, block.cells.judges[cells], sums[block.cells.items[cells] - first]


def _pairwise_sums(block: LabelBlock, coefficient: Coefficient, judges: JudgePairs) -> _Sums:
    cells, n = block.cells, block.cells.n.size
    cross = np.zeros(n)
    for first, second in pairs_of_cells(block):
        influence = (cells.labels[first] != cells.labels[second]) - coefficient.observed
        influence *= -judges.weights[cells.judges[first], cells.judges[second]]
        if block.has_repeats:
            influence *= block.counts[first] * block.counts[second]
        for ends in (first, second):
            cross += np.bincount(ends, influence, minlength=n)
    return _powers(block, cross, None)


def pairs_of_cells(block: LabelBlock) -> Iterator[tuple[Codes, Codes]]:
    """Yield all pairs of cells of one item by distinct judges, the first judge's cell first."""
    cells = block.cells
    run_ends = np.append(block.runs[1:], cells.n.size)[block.run_codes]
    item_ends = np.cumsum(np.bincount(cells.items, minlength=cells.n_items))[cells.items]
    yield from pairs_in_chunks(run_ends, item_ends - run_ends, block.pairs_at_once)
