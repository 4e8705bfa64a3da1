"""What a reading says of the columns of an export, and the questions that cells leave open."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from annot_pipeline.init import names
from annot_pipeline.init.table import Column, Sheet

Roles = Mapping[str, tuple[str, ...]]
"""Role to the columns, or the word, that options or earlier answers say."""

MOST_QUESTIONS = 6
MOST_CHOICES = 8


@dataclass(frozen=True)
class Option:
    """An answer: the options that say it, and what speaks for it."""

    by_role: Roles
    why: str = ""

    def __str__(self) -> str:
        return written(self.by_role)


@dataclass(frozen=True)
class Question:
    """What is not known.

    Parameters
    ----------
    role
        The field that is open.
    text
        What is missing.
    options
        Answers, the likeliest first.
    ask
        The question.
    """

    role: str
    text: str
    options: Sequence[Option] = field(default_factory=tuple)
    ask: str = ""

    def __str__(self) -> str:
        return f"{self.text}. {self.ask}" if self.ask else self.text

    def document(self, command: str) -> dict[str, object]:
        """Return the question as JSON says it, with the command that gives each answer."""
        options = [
            {"option": str(option), "evidence": option.why, "command": f"{command} {option}"}
            for option in self.options
        ]
        return {"open": self.role, "question": str(self), "options": options}


def expression_of(columns: Sequence[str]) -> Any:
    """Return the expression of columns that an option names, or of =TEXT, which is a constant."""
    if columns[0].startswith("="):
        return {"value": columns[0][1:]}
    return {"join": [*columns], "sep": ":"} if len(columns) > 1 else columns[0]


class NoJudgmentsError(Exception):
    """Rows that cannot be read as judgments; the text says what is missing.

    Parameters
    ----------
    what
        What is missing.
    question
        The question whose answer would help, if there is one.
    """

    def __init__(self, what: str, question: Question | None = None) -> None:
        super().__init__(what)
        self.question = question


def written(by_role: Roles) -> str:
    """Return options as a shell takes them."""
    return " ".join(
        f"--{role.replace('_', '-')} {shlex.quote(','.join(values))}"
        for role, values in by_role.items()
    )


Line = tuple[str, Any, str]
"""Canonical field, expression, what it rests on."""

ORDER: list[str] = names.VOCABULARY["order"]
"""In which lines are written."""

ANSWERS = ("label", "score", "preference", "winner", "strength", "rank")


@dataclass
class Reading:
    """The fields of a source, and what is known of its tasks.

    Parameters
    ----------
    title
        What the export is taken for; empty where its columns alone say it.
    lines
        Field, expression and evidence.
    kind, scale, labels, repeats
        Of its tasks; labels with their counts.
    tasks
        Names of tasks; empty where no column says them.
    scored
        Tasks of scores beside others of labels, and their scales.
    columns
        The columns that hold the answers.
    each, where, abstain, failed_where, options, strength
        As the source has them.
    abstained, failed
        The words of ``abstain`` and the texts of ``failed`` that values suggest, with their counts.
    notes
        What people should know.
    questions
        What only people can say; empty where all is known.
    is_preset
        Whether a preset or the format says all, so that no trial can find it wrong.
    paths
        All columns, with the paths within JSON cells.
    weighed
        What may be judge, item and label, with score and signs (`readings.weighed`).
    """

    title: str = ""
    lines: list[Line] = field(default_factory=list)
    kind: str = "categorical"
    scale: tuple[float, float] | None = None
    labels: Mapping[str, int] = field(default_factory=dict)
    repeats: str | None = None
    tasks: list[str] = field(default_factory=list)
    scored: dict[str, tuple[float, float] | None] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    each: dict[str, Any] = field(default_factory=dict)
    where: list[dict[str, Any]] = field(default_factory=list)
    abstain: list[str] = field(default_factory=list)
    failed_where: list[dict[str, Any]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    strength: tuple[float, float] | None = None
    abstained: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    is_preset: bool = False
    paths: list[str] = field(default_factory=list)
    weighed: Mapping[str, Any] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Return whether a field is mapped."""
        return any(line[0] == name for line in self.lines)

    def expression(self, name: str) -> Any:
        """Return the expression of a field; None if it is not mapped."""
        return next((line[1] for line in self.lines if line[0] == name), None)

    def column(self, sheet: Sheet, name: str) -> Column | None:
        """Return the column that a field is, if it is one."""
        expression = self.expression(name)
        return next((sheet[n] for n in sheet.names if sheet[n].expression == expression), None)

    def with_lines(self, *lines: Line) -> Reading:
        """Return the same with some lines replaced or added, in the usual order."""
        fields = {line[0]: line for line in (*self.lines, *lines)}
        return replace(self, lines=sorted(fields.values(), key=lambda f: ORDER.index(f[0])))


@dataclass(frozen=True)
class Task:
    """A task, as ``tasks`` of campaign.yaml says it; without a name it is the campaign's.

    ``is_planned``: scale and criteria are those that HITs were planned with, no guess.
    """

    name: str | None
    kind: str
    scale: tuple[float, float] | None = None
    labels: Mapping[str, int] = field(default_factory=dict)
    criteria: tuple[str, ...] = ()
    is_planned: bool = False
    repeats: str | None = None
