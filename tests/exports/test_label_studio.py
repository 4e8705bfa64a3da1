"""Label Studio: each kind of question, several choices, what nobody answered, edits."""

from __future__ import annotations

import json
from typing import Any

import pytest

FIELDS = {
    "task": "from_name", "item": "task_id", "judge": "completed_by", "label": "choice",
    "native_id": "annotation_id", "submitted_at": "updated_at",
}  # fmt: skip


def answer(name: str, kind: str, value: Any) -> dict[str, Any]:
    return {"from_name": name, "to_name": "text", "type": kind, "value": {kind: value}}


def annotation(number: int, judge: int, *results: Any, **more: Any) -> dict[str, Any]:
    times = {"created_at": "2024-05-01T10:00:00Z", "updated_at": "2024-05-01T10:00:00Z"}
    return {"id": number, "completed_by": judge, "result": list(results)} | times | more


def task(number: int, *annotations: Any, **data: Any) -> dict[str, Any]:
    return {"id": number, "data": {"text": f"t{number}"} | data, "annotations": list(annotations)}


def settings(fields: dict[str, str], tasks: Any = None, **options: Any) -> dict[str, Any]:
    source = {
        "path": "exports/*.json", "format": "label_studio", "fields": fields, "options": options,
    }  # fmt: skip
    return {"sources": [source]} | ({"tasks": tasks} if tasks else {})


def rows(staged: Any) -> list[tuple[Any, ...]]:
    names = ("task", "item", "judge", "label", "score", "fate")
    return sorted((tuple(r[n] for n in names) for r in staged.rows("controlled")), key=str)


def test_ratings_and_numbers_are_scores_beside_choices(stage_campaign):
    tasks = [
        task(1, annotation(1, 7, answer("cat", "choices", ["a"]), answer("stars", "rating", 4)),
             annotation(2, 8, answer("cat", "choices", ["b"]), answer("n", "number", 2.5)))
    ]  # fmt: skip
    export = {"a.json": json.dumps(tasks)}
    staged = stage_campaign(export, **settings(FIELDS | {"score": "score"}))
    assert rows(staged) == [
        ("cat", "1", "7", "a", None, "used"), ("cat", "1", "8", "b", None, "used"),
        ("n", "1", "8", None, 2.5, "used"), ("stars", "1", "7", None, 4, "used"),
    ]  # fmt: skip
    kinds = {row["task"]: row["kind"] for row in staged.rows("tasks")}
    assert kinds == {"cat": "categorical", "n": "scalar", "stars": "scalar"}
    only_labels = stage_campaign(export, **settings(FIELDS))
    assert [row[0] for row in rows(only_labels)] == ["cat", "cat"]
    (file,) = only_labels.rows("record_files")
    assert json.loads(file["ignored"]) == {"number answers": 1, "rating answers": 1}


def test_pairs_are_preferences(stage_campaign):
    def chosen(side: str) -> dict[str, Any]:
        return {"from_name": "cmp", "type": "pairwise", "value": {"selected": side}}

    tasks = [task(1, annotation(1, 7, chosen("left")), annotation(2, 8, chosen("right")),
                  a="x", b="y")]  # fmt: skip
    fields = {
        "task": "from_name", "judge": "completed_by", "segment": "task_id",
        "preference": "preference", "item_a": "data.a", "item_b": "data.b",
    }  # fmt: skip
    staged = stage_campaign({"a.json": json.dumps(tasks)}, **settings(fields))
    assert sorted((r["item_a"], r["preference"]) for r in staged.rows("controlled")) == [
        ("x", "a"), ("x", "b"),
    ]  # fmt: skip


def test_rankers_are_rankings(stage_campaign):
    ranked = {"from_name": "r", "type": "ranker", "value": {"ranker": {"rank": ["i2", "i1"]}}}
    fields = {
        "task": "from_name", "judge": "completed_by", "segment": "task_id",
        "item": "ranked_item", "rank": "rank", "ranking": "annotation_id",
    }  # fmt: skip
    staged = stage_campaign(
        {"a.json": json.dumps([task(1, annotation(1, 7, ranked))])}, **settings(fields)
    )
    assert sorted((r["item"], r["rank"]) for r in staged.rows("controlled")) == [
        ("i1", 2), ("i2", 1),
    ]  # fmt: skip


@pytest.mark.slow
def test_nothing_chosen_of_several_is_an_answer(stage_campaign):
    tasks = [
        task(1, annotation(1, 7, answer("cat", "choices", ["spam"])), annotation(2, 8)),
        task(2, annotation(3, 7, answer("cat", "choices", ["spam", "rude"]))),
    ]
    staged = stage_campaign({"a.json": json.dumps(tasks)}, **settings(FIELDS))
    assert [row[:4] for row in rows(staged) if row[1] == "1"] == [
        ("cat:rude", "1", "7", "no"), ("cat:rude", "1", "8", "no"),
        ("cat:spam", "1", "7", "yes"), ("cat:spam", "1", "8", "no"),
    ]  # fmt: skip
    as_set = stage_campaign({"a.json": json.dumps(tasks)}, **settings(FIELDS, multilabel="set"))
    assert {row[3] for row in rows(as_set)} == {
        '["spam"]',
        "[]",
        '["rude", "spam"]',
    }


def test_questions_with_several_answers_are_declared(stage_campaign):
    """No annotation of this file chose two, or `rude`; another file's did."""
    tasks = [task(1, annotation(1, 7, answer("cat", "choices", ["spam"])), annotation(2, 8))]
    staged = stage_campaign(
        {"a.json": json.dumps(tasks)}, **settings(FIELDS, multiple={"cat": ["spam", "rude"]})
    )
    assert [row[:4] for row in rows(staged)] == [
        ("cat:rude", "1", "7", "no"), ("cat:rude", "1", "8", "no"),
        ("cat:spam", "1", "7", "yes"), ("cat:spam", "1", "8", "no"),
    ]  # fmt: skip


def test_cancelled_and_empty_annotations_were_not_asked(stage_campaign):
    tasks = [
        task(1, annotation(1, 7, answer("cat", "choices", ["a"])), annotation(2, 8),
             annotation(3, 9, answer("cat", "choices", ["b"]), was_cancelled=True)),
        task(2, annotation(4, 7, answer("cat", "choices", ["b"]),
                           answer("sub", "choices", ["x"])),
             annotation(5, 8, answer("stars", "rating", 4))),
    ]  # fmt: skip
    staged = stage_campaign({"a.json": json.dumps(tasks)}, **settings(FIELDS))
    fates = staged.metrics("control_judges")["fates"]
    assert {fate: n for fate, n in fates.items() if n} == {"not_asked": 4, "used": 3}
    reasons = {row["reason"] for row in staged.rows("controlled")} - {None}
    assert reasons == {
        "cancelled annotation", "empty annotation: nothing was answered", "no answer to sub",
        "annotation without an answer of a kind that fields map",
    }  # fmt: skip


@pytest.mark.slow
def test_an_annotation_that_is_listed_twice_counts_once(stage_campaign):
    tasks = [task(1, annotation(1, 7, answer("cat", "choices", ["a"])),
                  annotation(2, 8, answer("cat", "choices", ["b"])))] * 2  # fmt: skip
    staged = stage_campaign({"a.json": json.dumps(tasks)}, **settings(FIELDS))
    assert sorted(row[-1] for row in rows(staged)) == ["duplicate", "duplicate", "used", "used"]


@pytest.mark.slow
def test_of_annotations_of_one_person_the_last_counts_where_the_campaign_says_so(stage_campaign):
    def at(day: int, label: str, number: int) -> dict[str, Any]:
        return annotation(number, 7, answer("cat", "choices", [label]),
                          updated_at=f"2024-05-0{day}T10:00:00Z")  # fmt: skip

    tasks = [task(1, at(1, "a", 1), at(3, "b", 2), at(2, "a", 3))]
    declared = [{"name": "*", "kind": "categorical", "repeats": "last"}]
    staged = stage_campaign({"a.json": json.dumps(tasks)}, **settings(FIELDS, declared))
    assert [(row[3], row[-1]) for row in rows(staged)] == [
        ("a", "superseded"), ("a", "superseded"), ("b", "used"),
    ]  # fmt: skip
