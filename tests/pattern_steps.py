"""Counts the steps that a backtracking search takes: an interpreter of parsed regular expressions.

It does what Python's engine does, without its shortcuts, so that tests need no clock: a pattern
whose steps grow faster than the text is slow on long text, whatever the machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from re import _constants as c  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

MOST_STEPS = 300_000
Items = Sequence[tuple[Any, Any]]
Next = Callable[[int], bool]
CATEGORIES: dict[Any, Callable[[str], bool]] = {
    c.CATEGORY_DIGIT: str.isdecimal,
    c.CATEGORY_SPACE: str.isspace,
    c.CATEGORY_WORD: lambda ch: ch.isalnum() or ch == "_",
    c.CATEGORY_NOT_DIGIT: lambda ch: not ch.isdecimal(),
    c.CATEGORY_NOT_SPACE: lambda ch: not ch.isspace(),
    c.CATEGORY_NOT_WORD: lambda ch: not (ch.isalnum() or ch == "_"),
}
STARTS_OF_PAIRS = 12 if "SOAK" in os.environ else 2
END = "\x01 @"
"""What most patterns do not take."""
REPEATS = (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT)
CANDIDATES = "a0 _-.\x00\nZ<'\"/:=(é"


class TooManyStepsError(Exception):
    """A search takes more than `MOST_STEPS`."""


class Search:
    """A pattern, and how many steps searches of it have taken."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.items: Items = list(_parser.parse(pattern, flags & ~re.DEBUG))
        self.flags = re.compile(pattern, flags).flags
        self.steps = 0
        self.text = ""
        self.groups: dict[int, str] = {}

    def count(self, text: str, *, anywhere: bool) -> int:
        """Return the steps to find all matches in a text, or else one of the whole text."""
        self.text, self.steps = text, 0
        starts, end = (len(text) + 1 if anywhere else 1), -1
        for start in range(starts):
            if start < end:  # within the last match
                continue
            self.groups = {}
            ends: list[int] = []

            def ended(at: int, ends: list[int] = ends) -> bool:
                if not anywhere and at < len(text):
                    return False
                ends.append(at)
                return True

            if self._all(self.items, start, ended):
                end = ends[0]
        return self.steps

    def _all(self, items: Items, at: int, then: Next) -> bool:
        if not items:
            return then(at)
        return self._one(items[0], at, lambda end: self._all(items[1:], end, then))

    def _one(self, item: tuple[Any, Any], at: int, then: Next) -> bool:
        op, value = item
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooManyStepsError
        if op is c.AT:
            return self._stands(value, at) and then(at)
        if op is c.BRANCH:
            return any(self._all(list(branch), at, then) for branch in value[1])
        if op is c.SUBPATTERN:
            return self._group(value, at, then)
        if op in REPEATS:
            return self._repeat(op, value, at, then)
        if op in (c.ASSERT, c.ASSERT_NOT):
            return self._looks(value, at) == (op is c.ASSERT) and then(at)
        if op is c.ATOMIC_GROUP:
            end = self._first_end(list(value), at)
            return end is not None and then(end)
        if op is c.GROUPREF:
            same = self.text.startswith(self.groups.get(value, "\0"), at)
            return same and then(at + len(self.groups[value]))
        if at >= len(self.text) or not is_in(self.text[at], item, self.flags):
            return False
        return then(at + 1)

    def _group(self, value: Any, at: int, then: Next) -> bool:
        def closed(end: int) -> bool:
            if value[0] is not None:
                self.groups[value[0]] = self.text[at:end]
            return then(end)

        return self._all(list(value[3]), at, closed)

    def _repeat(self, op: Any, value: Any, at: int, then: Next) -> bool:
        least, most, inner = value[0], value[1], list(value[2])
        if op is c.POSSESSIVE_REPEAT:
            n = 0
            while n < most and (end := self._first_end(inner, at)) is not None and end > at:
                at, n = end, n + 1
            return n >= least and then(at)

        def more(n: int, here: int) -> bool:
            again = n < most and (op is not c.MIN_REPEAT or n < least)
            if again and self._all(inner, here, lambda end: end > here and more(n + 1, end)):
                return True
            if n >= least and then(here):
                return True
            later = op is c.MIN_REPEAT and least <= n < most
            return later and self._all(inner, here, lambda end: end > here and more(n + 1, end))

        return more(0, at)

    def _first_end(self, items: Items, at: int) -> int | None:
        ends: list[int] = []
        self._all(items, at, lambda end: ends.append(end) is None)
        return ends[0] if ends else None

    def _looks(self, value: Any, at: int) -> bool:
        direction, inner = value
        if direction > 0:
            return self._all(list(inner), at, lambda _: True)
        start = at - inner.getwidth()[0]
        return start >= 0 and self._all(list(inner), start, lambda end: end == at)

    def _stands(self, where: Any, at: int) -> bool:
        text, lines = self.text, self.flags & re.MULTILINE
        if where in (c.AT_BEGINNING, c.AT_BEGINNING_STRING):
            return at == 0 or bool(lines and where is c.AT_BEGINNING and text[at - 1] == "\n")
        if where in (c.AT_END, c.AT_END_STRING):
            near = where is c.AT_END and (
                text[at:] == "\n" or (lines and text[at : at + 1] == "\n")
            )
            return at == len(text) or bool(near)
        is_word = CATEGORIES[c.CATEGORY_WORD]
        sides = [0 <= place < len(text) and is_word(text[place]) for place in (at - 1, at)]
        return (sides[0] != sides[1]) == (where is c.AT_BOUNDARY)


def is_in(ch: str, item: tuple[Any, Any], flags: int) -> bool:
    """Return whether a character is one that a part of a pattern takes."""
    op, value = item
    cases = {ord(ch), ord(ch.lower()[0]), ord(ch.upper()[0])} if flags & re.I else {ord(ch)}
    if op is c.LITERAL:
        return value in cases
    if op is c.NOT_LITERAL:
        return value not in cases
    if op is c.ANY:
        return ch != "\n" or bool(flags & re.DOTALL)
    if op is c.RANGE:
        return any(value[0] <= code <= value[1] for code in cases)
    if op is c.CATEGORY:
        return CATEGORIES[value](ch)
    if op is c.IN:
        negated = value[0][0] is c.NEGATE
        return negated != any(is_in(ch, part, flags) for part in value if part[0] is not c.NEGATE)
    raise NotImplementedError(op)


def leaves(items: Items) -> Iterator[tuple[Any, Any]]:
    """Return the parts of a pattern that take one character."""
    for op, value in items:
        if op is c.BRANCH:
            for branch in value[1]:
                yield from leaves(branch)
        elif op is c.SUBPATTERN:
            yield from leaves(value[3])
        elif op in REPEATS:
            yield from leaves(value[2])
        elif op in (c.ASSERT, c.ASSERT_NOT):
            yield from leaves(value[1])
        elif op is c.ATOMIC_GROUP:
            yield from leaves(value)
        elif op not in (c.AT, c.GROUPREF):
            yield op, value


def taken(item: tuple[Any, Any], flags: int) -> list[str]:
    """Return characters that a part of a pattern takes, at most three."""
    own = [chr(item[1])] if item[0] is c.LITERAL else []
    if item[0] is c.IN:
        own = [chr(v) if op is c.LITERAL else chr(v[0]) for op, v in item[1]
               if op in (c.LITERAL, c.RANGE)]  # fmt: skip
    return [ch for ch in dict.fromkeys([*own[:1], *CANDIDATES]) if is_in(ch, item, flags)][:3]


def example(items: Items, flags: int) -> str:
    """Return a short text that the parts of a pattern match, but for what they look ahead for."""
    text = ""
    for op, value in items:
        if op is c.BRANCH:
            text += example(value[1][0], flags)
        elif op is c.SUBPATTERN:
            text += example(value[3], flags)
        elif op in REPEATS:
            text += example(value[2], flags) * max(value[0], 1 if value[1] else 0)
        elif op is c.ATOMIC_GROUP:
            text += example(value, flags)
        elif op not in (c.AT, c.GROUPREF, c.ASSERT, c.ASSERT_NOT):
            text += next(iter(taken((op, value), flags)), "")
    return text


def prefixes(items: Items, flags: int) -> Iterator[str]:
    """Return texts that lead to each part of a pattern."""
    for place, (op, value) in enumerate(items):
        before = example(items[:place], flags)
        yield before
        inner: list[Items] = []
        if op is c.SUBPATTERN:
            inner = [value[3]]
        elif op is c.BRANCH:
            inner = list(value[1])
        elif op in REPEATS:
            inner = [value[2]]
        for part in inner:
            yield from (before + deeper for deeper in prefixes(list(part), flags))


def repeats(items: Items) -> Iterator[int]:
    """Return how often repeats with an end repeat at most."""
    for op, value in items:
        if op in REPEATS:
            if value[1] is not c.MAXREPEAT:
                yield int(value[1])
            yield from repeats(value[2])
        elif op is c.SUBPATTERN:
            yield from repeats(value[3])
        elif op is c.BRANCH:
            for branch in value[1]:
                yield from repeats(branch)
        elif op in (c.ASSERT, c.ASSERT_NOT):
            yield from repeats(value[1])


def pumped(search: Search) -> Iterator[tuple[str, str, str]]:
    """Return beginnings, what is repeated after them, and ends, that may take long.

    Pairs of letters are repeated after the first beginnings alone, unless SOAK is set.
    """
    flags = search.flags
    letters = list(
        dict.fromkeys(ch for leaf in leaves(search.items) for ch in taken(leaf, flags)[:2])
    )
    starts = list(dict.fromkeys(prefixes(search.items, flags)))[:12]
    units = [*letters[:8], *(a + b for a in letters[:5] for b in letters[:5] if a != b)]
    units += [text for text in starts if 1 < len(text) < 12][:6]
    if max([0, *repeats(search.items)]) > 50:  # of long texts, fewer
        units = units[:8]
    for number, start in enumerate(starts):
        for unit in units:
            if len(unit) < 2 or number < STARTS_OF_PAIRS:
                yield start, unit, END


def worst_growth(pattern: str, flags: int, *, anywhere: bool) -> tuple[float, str]:
    """Return how many times the steps that twice the text takes, and the text that is repeated."""
    search = Search(pattern, flags)
    n = max([16, *(2 * most for most in repeats(search.items) if most <= 100)])
    worst = (0.0, "")
    for start, unit, end in pumped(search):
        try:
            once, twice = (
                search.count(start + unit * size + end, anywhere=anywhere) for size in (n, 2 * n)
            )
        except (TooManyStepsError, RecursionError):
            return float("inf"), f"{start!r} {unit!r}"
        growth = twice / max(once, 1)
        worst = max(worst, (growth, f"{start!r} {unit!r}"))
    return worst
