"""Intraclass correlations: how far scores of one judge, or means of k, tell items apart.

Where every judge scored every item once, from mean squares with intervals by F (McGraw & Wong 1996,
tables 4 and 7; Shrout & Fleiss 1979): ICC(1) takes judges to differ from item to item, ICC(2,1) and
ICC(k) take the same judges for all items, and count their levels as error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Floats
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.numerics.moments import Additive
from annot_pipeline.methods.rankings.score_block import ScoreBlock

TAIL = 0.975


@dataclass(frozen=True)
class Statistic:
    """A value with its 95% interval, NaN where there is none, and the reason of what is missing."""

    value: float
    low: float = np.nan
    high: float = np.nan
    reason: str | None = None


@dataclass(frozen=True)
class Intraclass:
    """Statistics of crossed scores, and the sizes of the design.

    Parameters
    ----------
    icc_1, icc_2_1, icc_k
        Of one score by any judge, one score by one of these judges, and the mean of ``n_judges``.
    n_items, n_judges
        Of the design.
    """

    icc_1: Statistic
    icc_2_1: Statistic
    icc_k: Statistic
    n_items: int
    n_judges: int


@dataclass(frozen=True)
class ItemSums(Additive):
    """Sums over items, which are the outputs of systems for segments.

    Parameters
    ----------
    n_items, n, repeated
        Items, scores, and scores beyond the first of a judge for an item.
    squares, item_squares
        Sums of squares of scores, and of items' sums divided by their numbers of scores.
    judge_sums, judge_counts
        ``(n_judges,)``.
    inverse
        Sum of 1 / scores of an item.
    """

    n_items: int
    n: int
    repeated: int
    squares: float
    item_squares: float
    judge_sums: Floats
    judge_counts: Floats
    inverse: float

    @property
    def per_item(self) -> float:
        """Return the harmonic mean of the number of scores an item."""
        return self.n_items / self.inverse if self.n_items else np.nan

    @property
    def is_crossed(self) -> bool:
        """Return whether every judge scored every item once."""
        n_judges = int(np.count_nonzero(self.judge_counts))
        return not self.repeated and self.n == self.n_items * n_judges


def item_sums(block: ScoreBlock, center: float) -> ItemSums:
    """Return the sums of a block; ``center``: about the mean score, so that squares are small."""
    item = block.segments * block.n_systems + block.systems
    _, codes, n_of_item = np.unique(item, return_inverse=True, return_counts=True)
    y = block.scores - center
    of_item = np.bincount(codes.reshape(-1), y, n_of_item.size)
    cells = np.unique(item * block.n_judges + block.judges).size
    return ItemSums(
        n_of_item.size, y.size, y.size - cells, float(y @ y),
        float((of_item**2 / np.maximum(n_of_item, 1)).sum()), block.by_judge(y),
        np.bincount(block.judges, minlength=block.n_judges).astype(np.float64),
        float((1 / n_of_item).sum()),
    )  # fmt: skip


def intraclass(blocks: Blocks[ScoreBlock], center: float) -> tuple[ItemSums, Intraclass | None]:
    """Return the sums, and correlations where every judge scored every item once.

    Parameters
    ----------
    blocks
        Scores of one task.
    center
        About the mean score.
    """
    sums = blocks.sum(item_sums, center)
    n, k = sums.n_items, int(np.count_nonzero(sums.judge_counts))
    if not sums.is_crossed or n < 2 or k < 2:
        return sums, None
    level = float(sums.judge_sums.sum()) ** 2 / sums.n
    of_items = sums.item_squares - level
    of_judges = float((sums.judge_sums**2).sum()) / n - level
    rest = max(sums.squares - level - of_items - of_judges, 0.0)
    rows, columns = of_items / (n - 1), of_judges / (k - 1)
    error = rest / ((n - 1) * (k - 1))
    within = (of_judges + rest) / (n * (k - 1))
    if sums.squares - level <= 0:
        return sums, None
    return sums, Intraclass(
        _one_way(rows, within, n, k), _two_way(rows, columns, error, n, k, single=True),
        _two_way(rows, columns, error, n, k, single=False), n, k,
    )  # fmt: skip


def _one_way(rows: float, within: float, n: int, k: int) -> Statistic:
    value = (rows - within) / (rows + (k - 1) * within)
    if within <= 0:
        return Statistic(value)
    ratio = rows / within
    low = ratio / _quantile(n - 1, n * (k - 1))
    high = ratio * _quantile(n * (k - 1), n - 1)
    return Statistic(value, (low - 1) / (low + k - 1), (high - 1) / (high + k - 1))


def _two_way(
    rows: float, columns: float, error: float, n: int, k: int, *, single: bool
) -> Statistic:
    """Return ICC(2,1), or ICC(k) of the mean; the interval is by Satterthwaite's freedom."""
    width = k if single else 1
    value = (rows - error) / (rows + (width - 1) * error + width / n * (columns - error))
    if value >= 1 or columns + error <= 0:
        return Statistic(value)
    a = width * value / (n * (1 - value))
    b = 1 + width * value * (n - 1) / (n * (1 - value))
    parts = (a * columns) ** 2 / (k - 1) + (b * error) ** 2 / ((n - 1) * (k - 1))
    freedom = (a * columns + b * error) ** 2 / parts
    below, above = _quantile(n - 1, freedom), _quantile(freedom, n - 1)
    spread = k * columns + (k * n - k - n) * error if single else columns - error
    low = n * (rows - below * error) / (below * spread + n * rows)
    high = n * (above * rows - error) / (spread + n * above * rows)
    return Statistic(value, low, high)


def _quantile(first: float, second: float) -> float:
    from scipy.special import fdtri

    return float(fdtri(first, second, TAIL))
