"""The first release by which an item has the label or the score that it has now, and why."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from annot_pipeline.audit.diff.output import add_lines
from annot_pipeline.audit.diff.releases import Diff, diff_releases
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.storage.manifest_changes import (
    export_changes,
    setting_changes,
    setting_in_words,
)
from annot_pipeline.storage.releases import Release, Releases

Document = dict[str, Any]
VALUES = {"labels": "label", "scores": "raw_mean"}
"""Tables with a value an item, and the column of the value."""
MOST = 20
"""Judgments of a change that are shown."""


def bisect(
    campaign: LoadedCampaign,
    item: str,
    task: str | None = None,
    *,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Document]:
    """Return since when an item has its value, in each of its tasks.

    Releases are read from the newest back to the first that differs; between these two the cause
    is found by recomputation, as `annot diff` does.

    Parameters
    ----------
    campaign
        Whose releases.
    item
        The item.
    task
        The only task to look at; None: all.
    progress
        Told what is being read and recomputed.

    Returns
    -------
    list of dict
        By task: ``table``, ``column`` and ``value``; ``since``, the first release that has it, and
        ``created_at``; ``before``, the release before that, and ``value_before`` (null: the item
        was not in it); ``causes``, ``exports`` added or changed, and ``judgments`` of the item that
        changed. ``before`` is null where all releases have the value.

    Raises
    ------
    StoreError
        The newest release does not have the item, or a release cannot be read.
    """
    releases = Releases.for_campaign(campaign)
    versions = releases.versions()
    newest = releases.get()
    current = _values(newest, item, task)
    if not current:
        where = f"item {item}" + (f" in task {task}" if task else "")
        near = difflib.get_close_matches(item, _items(newest), 3)
        allowed = f"items like it: {', '.join(near)}" if near else ""
        problem = Problem("ITEM", f"{newest.version} has no {where}", allowed)
        raise StoreError("nothing to look for", [problem])
    since = dict.fromkeys(current, newest)
    before: dict[tuple[str, str], tuple[Release, Any]] = {}
    for _, version in pairwise(versions[::-1]):
        open_keys = current.keys() - before.keys()
        if not open_keys:
            break
        progress(f"reading {version}")
        release = releases.get(version)
        values = _values(release, item, task)
        for key in open_keys:
            if values.get(key) == current[key]:
                since[key] = release
            else:
                before[key] = release, values.get(key)
    diffs: dict[str, Diff] = {}
    documents = []
    for key in sorted(current):
        first, (table, of_task) = since[key], key
        document: Document = {
            "task": of_task, "item": item, "table": table, "column": VALUES[table],
            "value": current[key], "since": first.version,
            "created_at": first.manifest["created_at"], "before": None, "value_before": None,
        }  # fmt: skip
        if key in before:
            old, document["value_before"] = before[key]
            document["before"] = old.version
            if first.version not in diffs:
                pair = (old.version, first.version)
                diffs[first.version] = diff_releases(
                    campaign, pair, tables=tuple(VALUES), progress=progress
                )
            document |= _causes(campaign, diffs[first.version], document)
        documents.append(document)
    return documents


def bisect_gate(campaign: LoadedCampaign, name: str) -> Document:
    """Return by which release the figure of a gate moved most, and what was new in it.

    Figures move in every release: what is told is the largest step, and all values.

    Parameters
    ----------
    campaign
        Whose releases.
    name
        Of the gate, as manifests have it.

    Returns
    -------
    dict
        ``gate``, ``question``; ``values``, by release: ``version``, ``value``, ``level``; ``since``
        and ``before``, the releases of the largest step, with ``value`` and ``value_before``;
        ``exports`` and ``settings`` that changed between them. ``before`` is null where all
        releases have one value.

    Raises
    ------
    StoreError
        No release has such a gate, or a release cannot be read.
    """
    releases = Releases.for_campaign(campaign)
    checked = [
        (release, check)
        for release in map(releases.get, releases.versions())
        for check in release.manifest["checks"]
        if check["name"] == name
    ]
    if not checked:
        names = [check["name"] for check in releases.get().manifest["checks"]]
        near = difflib.get_close_matches(name, names, 3)
        problem = Problem("--gate", f"no release has gate {name}", ", ".join(near))
        raise StoreError("nothing to look for", [problem])
    document: Document = {
        "gate": name, "question": checked[-1][1]["question"], "since": checked[0][0].version,
        "value": checked[-1][1]["value"], "before": None, "value_before": None,
        "values": [
            {"version": release.version, "value": check["value"], "level": check["level"]}
            for release, check in checked
        ],
    }  # fmt: skip
    steps = [*pairwise(checked)]
    moved = [abs(new["value"] - old["value"]) for (_, old), (_, new) in steps]
    if max(moved, default=0.0) > 0:
        (old, before), (new, after) = steps[max(range(len(moved)), key=moved.__getitem__)]
        changes = export_changes(old.manifest, new.manifest)
        document |= {
            "since": new.version, "value": after["value"], "before": old.version,
            "value_before": before["value"],
            "exports": [row["name"] for rows in changes.values() for row in rows],
            "settings": [
                list(setting_in_words(change))
                for change in setting_changes(old.manifest, new.manifest)
            ],
        }  # fmt: skip
    return document


def _values(release: Release, item: str, task: str | None) -> dict[tuple[str, str], Any]:
    """Return the values of an item, by table and task."""
    values: dict[tuple[str, str], Any] = {}
    for table, column in VALUES.items():
        if table not in release.tables:
            continue
        paths = release.stored(table).paths
        rows = pq.read_table(
            paths[0] if len(paths) == 1 else paths,
            columns=["task", column],
            filters=pc.field("item") == item,
        )
        for row in rows.to_pylist():
            if task in (None, row["task"]):
                values[table, row["task"]] = row[column]
    return values


def _items(release: Release) -> list[str]:
    return [name for name in release.table("items")["item"].to_pylist() if name][:100_000]


def _causes(campaign: LoadedCampaign, diff: Diff, document: Document) -> Document:
    """Return why a value changed between two releases."""
    cells = diff.cells
    for name in ("table", "task", "item", "column"):
        cells = cells.filter(pc.equal(cells[name], document[name]))
    judgments: list[Document] = []
    if diff.judgments is not None:
        rows = diff.judgments
        for name in ("task", "item"):
            rows = rows.filter(pc.equal(rows[name], document[name]))
        judgments = rows.slice(0, MOST).to_pylist()
        add_lines(campaign, (diff.old, diff.new), judgments)
    files = {row[f"{age}_file"] for row in judgments for age in ("old", "new")}
    exports = [
        export["name"]
        for how in ("added", "changed", "removed")
        for export in diff.inputs["exports"][how]
    ]
    causes = next(iter(cells["causes"].to_pylist()), None)
    return {
        "causes": causes or [],
        "exports": sorted(set(exports) & files) or exports,
        "judgments": [{n: v for n, v in row.items() if v is not None} for row in judgments],
    }
