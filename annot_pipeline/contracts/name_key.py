"""Compares names as people read them: blanks, case, width and invisible characters do not count."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import category, normalize

WORD = re.compile(r"[^\W_]+")
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
    text = "".join(c for c in text if c.isascii() or category(c) != "Cf")
    return " ".join(normalize("NFKC", text.casefold()).split())


def name_parts(name: str) -> Iterator[str]:
    """Yield parts of a name that name the person as well: an address, a login, a full name.

    Each has several words, for one word may be anybody's.
    """
    parts = [part.strip() for part in ENCLOSING.split(name)]
    parts += [part.partition("@")[0] for part in parts if "@" in part]
    for part in dict.fromkeys(parts):
        if part != name and len(WORD.findall(part)) > 1:
            yield part
