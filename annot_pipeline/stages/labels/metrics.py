"""Metrics of labels, by task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from typing_extensions import TypedDict

from annot_pipeline.contracts.stage_metrics import StageMetrics


class Certainty(TypedDict):
    """What the probabilities of a task rest on."""

    n_known: int
    is_recalibrated: bool
    known_items_differ: bool
    is_identified: bool
    votes_predict_better: bool
    other_label: int


class RelatedGroups(TypedDict):
    """Judges whose errors go together, by their public names, and whether they count as one."""

    groups: list[list[str]]
    are_used: bool


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
        Numbers of judges and classes of a task that is too large for the model.
    anonymous_votes
        Votes that come as counts, of judges whom nobody names, in the tasks that have such.
    certain_share
        Share of the labels that are certain.
    certainty
        Items whose class is known, whether they correct the probabilities, whether they are no
        sample of all, whether all labels of each item are of one family, whether votes predict
        held-out labels better, and items that Dawid-Skene labels otherwise.
    judges_below_chance
        Judges who do worse than answering without looking.
    misnamed_classes
        Classes that no longer mean their name under Dawid-Skene.
    related_judges
        Judges whose errors go together beyond the class.
    unsupported_labels
        Items whose label nobody gave.
    labels_against_the_plurality
        Items whose label is not one given most often, and all items.
    certificates
        What audits certify, of the tasks that have answers to one: ``certified``, the ``release``
        and the name of the ``sample``, ``certain_at``, the ``level`` that is certified, ``n``
        answers and ``errors`` of the level tested last, the ``bound`` of the share of wrong labels
        there, and the ``reason`` why nothing is certified.
    decided_not_judged, decided_new_classes
        Items that experts decided and nobody judged; classes that only experts used.
    """

    stage: ClassVar[str] = "infer_labels"
    items: dict[str, int]
    judges: dict[str, int]
    classes: dict[str, list[str]]
    items_by_judgments: dict[str, list[list[int]]]
    iterations: dict[str, int]
    converged: dict[str, bool]
    not_fitted: dict[str, list[int]]
    anonymous_votes: dict[str, int]
    certain_share: dict[str, float]
    certainty: dict[str, Certainty]
    judges_below_chance: dict[str, list[str]]
    misnamed_classes: dict[str, list[str]]
    related_judges: dict[str, RelatedGroups]
    unsupported_labels: dict[str, int]
    labels_against_the_plurality: dict[str, list[int]]
    certificates: dict[str, dict[str, Any]]
    adjudications: dict[str, Adjudications]
    decided_not_judged: dict[str, list[str]]
    decided_new_classes: dict[str, list[str]]


@dataclass(frozen=True)
class CalibrationMetrics(StageMetrics):
    """Metrics of ``check_calibration``.

    Parameters
    ----------
    wrong_certain_labels
        Tasks of whose certain labels more are wrong than certainty allows.
    truths_of_no_class
        Truths of items that are no class of their task.
    """

    stage: ClassVar[str] = "check_calibration"
    wrong_certain_labels: list[str]
    truths_of_no_class: dict[str, list[str]]
