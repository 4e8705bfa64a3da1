"""Infer labels of categorical tasks from judgments: votes, and the label model of each task.

What experts decided takes no part in the model; it is put in the place of labels (adjudicate). A
task whose votes come as counts, or with more classes and judges than `max_parameters` allows, is
labelled by votes (vote_labels). A task too large for one machine is fitted in the same way, in
blocks of items (label_blocks).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from annot_pipeline.config.judges import JudgeSettings
from annot_pipeline.contracts import (
    JUDGE_CONFUSION,
    LABEL_CALIBRATION,
    LABEL_DISTRIBUTIONS,
    LABELS,
    PREVALENCE,
)
from annot_pipeline.contracts.stage_metrics import TaskMetrics
from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams
from annot_pipeline.methods.labels.inference import fit_labels
from annot_pipeline.methods.labels.label_em import EMState
from annot_pipeline.methods.labels.model_fits import Watch, watch_nothing
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.runtime.by_task import ByTask
from annot_pipeline.stages.labels.adjudicate import adjudicate
from annot_pipeline.stages.labels.known_items import Truths
from annot_pipeline.stages.labels.label_items import (
    LabelledItems,
    distribution_rows,
    label_rows,
    labelled_items,
    sums_of,
)
from annot_pipeline.stages.labels.label_tasks import are_doubted, label_tasks
from annot_pipeline.stages.labels.task_tables import (
    JUDGE_FIGURES,
    LABEL_FITS,
    TASK_METRICS,
    TaskFit,
    model_metrics,
    model_tables,
)
from annot_pipeline.stages.labels.vote_labels import (
    count_anonymous,
    used_rows,
    vote_classes,
    vote_metrics,
    vote_tables,
)

SCHEMAS = {
    "labels": LABELS.schema,
    "label_distributions": LABEL_DISTRIBUTIONS.schema,
    "prevalence": PREVALENCE.schema,
    "judge_confusion": JUDGE_CONFUSION.schema,
    "judge_figures": JUDGE_FIGURES,
    "label_fits": LABEL_FITS,
    "label_evidence": LABEL_CALIBRATION.schema,
}
BY_ITEM = ("labels", "label_distributions")
"""Tables with rows of items; the others have rows of whole tasks."""


@dataclass(frozen=True)
class LabelSettings:
    """Settings by which labels are inferred.

    Parameters
    ----------
    params
        Of the label model.
    certain_at
        Probability from which a label is certain.
    judges
        Which judges are related.
    """

    params: DawidSkeneParams = field(default_factory=DawidSkeneParams)
    certain_at: float = 0.95
    judges: Sequence[JudgeSettings] = ()


def infer_labels(
    judgments: pa.Table,
    tasks: pa.Table,
    settings: LabelSettings,
    *,
    truths: Truths | None = None,
    shared_weights: npt.NDArray[np.float64] | None = None,
    doubted: Mapping[str, Collection[str]] | None = None,
    progress: Callable[[str], None] | None = None,
) -> tuple[dict[str, pa.Table], TaskMetrics]:
    """Infer the labels of every categorical task.

    Parameters
    ----------
    judgments
        ``task``, ``item``, ``judge``, ``judge_id``, ``label``, ``votes``, ``control``, ``fate``,
        ``submitted_at``, ``why``; those used count, and adjudications override what comes of them.
    tasks
        ``task``, ``kind``, ``by_votes``, ``labels`` (declared classes in order, or null).
    settings
        Of labels.
    truths
        Of items.
    shared_weights
        Weights of the published model's members that tasks with few labels share.
    doubted
        judge_id of judges by whom no label is certain (suspected or unlinked), by task.
    progress
        Called with messages about the progress.

    Returns
    -------
    tables, metrics
        ``labels``, ``label_distributions``, ``prevalence``, ``judge_confusion``,
        ``judge_figures``, ``label_fits``, ``label_evidence``; and metrics by name and task.
    """
    params = settings.params
    all_tasks = label_tasks(judgments, tasks, truths, settings.judges)
    fitted = [t for t in all_tasks if params.can_fit(len(t.judges), len(t.classes))]
    unfitted = [t for t in all_tasks if not params.can_fit(len(t.judges), len(t.classes))]
    fits = fit_labels(
        InMemoryBlocks([[t.labels for t in fitted]]),
        params=params,
        shared_weights=shared_weights,
        watch=_progress_watch(progress, len(fitted)) if progress else watch_nothing,
    )
    items = [
        labelled_items(
            task,
            fit.item_fit,
            settings.certain_at,
            are_doubted(task.judges, (doubted or {}).get(task.name, ())),
        )
        for task, fit in zip(fitted, fits, strict=True)
    ]
    models = [
        TaskFit(t.name, t.classes, list(t.judges.values()), fit, sums_of(labelled))
        for t, fit, labelled in zip(fitted, fits, items, strict=True)
    ]
    voted = [VotedTask(t.name, t.classes, (len(t.judges), len(t.classes))) for t in unfitted]
    by_votes = {row["task"]: row["labels"] for row in tasks.to_pylist() if row["by_votes"]}
    voted += [
        VotedTask(name, vote_classes(rows, by_votes[name]), is_anonymous=True)
        for name, rows in _used_by_task(judgments, [*by_votes]).items()
        if rows.num_rows
    ]
    return label_tables(judgments, items, models, voted)


@dataclass(frozen=True)
class VotedTask:
    """A task that is labelled by votes.

    Parameters
    ----------
    name
        Of the task.
    classes
        In order.
    not_fitted
        Numbers of judges and classes of a task that is too large for the label model; None in
        blocks after the first, and where votes come as counts.
    is_anonymous
        Whether votes come as counts.
    """

    name: str
    classes: Sequence[str]
    not_fitted: tuple[int, int] | None = None
    is_anonymous: bool = False


def label_tables(
    judgments: pa.Table,
    items: Sequence[LabelledItems],
    models: Sequence[TaskFit],
    voted: Sequence[VotedTask],
) -> tuple[dict[str, pa.Table], TaskMetrics]:
    """Return the tables and metrics of some tasks, or of a block of one task.

    Parameters
    ----------
    judgments
        As `infer_labels` takes them.
    items
        Items that the label model labelled, by task.
    models
        Of these tasks; none in blocks after the first, as their rows are of the whole task.
    voted
        Tasks that are labelled by votes.
    """
    by_task = [model_tables(model) for model in models]
    pieces = {name: [tables[name] for tables in by_task] for name in SCHEMAS if name not in BY_ITEM}
    pieces["labels"] = [label_rows(labelled) for labelled in items]
    pieces["label_distributions"] = [distribution_rows(labelled) for labelled in items]
    tables = {name: _stack(schema, pieces[name]) for name, schema in SCHEMAS.items()}
    metrics: TaskMetrics = {name: {} for name in TASK_METRICS}
    for model, model_rows in zip(models, by_task, strict=True):
        for name, value in model_metrics(model, model_rows["judge_figures"]).items():
            metrics[name][model.name] = value
    used = _used_by_task(judgments, [task.name for task in voted])
    votes = [vote_tables(used[task.name], task.name, task.classes) for task in voted]
    if votes:
        for name in BY_ITEM:
            whole = pa.concat_tables([tables[name], *(rows[name] for rows in votes)])
            tables[name] = whole.sort_by([("task", "ascending")]).combine_chunks()
    for task, vote_rows in zip(voted, votes, strict=True):
        for name, value in vote_metrics(vote_rows).items():
            metrics[name][task.name] = value
    metrics["not_fitted"] = {t.name: [*t.not_fitted] for t in voted if t.not_fitted}
    metrics["anonymous_votes"] = {
        task.name: count_anonymous(used[task.name]) for task in voted if task.is_anonymous
    }
    classes: dict[str, Sequence[str]] = {
        labelled.task.name: labelled.task.classes for labelled in items
    }
    classes |= {task.name: task.classes for task in voted}
    tables["labels"], decided = adjudicate(
        tables["labels"], tables["label_distributions"], judgments, classes
    )
    return tables, metrics | decided


def _used_by_task(judgments: pa.Table, names: Sequence[str]) -> dict[str, pa.Table]:
    """Return the judgments that count of some tasks."""
    if not names:
        return {}
    rows = ByTask(used_rows(judgments))
    return {name: rows[name] for name in names}


def _progress_watch(progress: Callable[[str], None], n_tasks: int) -> Watch:
    """Return what reports the progress of each fit."""

    def watch(fitted: str) -> tuple[None, Callable[[int, EMState], None]]:
        def on_iteration(n_ended: int, state: EMState) -> None:
            if state.iteration % 25 == 0:
                progress(f"{fitted}: iteration {state.iteration}, {n_ended}/{n_tasks} tasks ended")

        return None, on_iteration

    return watch


def _stack(schema: pa.Schema, parts: Sequence[pa.Table]) -> pa.Table:
    """Concatenate tables of tasks, in task order."""
    return pa.concat_tables(parts).combine_chunks() if parts else schema.empty_table()
