"""What a gate is, and how one went."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from annot_pipeline.contracts import share_text

LINE = 100
Facts = Mapping[str, Any]
Level = Literal["pass", "warn", "error"]


@dataclass(frozen=True)
class Finding:
    """What a gate measured: the figure, and what stands behind it.

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


@dataclass(frozen=True)
class Gate:
    """One gate.

    Parameters
    ----------
    name
        As in ``gates`` of campaign.yaml.
    stage, table
        Stage whose facts it looks at; table that the check is shown on.
    question
        What the figure is.
    do
        What to do when it fails.
    measure
        The figure, from the stage's facts.
    warn, error
        Default levels; None: never.
    """

    name: str
    stage: str
    table: str
    question: str
    do: str
    measure: Callable[[Facts], Finding]
    warn: float | None = None
    error: float | None = None


@dataclass(frozen=True)
class GateResult:
    """How a gate went; `document` is what the manifest holds.

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
        """As the manifest holds it."""
        return asdict(self)

    @property
    def headline(self) -> str:
        """The figure and its limit, without what stands behind it."""
        if self.unchecked:
            return f"{self.name}: could not be checked: {self.unchecked}"
        limit = self.error if self.level == "error" else self.warn
        text = f"{self.name}: {self.question} is {figure(self.value, self.question)}"
        if limit is not None and self.level != "pass":
            text += f", allowed is {figure(limit, self.question)}"
        return text

    @property
    def short(self) -> str:
        """The same in a line or so, with the first of what stands behind it."""
        detail = f"{self.detail[:LINE]}…" if len(self.detail) > LINE else self.detail
        return self.headline + (f"; {detail}" if detail else "")

    def __str__(self) -> str:
        return self.headline + (f"; {self.detail}" if self.detail else "")


def figure(value: float, question: str) -> str:
    """What a gate measured, or allows, as people read it."""
    if question.startswith("share"):
        return share_text(value, 2)
    return f"{value:,.0f}" if value == int(value) else f"{value:.3f}"
