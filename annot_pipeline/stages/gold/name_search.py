"""Names of judges in texts that are published: found as whole words, many names at a time.

Case does not count, nor whether a letter and its accent are one character or two (NFC, NFD).
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from unicodedata import normalize

import pyarrow as pa
import pyarrow.compute as pc

WORD = re.compile(r"[^\W_]+")
LEAST_CHARACTERS = 6
"""Shorter names occur in texts by chance, as numbers do: they are not searched for."""


def is_distinctive(name: str) -> bool:
    """Return whether a name in a text is unlikely to be there by chance."""
    return len(name) >= LEAST_CHARACTERS and not name.isdigit() and WORD.search(name) is not None


@dataclass(frozen=True)
class NameSearch:
    """Finds names in texts where no letter or digit stands right before or behind them.

    Parameters
    ----------
    by_word
        Names by their rarest word, in lower case, with the word's offset in the name. Words are
        runs of letters and digits.
    first_words
        The first word of each name, in lower case.
    """

    by_word: dict[str, tuple[tuple[str, int], ...]]
    first_words: frozenset[str]

    @classmethod
    def from_names(cls, names: Iterable[str]) -> NameSearch:
        """Return the search for those names that can be checked."""
        words = {
            name: [(word[0].lower(), word.start()) for word in WORD.finditer(name)]
            for name in map(_composed, names)
            if is_distinctive(name)
        }
        n_names = Counter(word for pairs in words.values() for word in {word for word, _ in pairs})
        by_word: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for name, pairs in words.items():
            word, start = min(pairs, key=lambda pair: n_names[pair[0]])
            by_word[word].append((name, start))
        return cls(
            {word: tuple(names) for word, names in by_word.items()},
            frozenset(pairs[0][0] for pairs in words.values()),
        )

    def without(self, names: Iterable[str]) -> NameSearch:
        """Return the search for the other names."""
        left_out = set(map(_composed, names))
        names_left = (name for group in self.by_word.values() for name, _ in group)
        return self.from_names(name for name in names_left if name not in left_out)

    def in_text(self, text: str) -> set[str]:
        """Return the names that occur in a text."""
        return set(self._matches(_composed(text)))

    def in_column(self, column: pa.ChunkedArray) -> set[str]:
        """Return the names that occur in some value of a column of texts."""
        if not self.by_word or not len(column):
            return set()
        values = pc.unique(pc.utf8_normalize(column.cast(pa.string()), "NFC")).drop_null()
        words = pc.split_pattern_regex(pc.utf8_lower(values), r"[^\pL\pN]+")
        is_first_word = pc.is_in(words.flatten(), self._first_words_of_columns)
        rows = pc.unique(pc.list_parent_indices(words).filter(is_first_word))
        names: set[str] = set()
        for text in values.take(rows).to_pylist():
            names |= self.in_text(text)
        return names

    @cached_property
    def _first_words_of_columns(self) -> pa.Array:
        """Return first words as Arrow lowers them: İ and a final Σ differ from Python's."""
        names = (name for group in self.by_word.values() for name, _ in group)
        words = {WORD.search(name)[0] for name in names}  # type: ignore[index]
        return pc.utf8_lower(pa.array(sorted(words), pa.string()))

    def masked(self, text: str, names: set[str]) -> str:
        """Return a text in which `NOT_SHOWN` replaces some names."""
        text = _composed(text)
        for name in sorted(names, key=lambda name: (-len(name), name)):
            parts, end = [], 0
            for match in re.finditer(re.escape(name), text, re.IGNORECASE):
                if _is_whole(text, *match.span()):
                    parts.append(text[end : match.start()])
                    end = match.end()
            text = NOT_SHOWN.join([*parts, text[end:]])
        return text

    def _matches(self, text: str) -> Iterator[str]:
        words = {word.lower() for word in set(WORD.findall(text))}
        if self.first_words.isdisjoint(words):  # fast path: most pages have none
            return
        for word in WORD.finditer(text):
            for name, offset in self.by_word.get(word[0].lower(), ()):
                start = word.start() - offset
                end = start + len(name)
                is_name = start >= 0 and text[start:end].lower() == name.lower()
                if is_name and _is_whole(text, start, end):
                    yield name


def _composed(text: str) -> str:
    return normalize("NFC", text)


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


def cell_key(cell: str) -> str:
    """Return a cell without outer blanks, in lower case, to compare it with names."""
    return _composed(cell).strip().lower()


@dataclass(frozen=True)
class CellNames:
    """Tells whether a cell that a reason quotes, as a whole, is the name of a judge, however short.

    Parameters
    ----------
    keys
        `cell_key` of the names.
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
        keys = frozenset(filter(None, map(cell_key, names)))
        numbers = frozenset(n for key in keys if (n := _number(key)) is not None)
        return cls(keys, numbers, tuple(key for key in keys if len(key) >= CUT_AT))

    def in_reason(self, reason: str) -> set[str]:
        """Return keys of the names that a reason quotes."""
        if score := SCORE.search(reason):
            return {score[0]} if _number(score[0]) in self.numbers else set()
        cells = {cell_key(cell) for cell in quoted_cells(reason)}
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
