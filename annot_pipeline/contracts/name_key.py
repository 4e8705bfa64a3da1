"""Names as people read them: blanks, case, width do not count; items whose text changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import category, normalize

WORD = re.compile(r"[^\W_]+")
LOGIN = re.compile(r"[@\\/<.]")
"""Stands in names of accounts, and in a name with its address."""
ENCLOSING = re.compile(r"[<>()\[\]{},;|\"\\/]+")
"""Stands between the parts of a name: Anna Smith <anna@x.example>, CORP\\anna.smith."""


def name_key(text: str) -> str:
    """Return what two spellings of a name have in common.

    Unicode's compatibility form (NFKC) without invisible characters, case folded, each run of
    blanks as one, none at the ends.
    """
    if text.isascii():
        return " ".join(text.lower().split())
    text = normalize("NFKC", text)
    for invisible in [c for c in set(text) if category(c) == "Cf"]:
        text = text.replace(invisible, "")
    return " ".join(normalize("NFKC", text.casefold()).split())


def spoken_names(name: str) -> Iterator[str]:
    """Yield how people write a name: green, dora; and that of a login or address: dora green.

    Words of letters alone, two of them or more: the last one first, with a comma; of logins and
    addresses also separated by blanks, in reverse, and as one word.
    """
    for part in (name, *name_parts(name)):
        words = WORD.findall(name_key(part.partition("@")[0]))
        if 2 <= len(words) <= 4 and all(len(w) > 1 and w.isalpha() for w in words):
            yield f"{words[-1]}, {' '.join(words[:-1])}"
            if LOGIN.search(name):
                yield from (" ".join(words), " ".join(reversed(words)), "".join(words))


def name_parts(name: str) -> Iterator[str]:
    """Yield parts of a name that name the person as well: an address, a login, a full name.

    Each has several words, for one word may be anybody's.
    """
    parts = [part.strip() for part in ENCLOSING.split(name)]
    parts += [part.partition("@")[0] for part in parts if "@" in part]
    for part in dict.fromkeys(parts):
        if part != name and len(WORD.findall(part)) > 1:
            yield part


def is_earlier(item: str, version: str | None) -> bool:
    """Return whether an item, by its name and the digest of its text, is an earlier text."""
    _, separator, suffix = item.rpartition("#")
    return bool(separator and version and suffix.startswith(version))
