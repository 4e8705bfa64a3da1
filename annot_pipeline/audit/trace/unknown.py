"""What to say of an item that nobody knows: the ids that are near to it."""

from __future__ import annotations

from annot_pipeline.audit.trace.rows import ask
from annot_pipeline.errors import Problem, StoreError, shorten
from annot_pipeline.storage.releases import Release

NEAREST = 5


def unknown_item(release: Release, item: str, task: str | None, *, listed: bool) -> StoreError:
    """Return the error that names the nearest ids.

    ``listed``: the item stands in an item table alone.
    """
    within = f" in task {task}" if task is not None else ""
    title = f"{release.location}: no judgment about item {shorten(item)}{within}"
    if listed:
        what = "the item is known, but not judged there" if within else "listed, but never judged"
        do = "leave out --task" if within else f"annot hits {release.campaign} asks judges"
        return StoreError(title, [Problem("", what, do=do)])
    tables, parameters = ("lineage", "items", "judgments"), {"item": item, "most": NEAREST}
    near = [row["item"] for row in ask(release, "trace/nearest", tables, parameters)]
    do = f"the nearest are {', '.join(map(shorten, near))}"
    if not near:
        do = "no id is near to it: name one that lineage.parquet or the item tables hold"
    return StoreError(title, [Problem("", "no such item", do=do)])
