"""What a design asks: a question for each task that it is for, and why others cannot be asked."""

from __future__ import annotations

from collections.abc import Sequence
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


class AskedTasks:
    """The tasks that a design may ask about.

    Parameters
    ----------
    tasks
        As `resolve_tasks` gives it.
    listed
        What item tables say; tasks that only they name are as campaign.yaml declares them.
    votes
        ``task``, ``label``: classes of a task that declares none.
    settings
        ``tasks``, ``judges``.
    """

    def __init__(
        self, tasks: pa.Table, listed: Listed, votes: pa.Table, settings: Campaign
    ) -> None:
        self.rows: dict[str, dict[str, Any]] = {row["task"]: row for row in tasks.to_pylist()}
        self.listed, self.votes, self.settings = listed, votes, settings
        self.names = sorted(listed.by_task)

    def kind(self, name: str) -> str | None:
        """Return the kind of a task."""
        if name in self.rows:
            kind: str | None = self.rows[name]["kind"]
            return kind
        return declared(name, self.settings).kind

    def seen(self, name: str) -> list[str]:
        """Return the classes that a task was answered with."""
        of_task = self.votes.filter(pc.equal(self.votes["task"].cast(TEXT), name))
        labels: list[str] = pc.unique(of_task["label"].cast(TEXT)).to_pylist()
        return labels


def about_scores(tasks: AskedTasks) -> Questions:
    """Return a question for each scalar task."""
    return _asked(tasks, [name for name in tasks.names if tasks.kind(name) == "scalar"])


def about_comparisons(tasks: AskedTasks) -> Questions:
    """Return a question for each task whose outputs are compared."""
    names = [name for name in tasks.names if tasks.kind(name) in COMPARED_KINDS]
    return [Question(name, ask="compare") for name in names], {}


def about_sampled_items(tasks: AskedTasks) -> Questions:
    """Return a question for each task that models judge, and people can."""
    names = [n for n in tasks.names if n in tasks.rows and tasks.kind(n) in VALIDATED_KINDS]
    if not tasks.settings.judges.has_models:
        return [], dict.fromkeys(names, NO_MODEL)
    return _asked(tasks, names)


def _asked(tasks: AskedTasks, names: Sequence[str]) -> Questions:
    questions: list[Question] = []
    unplanned: dict[str, str] = {}
    for name in names:
        kind = tasks.kind(name)
        if kind == "pairwise":
            questions.append(Question(name, ask="compare"))
        elif kind == "categorical":
            labels = tasks.rows[name]["labels"] or class_order(tasks.seen(name))
            if len(labels) < 2:
                unplanned[name] = NO_LABELS
            else:
                questions.append(Question(name, ask="label", labels=tuple(labels)))
        else:
            scale, criteria = _scale_and_criteria(name, tasks)
            if scale is None:
                unplanned[name] = "it declares no scale; write scale: [lowest, highest] under tasks"
            else:
                questions.append(Question(name, scale, criteria))
    return questions, unplanned


def about_adequacy(tasks: AskedTasks) -> Questions:
    """Return a question for each task that labels the outputs of others as adequate."""
    settings = tasks.settings
    questions: list[Question] = []
    unplanned: dict[str, str] = {}
    for name in sorted(set(labelled_by(tasks.listed.by_task, settings).values())):
        kind = tasks.kind(name)
        row = tasks.rows.get(name)
        classes_given = row["labels"] if row else declared(name, settings).labels
        adequacies = [
            declared(compared, settings).adequacy
            for compared in tasks.listed.labelled_in(name, settings)
        ]
        adequate = list(dict.fromkeys(c for a in adequacies if a for c in a.adequate))
        strange = [label for label in adequate if classes_given and label not in classes_given]
        classes = classes_given or class_order(list({*adequate, *tasks.seen(name)}))
        if kind not in (None, "categorical"):
            unplanned[name] = f"it is {kind}, and adequacy is asked with labels (kind: categorical)"
        elif strange:
            unplanned[name] = f"it has no label {', '.join(strange)}, which adequacy.adequate names"
        elif len(classes) < 2:
            unplanned[name] = NO_LABELS
        else:
            questions.append(Question(name, ask="label", labels=tuple(classes)))
    return questions, unplanned


def _scale_and_criteria(
    name: str, tasks: AskedTasks
) -> tuple[tuple[float, float] | None, tuple[str, ...]]:
    if name not in tasks.rows:
        declaration = declared(name, tasks.settings)
        return declaration.scale, tuple(declaration.criteria)
    row = tasks.rows[name]
    has_scale = row["scale_low"] is not None and row["scale_high"] is not None
    return (
        scale_of(row) if has_scale else None,
        tuple(criterion["criterion"] for criterion in row["criteria"] or ()),
    )
