"""Degraded copies of texts: worse for sure, and not worse at first sight.

A judge who reads gives a degraded copy a lower score than its text; a judge who does not, does not.
There are two ways:

- `duplicate_words` (Graham et al. 2013, "Judge-Intrinsic Quality Control"): two words are picked at
  random, and each is duplicated at a random place that is not next to the original and neither the
  first nor the last.
- `replace_span` (WMT since 2016): a span of words in the middle is replaced by as many words of
  another text. **Reading**: the WMT papers were not at hand, so the lengths (`_span_length`) were
  held against three public programs. Appraise (`_create_bad_ref`) has these classes up to 20 words,
  and 6 above. `bad-refs.py` of 2016 (ygraham/direct-assessment) takes out N // 4 words above, and
  ends the classes of 3, 4 and 5 words one word earlier. `ad-bad-refs.pl` (ygraham/crowd-alone, the
  program to Graham et al. 2017) has the classes up to 20 words too, but deletes the span.

**Readings**: a text is taken as one sentence. A copy is not put next to any equal word either (case
aside), for it would have a twin. It is not put where a line ends, for it would have the line to
itself, and the two copies go to two places. What a word is says `words`; a word between blanks is
not put where it would run together with another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from annot_pipeline.methods.planning.words import Gap, Unit, cut, gaps, join, word_places

Way = Literal["duplicate_words", "replace_span"]

MIN_WORDS = 4
DONORS_TRIED = 20
_WORDS_TRIED = 20_000  # words of spans; enough for all spans of a text and a donor of 50 words
_LEAST_SPANS_TRIED = 20
_NO_PLACE = "no two words have a place within a line and not beside an equal word"


class CannotDegradeError(ValueError):
    """No degraded copy can be made; the message is the reason, for people to read."""


def degrade(text: str, *, how: Way, donors: Sequence[str], rng: np.random.Generator) -> str:
    """Return a degraded copy of the text.

    Parameters
    ----------
    text
        A text of four words or more.
    how
        The way to do it.
    donors
        Texts that can lend a span, best of other items; for `replace_span` alone. They are tried
        in random order, 20 at most, until one fits.
    rng
        The same state gives the same copy.

    Raises
    ------
    CannotDegradeError
        If there is no degraded copy, or no donor that was tried fits.
    """
    if how == "duplicate_words":
        return duplicate_words(text, rng)
    target = _target(text)
    if not donors:
        raise CannotDegradeError("there is no other text to take words from")
    tried = rng.choice(len(donors), size=min(len(donors), DONORS_TRIED), replace=False)
    for donor in tried:
        try:
            return _replace_span(target, donors[int(donor)], rng)
        except CannotDegradeError as error:
            reason = str(error)
    if tried.size == 1:
        raise CannotDegradeError(reason)
    raise CannotDegradeError(f"none of {tried.size} other texts fits; the last: {reason}")


def duplicate_words(text: str, rng: np.random.Generator) -> str:
    """Return the text with two of its words duplicated elsewhere.

    The first word is drawn from all words that have a place, its place from those of the word;
    then the second from all other words that have a place left, and its place.

    Raises
    ------
    CannotDegradeError
        If the text has fewer than four words or no two words have a place.
    """
    target = _target(text)
    places = _Places(target)
    movable = [word for word, n in enumerate(places.counts) if n]
    if not movable:
        raise CannotDegradeError(_NO_PLACE)
    first = _draw(movable, rng)
    for gap in rng.permutation(places.open_gaps(first)).tolist():
        pool = [
            word
            for word in movable
            if word != first and places.counts[word] > places.admits(word, gap)
        ]
        if pool:  # if not, this gap is the one place of all other words
            second = _draw(pool, rng)
            other_gap = _draw(
                [position for position in places.open_gaps(second) if position != gap], rng
            )
            return _with_copies(target, {gap: first, other_gap: second})
    raise CannotDegradeError(_NO_PLACE)


def replace_span(text: str, donor: str, rng: np.random.Generator) -> str:
    """Return the text with a span of words replaced by as many of the donor.

    First and last word stay. Blanks and punctuation stay those of the text. The donor lends a span
    from its middle too, if it is long enough: its first word may have a capital. All pairs of spans
    that change the text, case aside, are equally likely.

    Raises
    ------
    CannotDegradeError
        If the text has fewer than four words, or the donor fewer than the span, or if no span of
        the donor would change the text.
    """
    return _replace_span(_target(text), donor, rng)


@dataclass(frozen=True)
class _Target:
    """A text of enough words; word i stands at ``units[words[i]]``, gap i lies behind it."""

    units: list[Unit]
    words: list[int]
    gaps: list[Gap]


def _target(text: str) -> _Target:
    units = cut(text)
    words = word_places(units)
    if len(words) < MIN_WORDS:
        count = f"{len(words)} word{'' if len(words) == 1 else 's'}"
        raise CannotDegradeError(f"{count}; a degraded copy needs {MIN_WORDS}")
    return _Target(units, words, gaps(units))


class _Places:
    """The gaps each word can be duplicated in; in time linear in the words.

    Gaps that are open to a kind of word, less those beside an equal word. The latter are few, so
    places are counted by class of equal words, and listed only for the words that are drawn.
    """

    counts: list[int]

    def __init__(self, target: _Target) -> None:
        words = [target.units[index] for index in target.words]
        self._keys = [word.text.casefold() for word in words]
        self._kinds = [word.kind for word in words]
        self._adjacent_gaps: dict[str, set[int]] = {key: set() for key in self._keys}
        for at in range(len(target.gaps)):
            self._adjacent_gaps[self._keys[at]].add(at)
            self._adjacent_gaps[self._keys[at + 1]].add(at)
        unbroken = [at for at, gap in enumerate(target.gaps) if not _breaks_line(gap.space)]
        parted = [
            at
            for at in unbroken
            if target.gaps[at].space or self._kinds[at] == self._kinds[at + 1] == "piece"
        ]
        self._open = {"piece": unbroken, "run": parted}
        self._open_sets = {kind: set(open_gaps) for kind, open_gaps in self._open.items()}
        closed = {
            key: len(self._adjacent_gaps[key] & self._open_sets[kind])
            for key, kind in dict(zip(self._keys, self._kinds, strict=True)).items()
        }
        self.counts = [
            len(self._open[kind]) - closed[key]
            for key, kind in zip(self._keys, self._kinds, strict=True)
        ]

    def admits(self, word: int, gap: int) -> bool:
        """Return whether the word may be put in the gap."""
        adjacent_gaps = self._adjacent_gaps[self._keys[word]]
        return gap in self._open_sets[self._kinds[word]] and gap not in adjacent_gaps

    def open_gaps(self, word: int) -> list[int]:
        """Return the gaps that a word may be put in, in order."""
        adjacent_gaps = self._adjacent_gaps[self._keys[word]]
        return [gap for gap in self._open[self._kinds[word]] if gap not in adjacent_gaps]


def _breaks_line(space: str) -> bool:
    return "".join(space.splitlines()) != space


def _draw(values: list[int], rng: np.random.Generator) -> int:
    return values[int(rng.integers(len(values)))]


def _with_copies(target: _Target, copies: dict[int, int]) -> str:
    """Return the text with words put into gaps; ``copies`` maps gaps to words."""
    units = target.units
    by_unit = {target.gaps[gap].at: (target.gaps[gap], word) for gap, word in copies.items()}
    result: list[Unit] = []
    for index, unit in enumerate(units):
        if index in by_unit:
            gap, word = by_unit[index]
            result.append(units[target.words[word]]._replace(space=gap.space))
        result.append(unit)
    return join(result)


def _span_length(n_words: int) -> int:
    """Return how many words of a text are replaced."""
    for longest, span in ((5, 2), (8, 3), (15, 4), (20, 5)):
        if n_words <= longest:
            return span
    return n_words // 4


def _replace_span(target: _Target, donor: str, rng: np.random.Generator) -> str:
    length = _span_length(len(target.words))
    lent = [unit for unit in cut(donor) if unit.kind != "mark"]
    if len(lent) < length:
        count = f"{len(lent)} word{'' if len(lent) == 1 else 's'}"
        raise CannotDegradeError(f"the other text has {count}; the span to replace has {length}")
    if len(lent) >= length + 2:
        lent = lent[1:-1]
    n_starts, n_lent = len(target.words) - 1 - length, len(lent) - length + 1
    n_pairs = n_starts * n_lent
    n_tries = min(n_pairs, max(_WORDS_TRIED // length, _LEAST_SPANS_TRIED))
    for pair in rng.choice(n_pairs, size=n_tries, replace=False).tolist():
        start, lent_from = divmod(pair, n_lent)
        changed = _with_span(target, start + 1, lent[lent_from : lent_from + length])
        if changed is not None:
            return changed
    raise CannotDegradeError("no span of the other text fits here and changes the text")


def _with_span(target: _Target, start: int, span: list[Unit]) -> str | None:
    """Return the text with the words from ``start`` on replaced.

    None if that is no change or no fit.
    """
    units, words, stop = target.units, target.words, start + len(span)
    kinds = [units[words[start - 1]].kind, *(word.kind for word in span), units[words[stop]].kind]
    for gap, ends in zip(target.gaps[start - 1 : stop], pairwise(kinds), strict=True):
        if gap.tight and ends == ("run", "run"):
            return None
    old = units[words[start] : words[stop]]
    new = list(old)
    for position, word in zip(words[start:stop], span, strict=True):
        at = position - words[start]
        new[at] = word._replace(space=old[at].space)
    if join(new).casefold() == join(old).casefold():
        return None
    return join([*units[: words[start]], *new, *units[words[stop] :]])
