"""Names of judges in texts that are published: found as whole words, many names at a time."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import NamedTuple
from unicodedata import combining

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts.name_key import WORD, name_key, name_parts, spoken_names

LEAST_CHARACTERS = 6
"""Shorter names occur in texts by chance, as numbers do: they are not searched for."""
JOINING = re.compile(r"(?<=[^\W_])[._-](?=[^\W_])")
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
"""How JSON, Python and Markdown write characters that they cannot hold as they are."""


def is_distinctive(name: str) -> bool:
    """Return whether a name in a text is unlikely to be there by chance."""
    name = name.strip()
    return len(name) >= LEAST_CHARACTERS and not name.isdigit() and WORD.search(name) is not None


def holds_name(text: str, names: Iterable[str]) -> bool:
    """Return whether a text holds a name, in any case or Unicode form, also escaped or in a word.

    Also as people write it (`_spellings`): dora.green is Dora_Green. Names that a text may hold by
    chance are not looked for. worker10 does not hold worker1.
    """
    spellings = {spelling for name in names for spelling in _spellings(name)}
    keys = sorted(name_key(spelling) for spelling in spellings if is_distinctive(spelling))
    ends = [re.escape(key) + r"(?!\d)" * key[-1].isdigit() for key in keys]
    keyed = {name_key(text), name_key(unescaped(text))} if keys else set()
    forms = keyed | {JOINING.sub(" ", key) for key in keyed}
    return any(re.search("|".join(ends), form) for form in forms)


class Spelling(NamedTuple):
    """A name, the key of it or of a part of it, and where the key's rarest word starts.

    ``words`` are the first two words of the key, or its only one.
    """

    name: str
    key: str
    offset: int
    words: tuple[str, ...]


@dataclass(frozen=True)
class NameSearch:
    """Finds names in texts where no letter or digit stands right before or behind them.

    Names and texts are compared by `name_key`; what texts escape with a backslash is looked at
    without it, too. Parts of a name (`name_parts`) count as the name.

    Parameters
    ----------
    by_word
        Names by the rarest word of their keys. Words are runs of letters and digits.
    first_words
        The first word of each key.
    """

    by_word: dict[str, tuple[Spelling, ...]]
    first_words: frozenset[str]

    @classmethod
    def from_names(cls, names: Iterable[str]) -> NameSearch:
        """Return the search for those names that can be checked."""
        keys = {
            key: name
            for name in sorted(names)
            for text in _spellings(name)
            if is_distinctive(text) and (key := name_key(text))
        }
        words = {key: [(w[0], w.start()) for w in WORD.finditer(key)] for key in keys}
        words = {key: pairs for key, pairs in words.items() if pairs}
        n_names = Counter(word for pairs in words.values() for word in {word for word, _ in pairs})
        by_word: dict[str, list[Spelling]] = defaultdict(list)
        for key, pairs in words.items():
            word, start = min(pairs, key=lambda pair: n_names[pair[0]])
            first_words = tuple(word for word, _ in pairs[:2])
            by_word[word].append(Spelling(keys[key], key, start, first_words))
        return cls(
            {word: tuple(names) for word, names in by_word.items()},
            frozenset(pairs[0][0] for pairs in words.values()),
        )

    def without(self, names: Iterable[str]) -> NameSearch:
        """Return the search for the other names."""
        left_out = set(names)
        names_left = (name.name for group in self.by_word.values() for name in group)
        return self.from_names({name for name in names_left if name not in left_out})

    def in_text(self, text: str) -> set[str]:
        """Return the names that occur in a text, or in what it escapes."""
        key = name_key(text)
        names = {spelling.name for spelling, _ in self._matches(key)}
        if "\\" in text:
            names |= {s.name for s, _ in self._matches(name_key(unescaped(text)), spaced=False)}
        return names

    def in_column(self, column: pa.ChunkedArray) -> set[str]:
        """Return the names that occur in some value of a column of texts."""
        if not self.by_word or not len(column):
            return set()
        values = distinct_values(column)
        names: set[str] = set()
        for is_ascii in (True, False):
            some = values.filter(pc.equal(pc.string_is_ascii(values), is_ascii))
            words = pc.split_pattern_regex(_lowered(some, is_ascii=is_ascii), r"[^\pL\pN]+")
            is_first_word = pc.is_in(words.flatten(), self._first_words_of_columns)
            rows = pc.list_parent_indices(words).filter(is_first_word)
            escapes = pc.indices_nonzero(pc.match_substring(some, "\\u")).cast(rows.type)
            for text in some.take(pc.unique(pa.concat_arrays([rows, escapes]))).to_pylist():
                names |= self.in_text(text)
        return names

    @cached_property
    def _first_words_of_columns(self) -> pa.Array:
        """Return first words of keys, and as Arrow lowers them: İ and others are not Python's."""
        names = {name.name for group in self.by_word.values() for name in group}
        texts = {text for name in names for text in _spellings(name)}
        lowered = _lowered(pa.array(sorted(texts), pa.string()), is_ascii=False).to_pylist()
        words = {match[0] for text in lowered if (match := WORD.search(text))}
        return pa.array(sorted(words | self.first_words), pa.string())

    def masked(self, text: str, names: set[str]) -> str:
        """Return a text in which `NOT_SHOWN` replaces some names."""
        if "\\" in text and not names <= {
            s.name for s, _ in self._matches(name_key(text), spaced=False)
        }:
            text = unescaped(text)
        key, places = _key_with_places(text)
        spans = [
            (places[start], places[start + len(spelling.key) - 1] + 1)
            for spelling, start in self._matches(key)
            if spelling.name in names
        ]
        parts, end = [], 0
        for start, stop in sorted(spans, key=lambda span: (span[0], -span[1])):
            if start >= end:
                parts += [text[end:start], NOT_SHOWN]
            end = max(end, stop)
        return "".join([*parts, text[end:]])

    def _matches(self, key: str, *, spaced: bool = True) -> Iterator[tuple[Spelling, int]]:
        """Yield the names in the key of a text, and where they start.

        Also those that a text writes with dots, hyphens or underscores between the words, if
        ``spaced``: letters and words of both stand in the same places.
        """
        words = WORD.findall(key)
        there = {*words}
        likely = there & self.by_word.keys()
        if not likely or self.first_words.isdisjoint(there):  # fast path: most texts
            return
        in_a_row = {*pairwise(words), *((word,) for word in likely)}
        by_word = {
            word: names
            for word in likely
            if (names := [s for s in self.by_word[word] if s.words in in_a_row])
        }
        if not by_word:
            return
        with_blanks = JOINING.sub(" ", key) if spaced else ""
        for match in WORD.finditer(key):
            for spelling in by_word.get(match[0], ()):
                start = match.start() - spelling.offset
                end = start + len(spelling.key)
                is_here = start >= 0 and spelling.key in (key[start:end], with_blanks[start:end])
                if is_here and _is_whole(key, start, end):
                    yield spelling, start


def _spellings(name: str) -> Iterator[str]:
    yield from (name, *name_parts(name), *spoken_names(name))


def unescaped(text: str) -> str:
    r"""Return a text without backslashes that escape: ``\\`` is one, ``\u00e9`` a letter."""

    def character(match: re.Match[str]) -> str:
        return chr(int(match[1], 16)) if match[1] else match[2]

    return ESCAPE.sub(character, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def distinct_values(column: pa.ChunkedArray) -> pa.Array:
    """Return the values of a column of texts, each once, if it is encoded without decoding it."""
    if pa.types.is_dictionary(column.type):
        column = pa.chunked_array([chunk.dictionary for chunk in column.chunks], pa.string())
    return pc.unique(column).drop_null()


def _lowered(values: pa.Array, *, is_ascii: bool) -> pa.Array:
    """Return texts as `name_key` compares their letters, as far as Arrow can."""
    if is_ascii:
        return pc.utf8_lower(values)
    values = pc.replace_substring_regex(pc.utf8_normalize(values, "NFKC"), r"\p{Cf}", "")
    values = pc.replace_substring(pc.utf8_lower(values), "\u00df", "ss")
    return pc.replace_substring(values, "\u03c2", "\u03c3")


def _key_with_places(text: str) -> tuple[str, list[int]]:
    """Return the key of a text, letter by letter, and where in the text each letter comes from."""
    key: list[str] = []
    places: list[int] = []
    start = 0
    while start < len(text):
        end = start + 1
        while end < len(text) and combining(text[end]):
            end += 1
        for letter in name_key(text[start:end]) or " " * text[start].isspace():
            if letter != " " or (key and key[-1] != " "):
                key.append(letter)
                places.append(start if letter == " " else end - 1)
        start = end
    return "".join(key), places


def _is_whole(text: str, start: int, end: int) -> bool:
    """Return whether no word goes on across the ends of a part of a text."""
    return not any(
        WORD.match(text[at - 1 : at]) and WORD.match(text[at : at + 1]) for at in (start, end)
    )


NOT_SHOWN = "(not shown: it may name a judge)"
QUOTED = re.compile(r"(?<=: )['\"].*", re.DOTALL)
SCORE = re.compile(r"(?<=score is outside the scale: ).*")
"""The only cell that a reason holds without quotes: a number."""
CUT_AT = 57
"""Characters of a cell that a reason holds at least, where it does not hold all of them."""


@dataclass(frozen=True)
class CellNames:
    """Tells whether a cell that a reason quotes, as a whole, is the name of a judge, however short.

    Parameters
    ----------
    keys
        `name_key` of the names.
    numbers
        Names that are numbers.
    long
        Names that a reason may cut.
    """

    keys: frozenset[str]
    numbers: frozenset[float]
    long: tuple[str, ...]

    @classmethod
    def from_names(cls, names: Iterable[str]) -> CellNames:
        """Return the matcher of cells that are one of some names."""
        keys = frozenset(filter(None, map(name_key, names)))
        numbers = frozenset(n for key in keys if (n := _number(key)) is not None)
        return cls(keys, numbers, tuple(key for key in keys if len(key) >= CUT_AT))

    def in_reason(self, reason: str) -> set[str]:
        """Return keys of the names that a reason quotes."""
        if score := SCORE.search(reason):
            return {score[0]} if _number(score[0]) in self.numbers else set()
        cells = {name_key(cell) for cell in quoted_cells(reason)}
        cut = {c for c in cells if len(c) >= CUT_AT and any(n.startswith(c) for n in self.long)}
        return (cells & self.keys) | cut


def quoted_cells(reason: str) -> list[str]:
    """Return the possible readings of the cell that a reason quotes at its end, if any.

    SQL quotes a cell as it is, and other answers may follow it; Python escapes it, and may cut it.
    """
    match = QUOTED.search(reason)
    if match is None:
        return []
    text, quote = match[0], match[0][0]
    cells = [text[1 : max(text.rfind(quote), 1)]]
    if (cut := text.rfind("\u2026 (")) > 0:
        cells.append(text[1:cut])
    with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):  # any text
        cells.append(str(ast.literal_eval(text)))
    return cells


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def masked_reasons(
    reasons: pa.ChunkedArray | pa.Array, search: NameSearch, cells: CellNames | None = None
) -> pa.Array:
    """Return reasons without the cells that they quote where these may name a judge.

    A cell may name a judge if it contains a name or an address, or equals a name of any length.
    Source row and cell of the record say where the cell is.
    """
    encoded = reasons.dictionary_encode()
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    texts = [masked_reason(text, search, cells) for text in encoded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(encoded.indices)


def reader_without_names(
    rows: pa.RecordBatchReader, names: Callable[[], Iterable[str]]
) -> pa.RecordBatchReader:
    """Return rows whose column ``reason`` quotes no cell that may name a judge.

    Parameters
    ----------
    names
        Returns the names; called once, if there is any reason.
    """
    position = rows.schema.get_field_index("reason")

    @cache
    def searches() -> tuple[NameSearch, CellNames]:
        raw = set(names())
        return NameSearch.from_names(raw), CellNames.from_names(raw)

    def masked(batch: pa.RecordBatch) -> pa.RecordBatch:
        reasons = batch.column(position)
        if reasons.null_count == len(reasons):
            return batch
        texts = masked_reasons(reasons, *searches())
        return batch.set_column(position, rows.schema.field(position), texts)

    return pa.RecordBatchReader.from_batches(rows.schema, map(masked, rows))


def without_names(texts: Sequence[str], names: Iterable[str]) -> list[str]:
    """Return texts that end with a cell in quotes, without it where it may name a judge."""
    raw = set(names)
    search, cells = NameSearch.from_names(raw), CellNames.from_names(raw)
    return [masked_reason(text, search, cells) for text in texts]


def masked_reason(reason: str, search: NameSearch, cells: CellNames | None = None) -> str:
    """Return a reason without the cell that it quotes where this may name a judge."""
    if "@" in reason or search.in_text(reason) or (cells and cells.in_reason(reason)):
        return SCORE.sub(NOT_SHOWN, QUOTED.sub(NOT_SHOWN, reason))
    return reason
