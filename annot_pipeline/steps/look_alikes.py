"""Names that a person would take for the same: blanks, case, width, look-alike letters, 1 and 1.0.

They are kept apart, for nobody knows which was meant, and reported.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable

from annot_pipeline.errors import shorten

NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?")
LATIN_TWINS = str.maketrans(
    "АВЕЅІЈКМНОРСТХУаеѕіјорсухԁһԛԝ"  # Cyrillic  # noqa: RUF001
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοανικρτυχγ",  # Greek
    "ABESIJKMHOPCTXYaesijopcyxdhqwABEZHIKMNOPTYXoavikptuxy",
)
"""Letters of other scripts that look like Latin ones."""


def look_alikes(names: Iterable[str]) -> list[str]:
    """Groups of different names with one appearance, as ``'yes' / 'Yes '``; sorted."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in sorted(name for name in set(names) if name.strip()):
        groups[appearance(name)].append(name)
    return [" / ".join(map(shorten, group)) for group in groups.values() if len(group) > 1]


def appearance(name: str) -> str:
    """What is left of a name when everything that the eye may miss is taken away."""
    text = unicodedata.normalize("NFKC", name)
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Cc"))
    text = " ".join(text.translate(LATIN_TWINS).split()).casefold()
    return repr(float(text)) if NUMBER.fullmatch(text) else text
