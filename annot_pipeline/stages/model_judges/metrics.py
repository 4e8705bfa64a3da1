"""Metrics of model judges, by task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from annot_pipeline.contracts.stage_metrics import StageMetrics


@dataclass(frozen=True)
class ModelJudgeMetrics(StageMetrics):
    """Metrics of ``measure_model_judges``.

    Parameters
    ----------
    unvalidated
        Models that share no item with people, and none with a known answer.
    constant
        Models that give one answer to all items, of ten or more.
    biased_samples
        Why people's items are no random sample; tasks where they may be are left out.
    several_versions
        Models that judge with several versions, prompts or temperatures.
    model_labels
        Labels that models gave and no person did, in tasks that people judged.
    """

    stage: ClassVar[str] = "measure_model_judges"
    unvalidated: dict[str, list[str]]
    constant: dict[str, list[str]]
    biased_samples: dict[str, str]
    several_versions: dict[str, list[str]]
    model_labels: dict[str, list[str]]
