"""Cuts a text of any language into units, some of which are words; joined they are the text again.

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
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple


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
