"""Metrics of the stages that make and compare gold tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from typing_extensions import TypedDict

from annot_pipeline.contracts.stage_metrics import AnsweredShares, StageMetrics

Row = dict[str, Any]
"""A row of the query that is named as the metric is: sql/audit has its columns."""


class Change(TypedDict):
    """A change since the newest release, with its 95% interval."""

    name: str
    change: float
    low: float
    high: float
    items: int


@dataclass(frozen=True)
class JudgeMetrics(StageMetrics):
    """Metrics of ``describe_judges``.

    Parameters
    ----------
    alpha
        Level of its tests.
    missing_answers
        Where judges differ most in their share of answers that did not fail, of tasks where some
        failed.
    failed_judges
        Published names of judges who failed judge control, by test.
    removed_judges
        Judges whose judgments do not count, by the test that they failed, ``undetermined`` or
        ``suspected``.
    hurried_judges
        Judges who give more than half of their answers in less than a third of the typical time,
        those with the largest share first.
    narrow_judges
        Judges of scores on another, much smaller scale than the others'.
    """

    stage: ClassVar[str] = "describe_judges"
    alpha: float
    missing_answers: dict[str, AnsweredShares] = field(default_factory=dict)
    failed_judges: dict[str, list[str]] = field(default_factory=dict)
    removed_judges: dict[str, Row] = field(default_factory=dict)
    hurried_judges: list[Row] = field(default_factory=list)
    narrow_judges: list[Row] = field(default_factory=list)


@dataclass(frozen=True)
class ItemMetrics(StageMetrics):
    """Metrics of ``describe_items``.

    Parameters
    ----------
    repeated_items
        Those that exports or tables describe differently.
    uncounted_items
        Rows of ``audit/uncounted_items``: by task, items of which no judgment counts.
    """

    stage: ClassVar[str] = "describe_items"
    repeated_items: list[str]
    uncounted_items: list[Row]


@dataclass(frozen=True)
class CostMetrics(StageMetrics):
    """Metrics of ``add_up_costs``.

    Parameters
    ----------
    cost
        Rows of the table ``costs``.
    model_cost
        Rows of ``audit/model_cost``: what judgments of models cost.
    unread_rewards
        Different rewards that are no amount of money.
    """

    stage: ClassVar[str] = "add_up_costs"
    cost: list[Row]
    model_cost: list[Row]
    unread_rewards: list[str]


@dataclass(frozen=True)
class LineageMetrics(StageMetrics):
    """Metrics of ``trace_lineage``: records of all exports, and rows of lineage."""

    stage: ClassVar[str] = "trace_lineage"
    records: int
    lineage_rows: int


class DoubtfulItems(TypedDict):
    """Items of a task that are new, or judged by new or suspected people, and those they decide.

    They decide an item if those who are suspected, or new and unlike the others, gave half of its
    answers. ``unlike`` says how new people differ; None: nothing tells that they do.
    """

    task: str
    items: int
    decided: int
    unlike: str | None


@dataclass(frozen=True)
class ReleaseChangeMetrics(StageMetrics):
    """Metrics of ``compare_releases``.

    Parameters
    ----------
    released_version
        The newest release; None: there is none.
    judges_have_other_names
        Whether judges have other names than there.
    agreement_falls, prevalence_shifts
        Changes that their intervals do not explain, the largest first.
    new_classes
        Labels that judges use, and that are no classes of their task there.
    label_changes, judge_changes, vanished_judgments
        By task.
    corrected_judgments, vanished_by_export
        By task and changed export: ``judgments`` that it gave the release, too, and those corrected
        since; those that it gave the release, and that are in no export now.
    reinstated_judges
        Judges who failed there and pass by the same settings, with their numbers of judgments.
    model_versions
        Models that have another version, prompt or temperature.
    model_falls
        Falls of a model's agreement with people on new items, the largest first.
    shifted_exports
        What moved in an export beyond twice its interval, by kind, the largest first.
    one_sided_judges
        Tasks and judges whose preferences all are one answer, with their numbers.
    copied_answers
        By task and export with judges whose answers are another's.
    unlike_exports
        By how much new judgments of an export agree less than judgments of other items, as a share
        of the agreement of these, beyond twice its interval, the largest first.
    doubtful_items
        By task with people who are new or suspected.
    changed_audits
        Tasks of which answers to an audit are others than there, with their numbers.
    dropped_exports
        Exports that are read although the newest release, a rollback, dropped them.
    """

    stage: ClassVar[str] = "compare_releases"
    released_version: str | None
    judges_have_other_names: bool
    agreement_falls: list[Change]
    prevalence_shifts: list[Change]
    new_classes: list[Row]
    label_changes: list[Row]
    judge_changes: list[Row]
    vanished_judgments: list[Row]
    model_versions: list[Row]
    model_falls: list[Change]
    doubtful_items: list[DoubtfulItems]
    dropped_exports: list[str] = field(default_factory=list)
    corrected_judgments: list[Row] = field(default_factory=list)
    vanished_by_export: list[Row] = field(default_factory=list)
    shifted_exports: list[Row] = field(default_factory=list)
    copied_answers: list[Row] = field(default_factory=list)
    unlike_exports: list[Change] = field(default_factory=list)
    reinstated_judges: list[str] = field(default_factory=list)
    one_sided_judges: list[str] = field(default_factory=list)
    changed_audits: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ReleaseMetrics(StageMetrics):
    """What is measured of a release that is about to be published.

    Parameters
    ----------
    places
        Where raw names of judges stand.
    names, unchecked
        Number of such names, and of names that were not looked for.
    """

    stage: ClassVar[str] = "release"
    places: list[str]
    names: int
    unchecked: int
