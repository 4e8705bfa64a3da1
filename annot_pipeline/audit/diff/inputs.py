"""What differs in the inputs of two releases: exports, settings, code, verdicts.

All of it stands in the manifests and in gold; nothing is recomputed. Of settings only what was
published is told. What does not belong here: judgments (diff_states), causes (diff_cells).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from annot_pipeline.storage.releases import Release

OF_JUDGES = ("verdict", "dropped", "p_value", "p_adjusted", "n_pairs")
Document = dict[str, Any]


def export_changes(old: Release, new: Release) -> dict[str, list[Document]]:
    """Exports and item tables that were added, removed, or have other bytes, by name."""
    before, after = _exports(old), _exports(new)
    changes: dict[str, list[Document]] = {"added": [], "removed": [], "changed": []}
    for kind, name in sorted(before.keys() | after.keys()):
        one, other = before.get((kind, name)), after.get((kind, name))
        if one == other:
            continue
        what = "added" if one is None else "removed" if other is None else "changed"
        changes[what].append({"kind": kind, "name": name, "old_sha256": one, "new_sha256": other})
    return changes


def _exports(release: Release) -> dict[tuple[str, str], str]:
    return {(s["kind"], s["name"]): s["sha256"] for s in release.manifest["sources"]}


def setting_changes(old: Release, new: Release) -> list[Document]:
    """Published settings that differ, by dotted path; entries of sources are matched by path.

    A source's number is that in the newer release, of one that is gone that in the older.
    """
    before = dict(_leaves(old.manifest["settings"], ""))
    after = dict(_leaves(new.manifest["settings"], ""))
    numbers = _numbers(old.manifest["settings"]) | _numbers(new.manifest["settings"])
    return [
        {"path": _numbered(path, numbers), "old": before.get(path), "new": after.get(path)}
        for path in dict.fromkeys([*after, *before])
        if before.get(path) != after.get(path)
    ]


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Single settings by dotted path; an entry with a path of its own is named by it, in [ ]."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(inner, Mapping) for inner in value):
        for name, inner in zip(_names(value), value, strict=True):
            yield from _leaves(inner, f"{path}{name}")
    else:
        yield path, value


def _names(entries: list[Any]) -> list[str]:
    """What tells the entries of a list: their path and how often it came before, or number."""
    names: list[str] = []
    for number, entry in enumerate(entries):
        given = entry.get("path") if isinstance(entry, Mapping) else None
        name = f"[{given}" if given else f".{number}"
        repeats = sum(earlier.startswith(f"{name} ") for earlier in names) if given else 0
        names.append(f"{name} {repeats}]" if given else name)
    return names


def _numbers(settings: Mapping[str, Any]) -> dict[str, str]:
    """Numbers of the entries that are named by their paths."""
    return {
        f"{section}{name}": f"{section}.{number}"
        for section in ("sources", "items")
        for number, name in enumerate(_names(settings.get(section, [])))
    }


def _numbered(path: str, numbers: Mapping[str, str]) -> str:
    for name, numbered in numbers.items():
        if path.startswith(name):
            return numbered + path[len(name) :]
    return path


def code_changes(old: Release, new: Release) -> list[Document]:
    """Versions of the package, of packages and of stages' code that differ."""
    before, after = _versions(old), _versions(new)
    return [
        {"what": what, "old": before.get(what), "new": after.get(what)}
        for what in dict.fromkeys([*before, *after])
        if before.get(what) != after.get(what)
    ]


def _versions(release: Release) -> dict[str, str]:
    manifest = release.manifest
    stages = {f"stage {run['stage']}": run["code_version"] for run in manifest["runs"]}
    return {**manifest["code"], **manifest["packages"], **stages}


def verdict_changes(old: Release, new: Release) -> list[Document]:
    """Judges of both releases whose verdict, or whether they count, has changed."""
    before, after = _judges(old), _judges(new)
    changes = []
    for key in sorted(before.keys() & after.keys()):
        one, other = before[key], after[key]
        if any(one[name] != other[name] for name in ("verdict", "dropped")):
            told = {f"{age}_{n}": row[n] for n in OF_JUDGES for age, row in _ages(one, other)}
            changes.append({"task": key[0], "judge": key[1]} | told)
    return changes


def _ages(old: Document, new: Document) -> tuple[tuple[str, Document], ...]:
    return (("old", old), ("new", new))


def _judges(release: Release) -> dict[tuple[str, str], Document]:
    rows = release.table("judges").select(["task", "judge", *OF_JUDGES]).to_pylist()
    return {(row["task"], row["judge"]): row for row in rows}
