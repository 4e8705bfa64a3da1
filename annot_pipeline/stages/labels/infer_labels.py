"""Infer labels of a categorical task from judgments: votes, and the label model of the task.

These are tasks whose votes come as counts, of judges whom nobody names, and tasks with too many
classes and judges for the model. They have no probability, no row of prevalence or judge_confusion,
and label_distributions holds the classes that an item has votes for.

What experts decided takes no part in the model; it is put in the place of labels (adjudicate). A
task whose votes come as counts, or with more classes and judges than `max_parameters` allows, is
labelled by votes (vote_labels). Models are fitted to sums over blocks of items, and each block has
its rows from what was fitted to all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.config.judges import JudgeSettings
from annot_pipeline.contracts import (
    JUDGE_CONFUSION,
    LABEL_CALIBRATION,
    LABEL_DISTRIBUTIONS,
    LABELS,
    PREVALENCE,
)
from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams
from annot_pipeline.methods.labels.inference import fit_labels
from annot_pipeline.methods.labels.model_fits import Watch, watch_nothing
from annot_pipeline.methods.labels.published_labels import ItemFit, LabelFit, TaskLabels
from annot_pipeline.methods.labels.votes import DIGITS, vote_weights
from annot_pipeline.methods.numerics.blocks import Blocks, InMemoryBlocks
from annot_pipeline.runtime.audit_answers import sample_names
from annot_pipeline.runtime.coded_task import NONE, CodedTask
from annot_pipeline.runtime.indexing import names_of
from annot_pipeline.runtime.task_partitions import TaskResult
from annot_pipeline.stages.labels.adjudicate import adjudicate
from annot_pipeline.stages.labels.label_items import (
    AuditSums,
    JudgedTask,
    LabelSums,
    LabelTask,
    Vocabulary,
    audit_sums,
    certificate,
    distribution_rows,
    label_rows,
    labelled_items,
    sums_of,
    used_rows,
)
from annot_pipeline.stages.labels.task_tables import (
    JUDGE_FIGURES,
    LABEL_FITS,
    TaskFit,
    model_metrics,
    model_tables,
)
from annot_pipeline.stages.shared.known_items import Truths


def vote_tables(used: pa.Table, task: str, classes: Sequence[str]) -> dict[str, pa.Table]:
    """Return ``labels`` and ``label_distributions`` of a task, from its votes alone.

    Memory grows with the number of judgments, not with items times classes. Ties are broken by
    class order, as they are in ``majority_label`` of other tasks.

    Parameters
    ----------
    used
        ``item``, ``judge``, ``label``, ``votes`` of the task's judgments that count. A judge's
        answer, whose ``votes`` is null, is one vote.
    task
        Its name.
    classes
        In their order, all that occur.
    """
    rows = CodedTask(task, used)
    item, n_items, n_labels = rows["item"], rows.n("item"), max(len(classes), 1)
    codes = rows.codes_among("label", classes)
    cells, cell_of_row = np.unique(item.codes * n_labels + codes, return_inverse=True)
    votes = np.zeros(cells.size, np.int64)
    np.add.at(votes, cell_of_row.reshape(-1), pc.fill_null(used["votes"], 1).to_numpy())
    items, labels = cells // n_labels, cells % n_labels
    n_judgments = np.zeros(n_items, np.int64)
    np.add.at(n_judgments, items, votes)
    by_votes = np.lexsort((labels, -_judges_votes(rows, cell_of_row.reshape(-1), votes), items))
    first = by_votes[np.searchsorted(items, np.arange(n_items))]
    majority = names_of(classes, labels[first])
    share = votes[first] / n_judgments
    no = np.zeros(n_items, np.bool_)
    labelled: dict[str, Any] = {
        "task": pa.repeat(task, n_items),
        "item": item.names,
        "label": majority,
        "certain": no,
        "n_judgments": n_judgments,
        "n_judges": _count_judges(rows),
        "majority_label": majority,
        "majority_share": share,
        "support": share,
        "adjudicated": no,
        "dawid_skene_certain": no,
    }
    distributions = {
        "task": pa.repeat(task, cells.size),
        "item": names_of(item.names, items),
        "label": names_of(classes, labels),
        "votes": votes,
    }
    return {
        "labels": LABELS.from_columns(labelled),
        "label_distributions": LABEL_DISTRIBUTIONS.from_columns(distributions),
    }


def vote_metrics(tables: Mapping[str, pa.Table]) -> dict[str, Any]:
    """Return ``items`` and ``items_by_judgments`` of a task that `vote_tables` labelled."""
    n_judgments = tables["labels"]["n_judgments"].to_numpy()
    sizes, counts = np.unique(n_judgments, return_counts=True)
    pairs = zip(sizes.tolist(), counts.tolist(), strict=True)
    return {"items": len(n_judgments), "items_by_judgments": [list(pair) for pair in pairs]}


def _judges_votes(rows: CodedTask, cells: Codes, votes: Codes) -> Floats:
    """Return votes where the answers of a judge whom a name tells share one vote."""
    judge, item = rows["judge"].codes, rows["item"].codes
    is_named = judge != NONE
    surplus = vote_weights(item[is_named], judge[is_named]) - 1
    return np.round(votes + np.bincount(cells[is_named], surplus, votes.size), DIGITS)


def _count_judges(rows: CodedTask) -> Codes:
    """Return the number of named judges of each item, in the order of items by name."""
    judge, item = rows["judge"].codes, rows["item"].codes
    n_judges, is_named = max(rows.n("judge"), 1), judge != NONE
    pairs = np.unique((item * n_judges + judge)[is_named])
    return np.bincount(pairs // n_judges, minlength=rows.n("item"))


SCHEMAS = {
    "labels": LABELS.schema,
    "label_distributions": LABEL_DISTRIBUTIONS.schema,
    "prevalence": PREVALENCE.schema,
    "judge_confusion": JUDGE_CONFUSION.schema,
    "judge_figures": JUDGE_FIGURES,
    "label_fits": LABEL_FITS,
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


@dataclass(frozen=True)
class FittedTask:
    """What is fitted to a task; without a model its items are labelled by votes.

    Parameters
    ----------
    vocabulary
        Classes and judges.
    certain_at
        Probability from which a label is certain.
    by_votes
        Whether votes come as counts.
    truths
        Of items.
    model
        The fit, and sums over all items.
    labels
        Of a task in one block: what was coded to fit it.
    """

    vocabulary: Vocabulary
    certain_at: float
    by_votes: bool
    truths: Truths
    model: TaskFit | None = None
    labels: LabelTask | None = None


def fit_tasks(
    tasks: Sequence[JudgedTask],
    settings: LabelSettings,
    *,
    shared_weights: np.ndarray | None = None,
    watch: Watch = watch_nothing,
) -> list[FittedTask]:
    """Fit the label model to tasks: several of one block each, or one of any number.

    Parameters
    ----------
    tasks
        Those with too many judges and classes for the model, or votes alone, have no fit.
    settings
        Of labels.
    shared_weights
        Weights of the published model's members that tasks with few labels share.
    watch
        Is asked once for each fit.
    """
    vocabularies = [Vocabulary.from_task(task, settings.judges) for task in tasks]
    are_fitted = [
        bool(own.judges) and settings.params.can_fit(len(own.judges), len(own.classes))
        for own in vocabularies
    ]
    coded = {
        n: task.judgments.keep(LabelTask.from_rows, task.name, vocabularies[n], task.truths)
        for n, task in enumerate(tasks)
        if are_fitted[n]
    }
    fits = fit_labels(
        _side_by_side([*coded.values()]), params=settings.params, shared_weights=shared_weights,
        watch=watch,
    )  # fmt: skip
    fit_of = dict(zip(coded, fits, strict=True))
    return [
        FittedTask(
            own, settings.certain_at, task.by_votes, task.truths,
            *(_model(task, own, settings.certain_at, coded[n], fit_of[n])
              if n in coded else ()),
        )
        for n, (task, own) in enumerate(zip(tasks, vocabularies, strict=True))
    ]  # fmt: skip


def _side_by_side(coded: Sequence[Blocks[LabelTask]]) -> Blocks[list[TaskLabels]]:
    """Return the labels of all tasks by block."""
    if len(coded) == 1:
        return coded[0].keep(_in_list)
    blocks = [labels for task in coded for labels in task.map(_in_list)]
    return InMemoryBlocks([[labels for [labels] in blocks]])


def _in_list(task: LabelTask) -> list[TaskLabels]:
    return [task.labels]


def _model(
    task: JudgedTask, own: Vocabulary, certain_at: float, coded: Blocks[LabelTask], fit: LabelFit
) -> tuple[TaskFit, LabelTask | None]:
    """Return the fit with its sums, and what was coded of a task in one block."""
    n_bytes = len(own.judges) * len(own.classes) ** 2 * 8
    audit: dict[str, Any] = {}
    if samples := sorted(set().union(*task.judgments.map(sample_names))):
        shared = task.name, own, task.truths, fit.item_fit, certain_at, samples
        audit = certificate(samples, task.judgments.sum(_audit, *shared), certain_at)
    identified = own.is_identified(fit.item_fit)
    shared_sums = fit.item_fit, certain_at, own.doubted | (not identified), audit.get("level")
    sums = coded.sum(_sums, *shared_sums, n_bytes=n_bytes)
    names = task.name, own.classes, list(own.judges.values())
    model = TaskFit(*names, identified, fit, sums, audit)
    return model, coded.blocks[0] if isinstance(coded, InMemoryBlocks) else None


def _sums(
    task: LabelTask, fit: ItemFit, certain_at: float, doubted: Flags, level: float | None
) -> LabelSums:
    return sums_of(labelled_items(task, fit, certain_at, doubted, level))


def _audit(
    rows: pa.Table, name: str, own: Vocabulary, truths: Truths, fit: ItemFit, certain_at: float,
    samples: Sequence[str],
) -> AuditSums:  # fmt: skip
    task = LabelTask.from_rows(rows, name, own, truths)
    return audit_sums(labelled_items(task, fit, certain_at, own.doubted), rows, samples)


def label_tables(name: str, rows: pa.Table, fitted: FittedTask, *, is_first: bool) -> TaskResult:
    """Return the tables and metrics of a task, or of a block of it.

    Parameters
    ----------
    name
        Of the task.
    rows
        ``item``, ``judge``, ``judge_id``, ``label``, ``votes``, ``control``, ``fate``,
        ``submitted_at``, ``why``; those used count, and adjudications override what comes of them.
    fitted
        Of the whole task.
    is_first
        Whether the rows of the whole task are wanted: of prevalence, judges, and fits.

    Returns
    -------
    tables, metrics
        ``labels``, ``label_distributions``, ``prevalence``, ``judge_confusion``,
        ``judge_figures``, ``label_fits``, ``label_evidence``; and metrics by name.
    """
    own = fitted.vocabulary
    tables: dict[str, pa.Table] = {}
    metrics: dict[str, Any] = {}
    if fitted.model is not None:
        if is_first:
            tables |= model_tables(fitted.model)
            metrics |= model_metrics(fitted.model, tables["judge_figures"])
        task = fitted.labels or LabelTask.from_rows(rows, name, own, fitted.truths)
        fit = fitted.model.fit.item_fit
        level = fitted.model.audit.get("level")
        doubted = own.doubted | (not fitted.model.is_identified)
        items = labelled_items(task, fit, fitted.certain_at, doubted, level)
        tables |= {"labels": label_rows(items), "label_distributions": distribution_rows(items)}
    else:
        used = used_rows(rows)
        tables |= vote_tables(used, name, own.classes)
        if used.num_rows:
            metrics |= vote_metrics(tables)
        if fitted.by_votes and used.num_rows:
            metrics["anonymous_votes"] = pc.sum(used["votes"]).as_py() or 0
        elif is_first and own.judges:
            metrics["not_fitted"] = [len(own.judges), len(own.classes)]
    tables["labels"], decided = adjudicate(
        tables["labels"], tables["label_distributions"], rows, name,
        own.classes if own.judges or fitted.by_votes else None,
    )  # fmt: skip
    return tables, metrics | decided
