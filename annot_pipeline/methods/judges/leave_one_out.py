"""Scores of judges beside the mean that other judges gave the same items, in blocks of items.

What does not belong here: figures of judges (judge_figures), the test of their correlation
(consistency).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.judges.judge_correlations import JudgedItems
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.numerics.moments import (
    Extent,
    FirstSums,
    GridSums,
    Moments,
    SumsByName,
    moments_of,
    squares_about,
)
from annot_pipeline.methods.numerics.rounding import comparable

Measured = dict[str, tuple[Codes, Floats]]


@dataclass(frozen=True)
class SharedScores:
    """Holds one score per unit and series, of units that two or more judges scored; a block.

    A unit is an item and criterion. A series is all that one judge gave in one criterion of one
    task. All scores of a unit lie in one block.

    Parameters
    ----------
    units
        ``(n_scores,)`` codes of units from 0, of this block alone.
    series
        ``(n_scores,)`` codes of series, of all blocks.
    scores
        ``(n_scores,)`` points of the scale; means where a judge scored a unit several times.
    n_units, n_series
        Sizes of the code ranges.
    """

    units: Codes
    series: Codes
    scores: Floats
    n_units: int
    n_series: int

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
    ) -> SharedScores:
        """Return the block of scores in long form; a series is ``criterion * n_judges + judge``.

        Parameters
        ----------
        items, judges, criteria
            ``(n_judgments,)`` codes from 0; a judge of two tasks has two codes.
        scores
            ``(n_judgments,)`` points of the scale, more is better.
        n_items, n_judges, n_criteria
            Sizes of the code ranges.

        Raises
        ------
        ValueError
            Arrays of different lengths, codes outside their ranges, scores that are not finite.
        """
        judged = JudgedItems.from_scores(
            items, judges, scores, criteria,
            n_items=n_items, n_judges=n_judges, n_criteria=n_criteria,
        )  # fmt: skip
        distinct_units, units = np.unique(judged.units, return_inverse=True)
        values = comparable(judged.values) if judged.is_repeated else judged.values
        n_series = n_judges * n_criteria
        return cls(units.reshape(-1), judged.judges, values, distinct_units.size, n_series)

    def leave_one_out(self, reference: Flags, shift: Floats) -> LeaveOneOut:
        """Return each score beside the mean of the others of its unit.

        Parameters
        ----------
        reference
            ``(n_series,)`` whether a series counts in the mean of the others.
        shift
            ``(n_series,)`` points that are taken off each score first.
        """
        value = self.scores - shift[self.series]
        counts = reference[self.series]
        n = np.bincount(self.units[counts], minlength=self.n_units)
        total = np.bincount(self.units[counts], value[counts], minlength=self.n_units)
        n_others = n[self.units] - counts
        some = n_others > 0
        rest = total[self.units] - np.where(counts, value, 0.0)
        means = comparable(rest[some] / n_others[some])
        return LeaveOneOut(self.series[some], value[some], means, n_others[some])


@dataclass(frozen=True)
class LeaveOneOut:
    """Holds scores beside the mean of the others; arrays are ``(n_rows,)``.

    Parameters
    ----------
    series
        Codes of series.
    own, rest
        The score; the mean of the other scores of the unit.
    n_others
        How many others there are, at least one.
    """

    series: Codes
    own: Floats
    rest: Floats
    n_others: Codes

    def measured(self) -> Measured:
        """Return series and values of what is averaged by series."""
        return {
            "own": (self.series, self.own),
            "rest": (self.series, self.rest),
            "difference": (self.series, comparable(self.own - self.rest)),
            "inverse": (self.series, 1 / self.n_others),
        }


@dataclass(frozen=True)
class SharedMoments:
    """Holds moments by series, ``(n_series,)``, over the units that others scored too.

    Parameters
    ----------
    own, rest, difference
        Of the scores, of the means of the others, and of one less the other; points.
    inverse
        Mean of 1 / number of others; NaN without units.
    """

    own: Moments
    rest: Moments
    difference: Moments
    inverse: Floats


def shared_moments(blocks: Blocks[SharedScores], reference: Flags, shift: Floats) -> SharedMoments:
    """Return moments over all blocks; parameters as `SharedScores.leave_one_out` has them."""
    extents = blocks.sum(_extents, reference, shift)
    firsts = blocks.sum(_first_sums, reference, shift, extents)
    squares = blocks.sum(_squares, reference, shift, extents, firsts)

    def moments(name: str) -> Moments:
        return moments_of(extents[name], firsts[name], squares[name])

    return SharedMoments(
        moments("own"), moments("rest"), moments("difference"), moments("inverse").mean
    )


def rows_of_series(block: SharedScores, reference: Flags, is_selected: Flags) -> LeaveOneOut:
    """Return the rows of some series, ``(n_series,)``; as `SharedScores.leave_one_out`."""
    rows = block.leave_one_out(reference, np.zeros(reference.size))
    some = is_selected[rows.series]
    return LeaveOneOut(rows.series[some], rows.own[some], rows.rest[some], rows.n_others[some])


def noise_of_others(block: SharedScores, reference: Flags, variance: Floats) -> Floats:
    """Return the noise variance of the others' means, summed over units, ``(n_series,)``.

    ``variance`` is that of the noise of one score, ``(n_series,)``.
    """
    counts = reference[block.series]
    own = np.where(counts, variance[block.series], 0.0)
    n = np.bincount(block.units[counts], minlength=block.n_units)[block.units] - counts
    total = np.bincount(block.units, own, minlength=block.n_units)[block.units] - own
    some = n > 0
    noise = np.maximum(total[some], 0.0) / n[some] ** 2
    return np.bincount(block.series[some], noise, minlength=block.n_series).astype(np.float64)


def _extents(block: SharedScores, reference: Flags, shift: Floats) -> SumsByName[Extent]:
    measured = block.leave_one_out(reference, shift).measured()
    return SumsByName({
        name: Extent.from_values(*values, n_groups=block.n_series)
        for name, values in measured.items()
    })  # fmt: skip


def _first_sums(
    block: SharedScores, reference: Flags, shift: Floats, extents: Mapping[str, Extent]
) -> SumsByName[FirstSums]:
    measured = block.leave_one_out(reference, shift).measured()
    return SumsByName({
        name: FirstSums.from_values(*values, extents[name]) for name, values in measured.items()
    })  # fmt: skip


def _squares(
    block: SharedScores,
    reference: Flags,
    shift: Floats,
    extents: Mapping[str, Extent],
    firsts: Mapping[str, FirstSums],
) -> SumsByName[GridSums]:
    measured = block.leave_one_out(reference, shift).measured()
    return SumsByName({
        name: squares_about(*values, extents[name], firsts[name])
        for name, values in measured.items()
    })  # fmt: skip
