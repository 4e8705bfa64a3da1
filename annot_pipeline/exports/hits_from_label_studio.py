"""Planned HITs as Label Studio gives them back: a JSON export, a row an annotation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from annot_pipeline.exports.hit_bookkeeping import NAME, DamagedError, Hit
from annot_pipeline.exports.hit_results import (
    SCORE,
    TEXT,
    Answer,
    HandedIn,
    Results,
    by_name,
    check_texts,
    filled,
    no_hits,
)
from annot_pipeline.exports.json_lines import as_text
from annot_pipeline.exports.label_studio import load_tasks
from annot_pipeline.exports.raw_rows import Export, Opening

COLUMNS = (
    "task_id", "annotation_id", "completed_by", "completed_by.email", "created_at",
    "updated_at", "lead_time", "ground_truth",
)  # fmt: skip
SHARED = {
    "judge": "completed_by", "native_id": "annotation_id", "submitted_at": "created_at",
    "hit_seconds": "lead_time",
}  # fmt: skip


def label_studio_results(opening: Opening) -> Results:
    """Open a JSON export.

    Raises
    ------
    InputError
        It is no export, or not one of planned HITs.
    """
    tasks = load_tasks(opening)
    if tasks and not any(NAME in _data(task) for task in tasks):
        raise no_hits(opening, "label_studio", f"no task has {NAME} in its data")
    n_rows = sum(len(task["annotations"]) for task in tasks)
    inner = Export(iter(()), [], dict(_ignored(tasks)), n_rows)
    return Results(_annotations(tasks), [*COLUMNS], inner)


def _data(task: Mapping[str, Any]) -> Mapping[str, Any]:
    return task.get("data") or {}


def _annotations(tasks: Sequence[Mapping[str, Any]]) -> Iterator[HandedIn]:
    row = 0
    for place, task in enumerate(tasks):
        data = _data(task)
        bookkeeping = as_text(data.get(NAME))
        texts = {int(match[1]): data[match[0]] for match in map(TEXT.fullmatch, data) if match}
        last_filled = max((n for n, text in texts.items() if filled(as_text(text))), default=0)
        for number, annotation in enumerate(task["annotations"]):
            row += 1
            pointer = f"/{place}/annotations/{number}"
            own = _own_columns(task, annotation)
            yield HandedIn(
                row,
                bookkeeping,
                {field: own[name] for field, name in SHARED.items()},
                own,
                partial(_answers, annotation, pointer, max(texts, default=0), last_filled),
                pointer,
                "cancelled annotation" if annotation.get("was_cancelled") else None,
            )


def _own_columns(task: Mapping[str, Any], annotation: Mapping[str, Any]) -> dict[str, str | None]:
    judge = annotation.get("completed_by")
    person = judge if isinstance(judge, dict) else {"id": judge}
    own = {
        "task_id": task.get("id"),
        "annotation_id": annotation.get("id"),
        "completed_by": person.get("id", person.get("email")),
        "completed_by.email": person.get("email"),
    }
    own |= {name: annotation.get(name) for name in COLUMNS if name not in own}
    return {name: as_text(value) for name, value in own.items()}


def _answers(
    annotation: Mapping[str, Any], pointer: str, n_named: int, last_filled: int, hit: Hit
) -> list[Answer]:
    check_texts(n_named, last_filled, hit)
    given: dict[str, str] = {}
    for name, result in _results(annotation):
        value = result.get("value")
        answer = as_text(value.get(result.get("type"))) if isinstance(value, dict) else None
        if name in given:
            raise DamagedError(f"{name} is answered twice")
        if name and answer is not None and filled(answer):
            given[name] = answer
    return by_name(given, f"{pointer}#{{}}".format, hit)


def _results(annotation: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Its results, each with its name; empty where it is no score."""
    for result in annotation.get("result") or ():
        if isinstance(result, dict):
            name = str(result.get("from_name"))
            yield name if SCORE.fullmatch(name) else "", result


def _ignored(tasks: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """What is out of scope, by kind."""
    counts: Counter[str] = Counter()
    for task in tasks:
        counts["tasks without annotations"] += not task["annotations"]
        counts["predictions"] += len(task.get("predictions") or ())
        for annotation in task["annotations"]:
            for name, result in _results(annotation):
                counts[f"{result.get('type')} answers"] += not name
    return +counts
