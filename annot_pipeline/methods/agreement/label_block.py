"""Labels of some items, counted, and what they, judges and labels move in statistics of agreement.

A pair of labels is two labels of one item by distinct judges: a judge who repeats himself, or whose
rows were copied, agrees with nobody by that. Disagreement of a pair is 0 or 1, or with scores of
the labels the square of their difference.

Each statistic here is 1 - observed / expected disagreement: a weighted mean over pairs of labels,
over a function of the shares of labels. Its influence values say how far it moves with the weight
of a pair, or of a label. Sums of squares of these by item, by judge and by item and judge give a
variance for items and judges that repeat (methods.agreement.label_agreement).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.agreement.krippendorff import pairs_in_chunks
from annot_pipeline.methods.agreement.rating_counts import RatingCounts
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.numerics.distinct import renumbered
from annot_pipeline.methods.numerics.moments import Additive

WIDE = 8
"""Items times labels for each cell, up to which a table of all is counted."""
SHARES_AT_ONCE, PAIRS_AT_ONCE = 2_000_000, 1_000_000
"""Items times classes whose shares are in memory at once, and pairs of cells."""
Weights = Literal["pairs", "items", "labels"]
"""How pairs of labels weigh: each alike; each item alike; each item by its number of labels."""


@dataclass(frozen=True)
class LabelBlock:
    """Labels of some items, by item, judge and label.

    Parameters
    ----------
    cells
        Counts of labels; all items, also those with one label.
    shares_at_once
        Items times classes whose shares are in memory at once.
    pairs_at_once
        Pairs of cells in memory at once.
    """

    cells: RatingCounts
    shares_at_once: int = SHARES_AT_ONCE
    pairs_at_once: int = PAIRS_AT_ONCE

    @classmethod
    def from_codes(cls, codes: LabelCodes) -> LabelBlock:
        """Count labels in long form; the same for any order of the rows."""
        sizes = codes.n_items, codes.n_judges, codes.n_labels
        return cls(RatingCounts.from_ratings(codes.items, codes.judges, codes.labels, *sizes))

    @cached_property
    def counts(self) -> Floats:
        """Return labels in each cell ``(n_cells,)``."""
        return self.cells.n.astype(np.float64)

    @cached_property
    def n(self) -> Floats:
        """Return labels of each item ``(n_items,)``."""
        return self.by_item(None)

    @cached_property
    def item_labels(self) -> Floats:
        """Return labels of the item of each cell ``(n_cells,)``."""
        return self.n[self.cells.items]

    @cached_property
    def runs(self) -> Codes:
        """Return the first cell of each item and judge ``(n_runs,)``."""
        keys = self.cells.items * self.cells.n_judges + self.cells.judges
        return np.flatnonzero(np.diff(keys, prepend=-1))

    @cached_property
    def run_codes(self) -> Codes:
        """Return the item and judge of each cell as a place among `runs` ``(n_cells,)``."""
        is_first = np.zeros(self.cells.n.size, np.int64)
        is_first[self.runs] = 1
        return np.cumsum(is_first) - 1

    @cached_property
    def has_repeats(self) -> bool:
        """Return whether a judge labelled an item twice."""
        return self.runs.size < self.cells.n.size or bool((self.cells.n > 1).any())

    @cached_property
    def own(self) -> Floats:
        """Return labels of the item by the judge of each cell ``(n_cells,)``."""
        return self.run_sums(self.counts)

    @cached_property
    def alike(self) -> Floats:
        """Return labels of the item and of the class of each cell ``(n_cells,)``."""
        keys = self.cells.items * self.cells.n_labels + self.cells.labels
        n_keys = self.cells.n_items * self.cells.n_labels
        if n_keys > WIDE * max(keys.size, 1):
            distinct_keys, keys = renumbered(keys)
            n_keys = distinct_keys.size
        return np.asarray(_sums(keys, self.counts, n_keys)[keys])

    @cached_property
    def judges_by_item(self) -> csr_array:
        """Return counts of labels, ``(n_items, n_judges)``."""
        cells, runs = self.cells, self.runs
        sizes = np.bincount(cells.items[runs], minlength=cells.n_items)
        ends = np.concatenate([[0], np.cumsum(sizes)])
        counts = np.add.reduceat(self.counts, runs) if runs.size else self.counts
        return csr_array((counts, cells.judges[runs], ends), (cells.n_items, cells.n_judges))

    @cached_property
    def pairs(self) -> Floats:
        """Return pairs of each label ``(n_cells,)``."""
        return np.asarray(self.item_labels - self.own)

    @cached_property
    def n_pairs(self) -> Floats:
        """Return pairs of labels of each item ``(n_items,)``."""
        return self.item_sums(self.pairs)

    @cached_property
    def differing(self) -> Floats:
        """Return pairs of each label with labels of another class ``(n_cells,)``."""
        own = self.own - self.counts if self.has_repeats else 0.0
        return np.asarray(self.item_labels - self.alike - own)

    def squares(self, scores: Floats) -> Floats:
        """Return sums of squared differences over pairs of each label ``(n_cells,)``.

        Parameters
        ----------
        scores
            ``(n_labels,)`` of the classes.
        """
        score = scores[self.cells.labels]
        weighted = score * self.counts
        total, squares = self.by_item(weighted), self.by_item(weighted * score)
        everyone = self._spread(
            score, self.item_labels, total[self.cells.items], squares[self.cells.items]
        )
        if not self.has_repeats:
            return everyone
        return everyone - self._spread(
            score, self.own, self.run_sums(weighted), self.run_sums(weighted * score)
        )

    def by_item(self, values: Floats | None) -> Floats:
        """Return sums of values of cells by item ``(n_items,)``; None counts labels."""
        weights = self.counts if values is None else values
        return _sums(self.cells.items, weights, self.cells.n_items)

    def by_run(self, values: Floats) -> Floats:
        """Return sums of values of cells by item and judge ``(n_runs,)``."""
        if self.runs.size == values.size:
            return values
        return np.add.reduceat(values, self.runs) if self.runs.size else values

    def by_judge(self, values: Floats) -> Floats:
        """Return sums of values of cells by judge ``(n_judges,)``."""
        return _sums(self.cells.judges, values, self.cells.n_judges)

    def by_label(self, values: Floats) -> Floats:
        """Return sums of values of cells by class ``(n_labels,)``."""
        return _sums(self.cells.labels, values, self.cells.n_labels)

    def item_sums(self, values: Floats) -> Floats:
        """Return sums over pairs of each item ``(n_items,)`` of sums over those of each label."""
        return self.by_item(self.counts * values) / 2

    def pair_weights(self, weights: Weights) -> Floats:
        """Return the weight of each pair of labels of an item ``(n_items,)``."""
        if weights == "pairs":
            return np.ones_like(self.n_pairs)
        item_weights = self.n if weights == "labels" else np.ones_like(self.n)
        return np.where(self.n_pairs > 0, item_weights / np.maximum(self.n_pairs, 1), 0.0)

    def run_sums(self, values: Floats) -> Floats:
        """Return sums by item and judge, for each cell ``(n_cells,)``."""
        if self.runs.size == values.size:
            return values
        return self.by_run(values)[self.run_codes]

    @staticmethod
    def _spread(score: Floats, n: Floats, total: Floats, squares: Floats) -> Floats:
        return np.asarray(np.maximum(n * score**2 - 2 * score * total + squares, 0))


def _sums(codes: Codes, values: Floats, n: int) -> Floats:
    return np.bincount(codes, values, minlength=n).astype(np.float64, copy=False)


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
        ``labels``: each label of an item with pairs weighs 1 / ``label_total``; ``items``:
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


def _powers(block: LabelBlock, pairs: Floats, labels: Floats | None) -> _Sums:
    """Return sums of powers; ``pairs`` and ``labels`` are influences of cells ``(n_cells,)``.

    A pair counts in both cells and once in the item.
    """
    whole = pairs if labels is None else pairs + labels
    cells = block.by_run(whole)
    items = block.by_item(pairs / 2 if labels is None else pairs / 2 + labels)
    squares = items**2
    first, second, third = (float(values.sum()) for values in (squares, squares**2, cells**2))
    return _Sums(first, second, third, block.by_judge(whole))


def _coefficient_sums(block: LabelBlock, coefficient: Coefficient) -> _Sums:
    weights = block.pair_weights(coefficient.weights) / coefficient.total
    scale = (weights / -coefficient.expected)[block.cells.items]
    scale *= block.counts
    scores = coefficient.scores
    differing = block.differing if scores is None else block.squares(scores)
    pairs = scale * (differing - coefficient.observed * block.pairs)
    labels: Floats | None = None
    if coefficient.label_values is not None:
        values = coefficient.label_values / coefficient.label_total
        labels = values[block.cells.labels] * block.counts
        if coefficient.label_weights == "items":
            labels /= block.item_labels
        else:
            labels *= block.n_pairs[block.cells.items] > 0
    return _powers(block, pairs, labels)


def _cohen_sums(block: LabelBlock, coefficient: Coefficient, judges: JudgeShares) -> _Sums:
    cells, total = block.cells, coefficient.total
    with_others = judge_products(block, judges.shares)
    observed, expected = coefficient.observed, coefficient.expected
    pairs = block.pairs
    influence = (block.differing - observed * pairs) / -expected
    influence -= (observed / expected**2) * (with_others - judges.chance * pairs)
    influence *= block.counts / total
    own = (judges.shares * judges.meetings).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = (judges.meetings - own[:, None]) / judges.weights[:, None]
    values = np.where(judges.weights[:, None] > 0, values, 0.0)
    labels = values[cells.judges, cells.labels] * block.counts * pairs
    labels *= -observed / (expected**2 * total)
    return _powers(block, influence, labels)


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
    matrix = block.judges_by_item
    starts = np.searchsorted(block.cells.items, np.arange(block.cells.n_items + 1))
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
