"""The words in which people and models say which of two was better."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from annot_pipeline.errors import shorten
from annot_pipeline.guess import names
from annot_pipeline.guess.columns import Column
from annot_pipeline.guess.sides import SIDE_WORDS, X_AND_Y, Pair
from annot_pipeline.stages.ingest.read_records import NUMBER

EITHER: dict[str, frozenset[str]] = {
    "a": frozenset({"a", "1", "left", "first", "modela", "systema", "model1", "system1"}),
    "b": frozenset({"b", "2", "right", "second", "modelb", "systemb", "model2", "system2"}),
    "tie": frozenset({"tie", "tied", "ties", "draw", "drawn", "equal", "same", "0"}),
}
"""Whole values, letters and digits only."""

MODEL_TIE = "[[c]]"
"""Beside ``[[A]]`` and ``[[B]]``: how models are asked for their verdict (Zheng et al. 2023)."""

TIE_WORDS = frozenset(
    {"tie", "tied", "draw", "drawn", "equal", "equally", "same", "both", "neither", "none"}
)
TURNED = frozenset({"not", "no", "worse", "worst", "loses", "lost", "loser", "rejected", "bad"})
"""Words beside a side that may turn it round: what they mean is for people to say."""

OUTCOME_WORDS = frozenset(
    {"preference", "preferred", "prefer", "winner", "better", "best", "outcome", "won", "win"}
)
"""One of them in a column's name: it says what came out."""

MORE_THAN_TIES = ("both", "neither", "none", "bad", "poor", "fail")
"""Parts of values that may mean a tie, or that there is nothing to choose."""

SHOWN_TIES = 3
SHOWN_WORDS = 20
_ARROW = re.compile(r"(?:a|1)?(?P<sign>>+|<+|=+)(?:b|2)?")
_TURNED_ARROW = re.compile(r"(?:b|2)(?P<sign>>+|<+|=+)(?:a|1)")
_WHOLE = re.compile(r"\s*(-?\d+)(\.0*)?\s*")


def is_outcome(name: str) -> bool:
    """Return whether a column's name says that it holds what came out."""
    return bool(OUTCOME_WORDS & {*names.words(name)})


def placed(column: Column, pair: Pair) -> tuple[dict[str, str], list[str]]:
    """Return the outcome of each value (``a``, ``b`` or ``tie``), and unrecognized values."""
    sides = {value: side_of(value, pair) for value in column.counts}
    recognized = {value: side for value, side in sides.items() if side}
    return recognized, [value for value, side in sides.items() if not side]


def side_of(value: str, pair: Pair) -> str | None:
    """Return ``a``, ``b`` or ``tie``, where a value says one of them without a doubt."""
    if NUMBER.fullmatch(value):  # -1 and 1.5 are no 1
        whole = _WHOLE.fullmatch(value)
        return next((s for s, spellings in EITHER.items() if whole and whole[1] in spellings), None)
    for side, name in (("a", pair.first), ("b", pair.second)):
        if value.strip().lower() == name.lower() or names.bare(value) == names.bare(name):
            return side
    written = "".join(c for c in value.casefold() if c.isalnum())
    if value.strip().casefold() == MODEL_TIE:
        return "tie"
    exact = next((side for side, spellings in EITHER.items() if written in spellings), None)
    if exact or {*value} & {*"<>="}:
        return exact or _by_arrow(value)
    return _by_words(names.words(value), pair)


def _by_arrow(value: str) -> str | None:
    """Return ``A>B``, ``>>``, ``B<A``, ``=``.

    The brackets of a model's verdict, ``[[A>B]]``, may stand around it.
    """
    bare = "".join(value.casefold().split()).strip("[]()")
    for pattern, greater in ((_ARROW, "a"), (_TURNED_ARROW, "b")):
        if match := pattern.fullmatch(bare):
            smaller = "b" if greater == "a" else "a"
            return {">": greater, "<": smaller}.get(match["sign"][0], "tie")
    return None


def _by_words(words: Sequence[str], pair: Pair) -> str | None:
    word_set = {*words}
    if word_set & TIE_WORDS:
        return "tie"
    kinds = {*range(X_AND_Y), pair.kind}  # x and y are sides only where columns are named so
    terms = {word for kind in kinds for word in SIDE_WORDS[kind][2:]}
    if word_set & (TURNED | terms):
        return None
    sides = [{SIDE_WORDS[kind][position] for kind in kinds} for position in (0, 1)]
    first, second = (bool(word_set & spellings) for spellings in sides)
    if first == second:
        return None
    return "a" if first else "b"


def guessed_ties(sides: Mapping[str, str]) -> str:
    """Return a note on values taken for a tie although they say more, or less; empty if none."""
    doubtful = [
        value
        for value, side in sides.items()
        if side == "tie" and any(word in value.casefold() for word in MORE_THAN_TIES)
    ]
    if not doubtful:
        return ""
    text = ", ".join(map(shorten, doubtful[:SHOWN_TIES])) + (", ..." * (len(doubtful) > SHOWN_TIES))
    return f"guessed to mean a tie: {text} (deleting the entry rejects those rows); "


def mapped(column: Column, values: Mapping[str, str]) -> dict[str, object]:
    """Return the column's expression with a map."""
    inner = column.expression
    return (inner if isinstance(inner, dict) else {"column": inner}) | {"map": dict(values)}


def unplaced(column: Column, values: Sequence[str]) -> list[str]:
    """Return what to know about values that nothing maps."""
    if not values:
        return []
    text = ", ".join(f"{value} ({column.counts[value]:,})" for value in values[:SHOWN_WORDS])
    more = len(values) - SHOWN_WORDS
    text += f" and {more} more" if more > 0 else ""
    return [
        f"{column.name} also holds {text}: nothing says which side is meant, so these rows are "
        "rejected; add what they mean to map, as a, b or tie"
    ]
