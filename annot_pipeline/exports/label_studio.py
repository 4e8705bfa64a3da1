"""Label Studio JSON: choices, ratings, numbers, preferences and rankings.

A row is one annotation, counted over the file; a cell is one answer of it, with the question in
``from_name`` and the answer in ``choice``, ``score`` (rating, number), ``preference`` (pairwise, a
is left) or ``rank`` of ``ranked_item`` (ranker). Choices that allow several answers become one
yes/no answer per choice that is offered (``from_name`` is then ``name:choice``), or stay one label,
the set as a JSON list (``multilabel: set``); there, nothing chosen is an answer. Which questions
allow several is declared (``options.multiple``), else seen in the file. Cancelled and empty
annotations were not asked. Text, spans, predictions, drafts, tasks that nobody annotated and
answers that no field maps are no rows; they are counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.contracts.answer_text import value_text
from annot_pipeline.exports.json_lines import parse_json
from annot_pipeline.exports.raw_rows import Export, Opening, RawRows

CHOICE_TYPES = ("choices", "taxonomy")
SIDES = {"left": "a", "right": "b", "none": "tie"}
COLUMNS = (
    "task_id", "annotation_id", "completed_by", "completed_by.email", "from_name", "type",
    "choice", "score", "preference", "ranked_item", "rank", "created_at", "updated_at",
    "lead_time", "ground_truth",
)  # fmt: skip


UNMAPPED = "annotation without an answer of a kind that fields map"


def read_label_studio(opening: Opening) -> Export:
    """Open a Label Studio JSON export; see `raw_rows.Export`."""
    tasks = load_tasks(opening)
    data_columns = dict.fromkeys(f"data.{key}" for task in tasks for key in task.get("data") or {})
    export = Export(iter(()), [*COLUMNS, *data_columns])
    export.ignored = dict(_ignored(tasks, opening.used_columns))
    export.n_rows = sum(len(task["annotations"]) for task in tasks)
    export.chunks = _chunks(opening, tasks, export.columns)
    return export


def load_tasks(opening: Opening) -> list[dict[str, Any]]:
    """Return the tasks of an export, each with its annotations.

    Raises
    ------
    InputError
        It is not JSON, or no list of tasks.
    """
    raw = opening.read_document()
    try:
        text = raw.decode(opening.encoding).removeprefix("\ufeff")
    except UnicodeError:
        raise opening.undecodable() from None
    try:
        tasks = parse_json(text) if text.strip() else []
    except ValueError as error:
        raise opening.broken(f"is not JSON ({error})", "fetch the export again") from None
    if isinstance(tasks, dict):
        tasks = [task_of(tasks)]
    whole = isinstance(tasks, list)
    unfit = [position for position, task in enumerate(tasks) if not _is_task(task)] if whole else []
    if not whole or unfit:
        where = f"; /{unfit[0]} is none" if unfit else ""
        raise opening.broken(
            f"not a list of tasks with annotations{where}",
            "export as JSON; JSON-MIN, CSV and TSV do not show which annotations were cancelled",
        )
    return tasks


def task_of(document: dict[str, Any]) -> dict[str, Any]:
    """Return the task that a file of synchronized storage holds: itself, or of one annotation."""
    task = document.get("task")
    if not isinstance(task, dict) or "annotations" in document:
        return document
    annotation = {key: value for key, value in document.items() if key != "task"}
    return {**task, "annotations": [annotation]}


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


def _ignored(tasks: list[dict[str, Any]], used_columns: frozenset[str] | None) -> Counter[str]:
    """Return what is out of scope, by kind."""
    counts: Counter[str] = Counter()
    for task in tasks:
        counts["tasks without annotations"] += not task["annotations"]
        counts["predictions"] += len(task.get("predictions") or ())
        for annotation in task["annotations"]:
            for result in _results(annotation):
                if _choices(result) is None and not _plain_answers(result, used_columns):
                    counts[f"{result.get('type')} answers"] += 1
    return +counts


def _results(annotation: dict[str, Any]) -> list[dict[str, Any]]:
    return [r for r in annotation.get("result") or () if isinstance(r, dict)]


def _choices(result: dict[str, Any]) -> list[str] | None:
    """Return the choices of one answer about the whole task; None if it is something else."""
    value = result.get("value")
    if result.get("type") not in CHOICE_TYPES or not isinstance(value, dict) or "start" in value:
        return None
    chosen = value.get(result["type"])
    if not isinstance(chosen, list):
        return None
    return ["/".join(map(str, c)) if isinstance(c, list) else str(value_text(c)) for c in chosen]


def _plain_answers(
    result: dict[str, Any], used_columns: frozenset[str] | None
) -> list[dict[str, str | None]]:
    """Return the cells of a rating, number, preference or ranking that a field maps."""
    cells = _all_plain_answers(result)
    return [cell for cell in cells if used_columns is None or used_columns & cell.keys()]


def _all_plain_answers(result: dict[str, Any]) -> list[dict[str, str | None]]:
    """Return the cells of a rating, number, preference or ranking of the whole task."""
    kind, value = result.get("type"), result.get("value")
    if not isinstance(value, dict) or "start" in value:
        return []
    if kind in ("rating", "number") and value.get(kind) is not None:
        return [{"score": value_text(value[kind])}]
    if kind == "pairwise" and isinstance(value.get("selected"), str):
        return [{"preference": SIDES.get(value["selected"], value["selected"])}]
    if kind == "ranker" and isinstance(value.get("ranker"), dict):
        lists = [ranked for ranked in value["ranker"].values() if isinstance(ranked, list)]
        if len(lists) == 1:  # several are groups without an order
            return [
                {"ranked_item": value_text(item), "rank": str(rank)}
                for rank, item in enumerate(lists[0], start=1)
            ]
    return []


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
    """A question of the project (a control named ``name``) that is answered by choices."""

    name: str
    type: str
    offered: tuple[str, ...]
    several: bool


def _questions(
    tasks: list[dict[str, Any]], multiple: Mapping[str, Sequence[str]]
) -> list[_Question]:
    """Return the questions that are declared or were answered with choices, sorted by name."""
    types: dict[str, str] = dict.fromkeys(multiple, "choices")
    offered: dict[str, set[str]] = {name: {*choices} for name, choices in multiple.items()}
    several: set[str] = {*multiple}
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


@dataclass(frozen=True)
class _Cell:
    """An answer of an annotation: its columns, or why there is none."""

    columns: dict[str, str | None]
    problem: str | None = None
    not_asked: str | None = None


def _chunks(opening: Opening, tasks: list[dict[str, Any]], columns: list[str]) -> Iterator[RawRows]:
    questions = _questions(tasks, dict(opening.multiple))
    cells: list[tuple[int, str, _Cell]] = []
    row = 0
    for position, task in enumerate(tasks):
        data = {f"data.{key}": value_text(value) for key, value in (task.get("data") or {}).items()}
        for number, annotation in enumerate(task["annotations"]):
            row += 1
            shared = annotation_columns(task, annotation) | data
            pointer = f"/{position}/annotations/{number}"
            for answer in _cells(annotation, questions, opening):
                name, item = (answer.columns.get(n) for n in ("from_name", "ranked_item"))
                at = "#".join(part for part in (pointer, name, item) if part is not None)
                cells.append((row, at, replace(answer, columns=shared | answer.columns)))
    if cells:
        used_columns = [
            c for c in columns if opening.used_columns is None or c in opening.used_columns
        ]
        yield RawRows(
            {
                c: pa.array([cell.columns.get(c) for *_, cell in cells], pa.string())
                for c in used_columns
            },
            np.array([row for row, *_ in cells], np.int64),
            pa.array([cell.problem for *_, cell in cells], pa.string()),
            pa.array([at for _, at, _ in cells], pa.string()),
            pa.array([cell.not_asked for *_, cell in cells], pa.string()),
        )


def annotation_columns(
    task: Mapping[str, Any], annotation: Mapping[str, Any]
) -> dict[str, str | None]:
    """Return the columns that all answers of an annotation have in common."""
    judge = annotation.get("completed_by")
    person = judge if isinstance(judge, dict) else {"id": judge}
    return {
        "task_id": value_text(task.get("id")),
        "annotation_id": value_text(annotation.get("id")),
        "completed_by": value_text(person.get("id", person.get("email"))),
        "completed_by.email": value_text(person.get("email")),
        "created_at": value_text(annotation.get("created_at")),
        "updated_at": value_text(annotation.get("updated_at") or annotation.get("created_at")),
        "lead_time": value_text(annotation.get("lead_time")),
        "ground_truth": value_text(annotation.get("ground_truth")),
    }


def _cells(
    annotation: dict[str, Any], questions: list[_Question], opening: Opening
) -> Iterator[_Cell]:
    """Yield the answers of an annotation."""
    if annotation.get("was_cancelled"):
        yield _Cell({}, not_asked="cancelled annotation")
        return
    plain = [
        _Cell({"from_name": str(result.get("from_name")), "type": str(result["type"]), **cell})
        for result in _results(annotation)
        for cell in _plain_answers(result, opening.used_columns)
    ]
    answers = {name: chosen for name, chosen in _answers(annotation).items() if chosen}
    if not answers and not plain and not any(question.several for question in questions):
        why = UNMAPPED if _results(annotation) else "empty annotation: nothing was answered"
        yield _Cell({}, not_asked=why)
        return
    yield from plain
    for question in questions:
        name: dict[str, str | None] = {"from_name": question.name, "type": question.type}
        chosen = sorted(set(answers.get(question.name, ())))
        if question.several:
            yield from _several(question, chosen, opening.multilabel)
        elif chosen:
            yield _Cell(name | {"choice": chosen[0]})
        else:
            yield _Cell(name, not_asked=f"no answer to {question.name}")


def _several(question: _Question, chosen: list[str], multilabel: str) -> Iterator[_Cell]:
    """Yield the answers to a question that allows several choices, or none."""
    if multilabel == "set":
        label = json.dumps(chosen, ensure_ascii=False)
        yield _Cell({"from_name": question.name, "type": question.type, "choice": label})
        return
    for choice in question.offered:
        label = "yes" if choice in chosen else "no"
        name = f"{question.name}:{choice}"
        yield _Cell({"from_name": name, "type": question.type, "choice": label})
