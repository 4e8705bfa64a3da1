"""What went wrong, where, what is allowed, what to do: errors that a user can act on."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

SHOWN_VALUES = 5
PLURAL_NOUN = re.compile(r"\b([^\W\d]+[^\Ws])s\b")
BLANKS = "\u00a0\u2007\u2009\u202f\u3000"
"""Blanks of several languages: not printable to Python, harmless to a terminal."""
JOINERS = "\u200c\u200d"
"""Letters of Persian and Hindi need them, and so do flags and families among the emoji."""
KEPT = BLANKS + JOINERS


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong.

    Parameters
    ----------
    where
        ``file:row``, ``table.column`` or a dotted path into campaign.yaml.
    what
        What was found.
    allowed, do
        What would have been right, and the next step to take; empty if there is none to name.
    values
        Offending values; messages show the first five and the count.
    revealed
        The same problem with names that may be those of judges (columns of an export), for
        whoever looks at exports with `annot validate`; no message of a build holds it.
    """

    where: str
    what: str
    allowed: str = ""
    do: str = ""
    values: tuple[str, ...] = ()
    revealed: Problem | None = None

    def document(self) -> dict[str, object]:
        """Return the problem as JSON says it."""
        return {name: value for name, value in vars(self).items() if name != "revealed"}

    def __str__(self) -> str:
        lines = [f"{self.where}: {self.what}" if self.where else self.what]
        values = first_of(list(map(shorten, self.values)))
        if values not in self.what:
            lines.append(f"  found:   {values}")
        if self.allowed:
            lines.append(f"  allowed: {self.allowed}")
        if self.do:
            lines.append(f"  do:      {self.do}")
        return relative_paths("\n".join(map(printable, lines)))


class AnnotError(Exception):
    """Base of every error that is meant for the user; ``exit_status`` is the command's.

    Parameters
    ----------
    title
        What could not be done.
    problems
        Why, one by one.
    may_pass
        It may be over in a minute: a file that is still being written, a disk that is away.
        Unattended builds try again.
    """

    exit_status = 1

    def __init__(
        self, title: str, problems: Sequence[Problem] = (), *, may_pass: bool = False
    ) -> None:
        self.title = title
        self.problems = tuple(problems)
        self.may_pass = may_pass
        super().__init__(title)

    def document(self) -> dict[str, object]:
        """Return the JSON document."""
        return {"title": self.title, "problems": [problem.document() for problem in self.problems]}

    def reveal(self) -> None:
        """Show names of columns, for a person who may see the exports."""
        self.problems = tuple(problem.revealed or problem for problem in self.problems)

    def __str__(self) -> str:
        blocks = [str(problem).replace("\n", "\n  ") for problem in self.problems]
        return "\n".join([relative_paths(printable(self.title)), *(f"  {b}" for b in blocks)])


class ConfigError(AnnotError):
    """Wrong usage or configuration; nothing was read or written for it."""

    exit_status = 2


class InputError(AnnotError):
    """An export that cannot be read as a whole; the previous release stands."""


class GateError(AnnotError):
    """A gate failed; nothing was published, the previous release stands.

    Parameters
    ----------
    title, problems
        As of every error.
    checks
        How all gates went that were looked at, as the manifest holds them.
    """

    def __init__(
        self, title: str, problems: Sequence[Problem], checks: Sequence[dict[str, object]]
    ) -> None:
        super().__init__(title, problems)
        self.checks = tuple(checks)

    def document(self) -> dict[str, object]:
        """Return the JSON document."""
        return super().document() | {"checks": list(self.checks)}


class StoreError(AnnotError):
    """Working state or a release that cannot be read or written."""


class EngineError(AnnotError):
    """The engine that was asked for does not run; nothing was published."""


def printable(text: object) -> str:
    """Return the text from exports as a terminal may show it: one line, no control characters."""
    whole = str(text)
    if whole.isprintable():
        return whole
    return "".join(c if c.isprintable() or c in KEPT else "\ufffd" for c in whole)


def relative_paths(text: str) -> str:
    """Return a message with paths below the working directory relative to it.

    Messages are read, and their commands typed, where the process runs; logs that leave the
    machine do not say how its folders are named.
    """
    try:
        folder = os.getcwd()
    except OSError:  # somebody removed it
        return text
    if folder == os.sep:
        return text
    below = rf"(?<![\w./-]){re.escape(folder)}(?:(/)|(?![\w-]|\.\w))"
    return re.sub(below, lambda path: "" if path[1] else ".", text)


class Passing(str):
    """A message of progress that the next one replaces on a terminal."""

    __slots__ = ()


class Step(Passing):
    """A passing message that says which of the steps of a build runs."""

    __slots__ = ()


def first_of(texts: Sequence[str], most: int = SHOWN_VALUES, between: str = ", ") -> str:
    """Return the first few of many, and how many more there are."""
    more = len(texts) - most
    return between.join(texts[:most]) + (f" and {more:,} more" if more > 0 else "")


def counted_kind(n: int, kind: str) -> str:
    """Return a number and what it counts, a plural: 1 comment line, 2 comment lines."""
    return f"{n:,} " + (PLURAL_NOUN.sub(r"\1", kind, count=1) if n == 1 else kind)


def counted(n: int, noun: str) -> str:
    """Return a number and what it counts: 1 file, 2 files."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


def row_and_line(row: int, line: int | None) -> str:
    """Return a row number of an export for people, with the line number where the file has lines.

    The header is no row: row 333 of a csv file starts on line 334 or later.
    """
    return f"row {row:,}" if line is None else f"row {row:,} (line {line:,})"


def shorten(text: object, limit: int = 60) -> str:
    """Return a value as it may stand in a message: quoted, on one line, never megabytes."""
    line = repr(text if isinstance(text, str) else str(text))
    return line if len(line) <= limit else f"{line[: limit - 1]}… ({len(str(text))} characters)"
