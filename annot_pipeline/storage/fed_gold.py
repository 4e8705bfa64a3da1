"""``gold.json`` of a store: gold, folders and URLs, whose releases were made from its archive.

A store may feed several: another `--set gold`, or campaigns that share it. What the releases of
one need must not go because another is pruned.
"""

from __future__ import annotations

import os
from pathlib import Path

from annot_pipeline.config.gold_url import is_url
from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.storage.files import read_json, write_json

FED = "gold.json"


def note_gold(store: Path, gold: Path | str) -> None:
    """Remember that a store feeds a gold folder, or URL; before a release is published."""
    name = gold if isinstance(gold, str) else os.path.relpath(gold.resolve(), store.resolve())
    known = _names(store)
    if name not in known:
        write_json(store / FED, sorted([*known, name]))


def fed_gold(store: Path) -> list[str]:
    """Gold that a store feeds: URLs, and those folders that are there still.

    Raises
    ------
    StoreError
        The note is damaged: nobody knows.
    """
    root = store.resolve()
    fed = (n if is_url(n) else os.path.normpath(root / n) for n in _names(store))
    return [place for place in fed if is_url(place) or os.path.isdir(place)]


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
