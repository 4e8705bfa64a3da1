"""Names that a person would take for the same: blanks, case, width, look-alike letters, 1 and 1.0.

They are kept apart, for nobody knows which was meant, and reported.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import INT, TEXT
from annot_pipeline.contracts.answer_text import answer_text, number_text
from annot_pipeline.errors import shorten

GROUPED = re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+")
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
LATIN_TWINS = str.maketrans(
    "АВЕЅІЈКМНОРСТХУаеѕіјорсухԁһԛԝ"  # Cyrillic  # noqa: RUF001
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοανικρτυχγ",  # Greek
    "ABESIJKMHOPCTXYaesijopcyxdhqwABEZHIKMNOPTYXoavikptuxy",
)
"""Letters of other scripts that look like Latin ones."""


NAMES = pa.schema([("what", TEXT), ("name", TEXT), ("name_hash", INT), ("appearance_hash", INT)])
"""Names of tasks, labels, items and judges (`what`), once each."""


def names_of(rows: pa.Table) -> pa.Table:
    """Return the names that records hold, as `NAMES`.

    Parameters
    ----------
    rows
        ``task``, ``label``, ``item``, ``judge`` of records that are not rejected.
    """
    tables = []
    for what in ("task", "label", "item", "judge"):
        names = sorted(name for name in pc.unique(rows[what]).to_pylist() if name is not None)
        tables.append(pa.table({
            "what": pa.repeat(what, len(names)), "name": pa.array(names, TEXT),
            "name_hash": [_hash(name) for name in names],
            "appearance_hash": [_hash(appearance(name)) for name in names],
        }, schema=NAMES))  # fmt: skip
    return pa.concat_tables(tables)


def _hash(text: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(text.encode(), digest_size=8).digest(), "big", signed=True
    )


def may_be_alike(hashes: Iterable[pa.Table]) -> pa.Array:
    """Return hashes of appearances that names of one kind share, rarely others too.

    Parameters
    ----------
    hashes
        Tables of ``what``, ``name_hash``, ``appearance_hash``.
    """
    whole = pa.concat_tables(
        part.group_by(["what", "appearance_hash", "name_hash"]).aggregate([]) for part in hashes
    )
    names = (
        whole.unify_dictionaries().group_by(["what", "appearance_hash", "name_hash"]).aggregate([])
    )
    n = names.group_by(["what", "appearance_hash"]).aggregate([("name_hash", "count")])
    return pc.unique(n.filter(pc.greater(n["name_hash_count"], 1))["appearance_hash"])


def look_alikes(names: Iterable[str]) -> list[str]:
    """Return groups of different names with one appearance, as ``'yes' / 'Yes '``; sorted."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in sorted(name for name in set(names) if name.strip()):
        groups[appearance(name)].append(name)
    return [" / ".join(map(shorten, group)) for group in groups.values() if len(group) > 1]


def appearance(name: str) -> str:
    """Return a name without the differences that the eye may miss."""
    text = name
    if not (name.isascii() and name.isprintable()):  # in others there is nothing to normalize
        text = unicodedata.normalize("NFKC", name)
        text = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Cc"))
        text = text.translate(LATIN_TWINS)
    text = " ".join(text.split()).casefold()
    if GROUPED.fullmatch(text):
        text = text.replace(",", "")
    elif DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    return number_text(answer_text(text))
