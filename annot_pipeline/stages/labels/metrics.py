"""Metrics of labels, by task."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from typing_extensions import TypedDict

from annot_pipeline.contracts.stage_metrics import StageMetrics


class Calibration(TypedDict):
    """How the calibration of a task was chosen, and how it does."""

    chosen_by: str
    is_left_overconfident: bool
    is_worse: bool
    other_class: int


class Adjudications(TypedDict):
    """Items that experts decided, those the model labels otherwise, decisions superseded."""

    decided: int
    overridden: int
    superseded: int


@dataclass(frozen=True)
class LabelMetrics(StageMetrics):
    """Metrics of ``infer_labels``.

    Parameters
    ----------
    items, judges, classes
        Of each task; classes by name, in their order.
    items_by_judgments
        Pairs: a number of judgments, and how many items have so many.
    iterations, converged
        Of the fit.
    not_fitted
        Numbers of judges and classes of a task that is labelled by votes.
    certain_share
        Share of the labels that are certain, by calibrated probability.
    judges_below_chance
        Judges who do worse than answering without looking.
    misnamed_classes
        Classes that no longer mean their name.
    decided_not_judged, decided_new_classes
        Items that experts decided and nobody judged; classes that only experts used.
    predictable_labels, chosen_together
        By which a later build knows a choice of calibration again.
    """

    stage: ClassVar[str] = "infer_labels"
    items: dict[str, int]
    judges: dict[str, int]
    classes: dict[str, list[str]]
    items_by_judgments: dict[str, list[list[int]]]
    iterations: dict[str, int]
    converged: dict[str, bool]
    not_fitted: dict[str, list[int]]
    certain_share: dict[str, float]
    calibrations: dict[str, Calibration]
    judges_below_chance: dict[str, list[str]]
    misnamed_classes: dict[str, list[str]]
    adjudications: dict[str, Adjudications]
    decided_not_judged: dict[str, list[str]]
    decided_new_classes: dict[str, list[str]]
    predictable_labels: dict[str, dict[str, int]] = field(default_factory=dict)
    chosen_together: dict[str, Any] | None = None


@dataclass(frozen=True)
class CalibrationMetrics(StageMetrics):
    """Metrics of ``check_calibration``.

    Parameters
    ----------
    wrong_certain_labels
        Tasks of whose certain labels more than 1% are wrong.
    truths_of_no_class
        Truths of items that are no class of their task.
    """

    stage: ClassVar[str] = "check_calibration"
    wrong_certain_labels: list[str]
    truths_of_no_class: dict[str, list[str]]
