"""The released schema is versioned: no column changes without a version and a changelog line.

``UPDATE_SCHEMA=1 pytest tests/contracts/test_schema.py`` records the schema of a new version. A
version that was released is never recorded again.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from annot_pipeline.contracts import GOLD, SCHEMA_VERSION, Table

HERE = Path(__file__).parent
CHANGELOG = (HERE.parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")
UPDATE = os.environ.get("UPDATE_SCHEMA") == "1" and "CI" not in os.environ

Schema = dict[str, Any]


def recording(version: int) -> Path:
    return HERE / f"schema_v{version}.json"


def described(table: Table) -> Schema:
    """What readers may rely on; wording is free to change."""
    return {
        "key": list(table.key),
        "unique": table.unique,
        "columns": {
            column.name: {
                "type": str(column.type),
                "nullable": column.nullable,
                "allowed": list(column.allowed),
                "range": [column.minimum, column.maximum],
            }
            for column in table.columns
        },
    }


def schema_now() -> Schema:
    return {name: described(table) for name, table in GOLD.items()}


def differences(old: Schema, new: Schema) -> list[str]:
    """Tables and columns that differ, as ``table`` or ``table.column``."""
    found = [f"{name}" for name in sorted(old.keys() ^ new.keys())]
    for name in sorted(old.keys() & new.keys()):
        before, after = old[name]["columns"], new[name]["columns"]
        found += [f"{name}.{c}" for c in sorted({*before, *after}) if before.get(c) != after.get(c)]
        rest = [{k: v for k, v in side[name].items() if k != "columns"} for side in (old, new)]
        same_columns = list(before) == list(after) or before.keys() != after.keys()
        if rest[0] != rest[1] or not same_columns:
            found.append(name)
    return found


def unnamed(changes: list[str], version: int, changelog: str) -> list[str]:
    """Changes that no line of the changelog about this version of the schema names."""
    about = re.findall(rf"(?ims)^- (?:(?!^- ).)*?\bschema {version}\b.*?(?=^- |^#|\Z)", changelog)
    text = "\n".join(about)

    def is_named(change: str) -> bool:
        table, _, column = change.partition(".")
        return all(re.search(rf"(?<!\w){name}(?!\w)", text) for name in (table, column) if name)

    return [change for change in changes if not is_named(change)]


def test_the_schema_is_the_one_recorded_for_its_version():
    file = recording(SCHEMA_VERSION)
    if UPDATE:
        file.write_text(json.dumps(schema_now(), indent=1, sort_keys=False) + "\n")
    assert file.exists(), (
        f"schema {SCHEMA_VERSION} is not recorded: UPDATE_SCHEMA=1 pytest {__file__} does it; "
        "read the file before you commit it"
    )
    changed = differences(json.loads(file.read_text()), schema_now())
    assert not changed, (
        f"released tables differ from schema {SCHEMA_VERSION}: {', '.join(changed)}. If a release "
        "was published with it, raise SCHEMA_VERSION in annot_pipeline/contracts/table.py; then "
        "record the schema with UPDATE_SCHEMA=1, and name the version and each of these in a line "
        "of CHANGELOG.md"
    )


def test_the_changelog_names_every_change_of_the_schema():
    if SCHEMA_VERSION == 1:  # of the first release: nothing came before
        return
    before = recording(SCHEMA_VERSION - 1)
    assert before.exists(), f"{before.name} is gone: the schema before must stay recorded"
    changes = differences(json.loads(before.read_text()), schema_now())
    assert changes, f"schema {SCHEMA_VERSION} is schema {SCHEMA_VERSION - 1}: no need to raise it"
    missing = unnamed(changes, SCHEMA_VERSION, CHANGELOG)
    assert not missing, (
        f"write a line of CHANGELOG.md that says `Schema {SCHEMA_VERSION}` and names: "
        + ", ".join(missing)
    )


def test_differences_are_found_wherever_they_are():
    old = {"t": {"key": ["a"], "unique": True, "columns": {"a": 1, "b": 2}}}
    for changed, said in (
        ({"t": {"key": ["a"], "unique": True, "columns": {"a": 1, "b": 2}}}, []),
        ({"t": {"key": ["a"], "unique": True, "columns": {"a": 1, "b": 3}}}, ["t.b"]),
        ({"t": {"key": ["a"], "unique": True, "columns": {"a": 1}}}, ["t.b"]),
        ({"t": {"key": ["a"], "unique": True, "columns": {"b": 2, "a": 1}}}, ["t"]),
        ({"t": {"key": ["b"], "unique": True, "columns": {"a": 1, "b": 2}}}, ["t"]),
        ({"t": {"key": ["a"], "unique": False, "columns": {"a": 1, "b": 2}}}, ["t"]),
        ({}, ["t"]),
        (old | {"u": old["t"]}, ["u"]),
    ):
        assert differences(old, changed) == said


def test_a_change_is_named_only_by_a_line_about_its_version():
    text = "# Log\n\n- Schema 3: `t` has b,\n  and c.\n- Schema 2: d in `t`.\n\n## 1\n- e of t\n"
    assert unnamed(["t.b", "t.c", "t"], 3, text) == []
    assert unnamed(["t.d", "t.e", "t.bb", "u"], 3, text) == ["t.d", "t.e", "t.bb", "u"]
    assert unnamed(["t.d"], 2, text) == []


@pytest.mark.parametrize("name", GOLD)
def test_files_carry_types_descriptions_key_and_version(name, full_release):
    """What a reader who has a Parquet file alone can learn from it."""
    table, schema = GOLD[name], pq.read_schema(full_release.folder / f"{name}.parquet")
    assert schema.metadata[b"table"].decode() == name
    assert schema.metadata[b"row"].decode() == table.row
    assert schema.metadata[b"key"].decode().split(",") == list(table.key)
    assert schema.metadata[b"schema_version"].decode() == str(SCHEMA_VERSION)
    for column in table.columns:
        field = schema.field(column.name)
        assert (field.type, field.nullable) == (column.type, column.nullable)
        assert field.metadata[b"description"].decode() == column.description
    manifest = {t["name"]: t for t in full_release.manifest["tables"]}[name]
    assert [c["name"] for c in manifest["columns"]] == schema.names
    assert full_release.manifest["schema_version"] == SCHEMA_VERSION
