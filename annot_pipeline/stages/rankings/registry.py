"""Ranking methods by what they rank, and the method to read of each.

A ranking method is a function that takes a task and `RankingContext` and returns `Ranked`. A new
one is a module, and its entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from annot_pipeline.stages.rankings.adjusted_rankings import adjusted_rankings
from annot_pipeline.stages.rankings.bradley_terry_ranking import bradley_terry_rankings
from annot_pipeline.stages.rankings.comparison_scores import (
    dominance_rankings,
    online_rankings,
    win_rankings,
)
from annot_pipeline.stages.rankings.length_ranking import length_rankings
from annot_pipeline.stages.rankings.mean_rankings import mean_rankings
from annot_pipeline.stages.rankings.ranking_rows import Ranked, RankingContext
from annot_pipeline.stages.rankings.system_comparisons import SystemComparisons
from annot_pipeline.stages.rankings.system_scores import SystemScores

T = TypeVar("T")


@dataclass(frozen=True)
class RankingMethods(Generic[T]):
    """Methods that rank the systems of tasks of one kind.

    Parameters
    ----------
    headline
        Name of the method to read.
    methods
        Functions that rank a task, each by one method or by several that share their work.
    """

    headline: str
    methods: Sequence[Callable[[T, RankingContext], Ranked]]

    def rank(self, task: T, context: RankingContext) -> Ranked:
        """Return the rankings by all methods, in the order of their names."""
        results = [method(task, context) for method in self.methods]
        rankings = [ranking for result in results for ranking in result.rankings]
        metrics = {name: value for result in results for name, value in result.metrics.items()}
        adjusted = next((one.adjusted for one in results if one.adjusted is not None), None)
        return Ranked(sorted(rankings, key=lambda one: one.method), metrics, adjusted)


BY_SCORES = RankingMethods[SystemScores]("adjusted", (adjusted_rankings, mean_rankings))
BY_COMPARISONS = RankingMethods[SystemComparisons](
    "bradley_terry",
    (
        bradley_terry_rankings,
        length_rankings,
        win_rankings,
        dominance_rankings,
        online_rankings,
    ),
)
RANKING_METHODS = {"scores": BY_SCORES, "comparisons": BY_COMPARISONS}
