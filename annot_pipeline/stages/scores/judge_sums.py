"""Sums over the scores of a task by judge: what z-scores, and figures of judges, are made of.

What does not belong here: the sums themselves
(methods.numerics.moments), the tables (standardize_scores).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.config import Standardize
from annot_pipeline.contracts import ORDINARY
from annot_pipeline.methods.numerics.additive import SumsByName
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.numerics.moments import (
    Extent,
    FirstSums,
    GridSums,
    Moments,
    moments_of,
    squares_about,
)
from annot_pipeline.runtime.coded_task import CodedTask
from annot_pipeline.stages.shared.orient_scores import OrientedScores, orient_scores

MEANS = {
    "mean_ordinary": ORDINARY,
    "mean_good_reference": ("good_reference",),
    "mean_bad_reference": ("bad_reference",),
}
"""Means of a judge's scores, by the controls that they are of."""
COUNTS = "counts"
"""What is measured of the scores by which z-scores are made."""


@dataclass(frozen=True)
class JudgeScores:
    """Scores that count of a task's items, or of some: what sums over judges are made of.

    Parameters
    ----------
    rows
        The judgments.
    judges
        ``(n_rows,)`` codes of their judges, of the whole task.
    n_judges
        Of the whole task.
    oriented
        Scores turned so that more is better.
    """

    rows: CodedTask
    judges: Codes
    n_judges: int
    oriented: OrientedScores

    @classmethod
    def from_rows(cls, rows: pa.Table, tasks: pa.Table, judges: Sequence[str]) -> JudgeScores:
        """Return the scores of judgments that count."""
        coded = CodedTask("", rows)
        codes = coded.codes_among("judge", judges)
        return cls(coded, codes, len(judges), orient_scores(rows, tasks))

    def measured(self, settings: Standardize) -> dict[str, tuple[Codes, Floats]]:
        """Return judges and values of what is averaged by judge."""
        score = self.oriented.score
        at_end = (score == self.oriented.low) | (score == self.oriented.high)
        selected = {name: self.rows.is_in("control", *controls) for name, controls in MEANS.items()}
        if settings.controls == "include":
            selected[COUNTS] = np.ones(score.size, np.bool_)
        else:
            selected[COUNTS] = selected["mean_ordinary"]
        return {name: (self.judges[some], score[some]) for name, some in selected.items()} | {
            "share_at_ends": (self.judges, at_end.astype(np.float64))
        }

    def extents(self, settings: Standardize) -> SumsByName[Extent]:
        """Return the extents of values, needed of all items before sums; by what is measured."""
        return SumsByName({
            name: Extent.from_values(*values, n_groups=self.n_judges)
            for name, values in self.measured(settings).items()
        })  # fmt: skip

    def first_sums(
        self, settings: Standardize, extents: Mapping[str, Extent]
    ) -> SumsByName[FirstSums]:
        """Return sums by judge; extents are of all items."""
        return SumsByName({
            name: FirstSums.from_values(*values, extents[name])
            for name, values in self.measured(settings).items()
        })  # fmt: skip

    def squares(
        self,
        settings: Standardize,
        extents: Mapping[str, Extent],
        firsts: Mapping[str, FirstSums],
    ) -> GridSums:
        """Return squared distances from judges' means, where `first_sums` lack them."""
        values = self.measured(settings)[COUNTS]
        return squares_about(*values, extents[COUNTS], firsts[COUNTS])

    def n_of_judges(self) -> Codes:
        """Return ``(2, n_judges)`` judgments of each judge, and those that judge control left."""
        is_kept = ~self.rows.is_in("fate", "judge_failed")
        return np.stack([
            np.bincount(judges, minlength=self.n_judges)
            for judges in (self.judges, self.judges[is_kept])
        ])  # fmt: skip


@dataclass(frozen=True)
class JudgeMoments:
    """Sums over all items, by judge; see `JudgeScores`."""

    extents: Mapping[str, Extent]
    firsts: Mapping[str, FirstSums]
    squares: GridSums

    @classmethod
    def from_blocks(cls, blocks: Blocks[JudgeScores], settings: Standardize) -> JudgeMoments:
        """Return the moments of judges over blocks of items."""
        extents = blocks.sum(JudgeScores.extents, settings)
        firsts = blocks.sum(JudgeScores.first_sums, settings, extents)
        return cls(extents, firsts, blocks.sum(JudgeScores.squares, settings, extents, firsts))

    @cached_property
    def counted(self) -> Moments:
        """Return number, mean and variance of the scores that z-scores use."""
        return moments_of(self.extents[COUNTS], self.firsts[COUNTS], self.squares)

    @property
    def sd(self) -> Floats:
        """Return the standard deviation of the counted scores."""
        return np.sqrt(self.counted.variance)

    def mean(self, name: str) -> Floats:
        """Return the mean of what is measured; NaN without values."""
        return self.firsts[name].means(self.extents[name])
