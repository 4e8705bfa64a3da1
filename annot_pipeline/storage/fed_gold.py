"""Gold, folders and URLs, whose releases were made from the archive of a store.

A store may feed several: another `--set gold`, or campaigns that share it. What the releases of
one need must not go because another is pruned. ``gold.json`` lists them; so do the files of
``version_numbers/``, each for the gold that it is named after. Where one of both is lost or lacks
an entry, the other tells. ``gone_gold.json`` lists gold that the user gave up.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from annot_pipeline.config.gold_url import is_url
from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.storage.files import read_json, write_json

FED = "gold.json"
GONE = "gone_gold.json"
COPIES, NUMBERS = "pointers", "version_numbers"
"""Folders of a store that hold one file for each gold, named by `gold_stem`."""


def gold_name(store: Path, gold: Path | str) -> str:
    """Return the name of gold in a store: its URL, or its path from the store."""
    return gold if isinstance(gold, str) else os.path.relpath(gold.resolve(), store.resolve())


def gold_stem(name: str) -> str:
    """Return how the files of a store are called that belong to gold with this name."""
    return hashlib.sha256(name.encode()).hexdigest()[:16]


def note_gold(store: Path, gold: Path | str) -> None:
    """Remember that a store feeds a gold folder, or URL; before a release is published.

    Raises
    ------
    StoreError
        The note is damaged: it may list gold that nothing else tells.
    """
    name = gold_name(store, gold)
    listed = _listed(store)
    names = sorted({*_names(store), name})
    if names != listed:
        write_json(store / FED, names)
    gone = _gone(store)
    if gold_stem(name) in gone:
        write_json(store / GONE, sorted(gone - {gold_stem(name)}))


def fed_gold(store: Path) -> list[str]:
    """Return the gold that a store feeds: URLs and folders, also those that are away.

    Raises
    ------
    StoreError
        The note is damaged: nobody knows.
    """
    return list(fed_places(store).values())


def fed_places(store: Path) -> dict[str, str]:
    """Return the gold that a store feeds by its name in the note; see `fed_gold`.

    Raises
    ------
    StoreError
        The note is damaged: nobody knows.
    """
    return {name: _place(store, name) for name in _names(store)}


def unlisted_stems(store: Path) -> list[str]:
    """Return the stems of files of gold of which nothing tells where it lies; none given up.

    Raises
    ------
    StoreError
        The note is damaged: nobody knows.
    """
    named = {gold_stem(name) for name in _names(store)}
    return sorted(_stems(store) - named - _gone(store))


def forget_gold(store: Path, places: Collection[str]) -> None:
    """Forget gold that will not come back, by its place as `fed_gold` gives it, or its stem."""
    if not places:
        return
    listed = _listed(store)
    stems = {gold_stem(name) for name in _names(store) if _place(store, name) in places}
    stems |= {stem for stem in _stems(store) if stem in places}
    write_json(store / GONE, sorted(_gone(store) | stems))
    names = [name for name in listed if gold_stem(name) not in stems]
    if names != listed:
        write_json(store / FED, names)


def damaged_note(store: Path) -> Problem | None:
    """Return what is wrong with the note, and how to write it again; None where it is whole."""
    try:
        _listed(store)
    except StoreError as error:
        return error.problems[0]
    return None


def _place(store: Path, name: str) -> str:
    return name if is_url(name) else os.path.normpath(store.resolve() / name)


def _names(store: Path) -> list[str]:
    """Return the names of gold that the note or version numbers give, without what is given up."""
    listed = _listed(store)
    numbered = _numbered(store)
    gone = _gone(store)
    return sorted({*listed, *(name for name in numbered if gold_stem(name) not in gone)})


def _listed(store: Path) -> list[str]:
    path = store / FED
    try:
        names = read_json(path)
    except FileNotFoundError:
        return []
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        example = json.dumps(sorted(_numbered(store)) or ["../gold"], ensure_ascii=False)
        what = "it cannot be read as a JSON list of the gold folders that this store publishes to"
        do = (
            "restore it from a backup; or write it again as a JSON list of all gold folders and "
            f"URLs to which this store published, paths relative to the store: {example}"
        )
        raise StoreError(f"{path}: damaged", [Problem(str(path), what, do=do)])
    return names


def _numbered(store: Path) -> list[str]:
    """Return the names of gold that the files of version numbers hold and are called after."""
    names = []
    for path in sorted((store / NUMBERS).glob("*.json")):
        with suppress(OSError, ValueError, KeyError, TypeError):
            name = read_json(path)["gold"]
            if isinstance(name, str) and gold_stem(name) == path.stem:
                names.append(name)
    return names


def _stems(store: Path) -> set[str]:
    return {path.stem for folder in (COPIES, NUMBERS) for path in (store / folder).glob("*.json")}


def _gone(store: Path) -> set[str]:
    """Return the stems of gold that is given up; none where the list is damaged."""
    with suppress(OSError, ValueError):
        stems = read_json(store / GONE)
        if isinstance(stems, list):
            return {stem for stem in stems if isinstance(stem, str)}
    return set()
