"""Differences of two scores of one item, in points of the scale.

Source: Graham et al. 2013, Table 1: mean and sd of the differences of a judge's two scores, and of
two judges'. Intervals are bootstraps over items. What is undefined is NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.numerics.bootstrap import (
    Estimate,
    ItemResamples,
    Rng,
    replicate,
    weighted,
)
from annot_pipeline.methods.numerics.distinct import renumbered_values
from annot_pipeline.methods.numerics.moments import sums


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


def score_differences(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    items: npt.ArrayLike,
    *,
    n_items: int,
    rounds: int,
    rng: Rng,
) -> ScoreDifferences:
    """Return the mean and sd of |first - second| over given pairs (Graham et al. 2013, Table 1).

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
    total, pairs = sums(items, differences, n_groups=n_items), np.bincount(items, minlength=n_items)
    return _summary(
        ItemDifferences.from_totals(total, pairs, float((differences**2).sum())), rounds, rng
    )


def inter_judge_score_differences(
    items: npt.ArrayLike,
    judges: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    n_items: int,
    rounds: int,
    rng: Rng,
) -> ScoreDifferences:
    """Return mean and sd of |difference| over all pairs of scores of an item by distinct judges.

    No pair is listed: in the order of scores each is met as many times above others as below
    (sum of |x_i - x_j| over i < j is the sum of x_(k) (2k - n + 1), k from 0).

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
    centre = float(np.median(scores)) if scores.size else 0.0
    differences = ItemDifferences.between_judges(
        items, judges, scores, n_items=n_items, centre=centre
    )
    return _summary(differences, rounds, rng)


@dataclass(frozen=True)
class ItemDifferences:
    """Absolute differences of pairs of scores, by item ``(n_items,)``; of items that have any.

    Parameters
    ----------
    total, pairs
        Sums of the differences, and numbers of pairs.
    squares
        Sum of all squared differences.
    """

    total: Floats
    pairs: Codes
    squares: float

    @classmethod
    def from_totals(cls, total: Floats, pairs: Codes, squares: float) -> ItemDifferences:
        """Leave out items without pairs."""
        used = pairs > 0
        return cls(total[used], pairs[used], squares)

    @classmethod
    def between_judges(
        cls, items: Codes, judges: Codes, scores: Floats, *, n_items: int, centre: float
    ) -> ItemDifferences:
        """Sum the differences of scores by distinct judges; ``centre`` is subtracted first."""
        if not scores.size:
            return cls(np.zeros(0), np.zeros(0, np.int64), 0.0)
        _, by_judge = np.unique(items * (int(judges.max()) + 1) + judges, return_inverse=True)
        distinct_scores, places = renumbered_values(scores - centre)
        of_item, of_judge = (
            _distances(groups, places, distinct_scores) for groups in (items, by_judge.reshape(-1))
        )
        first = np.zeros(of_judge.n.size, np.int64)
        first[by_judge.reshape(-1)] = items  # the item of each item and judge
        total = np.zeros(n_items)
        total[: of_item.total.size] = of_item.total
        n = np.zeros(n_items, np.int64)
        n[: of_item.n.size] = of_item.n
        total -= sums(first, of_judge.total, n_groups=n_items)
        n -= np.bincount(first, weights=of_judge.n, minlength=n_items).astype(np.int64)
        return cls.from_totals(total, n, float(of_item.squares.sum() - of_judge.squares.sum()))

    def sums(self, weights: Floats) -> Floats:
        """Return differences and pairs of items that are drawn ``(n_items, n_rounds)``.

        The first row are differences, the second one pairs.
        """
        return np.stack([weighted(self.total, weights), weighted(self.pairs, weights)])


@dataclass(frozen=True)
class _Distances:
    """Over the pairs within each group ``(n_groups,)``: sums of |x - y| and (x - y)^2, number."""

    total: Floats
    squares: Floats
    n: Codes


def _distances(groups: Codes, places: Codes, values: Floats) -> _Distances:
    """Return the distances of the groups' values, by their places among the values in order."""
    n_groups = int(groups.max()) + 1
    group, positions = np.divmod(np.sort(groups * values.size + places), values.size)
    x = values[positions]
    size = np.bincount(group, minlength=n_groups)
    positions = np.arange(group.size) - (np.cumsum(size) - size)[group]
    total = sums(group, x * (2 * positions - size[group] + 1), n_groups=n_groups)
    squares = size * sums(group, x**2, n_groups=n_groups) - sums(group, x, n_groups=n_groups) ** 2
    return _Distances(total, squares, size * (size - 1) // 2)


def _summary(differences: ItemDifferences, rounds: int, rng: Rng) -> ScoreDifferences:
    resamples = ItemResamples.draw(differences.pairs.size, rounds, rng)
    replicates = replicate(differences.sums, resamples, floats_per_round=differences.pairs.size)
    return differences_of(
        replicates,
        differences.squares,
        n_items=differences.pairs.size,
        n_pairs=int(differences.pairs.sum()),
    )


def differences_of(
    replicates: Floats, squares: float, *, n_items: int, n_pairs: int
) -> ScoreDifferences:
    """Return the mean with its interval over items, and the standard deviation.

    Parameters
    ----------
    replicates
        As `ItemDifferences.sums` gives them, of the data and of resamples.
    squares, n_items, n_pairs
        Sum of squared differences; items with pairs, and these.
    """
    with np.errstate(invalid="ignore"):
        means: Floats = replicates[0] / replicates[1]
    sd = float("nan")
    if n_pairs > 1:
        sum_of_squares = max(squares - n_pairs * means[0] ** 2, 0.0)
        sd = float(np.sqrt(sum_of_squares / (n_pairs - 1)))
    return ScoreDifferences(Estimate.from_replicates(means), sd, n_items, n_pairs)


def _check_scores(items: Codes, scores: Floats, n_items: int) -> None:
    LabelCodes(items, items, items, n_items, n_items, n_items)
    if items.shape != scores.shape:
        raise ValueError("items and scores must be 1-d and of one length")
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite")
