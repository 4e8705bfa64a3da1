"""The bookkeeping of planned HITs, and what every platform gives back of them.

`annot hits` writes it beside the texts, platforms give it back as it was, and so results are
read without a mapping and whatever became of the texts. What comes back was in other hands:
everything is checked here, and what is wrong becomes the reason why a row is rejected.

The platforms have a module each (`hits_from_mturk`, `hits_from_label_studio`,
`hits_from_json_lines`); what the answers are answers to is the bookkeeping's business
(`hit_bookkeeping`); records are made of both in `hits`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from annot_pipeline.contracts import CONTROLS, PREFERENCES
from annot_pipeline.contracts.answer_text import Number
from annot_pipeline.errors import InputError, shorten
from annot_pipeline.exports.json_lines import parse_json
from annot_pipeline.exports.raw_rows import Export, Opening

NAME = "annot_hit"
VERSION = "1"
"""Of the object; raised when it says other things than before."""

ANSWERS = {"score": "score", "compare": "preference", "label": "label"}
"""What can be asked, and the field that the answer is; forms name their answers after it."""

PLANNED_CONTROLS = tuple(c for c in CONTROLS if c not in ("known_answer", "adjudication"))
MOST_ANSWERS = 10_000
"""Of one HIT: a damaged line of bookkeeping must not become a million records."""


HIT_ID = re.compile("[0-9a-f]{16}")
T = TypeVar("T")


class DamagedError(ValueError):
    """Bookkeeping that cannot be relied on; the text is the reason."""


@dataclass(frozen=True)
class Slot:
    """What one slot of a HIT shows; of a comparison, ``item`` first and ``item_b`` second.

    ``selection_probability`` is that of the item, or pair, in a sample for estimates;
    ``control_of`` names the sample of an audit.
    """

    item: str
    segment: str | None = None
    system: str | None = None
    item_b: str | None = None
    system_b: str | None = None
    control: str = "none"
    control_of: str | None = None
    selection_probability: float | None = None

    def __post_init__(self) -> None:
        if not self.item.strip() or (self.item_b is not None and not self.item_b.strip()):
            raise DamagedError("a slot without an item")
        if self.item == self.item_b:
            raise DamagedError(f"a slot that compares {shorten(self.item)} with itself")
        if self.control not in PLANNED_CONTROLS:
            raise DamagedError(f"unknown control {shorten(self.control)}")
        if self.selection_probability is not None and not 0 < self.selection_probability <= 1:
            raise DamagedError(f"no probability: {self.selection_probability:g}")


SLOT_KEYS = tuple(field.name for field in fields(Slot))


@dataclass(frozen=True)
class Hit:
    """A planned HIT.

    Parameters
    ----------
    task, hit
        The task's name, and the HIT's own id (16 hex digits).
    scale
        Lowest and highest score; None unless scores are asked.
    criteria
        What is scored of every item; empty where one answer is all.
    slots
        In the order in which they are shown.
    ask
        ``score``, ``compare`` (which of two outputs is better) or ``label``.
    labels
        Of which one is chosen, in the order in which they are shown; empty unless they are asked.

    Raises
    ------
    DamagedError
        Something that no plan says.
    """

    task: str
    hit: str
    scale: tuple[float, float] | None
    criteria: tuple[str, ...]
    slots: tuple[Slot, ...]
    ask: str = "score"
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.task.strip():
            raise DamagedError("no task")
        if not HIT_ID.fullmatch(self.hit):
            raise DamagedError(f"a HIT's id is 16 hex digits, not {shorten(self.hit)}")
        if self.ask not in ANSWERS:
            raise DamagedError(f"judges cannot be asked to {shorten(self.ask)}")
        self._check_scale()
        self._check_labels()
        if not self.slots:
            raise DamagedError("no slot")
        if len(self.slots) * max(len(self.criteria), 1) > MOST_ANSWERS:
            raise DamagedError(f"more than {MOST_ANSWERS:,} answers")
        for slot in self.slots:
            if (slot.item_b is None) == (self.ask == "compare"):
                raise DamagedError("two items are for slots that compare, which need two")
            if slot.item_b is not None and slot.control != "none":
                raise DamagedError(f"a comparison cannot be a control: {slot.control}")
            if slot.item_b is None and slot.system_b is not None:
                raise DamagedError("a second system without an item")

    def _check_scale(self) -> None:
        if (self.scale is None) == (self.ask == "score"):
            raise DamagedError("a scale is for scores, which need one")
        if self.criteria and self.ask != "score":
            raise DamagedError("criteria are for scores")
        low, high = self.scale or (0.0, 1.0)
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise DamagedError(f"no scale from {low:g} to {high:g}")
        if len({*self.criteria}) < len(self.criteria) or not all(map(str.strip, self.criteria)):
            raise DamagedError("a criterion is blank or listed twice")

    def _check_labels(self) -> None:
        if (len(self.labels) < 2) if self.ask == "label" else self.labels:
            raise DamagedError("labels are for HITs that ask for one, which need two or more")
        if len({*self.labels}) < len(self.labels) or not all(map(str.strip, self.labels)):
            raise DamagedError("a label is blank or listed twice")

    @cached_property
    def answers(self) -> tuple[tuple[int, int | None], ...]:
        """Return what is asked, in order: the slot's number, and the criterion's; both from 1."""
        places: list[int | None] = [*range(1, len(self.criteria) + 1)] or [None]
        return tuple(
            (slot, position) for slot in range(1, len(self.slots) + 1) for position in places
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the name of each answer on a form: ``score_SLOT``, ``score_SLOT_CRITERION``,
        ``preference_SLOT`` or ``label_SLOT``.
        """
        return tuple(answer_name(slot, position, self.ask) for slot, position in self.answers)

    @property
    def choices(self) -> tuple[str, ...]:
        """Return what can be chosen; empty where a number is asked."""
        return PREFERENCES if self.ask == "compare" else self.labels

    def document(self) -> dict[str, Any]:
        """Return the JSON document, without what is null or no control."""
        question_fields: dict[str, Any] = {"ask": self.ask}
        if self.scale is not None:
            question_fields = {
                "scale": [*map(plain_number, self.scale)],
                "criteria": [*self.criteria],
            }
        elif self.labels:
            question_fields["labels"] = [*self.labels]
        return {
            "annot": int(VERSION),
            "task": self.task,
            "hit": self.hit,
            **question_fields,
            "slots": [
                {
                    name: value
                    for name in SLOT_KEYS
                    if (value := getattr(slot, name)) is not None
                    and (name, value) != ("control", "none")
                }
                for slot in self.slots
            ],
        }


def answer_name(slot: int, criterion: int | None = None, ask: str = "score") -> str:
    """Return what the answer of a slot (for a criterion) is called on a form."""
    name = f"{ANSWERS[ask]}_{slot}"
    return name if criterion is None else f"{name}_{criterion}"


def plain_number(number: float) -> int | float:
    """Return a number as people write it: 100, not 100.0."""
    return int(number) if float(number).is_integer() else number


def parse_hit(text: str | None) -> Hit:
    """Return the HIT that some bookkeeping says.

    Raises
    ------
    DamagedError
        With what is wrong: the reason why a row is rejected.
    """
    if text is None or not text.strip():
        raise DamagedError(f"{NAME} is blank")
    try:
        return _hit(_parsed(text))
    except DamagedError as error:
        raise DamagedError(f"{NAME} is damaged: {error}") from None


def _parsed(text: str) -> Mapping[str, Any]:
    try:
        parsed = parse_json(text)
    except ValueError as error:
        raise DamagedError(f"not JSON ({error})") from None
    if not isinstance(parsed, dict):
        raise DamagedError("not a JSON object")
    return parsed


def _hit(document: Mapping[str, Any]) -> Hit:
    version = _required(document, "annot", Number).written
    if version != VERSION:
        raise DamagedError(f"its version is {shorten(version)}, supported is {VERSION}")
    ask = _required(document, "ask", str) if "ask" in document else "score"
    keys = {"score": ("scale", "criteria"), "label": ("labels",)}.get(ask, ())
    _check_keys(document, ("annot", "task", "hit", "ask", *keys, "slots"))
    return Hit(
        _required(document, "task", str),
        _required(document, "hit", str),
        _scale(document) if ask == "score" else None,
        tuple(_list(document, "criteria", str)) if ask == "score" else (),
        tuple(map(_slot, _list(document, "slots", dict))),
        ask,
        tuple(_list(document, "labels", str)) if ask == "label" else (),
    )


def _scale(document: Mapping[str, Any]) -> tuple[float, float]:
    scale = _list(document, "scale", Number)
    if len(scale) != 2:
        raise DamagedError("scale is not [lowest, highest]")
    return float(scale[0].written), float(scale[1].written)


def _slot(document: Mapping[str, Any]) -> Slot:
    _check_keys(document, SLOT_KEYS)
    texts = (name for name in document if name not in ("item", "selection_probability"))
    optional: dict[str, Any] = {name: _required(document, name, str) for name in texts}
    if (probability := "selection_probability") in document:
        optional[probability] = float(_required(document, probability, Number).written)
    return Slot(_required(document, "item", str), **optional)


def _check_keys(document: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    """Refuse unknown keys: the bookkeeping was edited, and other values may be wrong too."""
    unknown = [key for key in document if key not in allowed]
    if unknown:
        raise DamagedError(f"unknown key {shorten(unknown[0])}")


def _required(document: Mapping[str, Any], key: str, type_: type[T]) -> T:
    value = document.get(key)
    if not isinstance(value, type_):
        kind = "is missing" if key not in document else "has the wrong type"
        raise DamagedError(f"{key} {kind}")
    return value


def _list(document: Mapping[str, Any], key: str, type_: type[T]) -> list[T]:
    values = _required(document, key, list)
    if not all(isinstance(value, type_) for value in values):
        raise DamagedError(f"{key} contains a value of the wrong type")
    return values


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
