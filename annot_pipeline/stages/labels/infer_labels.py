"""Infer labels of categorical tasks from judgments: votes, and the label model of each task.

What experts decided takes no part in the model; it is put in the place of labels (adjudicate). A
task whose votes come as counts, or with more classes and judges than `max_parameters` allows, is
labelled by votes (vote_labels). A task too large for one machine is fitted in the same way, in
blocks of items (label_blocks).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    distribution_rows,
    label_rows,
    labelled_items,
    sums_of,
)
from annot_pipeline.stages.labels.label_tasks import label_tasks
from annot_pipeline.stages.labels.task_tables import (
    FITS,
    JUDGE_FIGURES,
    TASK_METRICS,
    LabelModel,
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
    "label_fits": FITS,
    "label_evidence": LABEL_CALIBRATION.schema,
}


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
    progress
        Told what is going on.

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
    names = [t.name for t in fitted]
    fits = fit_labels(
        InMemoryBlocks([[t.labels for t in fitted]]),
        params=params,
        shared_weights=shared_weights,
        watch=_telling(progress, len(fitted)) if progress else watch_nothing,
    )
    items = [
        labelled_items(task, fit.item_fit, settings.certain_at)
        for task, fit in zip(fitted, fits, strict=True)
    ]
    models = [
        LabelModel(t.name, t.classes, list(t.judges.values()), fit, sums_of(labelled))
        for t, fit, labelled in zip(fitted, fits, items, strict=True)
    ]
    by_task = [
        {"labels": label_rows(labelled), "label_distributions": distribution_rows(labelled)}
        | model_tables(model)
        for labelled, model in zip(items, models, strict=True)
    ]
    tables = {
        name: _stack(schema, [rows[name] for rows in by_task]) for name, schema in SCHEMAS.items()
    }
    used = ByTask(used_rows(judgments))
    anonymous = {
        row["task"]: vote_classes(used[row["task"]], row["labels"])
        for row in tasks.to_pylist()
        if row["by_votes"] and row["task"] in used.names
    }
    classes = {t.name: t.classes for t in all_tasks} | anonymous
    voted = [t.name for t in unfitted] + [*anonymous]
    vote_rows = [vote_tables(used[name], name, classes[name]) for name in voted]
    if vote_rows:
        for name in ("labels", "label_distributions"):
            whole = pa.concat_tables([tables[name], *(votes[name] for votes in vote_rows)])
            tables[name] = whole.sort_by([("task", "ascending")]).combine_chunks()
    metrics_of = [
        model_metrics(m, rows["judge_figures"]) for m, rows in zip(models, by_task, strict=True)
    ]
    metrics = {
        name: {
            task: task_metrics[name] for task, task_metrics in zip(names, metrics_of, strict=True)
        }
        for name in TASK_METRICS
    }
    for name, votes in zip(voted, vote_rows, strict=True):
        metrics |= {key: metrics[key] | {name: n} for key, n in vote_metrics(votes).items()}
    metrics["not_fitted"] = {t.name: [len(t.judges), len(t.classes)] for t in unfitted}
    metrics["anonymous_votes"] = {name: count_anonymous(used[name]) for name in anonymous}
    tables["labels"], decided = adjudicate(
        tables["labels"], tables["label_distributions"], judgments, classes
    )
    return tables, metrics | decided


def _telling(progress: Callable[[str], None], n_tasks: int) -> Watch:
    """Report how each fit goes on."""

    def watch(fitted: str) -> tuple[None, Callable[[int, EMState], None]]:
        def on_iteration(n_settled: int, state: EMState) -> None:
            if state.iteration % 25 == 0:
                progress(
                    f"{fitted}: iteration {state.iteration}, {n_settled}/{n_tasks} tasks settled"
                )

        return None, on_iteration

    return watch


def _stack(schema: pa.Schema, parts: Sequence[pa.Table]) -> pa.Table:
    """Concatenate tables of tasks, in task order."""
    return pa.concat_tables(parts).combine_chunks() if parts else schema.empty_table()
