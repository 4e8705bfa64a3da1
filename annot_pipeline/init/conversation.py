"""The conversation of `annot init` on a terminal: five rows, what is believed, what is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa

from annot_pipeline.errors import ConfigError, printable
from annot_pipeline.init import names
from annot_pipeline.init.campaign import OpenError
from annot_pipeline.init.questions import MOST_CHOICES, MOST_QUESTIONS, Question, Roles
from annot_pipeline.init.roles import shape_of

SHOWN_COLUMNS = 12
WIDTH = 18
LONGEST_NAME = 40
Say = Callable[[str], None]
Made = TypeVar("Made")
Ask = Callable[[str], str]


def converse(make: Callable[[Roles], Made], by_role: Roles, say: Say, ask: Ask) -> Made:
    """Return what is made of the answers to at most six questions.

    Parameters
    ----------
    make
        Writes campaign.yaml with what is known, or raises OpenError.
    by_role
        What options say.
    say, ask
        Print a line; print a prompt and return what was typed.

    Raises
    ------
    OpenError
        A question stays open: the terminal was closed, nothing was chosen, or too much is unknown.
    """
    roles: Roles = dict(by_role)
    answered, error, n_asked = roles, None, 0
    while True:
        try:
            return make(answered)
        except OpenError as open_error:
            roles, error = answered, open_error
            if n_asked == MOST_QUESTIONS or not error.questions or not error.questions[0].options:
                raise
            rows = error.preview if not n_asked else None
            for line in [] if rows is None else preview(rows):
                say(line)
            _show(error.questions[0], say)
            n_asked += 1
        except ConfigError as wrong:  # a column that is not there, or cells that contradict
            if error is None:
                raise
            say(printable("; ".join(p.what for p in wrong.problems)))
        more = _answer(error.questions[0], say, ask)
        if more is None:
            raise error
        answered = {**roles, **more}


def _show(question: Question, say: Say) -> None:
    say("")
    say(printable(str(question)))
    for number, option in enumerate(question.options[:MOST_CHOICES], start=1):
        why = f"  ({printable(option.why)})" if option.why else ""
        say(f"  {number}  {printable(str(option))}{why}")


def _answer(question: Question, say: Say, ask: Ask) -> Roles | None:
    """Return what a person answers; None if the question is left open."""
    options = question.options[:MOST_CHOICES]
    while True:
        try:
            typed = ask(f"1 to {len(options)}, a column's name, or nothing to stop: ").strip()
        except (EOFError, KeyboardInterrupt):
            say("")
            return None
        if not typed:
            return None
        if not typed.isdigit():
            return {question.role: tuple(part.strip() for part in typed.split(","))}
        if 1 <= int(typed) <= len(options):
            more = dict(options[int(typed) - 1].by_role)
            if more.get("judge") == ("=NAME",):
                name = ask("the judge's name: ").strip()
                more["judge"] = (f"={name or 'judge'}",)
            return more
        say(f"there is no answer {typed}")


def preview(table: pa.Table) -> list[str]:
    """Return some rows as they may be shown: cells that may be names of people by their shape."""
    columns = table.column_names[:SHOWN_COLUMNS]
    shown = [[_shown(name, cell) for cell in table.column(name).to_pylist()] for name in columns]
    lines = []
    for name, cells in zip(columns, shown, strict=True):
        lines.append(f"{printable(name)[:WIDTH]:<{WIDTH}} {' | '.join(cells)}"[:80])
    more = len(table.column_names) - len(columns)
    return [*lines, f"... and {more} more columns"] if more > 0 else lines


def _shown(name: str, cell: str | None) -> str:
    """Return a cell as it may be shown: numbers, answers and long texts; else only its shape.

    Short texts may be names of people, and nobody has said yet which column names them.
    """
    text = " ".join((cell or "").split())
    is_number = text.replace(".", "", 1).removeprefix("-").isdigit()
    is_shown = is_number or len(text) > LONGEST_NAME or "answer" in names.roles(name)
    return printable(text[:WIDTH] if is_shown else shape_of(text))
