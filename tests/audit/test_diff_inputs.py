"""What differs in settings, exports and code, as manifests tell it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from annot_pipeline.audit.diff.inputs import code_changes, export_changes, setting_changes
from annot_pipeline.storage.releases import Release


def release(**manifest: Any) -> Release:
    return Release("v0001", Path("unused"), manifest)


def entry(path: str, **fields: Any) -> dict[str, Any]:
    return {"path": path, "fields": fields}


def settings(*sources: dict[str, Any], **others: Any) -> Release:
    return release(settings={"sources": list(sources), **others})


def test_entries_are_matched_by_path_wherever_they_stand():
    a, b = entry("a.csv", label="x"), entry("b.csv", label="x")
    assert setting_changes(settings(a, b), settings(b, a)) == []
    changed = entry("b.csv", label={"column": "y", "map": {"1": "one"}})
    assert setting_changes(settings(a, b), settings(changed, a)) == [
        {"path": "sources.0.fields.label.column", "old": None, "new": "y"},
        {"path": "sources.0.fields.label.map.1", "old": None, "new": "one"},
        {"path": "sources.0.fields.label", "old": "x", "new": None},
    ]
    assert setting_changes(settings(a, b), settings(a)) == [
        {"path": "sources.1.path", "old": "b.csv", "new": None},
        {"path": "sources.1.fields.label", "old": "x", "new": None},
    ]


def test_entries_of_one_path_are_told_apart_by_their_order():
    first, second = entry("a.csv", label="x"), entry("a.csv", label="y")
    assert setting_changes(settings(first, second), settings(first, entry("a.csv", label="z"))) == [
        {"path": "sources.1.fields.label", "old": "y", "new": "z"}
    ]


def test_who_judged_stays_hidden():
    old, new = ({"sha256": digest * 8} for digest in ("0123abcd", "4567abcd"))
    assert setting_changes(
        settings(entry("a.csv", judge=old)), settings(entry("a.csv", judge=new))
    ) == [{"path": "sources.0.fields.judge.sha256", "old": old["sha256"], "new": new["sha256"]}]


def test_lists_of_settings_by_number_and_others_whole():
    tasks = [{"name": "t*", "labels": ["x", "y"], "criteria": {}}]
    other = [{"name": "t*", "labels": ["y", "x"], "criteria": {"ease": {"reverse": True}}}]
    assert setting_changes(settings(tasks=tasks, seed=1), settings(tasks=other, seed=1)) == [
        {"path": "tasks.0.labels", "old": ["x", "y"], "new": ["y", "x"]},
        {"path": "tasks.0.criteria.ease.reverse", "old": None, "new": True},
        {"path": "tasks.0.criteria", "old": {}, "new": None},
    ]


def test_exports_and_code():
    def of(sources: dict[str, str], sql: str, code_version: str) -> Release:
        exports = [{"kind": "judgments", "name": n, "sha256": s} for n, s in sources.items()]
        runs = [{"stage": "infer_labels", "code_version": code_version}]
        return release(sources=exports, code={"sql": sql}, packages={"numpy": "2"}, runs=runs)

    old, new = of({"a": "1", "b": "2"}, "s", "1"), of({"b": "3", "c": "4"}, "s", "2")
    changes = export_changes(old, new)
    assert {what: [e["name"] for e in found] for what, found in changes.items()} == {
        "added": ["c"], "removed": ["a"], "changed": ["b"]
    }  # fmt: skip
    assert changes["changed"][0] == {
        "kind": "judgments", "name": "b", "old_sha256": "2", "new_sha256": "3"
    }  # fmt: skip
    assert code_changes(old, new) == [{"what": "stage infer_labels", "old": "1", "new": "2"}]
    assert code_changes(old, old) == []
