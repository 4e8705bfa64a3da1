"""Sums over scalar judgments by judge: what z-scores, and figures of judges, are made of.

What does not belong here: the sums themselves
(methods.numerics.moments), the tables (standardize_scores).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.config import Standardize
from annot_pipeline.contracts import TEXT
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
from annot_pipeline.runtime.indexing import index, index_pairs, is_in
from annot_pipeline.stages.scores.orient_scores import OrientedScores, orient_scores

ORDINARY = ("none", "ask_again")
MEANS = {
    "mean_ordinary": ORDINARY,
    "mean_good_reference": ("good_reference",),
    "mean_bad_reference": ("bad_reference",),
}
"""Means of a judge's scores, by the controls that they are of."""
COUNTS = "counts"
"""What is measured of the scores by which z-scores are made."""


@dataclass(frozen=True)
class Judges:
    """Judges of tasks, in the order of the names of tasks and judges; ``(n_judges,)`` each.

    Parameters
    ----------
    tasks, judges, public
        Names of their tasks, their own, and those that they are published by.
    """

    tasks: Sequence[str]
    judges: Sequence[str]
    public: Sequence[str]

    @classmethod
    def from_rows(cls, rows: pa.Table) -> Judges:
        """Return the judges of judgments, which have ``task``, ``judge``, ``judge_id``."""
        task, judge = index(rows["task"]), index(rows["judge"])
        pairs = index_pairs(task.codes, judge.codes)
        first = np.unique(pairs.codes, return_index=True)[1]
        return cls(
            [task.names[code] for code in pairs.first],
            [judge.names[code] for code in pairs.second],
            rows["judge_id"].cast(TEXT).take(pa.array(first)).to_pylist(),
        )

    @classmethod
    def joined(cls, parts: Sequence[Judges]) -> Judges:
        """Return the judges of several blocks, each once."""
        public_names = {
            (task, judge): public
            for part in parts
            for task, judge, public in zip(part.tasks, part.judges, part.public, strict=True)
        }
        in_order = sorted(public_names)
        return cls(
            [task for task, _ in in_order],
            [judge for _, judge in in_order],
            [public_names[name] for name in in_order],
        )

    def codes(self, rows: pa.Table) -> Codes:
        """Return the code of the judge of each judgment, ``(n_rows,)``; all are known."""
        task, judge = index(rows["task"]), index(rows["judge"])
        pairs = index_pairs(task.codes, judge.codes)
        position = {name: n for n, name in enumerate(zip(self.tasks, self.judges, strict=True))}
        places = [
            position[task.names[t], judge.names[j]]
            for t, j in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
        ]
        return np.array(places, np.int64)[pairs.codes]


@dataclass(frozen=True)
class ScoreBlock:
    """Scalar judgments that count, of all items or of some: what sums over judges are made of.

    Parameters
    ----------
    rows
        The judgments.
    judges
        ``(n_rows,)`` codes of their judges.
    n_judges
        Of all items.
    oriented
        Scores turned so that more is better.
    """

    rows: pa.Table
    judges: Codes
    n_judges: int
    oriented: OrientedScores

    @classmethod
    def from_rows(cls, rows: pa.Table, tasks: pa.Table, judges: Judges) -> ScoreBlock:
        """Return the block of judgments that take part (`takes_part`)."""
        return cls(rows, judges.codes(rows), len(judges.judges), orient_scores(rows, tasks))

    def measured(self, settings: Standardize) -> dict[str, tuple[Codes, Floats]]:
        """Return judges and values of what is averaged by judge."""
        score = self.oriented.score
        at_end = (score == self.oriented.low) | (score == self.oriented.high)
        selected = {name: _is(self.rows, *controls) for name, controls in MEANS.items()}
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


def n_of_judges(block: ScoreBlock) -> Codes:
    """Return ``(n_judges,)`` judgments of each judge."""
    return np.bincount(block.judges, minlength=block.n_judges)


def kept_of_judges(block: ScoreBlock) -> Codes:
    """Return ``(n_judges,)`` judgments of each judge that judge control has left."""
    is_kept = pc.invert(is_in(block.rows["fate"], ("judge_failed",))).to_numpy()
    return np.bincount(block.judges[is_kept], minlength=block.n_judges)


@dataclass(frozen=True)
class JudgeMoments:
    """Sums over all items, by judge; see `ScoreBlock`."""

    extents: Mapping[str, Extent]
    firsts: Mapping[str, FirstSums]
    squares: GridSums

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


def judge_moments(blocks: Blocks[ScoreBlock], settings: Standardize) -> JudgeMoments:
    """Return the moments of judges over blocks of items."""
    extents = blocks.sum(ScoreBlock.extents, settings)
    firsts = blocks.sum(ScoreBlock.first_sums, settings, extents)
    squares = blocks.sum(ScoreBlock.squares, settings, extents, firsts)
    return JudgeMoments(extents, firsts, squares)


def _is(rows: pa.Table, *controls: str) -> npt.NDArray[np.bool_]:
    is_control = is_in(rows["control"], controls)
    return np.asarray(is_control.to_numpy(), np.bool_)
