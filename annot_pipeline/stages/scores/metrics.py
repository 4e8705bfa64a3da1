"""Metrics of the stages that standardise and score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from annot_pipeline.contracts.stage_metrics import StageMetrics


@dataclass(frozen=True)
class StandardizeMetrics(StageMetrics):
    """Metrics of ``standardize_scores``.

    Parameters
    ----------
    scalar_judgments
        Scalar judgments that were standardised.
    kept_judgments, kept_without_z
        Those of judges who were kept, and those among them without a z-score.
    judges_without_z
        Judges without z-scores of whom judgments are kept, with the reason.
    outlying_scores, farthest_scores
        How many scores decide means, in tasks of unknown scale, and the farthest of each task.
    """

    stage: ClassVar[str] = "standardize_scores"
    scalar_judgments: int
    kept_judgments: int
    kept_without_z: int
    judges_without_z: list[str]
    outlying_scores: int
    farthest_scores: list[str]


@dataclass(frozen=True)
class ItemScoreMetrics(StageMetrics):
    """Metrics of ``score_items``, by task.

    Parameters
    ----------
    items_scored
        Items with a score.
    items_by_judgments
        Pairs: a number of judgments, and how many items of no system have so many.
    """

    stage: ClassVar[str] = "score_items"
    items_scored: dict[str, int]
    items_by_judgments: dict[str, list[list[int]]]
