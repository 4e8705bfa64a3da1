"""Scores of pairs of judges on the items of both, and what they add to a mean correlation.

As `mean_spearman` says it. Pairs may meet in several blocks of items: a pair is ranked when all of
its items are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.agreement.rating_pairs import Partners
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.numerics.bootstrap import Counts
from annot_pipeline.methods.numerics.distinct import renumbered_values
from annot_pipeline.methods.numerics.moments import means
from annot_pipeline.methods.numerics.pair_ranks import FEWEST_ITEMS, PairRanks, ranks_within, runs
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
        x, y = paired(np.flatnonzero(some), partners)
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


def paired(rows: Codes, partners: Partners) -> tuple[Codes, Codes]:
    """Return rows, and each of their partners."""
    counts = partners.counts[rows]
    begin = partners.starts[rows] - (np.cumsum(counts) - counts)
    first = np.repeat(rows, counts)
    return first, np.arange(first.size) + np.repeat(begin, counts)


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

    def sums(self, weights: Counts) -> Floats:
        """Sum weighted correlations and weights over pairs, ``(2, n_rounds)``."""
        times, whether = (
            WholeNumbers.from_array(weights),
            WholeNumbers.from_array(np.minimum(weights, 1)),
        )
        weighed = [part.weighed(times, whether) for part in self.parts]
        sums: Floats = np.concatenate(weighed, axis=1).sum(axis=1)
        return sums


def _any_within_runs(flags: npt.NDArray[np.bool_], pairs: Codes) -> npt.NDArray[np.bool_]:
    """Return whether any row of its run of equal ``pairs`` is flagged, ``(n_rows,)``."""
    starts, n = runs(pairs)
    return np.repeat(np.logical_or.reduceat(flags, starts), n) if starts.size else flags
