"""Planned HITs as Label Studio gives them back: a JSON export, a row an annotation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from annot_pipeline.contracts.answer_text import value_text
from annot_pipeline.exports.hit_bookkeeping import (
    ANSWER,
    NAME,
    TEXT,
    Answer,
    DamagedError,
    HandedIn,
    Hit,
    Results,
    by_name,
    check_texts,
    filled,
    no_hits,
)
from annot_pipeline.exports.label_studio import annotation_columns, load_tasks
from annot_pipeline.exports.raw_rows import Export, Opening

COLUMNS = (
    "task_id", "annotation_id", "completed_by", "completed_by.email", "created_at",
    "updated_at", "lead_time", "ground_truth",
)  # fmt: skip
SHARED = {
    "judge": "completed_by", "native_id": "annotation_id", "submitted_at": "updated_at",
    "hit_seconds": "lead_time",
}  # fmt: skip

REPEATED = re.compile(r"(preference|label)_at_(0|[1-9]\d{0,4})")
"""What the configuration calls a choice: Label Studio numbers what it repeats from 0."""


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
    for position, task in enumerate(tasks):
        data = _data(task)
        bookkeeping = value_text(data.get(NAME))
        counts = _shown(data)
        for number, annotation in enumerate(task["annotations"]):
            row += 1
            pointer = f"/{position}/annotations/{number}"
            own = annotation_columns(task, annotation)
            yield HandedIn(
                row,
                bookkeeping,
                {field: own[name] for field, name in SHARED.items()},
                own,
                partial(_answers, annotation, pointer, counts),
                pointer,
                "cancelled annotation" if annotation.get("was_cancelled") else None,
            )


def _shown(data: Mapping[str, Any]) -> tuple[int, int]:
    """Return the last slot that there is, and the last whose text is not blank."""
    texts = {int(match[1]): data[match[0]] for match in map(TEXT.fullmatch, data) if match}
    slots = data.get("slots")
    if not texts and isinstance(slots, list):  # as many as the HIT has, blank or not
        return len(slots), len(slots)
    last_filled = max((n for n, text in texts.items() if filled(value_text(text))), default=0)
    return max(texts, default=0), last_filled


def _answers(
    annotation: Mapping[str, Any], pointer: str, counts: tuple[int, int], hit: Hit
) -> list[Answer]:
    check_texts(*counts, hit)
    values: dict[str, str] = {}
    called: dict[str, str] = {}
    for name, result in _results(annotation):
        content = result.get("value")
        kind = result.get("type")
        value = content.get(kind) if isinstance(content, dict) else None
        for answer in map(
            value_text, value if kind == "choices" and isinstance(value, list) else [value]
        ):
            if name in values:
                raise DamagedError(f"{result['from_name']} is answered twice")
            if name and answer is not None and filled(answer):
                values[name] = answer
                called[name] = result["from_name"]
    return by_name(values, lambda name: f"{pointer}#{called.get(name) or _called(name, hit)}", hit)


def _called(name: str, hit: Hit) -> str:
    """Return what the configuration calls an answer that was not given."""
    kind, _, number = name.partition("_")
    return name if hit.ask == "score" else f"{kind}_at_{int(number) - 1}"


def _results(annotation: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield its results, each with the name of the answer; empty where it is none."""
    for result in annotation.get("result") or ():
        if isinstance(result, dict):
            name = str(result.get("from_name"))
            repeated = REPEATED.fullmatch(name)
            if repeated:
                name = f"{repeated[1]}_{int(repeated[2]) + 1}"
            yield name if ANSWER.fullmatch(name) else "", result


def _ignored(tasks: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """Return what is out of scope, by kind."""
    counts: Counter[str] = Counter()
    for task in tasks:
        counts["tasks without annotations"] += not task["annotations"]
        counts["predictions"] += len(task.get("predictions") or ())
        for annotation in task["annotations"]:
            for name, result in _results(annotation):
                counts[f"{result.get('type')} answers"] += not name
    return +counts
