"""Metrics of the next HITs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from annot_pipeline.contracts.stage_metrics import StageMetrics


@dataclass(frozen=True)
class PlanMetrics(StageMetrics):
    """Metrics of ``plan_hits``.

    Parameters
    ----------
    hits
        HITs that are planned, by task.
    unplanned
        Why a task gets none.
    done
        The tasks among them that need no more judgments.
    homeless
        Listed items of no task, where there are several tasks.
    notes
        What users should know of the plan.
    adequacy
        What questions of adequacy cost, by task.
    validation
        Samples for estimates from models: strata, and widths of intervals, by task.
    """

    stage: ClassVar[str] = "plan_hits"
    hits: dict[str, int]
    unplanned: dict[str, str]
    done: list[str]
    homeless: int
    notes: list[str]
    adequacy: dict[str, dict[str, Any]]
    validation: dict[str, dict[str, Any]] = field(default_factory=dict)
