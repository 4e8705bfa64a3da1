"""Settings and paths are published: whether and where they name judges who have pseudonyms."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from annot_pipeline.config import Campaign
from annot_pipeline.config.signature import digest, release_settings
from annot_pipeline.contracts.name_key import name_key
from annot_pipeline.storage.keys import derive, fingerprint, pseudonym

SHORTEST_NAME = 4
"""Characters of a judge's name below which it is looked for as a whole text only."""


def names_in_path(path: str, judge: str) -> bool:
    """Return whether a judge's name stands in a path as a word; short ones stand there by chance.

    So do numbers, unless they are addresses as 203.0.113.77.
    """
    name, text = name_key(judge), name_key(path)
    if len(name) < SHORTEST_NAME or name.isdigit() or name not in text:
        return False
    return bool(re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text))


def published_settings(settings: Campaign, key: bytes) -> dict[str, Any]:
    """Return `release_settings` and privacy as the manifest has them.

    Where judges are pseudonyms, what could name one is a hash salted with ``key``: the judge's own
    expression unless it is a column, the ``each`` that it uses, and whatever repeats them. Patterns
    of ``judges`` are pseudonyms, but for models: of an exact name it is the judge's own.
    """
    document = release_settings(settings) | {"privacy": settings.privacy.model_dump()}
    if settings.privacy.pseudonymize:
        salt = derive(key, "settings")
        document["privacy"]["key_fingerprint"] = fingerprint(key)
        document["judges"] = _without_people(document["judges"], key)
        document["sources"] = [
            _without_digests(_without_judges(s, salt), salt) for s in document["sources"]
        ]
    return document


def _without_digests(source: dict[str, Any], salt: str) -> dict[str, Any]:
    """Return a source without plain digests of exports, by which guesses at them are confirmed."""
    excluded = [
        entry | {"digest": f"sha256:{digest([salt, entry['digest']])}"}
        for entry in source["exclude"]
    ]
    return source | {"exclude": excluded}


def _without_people(judges: Any, key: bytes) -> Any:
    """Return the section ``judges``, a list or a mapping, with pseudonyms for names of people."""
    if isinstance(judges, dict):
        return judges | {"declared": _without_people(judges["declared"], key)}
    return [
        entry if entry["kind"] == "model" else entry | {"name": pseudonym(key, entry["name"])}
        for entry in judges
    ]


def _without_judges(source: dict[str, Any], salt: str) -> dict[str, Any]:
    judge = source["fields"].get("judge")
    if judge is None:  # votes name no judge
        return source
    who = json.dumps(judge, ensure_ascii=False)
    hidden = [name for name in source["each"] if f"{{{name}}}" in who or f"{{{name}.index}}" in who]
    names = {value for name in hidden for value in source["each"][name]} | set(_named(judge))
    columns = _columns(judge)
    conditions = [*source["where"], *source.get("failed_where", ())]
    of_judges = [condition for condition in conditions if columns & _columns(condition)]
    names |= {name for condition in of_judges for name in _conditions(condition)}
    keys = {key for name in names if (key := name_key(name))}

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {without(key): without(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [without(inner) for inner in value]
        if isinstance(value, str) and (text := name_key(value)):
            is_named = text in keys or any(len(k) >= SHORTEST_NAME and k in text for k in keys)
            return f"sha256:{digest([salt, value])}" if is_named else value
        return value

    fields = {name: without(value) for name, value in source["fields"].items()}
    plain = all(judge.get(key) is None for key in ("match", "map", "else")) and "column" in judge
    fields["judge"] = without(judge) if plain else {"sha256": digest([salt, judge])}
    each = {
        name: {"sha256": digest([salt, values])} if name in hidden else without(values)
        for name, values in source["each"].items()
    }
    rest = ("where", "failed", "failed_where", "options")
    more = {name: without(source[name]) for name in rest if name in source}
    return source | {"fields": fields, "each": each} | more


def _columns(expression: Mapping[str, Any]) -> set[str]:
    """Return the columns that an expression, or the expression of a condition, reads."""
    parts = [expression, *(expression.get("join") or ())]
    return {column for part in parts if (column := part.get("column"))}


def _conditions(condition: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a condition on judges compares them with."""
    for name in ("in", "not"):
        yield from condition.get(name) or ()
    if condition.get("match"):
        yield condition["match"]
    yield from condition.get("map") or ()


def _named(judge: Mapping[str, Any]) -> Iterator[str]:
    """Yield the judges that an expression names: constants, and what columns are mapped to."""
    for part in judge.get("join", ()):
        yield from _named(part)
    mapped = judge.get("map") or {}
    constants = (judge.get("value"), judge.get("else"), *mapped, *mapped.values())
    yield from (name for name in constants if name and "{" not in name)
