"""``gold.json`` of a store: gold folders whose releases were made from its archive.

A store may feed several: another `--set gold`, or campaigns that share it. What the releases of
one need must not go because another is pruned.
"""

from __future__ import annotations

import os
from pathlib import Path

from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.storage.files import read_json, write_json

FED = "gold.json"


def note_gold(store: Path, gold: Path) -> None:
    """Remember that a store feeds a gold folder; before a release is published."""
    name = os.path.relpath(gold.resolve(), store.resolve())
    known = _names(store)
    if name not in known:
        write_json(store / FED, sorted([*known, name]))


def fed_gold(store: Path) -> list[Path]:
    """Gold folders that a store feeds, those that are there still.

    Raises
    ------
    StoreError
        The note is damaged: nobody knows.
    """
    folders = (Path(os.path.normpath(store.resolve() / name)) for name in _names(store))
    return [folder for folder in folders if folder.is_dir()]


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
