"""Spearman's rank correlation between judges: a mean over pairs of judges.

As `mean_spearman` says it. Pairs may meet in several blocks of items: a pair is ranked when all of
its items are there.

Source: Sakaguchi & Van Durme 2018, footnotes 17 and 20: "the agreement rate in DA (10
annotators) is 0.37 in Spearman's rho", and .67. **Reading**: a mean over pairs of annotators,
each over the items that both scored; the paper prints no more than the two numbers.

**Reading**: a pair with n common items weighs n - 1. The variance of a rank correlation without
association is 1/(n - 1), with ties or without: it weighs by the inverse of its variance.
Where all judges score all items, as in the paper, the weights are equal and this is the plain
mean. Where they do not, a plain mean lets three common items, which are nearly noise, count as
much as a hundred. (The public code of word usage graphs, Garrafao/WUGs, weights by n there.)

Degenerate input: a pair with fewer than three common items, or of which one judge gave all
common items one score, has no correlation: it is left out and counted. Without any pair the
mean is NaN, never 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.agreement.rating_counts import Partners
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.numerics import bootstrap
from annot_pipeline.methods.numerics.distinct import renumbered_values
from annot_pipeline.methods.numerics.moments import means
from annot_pipeline.methods.numerics.ranks import FEWEST_ITEMS, PairRanks, ranks_within, runs
from annot_pipeline.methods.numerics.rounding import comparable, furthest
from annot_pipeline.methods.numerics.whole_numbers import WholeNumbers

JUDGE_PAIRS = 500
"""Pairs of judges whose ranks are added up at once: sums of many rounds stay in the cache."""


@dataclass(frozen=True)
class JudgedItems:
    """A row an item, criterion and judge, in that order, where two or more judges meet.

    Parameters
    ----------
    items, units, judges
        ``(n_rows,)`` codes of items; of item and criterion; of criterion and judge, as in another
        criterion a judge is another one.
    values
        ``(n_rows,)`` means of what the judge gave.
    n_judges
        Size of the range of criteria and judges.
    is_repeated, largest
        Whether a judge gave several scores to one item, and how far the furthest mean is from 0:
        of values with the noise of means, equal ones are told by both.
    """

    items: Codes
    units: Codes
    judges: Codes
    values: Floats
    n_judges: int
    is_repeated: bool
    largest: float

    @classmethod
    def from_scores(
        cls,
        items: Codes,
        judges: Codes,
        scores: Floats,
        criteria: Codes,
        *,
        n_items: int,
        n_judges: int,
        n_criteria: int,
    ) -> JudgedItems:
        """Put scores in long form together; parameters and errors as `mean_spearman` has them."""
        LabelCodes(items, judges, items, n_items, n_judges, n_items)
        if not items.shape == scores.shape == criteria.shape:
            raise ValueError("items, scores and criteria must be 1-d and of one length")
        if criteria.min(initial=0) < 0:
            raise ValueError(f"criteria holds {criteria.min()}, allowed are 0 and more")
        if not np.isfinite(scores).all():
            raise ValueError("scores must be finite")
        width = n_criteria * n_judges
        if max(n_items, width) * width >= 2**63:
            raise ValueError("too many codes: items and pairs of judges by criterion pass 2^63")
        keys, rows, n = np.unique(
            items * width + criteria * n_judges + judges, return_inverse=True, return_counts=True
        )
        values = means(rows, scores, n_groups=keys.size)
        is_repeated, largest = bool(n.max(initial=1) > 1), furthest(values)
        _, n_met = runs(keys // max(n_judges, 1))
        is_shared = np.repeat(n_met >= 2, n_met)
        keys, values = keys[is_shared], values[is_shared]
        return cls(
            keys // max(width, 1), keys // max(n_judges, 1), keys % max(width, 1), values, width,
            is_repeated, largest,
        )  # fmt: skip

    def partners(self) -> Partners:
        """Find the partners of the rows."""
        return Partners.from_rows(self.units, self.judges)


@dataclass(frozen=True)
class PairedScores:
    """Rows of judges with those of others of the same unit, ``(n_pairs_of_rows,)`` each.

    Parameters
    ----------
    pairs
        Codes of the two judges, as m n_judges + n.
    items
        Codes of items.
    first, second
        Values that both gave.
    """

    pairs: Codes
    items: Codes
    first: Floats
    second: Floats

    @classmethod
    def from_judged_items(cls, judged_items: JudgedItems, first: int, end: int) -> PairedScores:
        """Pair the judges from ``first`` to before ``end`` with those that follow them."""
        partners = judged_items.partners()
        some = (judged_items.judges >= first) & (judged_items.judges < end) & (partners.counts > 0)
        x, y = partners.pairs(np.flatnonzero(some))
        pairs = judged_items.judges[x] * judged_items.n_judges + judged_items.judges[y]
        return cls(pairs, judged_items.items[x], judged_items.values[x], judged_items.values[y])


@dataclass(frozen=True)
class CorrelationSums:
    """What pairs of some judges add to the mean of all.

    Parameters
    ----------
    weighed, weight
        Sums of correlations times their weights, and of weights.
    n_pairs, n_defined
        Pairs of judges with a common item, and those with a correlation.
    items, judges
        Distinct codes of those that have a part in it.
    """

    weighed: float
    weight: float
    n_pairs: int
    n_defined: int
    items: Codes
    judges: Codes

    @classmethod
    def from_blocks(
        cls, blocks: Sequence[PairedScores], *, n_judges: int, largest: float | None
    ) -> CorrelationSums:
        """Correlate pairs of judges.

        Parameters
        ----------
        blocks
            All rows of these pairs; items of no two blocks have one code.
        n_judges
            Size of the range of criteria and judges.
        largest
            As `JudgedItems` has it, of all blocks; None where no judge gave two scores to an item.
        """
        pairs, items, first, second = (
            np.concatenate([getattr(block, name) for block in blocks])
            for name in ("pairs", "items", "first", "second")
        )
        both = np.concatenate([first, second])
        places = renumbered_values(both if largest is None else comparable(both, largest=largest))
        codes, item = np.unique(items, return_inverse=True)
        order = np.argsort(pairs, kind="stable")
        x, y = np.split(places[1], 2)
        pair_block, n_listed = PairBlock.from_scores(
            pairs[order], item.reshape(-1)[order], x[order], y[order], codes.size, n_judges
        )
        total = np.zeros(2)
        if pair_block.n_pairs:
            total = pair_block.sums(np.ones((codes.size, 1), np.int16))[:, 0]
        return cls(
            float(total[0]), float(total[1]), n_listed, pair_block.n_pairs,
            codes[np.unique(pair_block.items)], np.unique(pair_block.judges),
        )  # fmt: skip


@dataclass(frozen=True)
class PairBlock:
    """Some pairs of judges that have a correlation, with the ranks of their common items.

    Parameters
    ----------
    parts
        Few pairs each, so that the sums of many rounds stay in the cache.
    items
        Codes of the common items.
    judges
        ``(2 n_pairs,)`` codes of criterion and judge.
    n_items
        Size of the code range.
    """

    parts: tuple[PairRanks, ...]
    items: Codes
    judges: Codes
    n_items: int

    @classmethod
    def from_scores(
        cls,
        pairs: Codes,
        items: Codes,
        x: Codes,
        y: Codes,
        n_items: int,
        n_judges: int,
        *,
        pairs_at_once: int = JUDGE_PAIRS,
    ) -> tuple[PairBlock, int]:
        """Rank the common items of pairs of judges, by places of scores; rows stand by pair."""
        _, n = runs(pairs)
        n_listed = n.size
        enough = np.repeat(n >= FEWEST_ITEMS, n)
        pairs, items = pairs[enough], items[enough]
        ranks = [ranks_within(pairs, scores[enough]) for scores in (x, y)]
        vary = np.logical_and(
            *(_any_within_runs(pair_ranks != 0, pairs) for pair_ranks in ranks)
        )  # equal ranks are their mean
        pairs, items = pairs[vary], items[vary]
        first, second = (pair_ranks[vary] for pair_ranks in ranks)
        starts, n = runs(pairs)
        bounds = np.append(starts, items.size)
        parts = []
        for at in range(0, n.size, pairs_at_once):
            ends = bounds[at : at + pairs_at_once + 1]
            rows = slice(ends[0], ends[-1])
            parts.append(
                PairRanks.from_ranks(
                    items[rows], first[rows], second[rows], ends - ends[0], n_items
                )
            )
        judges = np.concatenate(np.divmod(pairs[starts], max(n_judges, 1)))
        return cls(tuple(parts), items, judges, n_items), n_listed

    @property
    def n_pairs(self) -> int:
        """Return pairs of judges that have a correlation."""
        return self.judges.size // 2

    @property
    def floats_per_round(self) -> int:
        """Work arrays of one resample."""
        return 2 * self.n_items + 12 * self.n_pairs

    def sums(self, weights: bootstrap.Counts) -> Floats:
        """Sum weighted correlations and weights over pairs, ``(2, n_rounds)``."""
        times = WholeNumbers.from_array(weights)
        whether = WholeNumbers.from_array(np.minimum(weights, 1))
        weighed = [part.weighed(times, whether) for part in self.parts]
        sums: Floats = np.concatenate(weighed, axis=1).sum(axis=1)
        return sums


def _any_within_runs(flags: npt.NDArray[np.bool_], pairs: Codes) -> npt.NDArray[np.bool_]:
    """Return whether any row of its run of equal ``pairs`` is flagged, ``(n_rows,)``."""
    starts, n = runs(pairs)
    return np.repeat(np.logical_or.reduceat(flags, starts), n) if starts.size else flags


MOST_PAIR_WORK = 4_000_000_000
"""Common items of pairs by rounds, beyond which there is no interval: it would take minutes."""

COMMON_ITEMS = 2_000_000
"""Common items of pairs held at once, some 150 bytes each; every block reads the resamples anew."""


@dataclass(frozen=True)
class JudgeCorrelation:
    """Mean rank correlation over pairs of judges.

    Parameters
    ----------
    value, ci_low, ci_high
        As in `Estimate`, of rounds centred on the value; NaN where undefined.
    n_items, n_judges
        Items and judges of the pairs that have a correlation.
    n_pairs
        Pairs of judges with a common item; one in each criterion.
    n_undefined_pairs
        Those of them that have no correlation and are left out.
    mean_common
        Mean number of items that a pair with a correlation has in common.
    """

    value: float
    ci_low: float
    ci_high: float
    n_items: int
    n_judges: int
    n_pairs: int
    n_undefined_pairs: int
    mean_common: float = 0.0


def mean_spearman(
    items: npt.ArrayLike,
    judges: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    criteria: npt.ArrayLike | None = None,
    n_items: int,
    n_judges: int,
    rounds: int,
    rng: bootstrap.Rng,
    most_pair_work: int = MOST_PAIR_WORK,
    common_at_once: int = COMMON_ITEMS,
    pairs_at_once: int = JUDGE_PAIRS,
) -> JudgeCorrelation:
    """Measure how alike judges rank items.

    A judge's score of an item is the mean of all that the judge gave it. Ties have average ranks,
    among the items that both judges of a pair scored.

    A round of the bootstrap draws items that two or more judges scored. Ranks are held as in the
    full data, so a round is the weighted Pearson correlation of each pair's ranks. (Ranked anew,
    an item drawn twice is a tie, and that alone takes .01 to .03 off a correlation.) In a round,
    too, a pair needs three different items, and weighs the number of its items drawn - 1. With few
    common items the mean of the rounds lies beside the value all the same, and in a large campaign
    the interval would miss it: the rounds are moved to have the value as their mean. (Where pairs
    share five items, the interval is a third too wide.) If most rounds have no pair with a
    correlation, there is no interval.

    Memory is proportional to the judgments. Time is 150 to 500 ns for each common item of a pair of
    judges, and 2 to 40 ns for each in each round, more if pairs share a handful of a million
    items. An item scored by r judges is common to r (r - 1)/2 pairs.

    Parameters
    ----------
    items, judges
        ``(n_judgments,)`` codes from 0.
    scores
        ``(n_judgments,)`` points of the scale.
    criteria
        ``(n_judgments,)`` codes from 0; None for one. A pair of judges has a correlation in each
        criterion, and an item is drawn with all its criteria.
    n_items, n_judges
        Sizes of the code ranges; unused codes change nothing.
    rounds, rng
        Bootstrap rounds, 0 for no interval; generator or seed.
    most_pair_work
        Common items of pairs by rounds, beyond which there is no interval.
    common_at_once
        Common items of pairs held at once, unless one judge has more.
    pairs_at_once
        Pairs of judges whose ranks are added up at once.

    Raises
    ------
    ValueError
        Arrays of different lengths, codes outside their ranges, scores that are not finite,
        negative rounds.
    """
    scored = _Scored.from_arrays(items, judges, scores, criteria, n_items, n_judges)
    partners = Partners.from_rows(scored.units, scored.judges)
    affordable = int(partners.counts.sum()) * rounds <= most_pair_work
    resamples = bootstrap.ItemResamples.draw(scored.n_items, rounds if affordable else 0, rng)
    sums = np.zeros((2, 1 + (resamples.rounds if resamples.n_items else 0)))
    used_items, used_judges = np.zeros(scored.n_items, np.bool_), np.zeros(n_judges, np.bool_)
    n_pairs = n_defined = 0
    for rows in _blocks(scored, partners, common_at_once):
        block, n_listed = _pair_block(scored, partners, rows, pairs_at_once)
        n_pairs, n_defined = n_pairs + n_listed, n_defined + block.n_pairs
        if block.n_pairs:
            sums += bootstrap.replicate_counts(
                block.sums, resamples, floats_per_round=block.floats_per_round
            )
            used_items[block.items] = True
            used_judges[block.judges % n_judges] = True
    with np.errstate(invalid="ignore"):
        mean = bootstrap.Estimate.from_replicates(_centred(sums[0] / sums[1]))
    return JudgeCorrelation(
        mean.value,
        mean.ci_low,
        mean.ci_high,
        int(used_items.sum()),
        int(used_judges.sum()),
        n_pairs,
        n_pairs - n_defined,
        float(sums[1, 0]) / n_defined + 1 if n_defined else 0.0,
    )


def _centred(replicates: Floats) -> Floats:
    """Shift the rounds of replicates so that their mean is the value, which comes first.

    Without rounds if most are undefined: of three common items they are all one number.
    """
    value, rounds = replicates[:1], replicates[1:]
    is_defined = ~np.isnan(rounds)
    if 2 * is_defined.sum() < rounds.size:
        return value
    centre = rounds[is_defined].mean() if is_defined.any() else 0.0
    return np.concatenate([value, np.clip(rounds - centre + value, -1, 1)])


@dataclass(frozen=True)
class _Scored:
    """A row an item, criterion and judge, in that order, where two or more judges meet.

    Parameters
    ----------
    items
        ``(n_rows,)`` codes of the items that are left.
    units
        ``(n_rows,)`` codes of item and criterion.
    judges
        ``(n_rows,)`` codes of criterion and judge: in another criterion a judge is another one.
    places
        ``(n_rows,)`` places of the scores in the order of all of them.
    n_items, n_judges
        Sizes of the code ranges.
    """

    items: Codes
    units: Codes
    judges: Codes
    places: Codes
    n_items: int
    n_judges: int

    @classmethod
    def from_arrays(
        cls,
        items: npt.ArrayLike,
        judges: npt.ArrayLike,
        scores: npt.ArrayLike,
        criteria: npt.ArrayLike | None,
        n_items: int,
        n_judges: int,
    ) -> _Scored:
        items, judges = np.asarray(items, np.int64), np.asarray(judges, np.int64)
        criteria = np.zeros_like(items) if criteria is None else np.asarray(criteria, np.int64)
        judged_items = JudgedItems.from_scores(
            items, judges, np.asarray(scores, np.float64), criteria,
            n_items=n_items, n_judges=n_judges, n_criteria=int(criteria.max(initial=0)) + 1,
        )  # fmt: skip
        distinct_items, renumbered = np.unique(judged_items.items, return_inverse=True)
        values = (
            comparable(judged_items.values, largest=judged_items.largest)
            if judged_items.is_repeated
            else judged_items.values
        )
        places = renumbered_values(values)[1]
        return cls(
            renumbered,
            judged_items.units,
            judged_items.judges,
            places,
            distinct_items.size,
            judged_items.n_judges,
        )


def _blocks(scored: _Scored, partners: Partners, common_at_once: int) -> Iterator[Codes]:
    """Yield rows that have partners, in blocks of whole judges: no pair of judges is in two."""
    rows = np.flatnonzero(partners.counts)
    rows = rows[np.argsort(scored.judges[rows], kind="stable")]
    if not rows.size:
        return
    counts = partners.counts[rows]
    changes, _ = runs(scored.judges[rows])
    before = np.cumsum(counts)[changes] - counts[changes]
    starts = changes[runs(before // common_at_once)[0]]
    for start, stop in pairwise(np.append(starts, rows.size)):
        yield rows[start:stop]


def _pair_block(
    scored: _Scored, partners: Partners, rows: Codes, pairs_at_once: int
) -> tuple[PairBlock, int]:
    """Pair the rows with their partners; and the number of pairs, left out or not."""
    first, second = partners.pairs(rows)
    pairs = scored.judges[first] * scored.n_judges + scored.judges[second]
    order = np.argsort(pairs, kind="stable")
    first, second = first[order], second[order]
    return PairBlock.from_scores(
        pairs[order], scored.items[first], scored.places[first], scored.places[second],
        scored.n_items, scored.n_judges, pairs_at_once=pairs_at_once,
    )  # fmt: skip
