"""A manifest whose values have other types is refused, or harms no command that reads it."""

from __future__ import annotations

import copy
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline import load_gold
from annot_pipeline.cli import main
from annot_pipeline.cli.render import text
from annot_pipeline.errors import AnnotError, StoreError
from annot_pipeline.storage.files import canonical_json, file_sha256
from annot_pipeline.storage.keys import same_names
from annot_pipeline.storage.manifest import parse_manifest
from annot_pipeline.storage.manifest_changes import (
    code_changes,
    export_changes,
    setting_changes,
    setting_in_words,
)
from annot_pipeline.storage.pointer import Pointer, write_pointer
from tests.audit.two_releases import manifest_of, rewrite
from tests.conftest import build_file

VALUES = [None, "x", "../../x", -1, 3, 10**30, 1e308, True, [], {}, [{}], {"x": {}}, [5]]
DEPTH = 5 if "SOAK" in os.environ else 3
MOST_ENTRIES = 2
"""Entries of each list that are replaced: others are of the same shape."""
CHANGES = {"new_judgments": 2, "settings_changed": False, "withdrawn_judgments": None}
SOAK = "SOAK" in os.environ
EACH_VALUE = [
    value if value is None else pytest.param(value, marks=pytest.mark.slow) for value in VALUES
]
COMMANDS = [
    ["status"], ["releases"], ["verify"], ["trace", "item #0: 'x' | `y` *z*"], ["trace", "s1"],
    ["diff", "v0001", "v0002"],
]  # fmt: skip


@pytest.fixture(scope="module")
def published(full_release, tmp_path_factory) -> Path:
    """Copy the full campaign, with a second release that says that it has changed."""
    source = full_release.folder.parents[1]
    campaign = shutil.copytree(source, tmp_path_factory.mktemp("hostile") / "campaign")
    shutil.copytree(campaign / "gold" / "v0001", campaign / "gold" / "v0002")
    parent = {"version": "v0001", "manifest_sha256": full_release.manifest_sha256}
    news = {"version": "v0002", "parent": parent, "changes": CHANGES}
    path = campaign / "gold" / "v0002" / "manifest.json"
    path.write_bytes(canonical_json(full_release.manifest | news))
    manifests = {"v0001": full_release.manifest_sha256, "v0002": file_sha256(path)}
    write_pointer(campaign / "gold", Pointer("v0002", manifests, ()))
    rewrite(campaign, "v0002", lambda _: None)
    return campaign


def paths(value: Any, depth: int = DEPTH) -> Iterator[tuple[Any, ...]]:
    """Return the places of all values in a document, outer ones first."""
    if isinstance(value, dict):
        entries = list(value.items())
    else:
        entries = list(enumerate(value[:MOST_ENTRIES])) if isinstance(value, list) else []
    for key, inner in entries:
        yield (key,)
        if depth > 1:
            yield from ((key, *rest) for rest in paths(inner, depth - 1))


def replaced(manifest: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    other = copy.deepcopy(manifest)
    put(other, path, value)
    return other


def put(manifest: Any, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        manifest = manifest[key]
    if isinstance(manifest, dict) and isinstance(path[-1], int):
        raise KeyError(path[-1])  # it was a list
    manifest[path[-1]] = copy.deepcopy(value)


def is_accepted(manifest: dict[str, Any]) -> bool:
    try:
        parse_manifest(json.dumps(manifest).encode(), "manifest.json")
    except StoreError:
        return False
    return True


def accepted(manifest: dict[str, Any], value: Any, *, inner_first: bool) -> dict[str, Any]:
    """Return the manifest with a value in as many places as it is accepted in."""
    texts = (json.dumps(document, sort_keys=True) for document in (manifest, value))
    return copy.deepcopy(_accepted(*texts, inner_first=inner_first))


@cache
def _accepted(manifest_text: str, value_text: str, *, inner_first: bool) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(manifest_text)
    value = json.loads(value_text)
    order = sorted(paths(manifest), key=len, reverse=inner_first)
    other = copy.deepcopy(manifest)
    for path in order:
        if path[0] in ("version", "parent", "campaign"):
            continue  # read no further
        try:
            changed = replaced(other, path, value)
        except (KeyError, TypeError, IndexError):  # replaced around it
            continue
        if is_accepted(changed):
            other = changed
    return other


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"checks": [{}]}, "checks.0.name"),
        ({"checks": [{"name": "a", "level": "worse"}]}, "checks.0.level"),
        ({"facts": {"x": 3}}, "facts.records"),
        ({"facts": {"records": -1, "fates": {}, "rejections": []}}, "facts.records"),
        ({"runs": [{"stage": 5}]}, "runs.0.stage"),
        ({"changes": {"a": []}}, "changes.a"),
        ({"changes": {"a": 1}, "parent": None}, "has changes, and no parent"),
        ({"settings": {"privacy": 3}}, "settings.privacy"),
        ({"settings": {"tasks": [{"name": "a", "scale": [1]}]}}, "settings.tasks.0.scale"),
        ({"settings": {"x": [float("inf")]}}, "settings.x.0: inf is no number"),
        ({"settings": {"x": "\ud800"}}, "settings.x: text that is no Unicode"),
        ({"settings_hash": "../../../etc/passwd"}, "settings_hash"),
        ({"schema_version": True}, "it is not the JSON of a manifest"),
        ({"schema_version": 0}, "schema_version"),
    ],
)  # fmt: skip
def test_values_of_other_types_are_refused_with_their_place(full_release, changes, where):
    with pytest.raises(StoreError) as error:
        parse_manifest(json.dumps(full_release.manifest | changes).encode(), "manifest.json")
    assert "manifest.json: damaged" in str(error.value)
    assert where in str(error.value)
    assert "restore the release from a backup" in str(error.value)


def test_deep_nesting_and_infinite_numbers_are_refused(full_release):
    deep: Any = 1
    for _ in range(200):
        deep = {"a": deep}
    text = json.dumps(full_release.manifest | {"settings": {"x": deep}})
    brackets = '{"schema_version":' + "[" * 10**5
    for bad in (text, text.replace('"seed": 0', '"seed": 1e400'), brackets):
        with pytest.raises(StoreError, match="damaged"):
            parse_manifest(bad.encode(), "manifest.json")


@pytest.mark.slow
def test_any_replaced_value_is_refused_or_compared(published):
    """Each value of the manifest replaced, one at a time, by values of other types."""
    old, new = (manifest_of(published, version) for version in ("v0001", "v0002"))
    n_refused = n_accepted = 0
    for path in paths(new):
        for value in VALUES if SOAK else VALUES[::4]:
            other = replaced(new, path, value)
            if not is_accepted(other):
                n_refused += 1
                continue
            n_accepted += 1
            for one, two in ((old, other), (other, old)):
                export_changes(one, two)
                code_changes(one, two)
                list(map(setting_in_words, setting_changes(one, two)))
                same_names(one["settings"], two["settings"])
            text(other["changes"])
    assert min(n_refused, n_accepted) > 200


@pytest.mark.sampled
@pytest.mark.parametrize("inner_first", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("value", EACH_VALUE, ids=str)
def test_no_command_fails_on_a_manifest_that_is_accepted(
    published, monkeypatch, capsys, value, inner_first
):
    monkeypatch.setenv("ANNOT_DEBUG", "1")  # a defect is raised, not told
    good = manifest_of(published, "v0002")
    hostile = accepted(good, value, inner_first=inner_first)
    assert hostile != good
    try:
        rewrite(published, "v0002", lambda manifest: replace_all(manifest, hostile))
        for command in COMMANDS:
            main([command[0], str(published), *command[1:]])
            main([command[0], str(published), *command[1:], "--json"])
        with suppress(AnnotError):
            load_gold(published / "gold", "labels")
    finally:
        rewrite(published, "v0002", lambda manifest: replace_all(manifest, good))
    assert "defect" not in capsys.readouterr().err


def replace_all(manifest: dict[str, Any], other: dict[str, Any]) -> None:
    manifest.clear()
    manifest.update(other)


@pytest.mark.parametrize("inner_first", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("value", EACH_VALUE, ids=str)
@pytest.mark.parametrize(
    "sets",
    [
        pytest.param((), id="nothing new"),
        pytest.param(("seed=7",), marks=pytest.mark.slow, id="other settings"),
    ],
)
def test_no_build_fails_on_a_parent_that_is_accepted(published, tmp_path, value, inner_first, sets):
    campaign = shutil.copytree(published, tmp_path / "campaign")
    hostile = accepted(manifest_of(campaign, "v0002"), value, inner_first=inner_first)
    rewrite(campaign, "v0002", lambda manifest: replace_all(manifest, hostile))
    with suppress(AnnotError):
        build_file(campaign, *sets)
