"""File names from names of tasks, which can be anything."""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST = 60


def file_stems(tasks: Iterable[str]) -> dict[str, str]:
    """Return a stem for each task: ASCII, and another one for each on every file system."""
    stems: dict[str, str] = {}
    taken: set[str] = set()
    for task in tasks:
        plain = re.sub(r"[^A-Za-z0-9_]+", "-", task).strip("-")[:LONGEST].rstrip("-") or "task"
        stem, number = plain, 1
        while stem.casefold() in taken:
            number += 1
            stem = f"{plain}-{number}"
        taken.add(stem.casefold())
        stems[task] = stem
    return stems
