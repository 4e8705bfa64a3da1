"""Metrics of judge control."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from typing_extensions import TypedDict

from annot_pipeline.contracts.stage_metrics import StageMetrics


class PowerShortage(TypedDict):
    """Judges with ``n`` controls each whose test had too little power; None: too many needed."""

    judges: int
    n: int
    needed: int | None


class InconsistentJudge(TypedDict):
    """A judge who counts and agrees with the others no better than chance, over ``n`` items."""

    judge: str
    n: int
    correlation: float | None


@dataclass(frozen=True)
class VerdictMetrics:
    """Counts of verdicts, and of the controls that they rest on.

    Parameters
    ----------
    verdicts
        Judges by verdict.
    judges_in_control
        Judges with any verdict but ``untested``.
    judges_dropped
        Judges whose judgments do not count.
    judges_with_few_pairs
        Judges in control whose smaller sample is below 10.
    paired_controls, unpaired_controls
        Controls that the test pairs, and those among them without their ordinary judgment.
    unused_controls
        Known answers or degraded copies that the test does not use.
    test_without_controls
        The test that the campaign asks for and that could test no judge; None for the default
        test, which campaigns without controls have too.
    inconsistent_judges
        Judges of scores who count and agree with the others no better than chance.
    label_verdicts
        Judges of labels or preferences by verdict of the tests without known answers.
    careless_judges
        Judges who fail, or agree on labels no better than chance, by the test that finds them.
    suspected_judges, suspected_share
        Judges of labels of whom something is wrong while the data cannot tell who is right, and
        the share of items of which they gave half of the answers or more.
    suspicions
        Why, of the first of them.
    unlinked_judges, unlinked_share
        Judges of labels who share no item with the linked judges that gave most of the labels, and
        the share of items of which they gave half of the answers or more.
    failed_label_share
        Share of labels and preferences from judges who fail the tests without known answers.
    camps
        Suspected camps by the answers that they were searched in, for the next build.
    """

    verdicts: dict[str, int]
    judges_in_control: int
    judges_dropped: int
    verdicts_without_power: list[PowerShortage]
    judges_with_few_pairs: int
    paired_controls: int
    unpaired_controls: int
    unpaired_reasons: dict[str, int]
    known_answers: int
    known_answers_without_truth: int
    unused_controls: int
    test_without_controls: str | None
    inconsistent_judges: list[InconsistentJudge]
    label_verdicts: dict[str, int] = field(default_factory=dict, kw_only=True)
    careless_judges: dict[str, list[str]] = field(default_factory=dict, kw_only=True)
    suspected_judges: list[str] = field(default_factory=list, kw_only=True)
    suspected_share: float = field(default=0.0, kw_only=True)
    suspicions: list[str] = field(default_factory=list, kw_only=True)
    unlinked_judges: list[str] = field(default_factory=list, kw_only=True)
    unlinked_share: float = field(default=0.0, kw_only=True)
    failed_label_share: float = field(default=0.0, kw_only=True)
    camps: dict[str, dict[str, str]] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True)
class ControlMetrics(VerdictMetrics, StageMetrics):
    """Metrics of ``control_judges``: counts of its test, and the final fates of all records.

    Parameters
    ----------
    records, fates
        Number of records, in all and by fate.
    files
        Rows of `account_records.whole_account`, one per export.
    unaccounted
        Exports whose rows or records do not add up.
    """

    stage: ClassVar[str] = "control_judges"
    records: int
    fates: dict[str, int]
    files: list[dict[str, Any]]
    unaccounted: list[str]
