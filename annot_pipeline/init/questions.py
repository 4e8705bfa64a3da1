"""What the cells do not say: questions, each with ranked answers, options of `annot init`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

ColumnsByRole = Mapping[str, tuple[str, ...]]
"""Role to the columns, or the word, that options or earlier answers say."""

MOST_QUESTIONS = 6
MOST_CHOICES = 8


@dataclass(frozen=True)
class Option:
    """An answer: the options that say it, and what speaks for it."""

    by_role: ColumnsByRole
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


def written(by_role: ColumnsByRole) -> str:
    """Return options as a shell takes them."""
    return " ".join(
        f"--{role.replace('_', '-')} {shlex.quote(','.join(values))}"
        for role, values in by_role.items()
    )
