"""Screening of observers by Recommendation ITU-R BT.500.

Source: ITU-R BT.500-14 (2019), Annex 1, section A1-2.3.1 (BT.500-13: Annex 2, section 2.3.1). A
score is far where it lies two standard deviations or more from the mean of its item, or the square
root of 20 of them where the kurtosis of the item's scores is not between 2 and 4. An observer is
rejected with more than 5% of scores far, if they are on both sides: the numbers P above and Q below
have |P - Q| / (P + Q) < 0.3. (An observer who is far on one side has a bias, and stays.) It is done
once, never again with what is left.

The standard deviation has n - 1, the moments of the kurtosis n, as the recommendation prints them.
**Reading**: an item whose scores are all equal has no score that is far. An item with fewer than
six scores cannot have one: no score of n is more than (n - 1) / sqrt(n) standard deviations from
their mean. Such items do not count. (The package sureal has n for n - 1, and counts each score of
an item without variance as far on both sides.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.judges.leave_one_out import SharedScores
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.numerics.moments import Additive

FEWEST_SCORES = 6
"""Of an item, below which no score is two standard deviations from the mean."""
MOST_FAR = 0.05
MOST_ONE_SIDED = 0.3
NORMAL = (2.0, 4.0)
"""Kurtosis of an item's scores that are taken to be normal."""
_TOLERANCE = 1e-12


@dataclass(frozen=True)
class FarScores(Additive):
    """Counts by series, ``(n_series,)``: scores, and those far above and far below the mean."""

    n: Codes
    above: Codes
    below: Codes


@dataclass(frozen=True)
class Screening:
    """Result by judge; arrays are ``(n_judges,)``.

    Parameters
    ----------
    n, above, below
        Scores of items with six or more, and those far above and far below the mean.
    share
        Share of scores that are far; NaN without scores.
    rejected
        Whether BT.500 rejects the judge.
    """

    n: Codes
    above: Codes
    below: Codes
    share: Floats
    rejected: Flags


def bt500_screening(blocks: Blocks[SharedScores], judge: Codes, *, n_judges: int) -> Screening:
    """Screen judges.

    Parameters
    ----------
    blocks
        Scores in blocks of whole items.
    judge
        ``(n_series,)`` codes of judges.
    n_judges
        Size of their range.
    """
    counts = blocks.sum(far_scores)
    n, above, below = (
        np.bincount(judge, values, minlength=n_judges).astype(np.int64)
        for values in (counts.n, counts.above, counts.below)
    )
    far = above + below
    with np.errstate(invalid="ignore", divide="ignore"):
        share, one_sided = far / n, np.abs(above - below) / far
        rejected = (share > MOST_FAR) & (one_sided < MOST_ONE_SIDED)
    return Screening(n, above, below, share, rejected)


def far_scores(block: SharedScores) -> FarScores:
    """Count the scores of a block by series."""
    units, scores, n_units = block.units, block.scores, block.n_units
    n = np.bincount(units, minlength=n_units)
    mean = np.bincount(units, scores, n_units) / np.maximum(n, 1)
    away = scores - mean[units]
    second, fourth = (np.bincount(units, away**power, n_units) for power in (2, 4))
    high, low = np.full(n_units, -np.inf), np.full(n_units, np.inf)
    np.maximum.at(high, units, scores)
    np.minimum.at(low, units, scores)
    varies = high > low
    with np.errstate(invalid="ignore", divide="ignore"):
        kurtosis = np.where(varies, n * fourth / second**2, np.nan)
        sd = np.sqrt(second / (n - 1))
    is_normal = (NORMAL[0] <= kurtosis) & (kurtosis <= NORMAL[1])
    limit = np.where(is_normal, 2.0, np.sqrt(20.0)) * sd * (1 - _TOLERANCE)
    counts = n[units] >= FEWEST_SCORES

    def count(flags: Flags) -> Codes:
        return np.bincount(block.series[flags], minlength=block.n_series)

    far = counts & varies[units]
    return FarScores(
        count(counts), count(far & (away >= limit[units])), count(far & (away <= -limit[units]))
    )
