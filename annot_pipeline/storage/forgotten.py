"""People whom a campaign has forgotten: keyed digests of their names, and that it happened.

``forgotten.json`` in the store holds no name: whoever has the key can tell whether a name is meant.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.storage.files import read_json, write_json
from annot_pipeline.storage.keys import pseudonym

FORGOTTEN = "forgotten.json"


@dataclass(frozen=True)
class Forgotten:
    """A person who is left out: keyed digest of the name, since when, who decided, and why."""

    digest: str
    at: str
    by: str
    because: str


def read_forgotten(store: Path) -> list[Forgotten]:
    """Return the people whom a store has forgotten.

    Raises
    ------
    StoreError
        The file is damaged: nobody knows whom to leave out.
    """
    path = store / FORGOTTEN
    try:
        return [Forgotten(**entry) for entry in read_json(path)["forgotten"]]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        problem = Problem("", "it is not as it was written", do="restore it from a backup")
        title = f"{path}: damaged, and nobody knows which people to leave out"
        raise StoreError(title, [problem]) from None


def add_forgotten(store: Path, entry: Forgotten) -> None:
    """Add a person, once."""
    entries = read_forgotten(store)
    if entry.digest not in {known.digest for known in entries}:
        write_json(store / FORGOTTEN, {"forgotten": [asdict(e) for e in [*entries, entry]]})


def forgotten_among(names: Iterable[str], store: Path, key: bytes) -> set[str]:
    """Return the names that are those of forgotten people."""
    digests = {entry.digest for entry in read_forgotten(store)}
    return {name for name in names if pseudonym(key, name) in digests}
