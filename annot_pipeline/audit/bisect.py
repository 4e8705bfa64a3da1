"""By which release an item got its label or score, or a published metric moved most, and why."""

from __future__ import annotations

import difflib
import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from functools import cache, partial
from itertools import pairwise
from statistics import fmean
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from annot_pipeline.audit.diff.output import add_lines
from annot_pipeline.audit.diff.releases import Diff, diff_releases
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import Problem, StoreError, first_of
from annot_pipeline.storage import manifest_changes
from annot_pipeline.storage.pointer import VERSION
from annot_pipeline.storage.releases import Release, Releases

Document = dict[str, Any]
VALUES = {"labels": "label", "scores": "raw_mean"}
"""Tables with a value an item, and the column of the value."""
STATISTICS = ("agreement", "label_calibration")
"""Tables with a value a task and statistic: metrics, beside the figures of the manifest."""
MOST = 20
"""Judgments of a change, and metrics beside one that does not exist, that are shown."""


def bisect_name(
    campaign: LoadedCampaign,
    name: str,
    task: str | None = None,
    *,
    progress: Callable[[str], None] = lambda _: None,
) -> Document:
    """Return since when an item has its value, or by which release a metric moved most.

    Parameters
    ----------
    campaign
        Whose releases.
    name
        An item, else a metric.
    task
        The only task to look at; None: all.
    progress
        Told what is being read and recomputed.

    Returns
    -------
    dict
        ``item`` and ``changes`` as `bisect` gives them, or what `bisect_metric` gives.

    Raises
    ------
    StoreError
        There is no such item or metric, or a release cannot be read.
    """
    releases = Releases.for_campaign(campaign)
    every = map(releases.get, releases.versions()[::-1] or ["latest"])
    if any(_values(release, name, task) for release in every):
        return {"item": name, "changes": bisect(campaign, name, task, progress=progress)}
    return bisect_metric(campaign, name, task)


def bisect(
    campaign: LoadedCampaign,
    item: str,
    task: str | None = None,
    version: str = "latest",
    *,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Document]:
    """Return since when an item has its value, in each of its tasks.

    Releases are read from one back to the first that differs; between these two the cause is found
    by recomputation, as `annot diff` does.

    Parameters
    ----------
    campaign
        Whose releases.
    item
        The item.
    task
        The only task to look at; None: all.
    version
        The release whose values are meant; older ones are read, newer ones are not.
    progress
        Told what is being read and recomputed.

    Returns
    -------
    list of dict
        By task: ``table``, ``column`` and ``value`` (null: this release does not have the item);
        ``since``, the first release that has it, and ``created_at``; ``before``, the release before
        that, and ``value_before`` (null: the item was not in it); ``causes``, ``decision`` of a
        person, ``exports`` added or changed, ``settings``, and ``judgments`` of the item that
        changed. ``before`` is null where all releases have the value. Of a rollback, only the cause
        and the decision are given.

    Raises
    ------
    StoreError
        No release has the item, or a release cannot be read.
    """
    releases = Releases.for_campaign(campaign)
    newest, every = releases.get(version), releases.versions()
    older = every[: every.index(newest.version)][::-1]
    current = _values(newest, item, task)
    for name in older if not current else ():
        current = current or dict.fromkeys(_values(releases.get(name), item, task))
    if not current:
        raise _no_such(newest, item, task)
    since = dict.fromkeys(current, newest)
    before: dict[tuple[str, str], tuple[Release, Any]] = {}
    for name in older:
        open_keys = current.keys() - before.keys()
        if not open_keys:
            break
        progress(f"reading {name}")
        release = releases.get(name)
        values = _values(release, item, task)
        for key in open_keys:
            if values.get(key) == current[key]:
                since[key] = release
            else:
                before[key] = release, values.get(key)
    diff = cache(partial(diff_releases, campaign, tables=tuple(VALUES), progress=progress))
    documents = []
    for key in sorted(current):
        first, (table, of_task) = since[key], key
        document: Document = {"task": of_task, "item": item, "table": table}
        document |= {"column": VALUES[table], "value": current[key], "since": first.version}
        document |= {"created_at": first.manifest["created_at"], "before": None}
        document["value_before"] = None
        if key in before:
            old, document["value_before"] = before[key]
            document |= {"before": old.version, "judgments": []} | _step(old, first)
            if not (document["decision"] or {}).get("restored"):
                document |= _causes(campaign, diff((old.version, first.version)), document)
        documents.append(document)
    return documents


def bisect_metric(campaign: LoadedCampaign, name: str, task: str | None = None) -> Document:
    """Return by which release a metric moved most, and what was new in it.

    Metrics move in every release: what is told is the largest step, and all values.

    Parameters
    ----------
    campaign
        Whose releases.
    name
        Of the metric, with or without what stands before its last dot.
    task
        Whose values; None: of a metric by task, the mean of all tasks.

    Returns
    -------
    dict
        ``metric``, its whole name, and ``task``; ``question``, of a gate; ``values``, by release:
        ``version``, ``value``, ``level`` (of a gate); ``since`` and ``before``, the releases of the
        largest step, with ``value`` and ``value_before``; of this step ``causes``, the ``decision``
        of a person, ``exports`` and ``settings`` that changed. ``before`` is null where all
        releases have one value.

    Raises
    ------
    StoreError
        No release has such a metric, several end so, or a release cannot be read.
    """
    store = Releases.for_campaign(campaign)
    releases = [*map(store.get, store.versions())] or [store.get()]
    metrics = [_metrics(release, task) for release in releases]
    names = sorted({name for of_release in metrics for name in of_release})
    matches = [one for one in names if one == name] or [
        one for one in names if one.endswith(f".{name}")
    ]
    if len(matches) > 1:
        problem = Problem("NAME", f"several metrics end with {name}", ", ".join(matches))
        raise StoreError("nothing says which metric is meant", [problem])
    if not matches:
        raise _no_such(releases[-1], name, task, names)
    [metric] = matches
    checks = [
        {f"gates.{check['name']}": check for check in release.manifest["checks"]}
        for release in releases
    ]
    values: list[Document] = [
        {"version": release.version, "value": of_release[metric]}
        | {"level": gates.get(metric, {}).get("level")}
        for release, of_release, gates in zip(releases, metrics, checks, strict=True)
        if metric in of_release
    ]
    document: Document = {
        "metric": metric, "task": task, "since": values[0]["version"],
        "question": next((VERSION.sub("the release before", gates[metric]["question"])
                          for gates in checks if metric in gates), None),
        "value": values[-1]["value"], "before": None, "value_before": None, "values": values,
    }  # fmt: skip
    steps = [(values[0], values[0]), *pairwise(values)]
    before, after = max(steps, key=lambda step: abs(step[1]["value"] - step[0]["value"]))
    if before["value"] != after["value"]:
        document |= {
            "since": after["version"], "value": after["value"], "before": before["version"],
            "value_before": before["value"],
            **_step(store.get(before["version"]), store.get(after["version"])),
        }  # fmt: skip
    return document


def _step(old: Release, new: Release) -> Document:
    """Return what is new in a release since another: causes, decision, exports and settings.

    Of a rollback the exports and settings are no cause: they are those of the older release again.
    """
    decision = new.manifest.get("decision")
    step: Document = {"decision": decision, "exports": [], "settings": []}
    if restored := (decision or {}).get("restored"):
        return step | {"causes": [f"rollback to {restored}"]}
    exports = manifest_changes.export_changes(old.manifest, new.manifest)
    settings = manifest_changes.setting_changes(old.manifest, new.manifest)
    causes = {f"exports {how}": rows for how, rows in exports.items()} | {
        "settings": settings,
        "code": manifest_changes.code_changes(old.manifest, new.manifest),
        "a person was forgotten": (decision or {}).get("forgets_person"),
    }
    return step | {
        "causes": [cause for cause, is_there in causes.items() if is_there],
        "exports": [row["name"] for rows in exports.values() for row in rows],
        "settings": [list(manifest_changes.setting_in_words(change)) for change in settings],
    }


def _metrics(release: Release, task: str | None) -> dict[str, float]:
    """Return the metrics of a release by name: of one task, or means over all tasks."""
    manifest = release.manifest
    gates = {check["name"]: check["value"] for check in manifest["checks"]}
    document = {**manifest_changes.release_figures(manifest), **manifest["facts"], "gates": gates}
    tasks = manifest["facts"]["kinds"].keys()
    values = defaultdict[str, list[float]](list)
    for path, of_task, value in _figures(document, tasks):
        if task in (None, of_task):
            values[path].append(value)
    for table in STATISTICS:
        for row in release.table(table).to_pylist():
            is_published = row.get("model", "published") == "published"
            if is_published and row["value"] is not None and task in (None, row["task"]):
                values[f"{table}.{row['statistic']}"].append(row["value"])
    return {path: fmean(of_tasks) for path, of_tasks in values.items()}


def _figures(
    value: Any, tasks: Set[str], path: str = "", task: str | None = None
) -> Iterator[tuple[str, str | None, float]]:
    """Yield numbers of a document with their dotted path and task; of a list, its length."""
    if isinstance(value, dict):
        by_task = bool(value) and value.keys() <= tasks
        for key, inner in value.items():
            below = path if by_task else f"{path}.{key}".lstrip(".")
            yield from _figures(inner, tasks, below, key if by_task else task)
    elif isinstance(value, list):
        yield path, task, len(value)
    elif isinstance(value, int | float):
        yield path, task, value


def _no_such(
    release: Release, name: str, task: str | None, metrics: Sequence[str] = ()
) -> StoreError:
    """Return the error of a name that is no item and no metric, with names that are like it.

    An item may be there without a value, for example if all its judges failed.
    """
    where = f" in task {task}" if task else ""
    every = release.table("items")["item"].to_pylist()
    if name in every:
        do = f"annot trace {release.campaign} {shlex.quote(name)} shows its judgments and fates"
        problem = Problem("NAME", f"{name} has none in {release.version}{where}", do=do)
        return StoreError("an item has no label or score", [problem])
    items = filter(None, every[:100_000])
    names = {*metrics, *(metric.rpartition(".")[2] for metric in metrics), *items}
    near = difflib.get_close_matches(name, sorted(names), 3)
    words = {word: metric for metric in metrics[::-1] for word in re.split(r"[._]", metric)}
    near = near or [words[word] for word in difflib.get_close_matches(name.lower(), words, 3)]
    what = f"no item or metric {name}" if metrics else f"no item {name}"
    do = f"did you mean {' or '.join(near)}?" if near else ""
    others = [metric for metric in metrics if not metric.startswith("gates.")]
    allowed = f"an item, a gate, or a metric: {first_of(others, MOST)}" if metrics else ""
    problem = Problem("NAME", f"{release.version} has {what}{where}", allowed, do)
    return StoreError("nothing to look for", [problem])


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
    exports = document["exports"]
    return {
        "causes": next(iter(cells["causes"].to_pylist()), None) or [],
        "exports": sorted(set(exports) & files) or exports,
        "judgments": [{n: v for n, v in row.items() if v is not None} for row in judgments],
    }
