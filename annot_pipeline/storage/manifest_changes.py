"""What differs between two manifests: exports, settings, code.

Of settings only what was published is told. What does not belong here: what differs in tables
(audit, report).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Document = dict[str, Any]
Manifest = Mapping[str, Any]


def export_changes(old: Manifest, new: Manifest) -> dict[str, list[Document]]:
    """Return exports and item tables that were ``added``, ``removed`` or ``changed`` their bytes.

    Each is a row of ``kind``, ``name``, ``old_digest``, ``new_digest``; a file can be both an
    export and an item table. Digests under another key of the judges' names
    tell no bytes: an export of as many bytes counts as unchanged then.
    """
    before, after = _exports(old), _exports(new)
    comparable = _digest_key(old) == _digest_key(new)
    changes: dict[str, list[Document]] = {"added": [], "removed": [], "changed": []}
    for kind, name in sorted(before.keys() | after.keys()):
        one, other = before.get((kind, name)), after.get((kind, name))
        if one == other or (one and other and not comparable and one[1] == other[1]):
            continue
        what = "added" if one is None else "removed" if other is None else "changed"
        digests = {"old_digest": one and one[0], "new_digest": other and other[0]}
        changes[what].append({"kind": kind, "name": name, **digests})
    return changes


def new_exports(old: Manifest, new: Manifest) -> dict[str, str]:
    """Return the digests, by name, of the exports of judgments that only the newer one has."""
    changes = export_changes(old, new)
    rows = [row for how in ("added", "changed") for row in changes[how]]
    return {row["name"]: row["new_digest"] for row in rows if row["kind"] == "judgments"}


def _exports(manifest: Manifest) -> dict[tuple[str, str], tuple[str, int | None]]:
    return {(s["kind"], s["name"]): (source_digest(s), s.get("bytes")) for s in manifest["sources"]}


def source_digest(source: Mapping[str, Any]) -> str:
    """Return the published digest of an entry of a manifest's sources."""
    return str(source["source_digest"])


def _digest_key(manifest: Manifest) -> str | None:
    """Return what tells the key of the digests of a manifest's sources; None: they are plain."""
    fingerprint: str | None = manifest["settings"].get("privacy", {}).get("key_fingerprint")
    return fingerprint


def release_figures(manifest: Manifest) -> Document:
    """Return the figures of a release that are followed from release to release."""
    facts, changes = manifest["facts"], manifest["changes"] or {}
    rows = {table["name"]: table["rows"] for table in manifest["tables"]}
    certain = [*facts["certain_share"].values()]
    return {
        "version": manifest["version"],
        "created_at": manifest["created_at"],
        "used": facts["fates"].get("used", 0),
        "labels": rows.get("labels", 0),
        "scores": rows.get("scores", 0),
        "certain": sum(certain) / len(certain) if certain else None,
        "new_judgments": changes.get("new_judgments"),
        "changed_labels": changes.get("changed_labels"),
        "warnings": sum(check["level"] == "warn" for check in manifest["checks"]),
    }


def code_changes(old: Manifest, new: Manifest) -> list[Document]:
    """Return versions of package, tables, packages and stages' code: ``what``, ``old``, ``new``."""
    before, after = _versions(old), _versions(new)
    return [
        {"what": what, "old": before.get(what), "new": after.get(what)}
        for what in dict.fromkeys([*before, *after])
        if before.get(what) != after.get(what)
    ]


def _versions(manifest: Manifest) -> dict[str, str]:
    stages = {f"stage {run['stage']}": run["code_version"] for run in manifest["runs"]}
    schema = {"schema of the tables": str(manifest["schema_version"])}
    return {**manifest["code"], **schema, **manifest["packages"], **stages}


def setting_changes(old: Manifest, new: Manifest) -> list[Document]:
    """Return published settings that differ: ``path`` (dotted), ``old``, ``new``.

    Entries of a list are matched by their path or name, else by all that they say beside it, except
    a judge's family. One that only one side has is one change, its value the entry. An entry's
    number is that in the newer manifest, of one that is gone that in the older. Nothing and empty
    are the same.

    Parameters
    ----------
    old, new
        Of both ``settings`` are read, and ``settings_hash``: it tells another key.
    """
    changes = list(_differing(old["settings"], new["settings"], ""))
    if not changes and old.get("settings_hash") != new.get("settings_hash"):
        changes.append({"path": "privacy key", "old": "not shown", "new": "changed, not shown"})
    return changes


def setting_in_words(change: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return a row of `setting_changes` for people: the setting, what it was, what it is."""
    values = (change["old"], change["new"])
    absent = "none" if any(isinstance(value, Mapping) for value in values) else "default"
    was, is_ = (absent if value is None else _in_words(value) for value in values)
    return change["path"], was, is_


def _in_words(value: Any) -> str:
    if isinstance(value, Mapping) and _name(value):
        settings = [key for key in value if key not in ("path", "name")]
        fields = value.get("fields")
        n, what = (len(fields), "field") if fields else (len(settings), "setting")
        family = value.get("family")
        identity = f"family {family}" if family else f"{n} {what}{'s' * (n != 1)}"
        value = f"{_name(value)}, {identity}"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _differing(old: Any, new: Any, path: str) -> Iterator[Document]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys([*new, *old]):
            inner = f"{path}.{key}" if path else str(key)
            yield from _differing(old.get(key), new.get(key), inner)
    elif _are_entries(old) and _are_entries(new):
        yield from _entry_changes(old or [], new or [], path)
    elif _or_none(old) != _or_none(new):
        yield {"path": path, "old": _or_none(old), "new": _or_none(new)}


def _or_none(value: Any) -> Any:
    return None if value in ({}, []) else value


def _are_entries(value: Any) -> bool:
    """Return whether a value is a list of mappings, if it is anything."""
    is_list = isinstance(value, list) and all(isinstance(entry, Mapping) for entry in value)
    return value is None or is_list


def _entry_changes(old: Sequence[Any], new: Sequence[Any], path: str) -> Iterator[Document]:
    """Yield the differences of lists of entries: in each, which there are, and their order."""
    pairs = _paired(old, new)
    for position, entry in enumerate(new):
        at = f"{path}.{position}"
        if position in pairs:
            yield from _differing(old[pairs[position]], entry, at)
        else:
            yield {"path": at, "old": None, "new": entry}
    for position, entry in enumerate(old):
        if position not in pairs.values():
            yield {"path": f"{path}.{position}", "old": entry, "new": None}
    places = [pairs[position] for position in sorted(pairs)]
    if places != sorted(places):
        orders = ([entries[position] for position in at] for entries, at in (
            (old, sorted(places)), (new, sorted(pairs)),
        ))  # fmt: skip
        was, is_ = ([_name(entry) or "unnamed" for entry in order] for order in orders)
        yield {"path": f"{path} (order)", "old": was, "new": is_}


def _paired(old: Sequence[Any], new: Sequence[Any]) -> dict[int, int]:
    """Pair places of the newer list with the older: by name, then by equal other settings."""
    names = [
        {key: position for position, key in enumerate(_names(entries))} for entries in (old, new)
    ]
    pairs = {position: names[0][key] for key, position in names[1].items() if key in names[0]}
    unpaired = [position for position in range(len(old)) if position not in pairs.values()]
    for position, entry in enumerate(new):
        same = (other for other in unpaired if _without_names(old[other]) == _without_names(entry))
        if (
            "family" not in entry
            and position not in pairs
            and (match := next(same, None)) is not None
        ):
            pairs[position] = match
            unpaired.remove(match)
    return pairs


def _names(entries: Sequence[Any]) -> list[tuple[str, int]]:
    """Return what tells entries of a list: their names, and how often each came before."""
    counts: Counter[str] = Counter()
    names = []
    for entry in entries:
        name = _name(entry)
        names.append((name, counts[name]))
        counts[name] += 1
    return names


def _name(entry: Mapping[str, Any]) -> str:
    return str(entry.get("path") or entry.get("name") or "")


def _without_names(entry: Mapping[str, Any]) -> Document:
    return {key: value for key, value in entry.items() if key not in ("path", "name")}
