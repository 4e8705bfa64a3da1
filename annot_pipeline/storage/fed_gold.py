"""``gold.json`` of a store: gold, folders and URLs, whose releases were made from its archive.

A store may feed several: another `--set gold`, or campaigns that share it. What the releases of
one need must not go because another is pruned.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from annot_pipeline.config.gold_url import is_url
from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.storage.files import read_json, write_json

FED = "gold.json"


def note_gold(store: Path, gold: Path | str) -> None:
    """Remember that a store feeds a gold folder, or URL; before a release is published."""
    name = gold if isinstance(gold, str) else os.path.relpath(gold.resolve(), store.resolve())
    names = _names(store)
    if name not in names:
        write_json(store / FED, sorted([*names, name]))


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


def forget_gold(store: Path, places: Collection[str]) -> None:
    """Forget gold that will not come back, by its place as `fed_gold` gives it."""
    names = _names(store)
    remaining = [name for name in names if _place(store, name) not in places]
    if remaining != names:
        write_json(store / FED, remaining)


def _place(store: Path, name: str) -> str:
    return name if is_url(name) else os.path.normpath(store.resolve() / name)


def _names(store: Path) -> list[str]:
    path = store / FED
    try:
        names = read_json(path)
    except FileNotFoundError:
        return []
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        do = "restore it, or delete it: it is written again with the next release"
        raise StoreError(f"{path}: damaged", [Problem("", "it lists no folders", do=do)])
    return names
