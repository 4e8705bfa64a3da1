"""Metrics of the stages that compare and rank, by task."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NotRequired

from typing_extensions import TypedDict

from annot_pipeline.contracts.stage_metrics import AnsweredShares, StageMetrics


class SegmentGraphs(TypedDict):
    """Counts over the comparison graphs of a task's segments."""

    segments: int
    outputs: int
    components: int
    pairs: int
    segments_with_contradictions: int
    outputs_in_contradiction: int
    segments_in_parts: int


class SystemGraph(TypedDict):
    """The comparison graph of a task's systems, and how Bradley-Terry was fitted to it."""

    systems: int
    comparisons: int
    ties: int
    parts: int
    n_components: int
    components: list[list[str]]
    bradley_terry: NotRequired[dict[str, Any]]
    bradley_terry_length: NotRequired[dict[str, Any]]


class SystemScoring(TypedDict):
    """What limits the headline of a task with scores."""

    judges: NotRequired[int]
    pairs: NotRequired[int]
    tested: NotRequired[int]
    confirmed: NotRequired[int]
    too_few: NotRequired[int]
    judge_components: list[list[str]]
    judge_effects: NotRequired[str]


@dataclass(frozen=True)
class ComparisonMetrics(StageMetrics):
    """Metrics of ``break_into_comparisons``.

    Parameters
    ----------
    comparisons, ties
        Comparisons, and ties among them.
    without_comparisons
        Whether a pairwise or ranking task has none.
    ranked, left_out
        Ranked outputs, and those in no comparison.
    compared, unplaced
        Comparing judgments, and those without the segment or system that others have.
    repeated_outputs
        Outputs that stand twice in a ranking with different ranks.
    """

    stage: ClassVar[str] = "break_into_comparisons"
    comparisons: dict[str, int]
    ties: dict[str, int]
    without_comparisons: dict[str, bool]
    ranked: dict[str, int]
    left_out: dict[str, int]
    compared: dict[str, int]
    unplaced: dict[str, int]
    repeated_outputs: dict[str, list[str]]


@dataclass(frozen=True)
class SegmentRankMetrics(StageMetrics):
    """Metrics of ``rank_segments``.

    Parameters
    ----------
    segment_graphs
        Of tasks with comparisons.
    adequacy
        What the adequacy of outputs costs and changes (Pighin et al. 2012).
    adequacy_without_labels
        The task without labels that a task names for its adequacy.
    """

    stage: ClassVar[str] = "rank_segments"
    segment_graphs: dict[str, SegmentGraphs]
    adequacy: dict[str, dict[str, Any]]
    adequacy_without_labels: dict[str, str]


@dataclass(frozen=True)
class SystemRankMetrics(StageMetrics):
    """Metrics of ``rank_systems``.

    Parameters
    ----------
    systems_compared
        Of tasks with comparisons.
    systems_scored
        Of tasks with scores.
    judgments_of_systems
        Judgments by system, of the method that has most.
    not_strongly_connected
        Whether some systems never lose to others.
    judgments_without_system, comparisons_without_system, comparisons_of_one_system
        What is left out of rankings.
    alpha
        Level of tests.
    missing_answers
        Where systems differ most in their share of answers that count, of tasks that lack some.
    """

    stage: ClassVar[str] = "rank_systems"
    systems_compared: dict[str, SystemGraph]
    systems_scored: dict[str, SystemScoring]
    judgments_of_systems: dict[str, dict[str, int]]
    not_strongly_connected: dict[str, bool]
    judgments_without_system: dict[str, int]
    comparisons_without_system: dict[str, int]
    comparisons_of_one_system: dict[str, int]
    alpha: float
    missing_answers: dict[str, AnsweredShares] = field(default_factory=dict)


@dataclass(frozen=True)
class ContradictionMetrics(StageMetrics):
    """Metrics of ``describe_comparisons``.

    Parameters
    ----------
    in_contradiction
        Share of outputs in contradictions of single judges.
    comparison_times
        Rankings without a time or a source text.
    """

    stage: ClassVar[str] = "describe_comparisons"
    in_contradiction: dict[str, float]
    comparison_times: dict[str, dict[str, int]]
