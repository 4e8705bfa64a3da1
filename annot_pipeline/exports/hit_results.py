"""What every platform gives back of planned HITs: rows, each what one judge handed in.

The platforms have a module each (`hits_from_mturk`, `hits_from_label_studio`,
`hits_from_json_lines`); what the answers are answers to is the bookkeeping's business
(`hit_bookkeeping`); records are made of both in `hits`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from annot_pipeline.errors import InputError, shorten
from annot_pipeline.exports.hit_bookkeeping import NAME, DamagedError, Hit
from annot_pipeline.exports.raw_rows import Export, Opening

NOT_ANSWERED = "the slot was not answered"

ANSWER = re.compile(r"score_[1-9]\d{0,4}(_[1-9]\d{0,4})?|(preference|label)_[1-9]\d{0,4}")
"""What forms call an answer."""

TEXT = re.compile(r"text_([1-9]\d{0,4})")


class Answer(NamedTuple):
    """The answer to one question of a HIT: where it stands, what it says, why it is none."""

    cell: str
    value: str | None
    problem: str | None = None


@dataclass(frozen=True)
class HandedIn:
    """A raw row: what one judge handed in for one HIT.

    Parameters
    ----------
    row
        Its number.
    bookkeeping
        ``annot_hit`` as it came back.
    shared
        Canonical fields that all its records have in common.
    own
        Columns of the file itself.
    answers
        The answers to a HIT's questions, in order; raises `DamagedError` where the row cannot
        be one of this HIT.
    cell, problem
        Where in the file, for formats that nest; why the whole row is rejected.
    """

    row: int
    bookkeeping: str | None
    shared: Mapping[str, str | None]
    own: Mapping[str, str | None]
    answers: Callable[[Hit], Sequence[Answer]]
    cell: str | None = None
    problem: str | None = None


@dataclass
class Results:
    """An opened file of results: its rows, its own columns, and the `Export` they come from."""

    rows: Iterator[HandedIn]
    columns: list[str]
    inner: Export


def filled(value: str | None) -> bool:
    """Return whether a cell holds more than blanks."""
    return bool(value and value.strip())


def by_name(values: Mapping[str, str], cell: Callable[[str], str], hit: Hit) -> list[Answer]:
    """Return the answers of a form by name (``score_3``); missing ones are blank.

    Forms give a label by its number, from 1: what a label says could be taken for markup.

    Raises
    ------
    DamagedError
        Something is answered that the HIT does not ask.
    """
    unasked = values.keys() - {*hit.names}
    if unasked:
        raise DamagedError(f"{cell(min(unasked))} is answered, but {NAME} has no such slot")
    return [_named(cell(name), values.get(name), hit) for name in hit.names]


def _named(cell: str, value: str | None, hit: Hit) -> Answer:
    if value is None or hit.ask != "label":
        return Answer(cell, value, NOT_ANSWERED if value is None else None)
    numbers = {str(n): label for n, label in enumerate(hit.labels, start=1)}
    if value.strip() not in numbers:
        return Answer(
            cell, None, f"label is not the number of a label of the HIT: {shorten(value)}"
        )
    return Answer(cell, numbers[value.strip()])


def check_texts(n_named: int, last_filled: int, hit: Hit) -> None:
    """Refuse results with more or fewer texts than slots.

    Parameters
    ----------
    n_named
        The last text that has a name; 0 where texts did not come back.
    last_filled
        The last one that is not blank: a text can be.

    Raises
    ------
    DamagedError
        The bookkeeping is that of another HIT.
    """
    n_slots = len(hit.slots)
    if n_named and (n_named < n_slots or last_filled > n_slots):
        raise other_slots(hit)


def other_slots(hit: Hit) -> DamagedError:
    """Return what to say where row and bookkeeping do not belong together."""
    n_slots = len(hit.slots)
    return DamagedError(f"{NAME} has another number of slots than there are texts: {n_slots:,}")


def no_hits(opening: Opening, format_: str, what: str) -> InputError:
    """Return what to say of a file that holds no HIT of `annot hits`."""
    return opening.broken(
        f"contains no HIT planned by annot hits: {what}",
        f"for other results write format: {format_} with fields, as annot init does",
    )
