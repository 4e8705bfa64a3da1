"""People whom a campaign has forgotten: keyed digests of their names, and that it happened.

``forgotten.json`` in the store holds no name: whoever has the key can tell whether a name is meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.storage.files import read_json, write_json
from annot_pipeline.storage.keys import fingerprint, pseudonym
from annot_pipeline.storage.release_log import ReleaseLog

FORGOTTEN, LOCK = "forgotten.json", "forgotten.lock"
ANEW = f'write {{"forgotten": []}} into {FORGOTTEN}, then annot forget --unseen each person by name'
"""How people are forgotten again where digests of their names are lost, or of another key."""


@dataclass(frozen=True)
class Forgotten:
    """A person who is left out: keyed digest of the name, since when, who decided, and why.

    ``key`` is the fingerprint of the key: under another one nobody is recognized. ``releases`` had
    the person, and are gone where the command is ``finished``. ``exports``: digests of excluded
    exports, by that of their text without the person's rows: where these are removed by hand, it
    is still excluded.
    """

    digest: str
    key: str
    at: str
    by: str
    because: str
    releases: Sequence[str] = ()
    exports: Mapping[str, Sequence[str]] = field(default_factory=dict)
    finished: bool = False


def read_forgotten(store: Path) -> list[Forgotten]:
    """Return the people whom a store has forgotten.

    Raises
    ------
    StoreError
        The file is damaged, or missing although the log says that people were forgotten: nobody
        knows whom to leave out.
    """
    path, do = store / FORGOTTEN, "restore it from a backup"
    state, what = "damaged", "it is not as it was written"
    try:
        return [Forgotten(**entry) for entry in read_json(path)["forgotten"]]
    except (FileNotFoundError, NotADirectoryError):
        if not ReleaseLog(store, store).has_forgotten():
            return []
        state, what = "missing", "the store's log says that people were forgotten"
        do += f"; where it is lost for good, {ANEW}"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    title = f"{path}: {state}, and nobody knows which people to leave out"
    raise StoreError(title, [Problem("", what, do=do)])


def forgotten_releases(store: Path) -> set[str]:
    """Return the releases that are gone because they had a person whom a store has forgotten."""
    return {version for person in read_forgotten(store) for version in person.releases}


def unfinished(store: Path, typed: str) -> list[dict[str, str]]:
    """Return what is wrong, and what to do, where people are not forgotten to the end.

    ``typed``: the campaign, as it is typed in commands.
    """
    what = "the person whom {by} decided to forget at {at} is still in archive or releases"
    do = f'annot forget {typed} JUDGE --because "..." with the same name finishes it'
    open_ones = (person for person in read_forgotten(store) if not person.finished)
    return [{"what": what.format(**vars(person)), "do": do} for person in open_ones]


def write_forgotten(store: Path, entry: Forgotten) -> None:
    """Add a person, once; what was decided first stays, and what is finished."""
    entries = {person.digest: person for person in read_forgotten(store)}
    first = entries.get(entry.digest, entry)
    releases = list(dict.fromkeys([*first.releases, *entry.releases]))
    finished = first.finished or entry.finished
    entries[entry.digest] = replace(first, releases=releases, finished=finished)
    write_json(store / FORGOTTEN, {"forgotten": [asdict(e) for e in entries.values()]})
    ReleaseLog(store, store).note_forgotten()  # last: a list that the log misses stops all builds


def forgotten_among(names: Iterable[str], people: Sequence[Forgotten], key: bytes) -> set[str]:
    """Return the names that are those of forgotten people.

    Raises
    ------
    StoreError
        Some were forgotten under another key: their names are not recognized.
    """
    if any(entry.key != fingerprint(key) for entry in people):
        do = f"set the key that was used; where it is given up, {ANEW}"
        problem = Problem(FORGOTTEN, "the key of the judges' names is another one", do=do)
        raise StoreError("people who are forgotten cannot be recognized", [problem])
    digests = {entry.digest for entry in people}
    return {name for name in names if pseudonym(key, name) in digests}
