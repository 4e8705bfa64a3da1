"""What a design asks: a question for each task that it is for, and why others cannot be asked."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Campaign
from annot_pipeline.contracts import TEXT
from annot_pipeline.contracts.task_table import scale_of
from annot_pipeline.runtime.indexing import class_order
from annot_pipeline.stages.planning.hit_plan import Question
from annot_pipeline.stages.planning.listed_items import Listed, declared, labelled_by

COMPARED_KINDS = ("pairwise", "ranking")
"""Kinds of tasks whose outputs a tournament compares."""

VALIDATED_KINDS = ("categorical", "scalar", "pairwise")
"""Kinds of tasks whose models people can validate."""

NO_MODEL = "no judge is declared as a model; write judges: [{name: ..., kind: model}]"
NO_LABELS = "it declares no labels; write labels: [...] under tasks"

Questions = tuple[list[Question], dict[str, str]]


def hit_questions(
    tasks: pa.Table, listed: Listed, votes: pa.Table, settings: Campaign
) -> Questions:
    """Return one question per task, and why other tasks of the design cannot be asked.

    Parameters
    ----------
    tasks
        As `resolve_tasks` gives it.
    listed
        What item tables say; tasks that only they name are as campaign.yaml declares them.
    votes
        ``task``, ``label``: classes of a task that declares none.
    settings
        ``next_hits.design``, ``tasks``.
    """
    task_rows = {row["task"]: row for row in tasks.to_pylist()}
    names = sorted(listed.by_task)
    design = settings.next_hits.design
    if design == "adequacy":
        return _adequacy(task_rows, listed, votes, settings)
    if design == "tournament":
        compared = [n for n in names if _kind(n, task_rows, settings) in COMPARED_KINDS]
        return [Question(name, ask="compare") for name in compared], {}
    questions: list[Question] = []
    unplanned: dict[str, str] = {}
    for name in names:
        kind = _kind(name, task_rows, settings)
        if design == "validate" and name in task_rows and kind in VALIDATED_KINDS:
            if not settings.judges.has_models:
                unplanned[name] = NO_MODEL
                continue
        elif kind != "scalar" or design == "validate":
            continue
        if kind == "pairwise":
            questions.append(Question(name, ask="compare"))
        elif kind == "categorical":
            labels = task_rows[name]["labels"] or class_order(_seen(name, votes))
            if len(labels) < 2:
                unplanned[name] = NO_LABELS
            else:
                questions.append(Question(name, ask="label", labels=tuple(labels)))
        else:
            scale, criteria = _scale_and_criteria(name, task_rows, settings)
            if scale is None:
                unplanned[name] = "it declares no scale; write scale: [lowest, highest] under tasks"
            else:
                questions.append(Question(name, scale, criteria))
    return questions, unplanned


def adequacy_of(labelling: str, listed: Listed, settings: Campaign) -> list[str]:
    """Return the tasks whose outputs a task labels, by name."""
    return [
        name
        for name, labelled_task in labelled_by(listed.by_task, settings).items()
        if labelled_task == labelling
    ]


def _adequacy(
    task_rows: dict[str, Any], listed: Listed, votes: pa.Table, settings: Campaign
) -> Questions:
    questions: list[Question] = []
    unplanned: dict[str, str] = {}
    for name in sorted(set(labelled_by(listed.by_task, settings).values())):
        kind = _kind(name, task_rows, settings)
        classes_given = (
            task_rows[name]["labels"] if name in task_rows else declared(name, settings).labels
        )
        adequate = _adequate(name, listed, settings)
        strange = [label for label in adequate if classes_given and label not in classes_given]
        classes = classes_given or class_order(list({*adequate, *_seen(name, votes)}))
        if kind not in (None, "categorical"):
            unplanned[name] = f"it is {kind}, and adequacy is asked with labels (kind: categorical)"
        elif strange:
            unplanned[name] = f"it has no label {', '.join(strange)}, which adequacy.adequate names"
        elif len(classes) < 2:
            unplanned[name] = NO_LABELS
        else:
            questions.append(Question(name, ask="label", labels=tuple(classes)))
    return questions, unplanned


def _adequate(labelling: str, listed: Listed, settings: Campaign) -> list[str]:
    adequacies = [
        declared(name, settings).adequacy for name in adequacy_of(labelling, listed, settings)
    ]
    return list(
        dict.fromkeys(label for adequacy in adequacies if adequacy for label in adequacy.adequate)
    )


def _seen(name: str, votes: pa.Table) -> list[str]:
    of_task = votes.filter(pc.equal(votes["task"].cast(TEXT), name))
    labels: list[str] = pc.unique(of_task["label"].cast(TEXT)).to_pylist()
    return labels


def _kind(name: str, task_rows: dict[str, Any], settings: Campaign) -> str | None:
    kind: str | None = (
        task_rows[name]["kind"] if name in task_rows else declared(name, settings).kind
    )
    return kind


def _scale_and_criteria(
    name: str, task_rows: dict[str, Any], settings: Campaign
) -> tuple[tuple[float, float] | None, tuple[str, ...]]:
    if name not in task_rows:
        declaration = declared(name, settings)
        return declaration.scale, tuple(declaration.criteria)
    row = task_rows[name]
    has_scale = row["scale_low"] is not None and row["scale_high"] is not None
    return (
        scale_of(row) if has_scale else None,
        tuple(criterion["criterion"] for criterion in row["criteria"] or ()),
    )
