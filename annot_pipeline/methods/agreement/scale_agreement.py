"""Agreement on a continuous scale that is cut into categories.

Source: Graham et al. 2013, section 4, Tables 2 and 3: a scale cut into k bins, with the chance 1/k.
Intervals are bootstraps over items. What is undefined is NaN. Rows are sorted first, so no digit
depends on their order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.agreement.rating_counts import RatingCounts
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.numerics.bootstrap import Estimate, Rng


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


def kappa_of_share(agreement: npt.ArrayLike, n_categories: int) -> Floats:
    """Return kappa of Pr(a) with the chance 1/k of the 2013 tables; NaN for one category."""
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


def percentile_places(n: int, k: int) -> Codes:
    """Return places ``(k - 1,)`` of the edges of k bins among ``n`` values in order."""
    # ceil(j n / k) - 1 in whole numbers, as j / k is not exact
    places: Codes = -(-np.arange(1, k) * n // k) - 1
    return places


def bins_of_edges(z: Floats, edges: Floats) -> Codes:
    """Return bins of values by edges ``(k - 1,)``, each of which belongs to the bin below it."""
    return np.searchsorted(edges, z, side="left").astype(np.int64)


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
    kinds = PairKinds.from_counts(pairs, agreeing)
    return binned_agreement_of(kinds, n_categories=n_categories, rounds=rounds, rng=rng)


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
    kinds = PairKinds.between_judges(
        np.asarray(items, np.int64),
        np.asarray(judges, np.int64),
        np.asarray(bins, np.int64),
        n_items=n_items,
        n_judges=n_judges,
        n_categories=n_categories,
    )
    return binned_agreement_of(kinds, n_categories=n_categories, rounds=rounds, rng=rng)


@dataclass(frozen=True)
class PairKinds:
    """Items with pairs of scores, counted by how many these are and how many agree.

    Arrays are ``(n_kinds,)``, in the order of pairs that agree, then of all.
    """

    agreeing: Codes
    pairs: Codes
    n_items: Codes

    @classmethod
    def from_counts(cls, pairs: Codes, agreeing: Codes) -> PairKinds:
        """Count items by their pairs ``(n_items,)``; those without a pair are left out."""
        used = pairs > 0
        return cls._counted(agreeing[used], pairs[used], np.ones(int(used.sum()), np.int64))

    @classmethod
    def between_judges(
        cls,
        items: Codes,
        judges: Codes,
        bins: Codes,
        *,
        n_items: int,
        n_judges: int,
        n_categories: int,
    ) -> PairKinds:
        """Count pairs of scores by distinct judges, as `inter_judge_binned_agreement` does."""
        codes = LabelCodes(items, judges, bins, n_items, n_judges, n_categories)
        cells = RatingCounts.from_ratings(
            codes.items, codes.judges, codes.labels, n_items, n_judges, n_categories
        )
        return cls.from_counts(*cells.inter_judge_pairs())

    def __add__(self, other: PairKinds) -> PairKinds:
        return self._counted(
            *(
                np.concatenate([getattr(kinds, name) for kinds in (self, other)])
                for name in ("agreeing", "pairs", "n_items")
            )
        )

    @classmethod
    def _counted(cls, agreeing: Codes, pairs: Codes, n: Codes) -> PairKinds:
        width = int(pairs.max(initial=0)) + 1
        kinds, positions = np.unique(agreeing * width + pairs, return_inverse=True)
        counts = np.bincount(positions.reshape(-1), n, kinds.size).astype(np.int64)
        return cls(kinds // width, kinds % width, counts)


def binned_agreement_of(
    kinds: PairKinds, *, n_categories: int, rounds: int, rng: Rng
) -> BinnedAgreement:
    """Compute agreement by kinds of items; parameters as `binned_agreement` has them."""
    shares = _share_of_kinds(kinds, rounds, rng)
    return BinnedAgreement(
        Estimate.from_replicates(shares),
        Estimate.from_replicates(kappa_of_share(shares, n_categories)),
        n_categories,
        int(kinds.n_items.sum()),
        int((kinds.pairs * kinds.n_items).sum()),
    )


def _share_of_kinds(kinds: PairKinds, rounds: int, rng: Rng) -> Floats:
    """Return the share of pairs that agree, in data and resamples of items, ``(1 + rounds,)``.

    Items of one kind are drawn as often by chance: how often each kind is among the items drawn is
    multinomial. These are the same resamples, without drawing a million items to count a dozen
    kinds.
    """
    n = kinds.n_items
    if not n.size:
        return np.full(1, np.nan)
    generator = np.random.default_rng(rng)
    counts = np.concatenate([n[None, :], generator.multinomial(n.sum(), n / n.sum(), rounds)])
    # whole numbers: exact in any order
    shares: Floats = (counts * kinds.agreeing).sum(axis=1) / (counts * kinds.pairs).sum(axis=1)
    return shares
