"""What to say of an item that nobody knows: the ids that are near to it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from annot_pipeline.audit.trace.rows import ask
from annot_pipeline.errors import Problem, StoreError, shorten

NEAREST = 5


def unknown_item(
    folder: Path, manifest: Mapping[str, Any], item: str, task: str | None, *, listed: bool
) -> StoreError:
    """The error that names the nearest ids; ``listed``: the item stands in an item table alone."""
    within = f" in task {task}" if task is not None else ""
    title = f"{folder}: no judgment about item {shorten(item)}{within}"
    if listed:
        what = "the item is known, but not judged there" if within else "listed, but never judged"
        do = "leave out --task" if within else "annot hits CAMPAIGN asks judges"
        return StoreError(title, [Problem("", what, do=do)])
    tables, parameters = ("lineage", "items", "judgments"), {"item": item, "most": NEAREST}
    near = [row["item"] for row in ask(folder, manifest, "trace/nearest", tables, parameters)]
    allowed = ", ".join(map(shorten, near))
    return StoreError(title, [Problem("", "no such item", do=f"the nearest are {allowed}")])
