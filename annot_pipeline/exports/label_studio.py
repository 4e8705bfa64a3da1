"""Label Studio JSON: choices and taxonomy, several annotations a task.

A row is one annotation, counted over the file; a cell is one answer of it. Choices that
allow several answers become one yes/no answer per choice that the file offers (``from_name``
is then ``name:choice``), or stay one label, the set as a JSON list (``multilabel: set``).
Text spans, predictions, drafts and tasks that nobody annotated are no rows; they are counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.exports.json_lines import as_text, parse_json
from annot_pipeline.exports.raw_rows import Export, Opening, RawRows

CHOICE_TYPES = ("choices", "taxonomy")
COLUMNS = (
    "task_id", "annotation_id", "completed_by", "completed_by.email", "from_name", "type",
    "choice", "created_at", "updated_at", "lead_time", "ground_truth",
)  # fmt: skip


def read_label_studio(opening: Opening) -> Export:
    """Open a Label Studio JSON export; see `raw_rows.Export`."""
    tasks = load_tasks(opening)
    data_columns = dict.fromkeys(f"data.{key}" for task in tasks for key in task.get("data") or {})
    export = Export(iter(()), [*COLUMNS, *data_columns])
    export.ignored = dict(_ignored(tasks))
    export.n_rows = sum(len(task["annotations"]) for task in tasks)
    export.chunks = _chunks(opening, tasks, export.columns)
    return export


def load_tasks(opening: Opening) -> list[dict[str, Any]]:
    """The tasks of an export, each with its annotations.

    Raises
    ------
    InputError
        It is not JSON, or no list of tasks.
    """
    raw = opening.read_document()
    try:
        text = raw.decode(opening.encoding).removeprefix("\ufeff")
    except UnicodeError:
        raise opening.broken(
            f"is not text in {opening.encoding}", "set options.encoding to the file's encoding"
        ) from None
    try:
        tasks = parse_json(text) if text.strip() else []
    except ValueError as error:
        raise opening.broken(f"is not JSON ({error})", "fetch the export again") from None
    whole = isinstance(tasks, list)
    unfit = [place for place, task in enumerate(tasks) if not _is_task(task)] if whole else []
    if not whole or unfit:
        where = f"; /{unfit[0]} is none" if unfit else ""
        raise opening.broken(
            f"not a list of tasks with annotations{where}",
            "export as JSON; JSON-MIN, CSV and TSV do not tell which annotations were cancelled",
        )
    return tasks


def _is_task(task: Any) -> bool:
    return (
        isinstance(task, dict)
        and isinstance(task.get("data") or {}, dict)
        and isinstance(task.get("predictions") or [], list)
        and isinstance(task.get("annotations"), list)
        and all(
            isinstance(annotation, dict) and isinstance(annotation.get("result") or [], list)
            for annotation in task["annotations"]
        )
    )


def _ignored(tasks: list[dict[str, Any]]) -> Counter[str]:
    """What is out of scope, by kind."""
    counts: Counter[str] = Counter()
    for task in tasks:
        counts["tasks without annotations"] += not task["annotations"]
        counts["predictions"] += len(task.get("predictions") or ())
        for annotation in task["annotations"]:
            for result in _results(annotation):
                if _choices(result) is None:
                    counts[f"{result.get('type')} answers"] += 1
    return +counts


def _results(annotation: dict[str, Any]) -> list[dict[str, Any]]:
    return [r for r in annotation.get("result") or () if isinstance(r, dict)]


def _choices(result: dict[str, Any]) -> list[str] | None:
    """The choices of one answer about the whole task; None if it is something else."""
    value = result.get("value")
    if result.get("type") not in CHOICE_TYPES or not isinstance(value, dict) or "start" in value:
        return None
    chosen = value.get(result["type"])
    if not isinstance(chosen, list):
        return None
    return ["/".join(map(str, c)) if isinstance(c, list) else str(as_text(c)) for c in chosen]


def _answers(annotation: dict[str, Any]) -> dict[str, list[str]]:
    """Return the choices by question (from_name)."""
    choices: dict[str, list[str]] = {}
    for result in _results(annotation):
        chosen = _choices(result)
        if chosen is not None:
            choices.setdefault(str(result.get("from_name")), []).extend(chosen)
    return choices


@dataclass(frozen=True)
class _Question:
    """A question of the project (a control named ``name``), as the file's answers show it."""

    name: str
    type: str
    offered: tuple[str, ...]
    several: bool


def _questions(tasks: list[dict[str, Any]]) -> list[_Question]:
    """The questions that somebody answered with choices, in order of their names."""
    types: dict[str, str] = {}
    offered: dict[str, set[str]] = {}
    several: set[str] = set()
    for annotation in (a for task in tasks for a in task["annotations"]):
        for result in _results(annotation):
            if _choices(result) is not None:
                types[str(result.get("from_name"))] = result["type"]
        for name, chosen in _answers(annotation).items():
            offered.setdefault(name, set()).update(chosen)
            if len(set(chosen)) > 1:
                several.add(name)
    return [
        _Question(name, types[name], tuple(sorted(offered[name])), name in several)
        for name in sorted(offered)
    ]


def _chunks(opening: Opening, tasks: list[dict[str, Any]], columns: list[str]) -> Iterator[RawRows]:
    questions = _questions(tasks)
    cells: list[tuple[int, str, dict[str, str | None], str | None]] = []
    row = 0
    for place, task in enumerate(tasks):
        for number, annotation in enumerate(task["annotations"]):
            row += 1
            shared = _shared(task, annotation)
            pointer = f"/{place}/annotations/{number}"
            for answer, problem in _cells(annotation, questions, opening.multilabel):
                name = answer.get("from_name")
                cell = pointer if name is None else f"{pointer}#{name}"
                cells.append((row, cell, shared | answer, problem))
    if cells:
        wanted = [c for c in columns if opening.wanted is None or c in opening.wanted]
        yield RawRows(
            {
                c: pa.array([values.get(c) for _, _, values, _ in cells], pa.string())
                for c in wanted
            },
            np.array([r for r, _, _, _ in cells], np.int64),
            pa.array([problem for _, _, _, problem in cells], pa.string()),
            pa.array([cell for _, cell, _, _ in cells], pa.string()),
        )


def _shared(task: dict[str, Any], annotation: dict[str, Any]) -> dict[str, str | None]:
    """The columns that all answers of an annotation have in common."""
    judge = annotation.get("completed_by")
    person = judge if isinstance(judge, dict) else {"id": judge}
    return {
        "task_id": as_text(task.get("id")),
        "annotation_id": as_text(annotation.get("id")),
        "completed_by": as_text(person.get("id", person.get("email"))),
        "completed_by.email": as_text(person.get("email")),
        "created_at": as_text(annotation.get("created_at")),
        "updated_at": as_text(annotation.get("updated_at")),
        "lead_time": as_text(annotation.get("lead_time")),
        "ground_truth": as_text(annotation.get("ground_truth")),
        **{f"data.{key}": as_text(value) for key, value in (task.get("data") or {}).items()},
    }


def _cells(
    annotation: dict[str, Any], questions: list[_Question], multilabel: str
) -> Iterator[tuple[dict[str, str | None], str | None]]:
    """(columns of one answer, why it is no judgment)."""
    if annotation.get("was_cancelled"):
        yield {}, "cancelled annotation"
        return
    answers = {name: chosen for name, chosen in _answers(annotation).items() if chosen}
    if not answers:
        yield {}, "empty annotation: no choice was made"
        return
    for question in questions:
        name, type_ = question.name, question.type
        chosen = sorted(set(answers.get(name, ())))
        if not chosen:
            yield {"from_name": name, "type": type_}, f"no answer to {name}"
        elif not question.several:
            yield {"from_name": name, "type": type_, "choice": chosen[0]}, None
        elif multilabel == "set":
            label = json.dumps(chosen, ensure_ascii=False)
            yield {"from_name": name, "type": type_, "choice": label}, None
        else:
            for choice in question.offered:
                label = "yes" if choice in chosen else "no"
                yield {"from_name": f"{name}:{choice}", "type": type_, "choice": label}, None
