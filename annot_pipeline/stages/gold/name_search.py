"""Names of judges in texts that are published: found as whole words, many names at a time.

Case does not count, nor whether a letter and its accent are one character or two (NFC, NFD).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from unicodedata import normalize

import pyarrow as pa
import pyarrow.compute as pc

WORD = re.compile(r"[^\W_]+")
LEAST_CHARACTERS = 6
"""Shorter names stand in texts by chance, as numbers do: they are not looked for."""


def can_be_checked(name: str) -> bool:
    """Return whether a name in a text is hardly there by chance."""
    return len(name) >= LEAST_CHARACTERS and not name.isdigit() and WORD.search(name) is not None


@dataclass(frozen=True)
class NameSearch:
    """Finds names in texts where no letter or digit stands right before or behind them.

    Parameters
    ----------
    by_word
        The names by the first word of each, its first run of letters and digits, in lower case.
    """

    by_word: dict[str, tuple[str, ...]]

    @classmethod
    def of_names(cls, names: Iterable[str]) -> NameSearch:
        """Return the search for those names that can be checked."""
        by_word: dict[str, list[str]] = defaultdict(list)
        for name in map(_composed, names):
            if can_be_checked(name):
                by_word[WORD.search(name)[0].lower()].append(name)  # type: ignore[index]
        return cls({word: tuple(names) for word, names in by_word.items()})

    def without(self, names: Iterable[str]) -> NameSearch:
        """Return the search for the other names."""
        left_out = set(map(_composed, names))
        names_left = (name for group in self.by_word.values() for name in group)
        return self.of_names(name for name in names_left if name not in left_out)

    def in_text(self, text: str) -> set[str]:
        """Return the names that a text holds."""
        return set(self._matches(_composed(text)))

    def in_column(self, column: pa.ChunkedArray) -> set[str]:
        """Return the names that some value of a column of texts holds."""
        if not self.by_word or not len(column):
            return set()
        values = pc.unique(pc.utf8_normalize(column.cast(pa.string()), "NFC")).drop_null()
        words = pc.split_pattern_regex(pc.utf8_lower(values), r"[^\pL\pN]+")
        is_first_word = pc.is_in(words.flatten(), pa.array(self.by_word, pa.string()))
        rows = pc.unique(pc.list_parent_indices(words).filter(is_first_word))
        names: set[str] = set()
        for text in values.take(rows).to_pylist():
            names |= self.in_text(text)
        return names

    def masked(self, text: str, names: set[str]) -> str:
        """Return a text with `NOT_SHOWN` in the place of some names that it holds."""
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
        for word in WORD.finditer(text):
            for name in self.by_word.get(word[0].lower(), ()):
                start = word.start() - WORD.search(name).start()  # type: ignore[union-attr]
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


def masked_reasons(reasons: pa.ChunkedArray | pa.Array, search: NameSearch) -> pa.Array:
    """Return reasons without the cells that they quote where these may name a judge.

    A cell may that holds the name of a judge, or an address; source row and cell of the record say
    where it stands.
    """
    encoded = reasons.dictionary_encode()
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    shown = [
        QUOTED.sub(NOT_SHOWN, text) if "@" in text or search.in_text(text) else text
        for text in encoded.dictionary.to_pylist()
    ]
    return pa.array(shown, pa.string()).take(encoded.indices)
