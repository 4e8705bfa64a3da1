"""What a gate is, and how one went."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from annot_pipeline.config import Threshold
from annot_pipeline.contracts import share_text
from annot_pipeline.contracts.stage_metrics import StageMetrics
from annot_pipeline.errors import printable

LINE = 100
RELEASE = "release"
"""In the place of a stage: the gate looks at what is about to be published."""
M = TypeVar("M", bound=StageMetrics)
Level = Literal["pass", "warn", "error"]
PLURAL = re.compile(r"\b(\w+?)(ies|(?<=ss)es|(?<!s)s)\b")
"""A plural noun: entries, classes, tasks."""
NEWEST = "the newest release"
"""In texts of gates: the release that a build is compared with. A result names its version."""
RELATIVE = re.compile(" (?:that|who) ")
"""The pronoun of a relative clause: without it, the clause says the share: 5% failed."""


INTEGRITY = frozenset({"accounting", "lineage_rows", "nothing_used", "published_names"})
"""Gates on the release itself: nobody can accept that rows are lost or people are named."""


@dataclass(frozen=True)
class Decision:
    """What a person decided about a release: who, when, and why.

    Parameters
    ----------
    by, at, because
        Who, when, and why.
    accepted
        Gates that failed, and were accepted.
    restored
        Version of the release whose content it has; empty: its own.
    dropped
        Exports that the release before had and this content has not: names by published digest.
    forgets_person
        Whether it was published to leave a person out, whom nobody names.
    """

    by: str
    at: str
    because: str
    accepted: tuple[str, ...] = ()
    restored: str = ""
    dropped: Mapping[str, str] = field(default_factory=dict)
    forgets_person: bool = False

    def __str__(self) -> str:
        what = f"accepted {', '.join(self.accepted)}" if self.accepted else "published a candidate"
        what = f"restored {self.restored}" if self.restored else what
        what = "forgot a person" if self.forgets_person else what
        return f"{what}, by {self.by}: {self.because}"

    def document(self) -> dict[str, Any]:
        """Return the document that the manifest holds."""
        return asdict(self) | {"accepted": list(self.accepted)}


def standing_decision(manifest: Mapping[str, Any] | None) -> Decision | None:
    """Return the decision that published a release though gates failed; None if there is none."""
    document = (manifest or {}).get("decision") or {}
    return Decision(**document) if document.get("accepted") else None


@dataclass(frozen=True)
class Finding:
    """Represents what a gate measured: the figure, and the details behind it.

    Parameters
    ----------
    value
        The figure.
    detail
        What stands behind it.
    unchecked
        Why the figure, or a part of it, could not be found; empty if it was.
    serious
        The part of the figure that is held against the error level; None: all of it.
    """

    value: float
    detail: str = ""
    unchecked: str = ""
    serious: float | None = None


class Levels(NamedTuple):
    """Holds the levels of a gate (None: never), and its minimum (None: any number)."""

    warn: float | None
    error: float | None
    minimum: int | None


@dataclass(frozen=True)
class Gate(Generic[M]):
    """Represents a gate, which checks one figure of a build.

    Parameters
    ----------
    name
        As in ``gates`` of campaign.yaml.
    metrics, table
        Metrics of the stage that it looks at; table that the check is shown on.
    question
        What the figure is; ``{minimum}`` stands for the minimum.
    do
        What to do when it fails.
    measure
        Returns the figure.
    measure_from
        The same for a gate that has a minimum.
    warn, error
        Default levels; None: never.
    minimum
        By default, how many items, judges or judgments the figure takes; None: no matter.
    """

    name: str
    metrics: type[M]
    table: str
    question: str
    do: str
    measure: Callable[[M], Finding] | None = None
    measure_from: Callable[[M, int], Finding] | None = None
    warn: float | None = None
    error: float | None = None
    minimum: int | None = None

    def __post_init__(self) -> None:
        if (self.measure is None) == (self.measure_from is None):
            raise ValueError(f"gate {self.name} needs either measure or measure_from")
        if (self.minimum is None) != (self.measure_from is None):
            raise ValueError(f"gate {self.name}: minimum and measure_from go together")

    def levels(self, threshold: Threshold | None) -> Levels:
        """Return the levels of a campaign, with defaults for those that it does not set."""
        threshold = threshold or Threshold()
        warn, error = (
            getattr(threshold if name in threshold.model_fields_set else self, name)
            for name in ("warn", "error")
        )
        return Levels(warn, error, threshold.minimum or self.minimum)

    def asks(self, levels: Levels) -> str:
        """Return what the figure is, with the minimum that it takes."""
        return self.question.replace("{minimum}", f"{levels.minimum}")

    @property
    def stage(self) -> str:
        """Return the name of the stage; empty if any stage that makes the table."""
        return self.metrics.stage

    def find(self, metrics: M, levels: Levels) -> Finding:
        """Return the figure; where the gate itself fails, that it could not be checked."""
        try:
            if self.measure is not None:
                return self.measure(metrics)
            if self.measure_from is not None and levels.minimum is not None:
                return self.measure_from(metrics, levels.minimum)
            raise ValueError("levels without a minimum")
        except Exception as error:  # a defect of a gate stops the release, and names the gate
            return Finding(0.0, unchecked=f"{type(error).__name__}: {printable(error)}")


@dataclass(frozen=True)
class GateResult:
    """Represents the result of a gate; `document` is what the manifest holds.

    What could not be checked (``unchecked``) is no verdict on the data, and counts as an error.
    """

    name: str
    stage: str
    table: str
    level: Level
    value: float
    warn: float | None
    error: float | None
    question: str
    detail: str
    do: str
    unchecked: str = ""

    def document(self) -> dict[str, Any]:
        """Return the document that the manifest holds."""
        return asdict(self)

    @property
    def is_acceptable(self) -> bool:
        """Return whether a person may accept a failure: not where the release itself is wrong."""
        return not (self.unchecked or self.name in INTEGRITY or self.name.startswith("contract_"))

    def decided(self, decision: Decision | None) -> GateResult:
        """Return the result; an accepted failure is a warning that says who accepts it and why."""
        if decision is None:
            return self
        do = without_diff(self.do) if decision.forgets_person else self.do
        is_open = self.level == "error" and self.is_acceptable
        if not is_open or self.name not in decision.accepted:
            return replace(self, do=do)
        text = f"accepted by {decision.by}: {decision.because}"
        detail = f"{text}; {self.detail}" if self.detail else text
        return replace(self, level="warn", detail=detail, do=do)

    @property
    def headline(self) -> str:
        """Return the figure and its limit, without details."""
        if self.unchecked:
            return f"{self.name}: could not be checked: {self.unchecked}"
        limit = self.error if self.level == "error" else self.warn
        text = f"{self.name}: {statement(self.value, self.question)}"
        if limit is not None and self.level != "pass":
            text += f" (allowed: {figure(limit, self.question)})"
        return text

    @property
    def short(self) -> str:
        """Return the figure and its limit in one line, with the first detail."""
        detail = f"{self.detail[:LINE]}…" if len(self.detail) > LINE else self.detail
        return self.headline + (f"; {detail}" if detail else "")

    def __str__(self) -> str:
        return self.headline + (f"; {self.detail}" if self.detail else "")


def without_diff(do: str) -> str:
    """Return advice without comparing with the release before, where that is gone."""
    return "; ".join(part for part in do.split("; ") if "annot diff" not in part)


def statement(value: float, question: str) -> str:
    """Return what a gate measured as a phrase, which starts with the number or share."""
    text = figure(value, question)
    kind, _, things = question.partition(" of ")
    if kind == "share":
        return f"{text} of {RELATIVE.sub(' ', things, count=1)}"
    if kind == "number":
        return f"{text} {_singular(things) if value == 1 else things}"
    return f"{question}: {text}"


def _singular(things: str) -> str:
    """Return a phrase with its first plural noun in the singular."""
    return PLURAL.sub(lambda m: m[1] + "y" * (m[2] == "ies"), things, count=1)


def figure(value: float, question: str) -> str:
    """Return a measured or allowed figure as people read it."""
    if question.startswith("share"):
        return share_text(value, 2)
    return f"{value:,.0f}" if value == int(value) else f"{value:.3f}"
