"""Agreement on a continuous scale: cut into categories, and as differences of scores.

Source: Graham et al. 2013, section 4, Tables 1 to 3: a scale cut into k bins, with the chance
1/k; mean and sd of the differences of two scores. Intervals are bootstraps over items. What is
undefined is NaN. Rows are sorted first, so no digit depends on their order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.bootstrap import (
    Estimate,
    Floats,
    ItemResamples,
    Rng,
    replicate,
    weighted,
)
from annot_pipeline.methods.distinct import renumbered_values
from annot_pipeline.methods.label_matrix import LabelCodes
from annot_pipeline.methods.moments import sums
from annot_pipeline.methods.rating_counts import RatingCounts

Codes = npt.NDArray[np.int64]


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
    cells = RatingCounts.of(
        codes.items, codes.judges, codes.labels, n_items, n_judges, n_categories
    )
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
    return _summary(
        sums(items, differences, n_groups=n_items),
        np.bincount(items, minlength=n_items),
        float((differences**2).sum()),
        rounds,
        rng,
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
    """Mean and sd of |difference| over all pairs of scores of one item by distinct judges.

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
    if not scores.size:
        none = np.zeros(n_items)
        return _summary(none, none.astype(np.int64), 0.0, rounds, rng)
    about = scores - np.median(scores)  # a common part is taken off before squares
    _, by_judge = np.unique(items * (int(judges.max()) + 1) + judges, return_inverse=True)
    found, places = renumbered_values(about)
    of_item, of_judge = (
        _distances(groups, places, found) for groups in (items, by_judge.reshape(-1))
    )
    first = np.zeros(of_judge.n.size, np.int64)
    first[by_judge.reshape(-1)] = items  # the item of each item and judge
    total = np.zeros(n_items)
    total[: of_item.total.size] = of_item.total
    n = np.zeros(n_items, np.int64)
    n[: of_item.n.size] = of_item.n
    total -= sums(first, of_judge.total, n_groups=n_items)
    n -= np.bincount(first, weights=of_judge.n, minlength=n_items).astype(np.int64)
    squares = float(of_item.squares.sum() - of_judge.squares.sum())
    return _summary(np.where(n > 0, total, 0.0), n, squares, rounds, rng)


@dataclass(frozen=True)
class _Distances:
    """Over the pairs within each group ``(n_groups,)``: sums of |x - y| and (x - y)^2, number."""

    total: Floats
    squares: Floats
    n: Codes


def _distances(groups: Codes, places: Codes, values: Floats) -> _Distances:
    """Of the groups' values, by their places among the values in order."""
    n_groups = int(groups.max()) + 1
    group, place = np.divmod(np.sort(groups * values.size + places), values.size)
    x = values[place]
    size = np.bincount(group, minlength=n_groups)
    place = np.arange(group.size) - (np.cumsum(size) - size)[group]
    total = sums(group, x * (2 * place - size[group] + 1), n_groups=n_groups)
    squares = size * sums(group, x**2, n_groups=n_groups) - sums(group, x, n_groups=n_groups) ** 2
    return _Distances(total, squares, size * (size - 1) // 2)


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
            return np.stack([weighted(parts, weights) / weighted(wholes, weights)])

    resamples = ItemResamples.draw(parts.size, rounds, rng)
    return replicate(share, resamples, floats_per_round=parts.size).ravel()


def _summary(
    totals: Floats, pairs: Codes, squares: float, rounds: int, rng: Rng
) -> ScoreDifferences:
    """Mean with its interval over items, and sd, from items' sums over their pairs."""
    used = pairs > 0
    means = _share(totals[used], pairs[used], rounds, rng)
    n = int(pairs.sum())
    sd = float("nan")
    if n > 1:
        sd = float(np.sqrt(max(squares - n * means[0] ** 2, 0.0) / (n - 1)))
    return ScoreDifferences(Estimate.of(means), sd, int(used.sum()), n)


def _check_scores(items: Codes, scores: Floats, n_items: int) -> None:
    LabelCodes(items, items, items, n_items, n_items, n_items)
    if items.shape != scores.shape:
        raise ValueError("items and scores must be 1-d and of one length")
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite")
