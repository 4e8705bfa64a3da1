"""Scores of the systems of one task, as ranking methods take them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.additive import Additive
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.rankings.adjusted_scores import connected_systems
from annot_pipeline.methods.rankings.score_block import ScoreBlock
from annot_pipeline.stages.scores.segment_scores import TaskCells


@dataclass(frozen=True)
class ScoreCounts(Additive):
    """Counts of scores of judges kept.

    Parameters
    ----------
    judgments, segments
        ``(K,)`` of each system.
    segments_of_judge
        ``(n_judges,)``.
    """

    judgments: Floats
    segments: Floats
    segments_of_judge: Floats

    @property
    def by_system(self) -> tuple[Codes, Codes]:
        """Return segments and judgments of each system."""
        return self.segments.astype(np.int64), self.judgments.astype(np.int64)


@dataclass(frozen=True)
class TaskScores:
    """Scores of the systems of one task.

    Parameters
    ----------
    cells
        Segment scores by descriptive method.
    blocks
        Scores of judges kept, with the codes of systems that ``cells`` has.
    """

    cells: TaskCells
    blocks: Blocks[ScoreBlock]

    @property
    def names(self) -> list[str]:
        """Return the names of systems."""
        return self.cells.systems

    @cached_property
    def counts(self) -> ScoreCounts:
        """Return counts of scores of judges kept."""
        return self.blocks.sum(_counts)

    @cached_property
    def shares_documents(self) -> bool:
        """Return whether several segments are of one document."""
        return any(self.blocks.map(_shares_documents))

    @cached_property
    def connected(self) -> Codes:
        """Return components of systems that judges connect; -1 without judgments of judges kept."""
        pairs = np.concatenate(self.blocks.map(_judge_systems), axis=1)
        component = connected_systems(pairs[0], pairs[1], len(self.names))
        without = np.ones(component.size, np.bool_)
        without[pairs[1]] = False
        component = np.where(without, -1, component)
        return np.unique(np.append(component, -1), return_inverse=True)[1].reshape(-1)[:-1] - 1


def _counts(block: ScoreBlock) -> ScoreCounts:
    def nonzero(counts: Any) -> Floats:
        return np.bincount(counts.indices, minlength=counts.shape[1]).astype(np.float64)

    judgments = np.bincount(block.systems, minlength=block.n_systems).astype(np.float64)
    return ScoreCounts(judgments, nonzero(block.segment_systems), nonzero(block.segment_judges))


def _shares_documents(block: ScoreBlock) -> bool:
    return block.n_clusters < block.n_segments


def _judge_systems(block: ScoreBlock) -> Codes:
    """Return the distinct judges and systems of a block, ``(2, n)``."""
    codes = np.unique(block.judges * block.n_systems + block.systems)
    return np.stack(np.divmod(codes, max(block.n_systems, 1)))
