"""Small studies and what they write: what its tests share."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from studies.registry import run_study

SMALL = {"n_items": 20, "iterations": 4, "repeats": 3, "rounds": 10, "n_judges": 12}
SMALL_SYSTEMS = {"repeats": 2, "rounds": 10, "per_system": 60, "points": 6, "n_segments": 40}


def silent(_: str) -> None:
    pass


def run(name: str, folder: Path, oracle: Path | None = None, **settings: Any) -> dict[str, Any]:
    return run_study(name, settings, None, oracle, folder, silent)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
