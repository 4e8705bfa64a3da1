"""Metrics of agreement, by task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from typing_extensions import TypedDict

from annot_pipeline.contracts.stage_metrics import StageMetrics


class ChanceAgreement(TypedDict):
    """A statistic of agreement that is not above chance."""

    statistic: str
    value: float
    n_items: int


@dataclass(frozen=True)
class AgreementMetrics(StageMetrics):
    """Metrics of ``measure_agreement``.

    Parameters
    ----------
    agreement_by_chance
        Of tasks whose agreement is not above chance.
    judge_pairs_left_out
        Pairs of judges with too few common items, by statistic.
    preferences
        Graphs of judges with contradictions, and pairs of judges left out.
    """

    stage: ClassVar[str] = "measure_agreement"
    agreement_by_chance: dict[str, ChanceAgreement]
    judge_pairs_left_out: dict[str, dict[str, int]]
    preferences: dict[str, dict[str, Any]]
