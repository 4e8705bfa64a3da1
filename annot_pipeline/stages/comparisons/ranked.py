"""What ranking methods of a task return, and what they are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from annot_pipeline.config import Campaign, Easl, Ranking
from annot_pipeline.methods.rankings.adjusted_scores import AdjustedScores
from annot_pipeline.stages.comparisons.ranking_rows import MOST_SYSTEMS, MethodRanking


@dataclass(frozen=True)
class RankingContext:
    """Settings that ranking methods may use.

    Parameters
    ----------
    ranking, easl
        Sections of the settings.
    seed
        Of draws; each task has its own stream.
    progress
        Is called with messages about the progress.
    most_systems
        Systems of a task up to which pairs are compared.
    """

    ranking: Ranking
    easl: Easl
    seed: int
    progress: Callable[[str], None] = lambda _: None
    most_systems: int = MOST_SYSTEMS

    @classmethod
    def from_settings(
        cls, settings: Campaign, progress: Callable[[str], None] = lambda _: None
    ) -> RankingContext:
        """Return the context of a campaign."""
        return cls(settings.ranking, settings.easl, settings.seed, progress)


@dataclass(frozen=True)
class Ranked:
    """Rankings of one task by one method, or by several that share their work.

    Parameters
    ----------
    rankings
        By method.
    metrics
        For gates, by name.
    adjusted
        Adjusted scores in points, of the method that makes them.
    """

    rankings: Sequence[MethodRanking]
    metrics: dict[str, Any] = field(default_factory=dict)
    adjusted: AdjustedScores | None = None
