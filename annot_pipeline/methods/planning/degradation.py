"""Degraded copies of texts: worse for sure, and not worse at first sight.

A word is a run between blanks without the punctuation and symbols at its edges; what stands inside
it stays (don't, well-known, 3.5). It holds a letter or a number.

Han, Kana, Bopomofo, Thai, Lao, Khmer, Myanmar and Tibetan are written without blanks. Their true
words need a dictionary, so they are cut into pieces of up to two grapheme clusters, and a piece
counts as a word. Two, because most Chinese and Japanese words have one or two characters, and
because the programs of the WMT campaigns count two characters as a word there (`_create_bad_ref`
in Appraise). In the other scripts a piece is a part of a word; to copy or replace it is still seen.
A cluster is a base with its marks, variation selectors and joiners. Signs that begin no line stay
with what is before them (Thai vowels, small kana, the Tibetan tsheg), Thai and Lao vowels that are
written first with what comes after, and a stacked Khmer or Myanmar consonant with the one above.

Nothing is normalised: units hold the characters of the text. Other scripts without blanks (such as
Javanese), private characters and lone surrogates get no special care, and no text is refused.

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

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np


class Unit(NamedTuple):
    """A part of a text.

    ``run`` is a word between blanks, ``piece`` a word cut from a script without blanks, ``mark``
    no word: punctuation, symbols, emoji, or nothing where blanks end the text.
    """

    space: str  # the blanks before it
    text: str
    kind: Literal["run", "piece", "mark"]


class Gap(NamedTuple):
    """Where a word can be put between two words that follow each other.

    ``tight``: neither blanks nor wide punctuation part the two; two runs would be one word.
    """

    at: int  # index of the unit before which the word is put
    space: str  # the blanks of this place; they go before and after the word
    tight: bool


def cut(text: str) -> list[Unit]:
    """Return the text's units, in order; blanks at its end are the space of a last, empty unit."""
    units: list[Unit] = []
    kinds = text.translate(_KINDS)  # one letter a character, so that patterns can be short
    space = ""
    for token in _TOKEN.finditer(kinds):
        start, end = token.span()
        if token.lastgroup == "space":
            space = text[start:end]
        elif token.lastgroup == "mark":
            # Opening brackets and currency signs belong to what comes after, the rest does not.
            tail = start + _opening_tail(token[0])
            for part in (text[start:tail], text[tail:end]):
                if part:
                    units.append(Unit(space, part, "mark"))
                    space = ""
        else:
            units.append(Unit(space, text[start:end], "run" if token["run"] else "piece"))
            space = ""
    if space:
        units.append(Unit(space, "", "mark"))
    return units


def join(units: Iterable[Unit]) -> str:
    """Return the text of the units."""
    return "".join(unit.space + unit.text for unit in units)


def word_places(units: Sequence[Unit]) -> list[int]:
    """Return indices of the units that are words."""
    return [index for index, unit in enumerate(units) if unit.kind != "mark"]


def gaps(units: Sequence[Unit]) -> list[Gap]:
    """Return the gap between each two words that follow each other, one fewer than the words.

    It is where the last blanks between the two are. Without blanks it is before the opening
    brackets or currency signs of the second word, and else directly before it. So nothing is put
    between a word and its comma, before the first word or after the last.
    """
    places = word_places(units)
    return [_gap(units, position, next_place) for position, next_place in pairwise(places)]


def _gap(units: Sequence[Unit], first: int, second: int) -> Gap:
    between = range(second, first, -1)
    for at in between:
        if units[at].space:
            return Gap(at, units[at].space, tight=False)
    marks = "".join(units[at].text for at in between[1:]).translate(_KINDS)
    last = second - 1
    opens = last > first and units[last].text[0].translate(_KINDS) in _OPENING
    return Gap(last if opens else second, "", tight=not any(kind in "qr" for kind in marks))


# Kinds of characters, one letter each:
#   s blank     w letter or number     m mark or joiner, stays with what is before it
#   p mark or symbol     o the same, opening     q and r: p and o where they are wide (CJK)
# and in scripts without blanks
#   c letter     v vowel that is written first     x letter that begins no line
#   j mark that takes the next letter under it
_OPENING = "or"
_CLUSTER = r"v*+[cx](?:jc|[mxj])*+|v++[mxj]*+"
# Possessive throughout: no step back, so the time is linear in the length.
_TOKEN = re.compile(
    rf"(?P<space>s++)"
    rf"|(?P<piece>(?:{_CLUSTER}){{1,2}}+)"
    rf"|(?P<run>w[wmjx]*+(?:[po][pomj]*+w[wmjx]*+)*+)"
    rf"|(?P<mark>[mjpoqr]++)"
)


def _opening_tail(kinds: str) -> int:
    """Return where the opening marks begin that end a stretch of marks; its length, if none do."""
    closed = max(kinds.rfind("p"), kinds.rfind("q")) + 1
    starts = [at for at in (kinds.find(kind, closed) for kind in _OPENING) if at >= 0]
    return min(starts, default=len(kinds))


def _ranges(*ranges: tuple[int, int]) -> list[int]:
    """Return first code points of the ranges, and of what follows them."""
    return [edge for first, last in ranges for edge in (first, last + 1)]


def _within(point: int, edges: list[int]) -> bool:
    return bisect_right(edges, point) % 2 == 1


_WITHOUT_BLANKS = _ranges(
    (0x0E00, 0x0FFF),  # Thai, Lao, Tibetan
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3000, 0x312F),  # ideographic letters, Hiragana, Katakana, Bopomofo
    (0x31A0, 0x31BF),  # Bopomofo
    (0x31F0, 0x31FF),  # Katakana
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xA9E0, 0xA9FF),  # Myanmar
    (0xAA60, 0xAA7F),
    (0xF900, 0xFAFF),  # Han
    (0xFF66, 0xFF9F),  # narrow Katakana
    (0x16FE0, 0x18DFF),  # Tangut, Khitan: without blanks as well
    (0x1AFF0, 0x1B2FF),  # Kana, Nushu
    (0x20000, 0x3FFFF),  # Han
)
_WRITTEN_FIRST = _ranges((0x0E40, 0x0E44), (0x0EC0, 0x0EC4))
_BEGINS_NO_LINE = _ranges(
    *((point, point) for point in (0x0E2F, 0x0E30, 0x0E32, 0x0E33, 0x0E45, 0x0E46)),  # Thai
    *((point, point) for point in (0x0EAF, 0x0EB0, 0x0EB2, 0x0EB3, 0x0EBD, 0x0EC6)),  # Lao
    (0x17D7, 0x17D7),  # Khmer repetition
    (0x3005, 0x3005),  # repetition of Han
    (0x303B, 0x303B),
    *((point, point) for point in range(0x3041, 0x304A, 2)),  # small Hiragana
    *((point, point) for point in (0x3063, 0x3083, 0x3085, 0x3087, 0x308E, 0x3095, 0x3096)),
    (0x309D, 0x309E),  # repetition of Hiragana
    *((point, point) for point in range(0x30A1, 0x30AA, 2)),  # small Katakana
    *((point, point) for point in (0x30C3, 0x30E3, 0x30E5, 0x30E7, 0x30EE, 0x30F5, 0x30F6)),
    (0x30FC, 0x30FE),  # long vowel, repetition of Katakana
    (0x31F0, 0x31FF),
    (0xFF67, 0xFF70),  # narrow small Katakana, long vowel
    (0xFF9E, 0xFF9F),  # narrow voicing marks
)
_TAKES_NEXT = (0x1039, 0x17D2)  # Myanmar virama, Khmer coeng
# Joiners, tags of flags, and the Tibetan tsheg that ends a syllable: marks in all but category.
_MARKS = _ranges((0x0F0B, 0x0F0C), (0x200C, 0x200D), (0x2060, 0x2060), (0xE0020, 0xE007F))
_BLANK_OF_NO_WIDTH = 0x200B  # parts words in Khmer, Thai and Myanmar texts


def _kind(point: int) -> str:
    character = chr(point)
    category = unicodedata.category(character)
    if character.isspace() or point == _BLANK_OF_NO_WIDTH:
        return "s"
    if point in _TAKES_NEXT:
        return "j"
    if category[0] == "M" or _within(point, _MARKS):
        return "m"
    if character.isalnum():
        if category in ("Nd", "No") or not _within(point, _WITHOUT_BLANKS):
            return "w"
        if _within(point, _WRITTEN_FIRST):
            return "v"
        return "x" if _within(point, _BEGINS_NO_LINE) else "c"
    wide = category[0] == "P" and unicodedata.east_asian_width(character) in "WF"
    if category in ("Ps", "Pi", "Sc"):
        return "r" if wide else "o"
    return "q" if wide else "p"


class _Kinds(dict[int, str]):
    """Kinds of code points, found out at the first sight of each; a table for str.translate."""

    def __missing__(self, point: int) -> str:
        kind = self[point] = _kind(point)
        return kind


_KINDS = _Kinds()


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
