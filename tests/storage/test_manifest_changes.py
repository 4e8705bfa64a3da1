"""What differs in settings, exports and code, as manifests tell it."""

from __future__ import annotations

from typing import Any

from annot_pipeline.storage.manifest_changes import (
    code_changes,
    export_changes,
    setting_changes,
    setting_in_words,
)


def entry(path: str, **fields: Any) -> dict[str, Any]:
    return {"path": path, "fields": fields}


def settings(*sources: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"settings": {"sources": list(sources), **others}}


def words(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [setting_in_words(change) for change in setting_changes(old, new)]


def test_entries_are_matched_by_path_and_their_order_is_told():
    a, b = entry("a.csv", label="x"), entry("b.csv", label="x")
    order = {"path": "sources (order)", "old": ["a.csv", "b.csv"], "new": ["b.csv", "a.csv"]}
    assert setting_changes(settings(a, b), settings(b, a)) == [order]
    changed = entry("b.csv", label={"column": "y", "map": {"1": "one"}})
    assert setting_changes(settings(a, b), settings(changed, a)) == [
        {"path": "sources.0.fields.label", "old": "x",
         "new": {"column": "y", "map": {"1": "one"}}},
        order,
    ]  # fmt: skip


def test_entries_of_one_path_are_told_apart_by_their_order():
    first, second = entry("a.csv", label="x"), entry("a.csv", label="y")
    assert setting_changes(settings(first, second), settings(first, entry("a.csv", label="z"))) == [
        {"path": "sources.1.fields.label", "old": "y", "new": "z"}
    ]


def test_an_entry_that_came_or_went_is_one_change():
    a, b = entry("a.csv", label="x"), entry("../experts/*.csv", item="i", label="x")
    assert setting_changes(settings(a), settings(a, b)) == [
        {"path": "sources.1", "old": None, "new": b}
    ]
    assert words(settings(a), settings(a, b)) == [
        ("sources.1", "none", "../experts/*.csv, 2 fields")
    ]
    assert words(settings(a, b), settings(b)) == [("sources.0", "a.csv, 1 field", "none")]
    task = {"name": "t*", "kind": "scalar", "scale": [0, 1]}
    assert words(settings(tasks=[]), settings(tasks=[task])) == [
        ("tasks.0", "none", "t*, 2 settings")
    ]


def test_an_entry_that_was_only_renamed_is_the_same_entry():
    a, b = entry("a.csv", label="x", judge="j"), entry("b.csv", label="y")
    moved = entry("day?/a.csv", label="x", judge="j")
    assert setting_changes(settings(a, b), settings(moved, b)) == [
        {"path": "sources.0.path", "old": "a.csv", "new": "day?/a.csv"}
    ]


def test_nothing_and_empty_are_the_same():
    old = settings(entry("a.csv") | {"each": {}, "options": []}, seed=0)
    assert setting_changes(old, settings(entry("a.csv"), seed=0)) == []
    assert setting_changes(old, settings(entry("a.csv"))) == [
        {"path": "seed", "old": 0, "new": None}
    ]


def test_words_are_one_line():
    old, new = (settings(entry("a.csv") | {"delimiter": d}) for d in ("\t", None))
    assert words(old, new) == [("sources.0.delimiter", r"\t", "default")]
    assert words(settings(seed=1), settings(seed=[2, "é"])) == [("seed", "1", '[2, "é"]')]


def test_who_judged_stays_hidden():
    old, new = ({"sha256": digest * 8} for digest in ("0123abcd", "4567abcd"))
    assert setting_changes(
        settings(entry("a.csv", judge=old)), settings(entry("a.csv", judge=new))
    ) == [{"path": "sources.0.fields.judge.sha256", "old": old["sha256"], "new": new["sha256"]}]


def test_another_key_is_told_though_no_setting_differs():
    old, new = (settings(entry("a.csv")) | {"settings_hash": name} for name in "ab")
    assert words(old, new) == [("privacy key", "not shown", "changed, not shown")]
    new["settings"]["seed"] = 2
    assert words(old, new) == [("seed", "default", "2")]
    assert setting_changes(old, old) == []


def test_tasks_by_name_and_lists_of_values_whole():
    tasks = [{"name": "t*", "labels": ["x", "y"], "criteria": {}}]
    other = [{"name": "t*", "labels": ["y", "x"], "criteria": {"ease": {"reverse": True}}}]
    first = [{"name": "s", "labels": ["z"]}]
    assert setting_changes(settings(tasks=tasks), settings(tasks=first + other)) == [
        {"path": "tasks.0", "old": None, "new": first[0]},
        {"path": "tasks.1.labels", "old": ["x", "y"], "new": ["y", "x"]},
        {"path": "tasks.1.criteria.ease", "old": None, "new": {"reverse": True}},
    ]


def test_exports_and_code():
    def of(sources: dict[str, str], sql: str, code_version: str, schema: int = 3) -> dict[str, Any]:
        exports = [{"kind": "judgments", "name": n, "source_digest": s} for n, s in sources.items()]
        exports.append({"kind": "items", "name": "b", "source_digest": "2"})  # a file can be both
        runs = [{"stage": "infer_labels", "code_version": code_version}]
        of = {"sources": exports, "code": {"sql": sql}, "packages": {"numpy": "2"}}
        return of | {"runs": runs, "schema_version": schema, "settings": {}}

    old, new = of({"a": "1", "b": "2"}, "s", "1"), of({"b": "3", "c": "4"}, "s", "2")
    changes = export_changes(old, new)
    assert {what: [e["name"] for e in actual] for what, actual in changes.items()} == {
        "added": ["c"], "removed": ["a"], "changed": ["b"]
    }  # fmt: skip
    assert changes["changed"][0] == {
        "kind": "judgments", "name": "b", "old_digest": "2", "new_digest": "3"
    }  # fmt: skip
    assert code_changes(old, new) == [{"what": "stage infer_labels", "old": "1", "new": "2"}]
    assert code_changes(old, old) == []
    older = of({"a": "1", "b": "2"}, "s", "1", 2)
    assert code_changes(older, old) == [{"what": "schema of the tables", "old": "2", "new": "3"}]
