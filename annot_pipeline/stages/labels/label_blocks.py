"""Labels of a task that is too large for one job: its items come in blocks.

A block is a file of judgments of whole items (runtime.partitions). Each is coded once, with the
codes of the whole task; then the task is fitted as any other is (infer_labels). Where EM stands is
put into the store now and then: a build that was killed goes on there (em_checkpoints).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from annot_pipeline.methods.labels.inference import fit_labels
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.labels.published_labels import ItemFit, TaskLabels
from annot_pipeline.methods.labels.recalibration import KnownItems
from annot_pipeline.runtime.blocks import StoredBlocks, dump, load
from annot_pipeline.runtime.context import Document, StageContext
from annot_pipeline.runtime.indexing import class_order
from annot_pipeline.runtime.partitions import InputPartition, WritePartition, write_partition
from annot_pipeline.runtime.task_partitions import METRICS_BY_TASK, TASK_FINGERPRINTS
from annot_pipeline.stages.labels.em_checkpoints import watch_blocks
from annot_pipeline.stages.labels.infer_labels import VotedTask, label_tables
from annot_pipeline.stages.labels.known_items import Truths
from annot_pipeline.stages.labels.label_items import (
    LabelSums,
    labelled_items,
    sums_of,
)
from annot_pipeline.stages.labels.label_prior import LabelPrior
from annot_pipeline.stages.labels.label_tasks import (
    LabelTask,
    are_doubted,
    judge_families,
    label_tasks,
)
from annot_pipeline.stages.labels.task_tables import (
    TaskFit,
)
from annot_pipeline.stages.labels.vote_labels import (
    used_rows,
    vote_classes,
)
from annot_pipeline.storage.tables import TableFile, read_verified

CODED = ("task", "item", "judge", "judge_id", "label", "votes", "fate")
"""Columns that are coded."""
VOCABULARY_FILE, TRUTHS_FILE = "vocabulary", "truths"
ITEM_FIT_FILE, TASK_FIT_FILE = "item-fit", "task-fit"
"""Files of a task that hold `TaskVocabulary`, `Truths`, `ItemFit` and `TaskFit`."""


@dataclass(frozen=True)
class TaskVocabulary:
    """Classes and judges of a whole task, by which each block is coded.

    Parameters
    ----------
    task
        Its row of the table ``tasks``, with all classes.
    judges
        By the names that records have for them, their public names.
    families
        ``(n_judges,)`` of judges, by code.
    is_fitted
        Whether the model is fitted; else items are labelled by votes (vote_labels).
    certain_at
        Probability from which a label is certain.
    doubted
        ``(n_judges,)`` whether no label is certain by a judge.
    """

    task: pa.Table
    judges: Mapping[str, str]
    families: npt.NDArray[np.int64]
    is_fitted: bool
    certain_at: float
    doubted: npt.NDArray[np.bool_]

    @property
    def classes(self) -> list[str]:
        """Return the classes in order."""
        classes: list[str] = self.task["labels"][0].as_py()
        return classes

    @property
    def name(self) -> str:
        """Return the name of the task."""
        return str(self.task["task"][0])

    def voted_task(self, *, is_first: bool) -> VotedTask:
        """Return the task as it is labelled by votes, in its first block or another."""
        is_anonymous = bool(self.task["by_votes"][0])
        not_fitted = len(self.judges), len(self.classes)
        tells = is_first and not is_anonymous
        return VotedTask(self.name, self.classes, not_fitted if tells else None, is_anonymous)


def labels_in_blocks(
    context: StageContext,
    folder: Path,
    part: InputPartition,
    tasks: pa.Table,
    prior: LabelPrior,
) -> list[WritePartition]:
    """Fit the model of one task; return a callable for each block that writes its rows.

    Results of the fit are in files that jobs read: judges and their confusion matrices may be too
    large to send with each job.

    Parameters
    ----------
    folder
        For files that are deleted when the stage ends.
    part
        Its judgments, ``controlled``.
    tasks
        ``task``, ``kind``, ``by_votes``, ``labels`` of it.
    prior
        What is known beside its judgments.
    """
    folder.mkdir(parents=True)
    dump(folder / TRUTHS_FILE, prior.truths)
    tables = [block.files["controlled"] for block in part.slices("controlled")]
    opened = [partial(read_verified, table, CODED) for table in tables]
    rows = StoredBlocks[pa.Table](context, folder, opened)
    vocabulary = _vocabulary(rows, tasks, prior, context)
    dump(folder / VOCABULARY_FILE, vocabulary)
    if vocabulary.is_fitted:
        _fit(context, folder, rows, vocabulary, prior)
    columns = context.columns["controlled"]
    return [partial(_make, folder, n, partial(read_verified, table, columns))
            for n, table in enumerate(tables)]  # fmt: skip


def _vocabulary(
    rows: StoredBlocks[pa.Table], tasks: pa.Table, prior: LabelPrior, context: StageContext
) -> TaskVocabulary:
    """Return all judges of a task, and its classes."""
    at = tasks.schema.get_field_index("labels")
    kind = pa.list_(pa.string())
    judges: dict[str, str] = {}
    labels: set[str] = set()
    for block_judges, block_labels in rows.map(
        _scan, tasks.set_column(at, "labels", pa.nulls(1, kind))
    ):
        judges |= block_judges
        labels |= block_labels
    classes = list(tasks["labels"][0].as_py() or class_order(sorted(labels)))
    settings = context.campaign.settings
    is_fitted = bool(judges) and settings.dawid_skene_params.can_fit(len(judges), len(classes))
    tasks = tasks.set_column(at, "labels", pa.array([classes], kind))
    judges = dict(sorted(judges.items()))
    families = judge_families([*judges], settings.judges.declared)
    return TaskVocabulary(
        tasks, judges, families, is_fitted, settings.labels.certain_at,
        are_doubted(judges, prior.doubted),
    )  # fmt: skip


def _fit(
    context: StageContext,
    folder: Path,
    rows: StoredBlocks[pa.Table],
    vocabulary: TaskVocabulary,
    prior: LabelPrior,
) -> None:
    """Fit the model of a task to its blocks."""
    settings, name = context.campaign.settings, vocabulary.task["task"][0].as_py()
    labels = rows.keep(_task_labels, vocabulary, prior.truths)
    [fit] = fit_labels(
        labels,
        params=settings.dawid_skene_params,
        shared_weights=prior.shared_weights,
        watch=watch_blocks(context, folder.name, name),
    )
    dump(folder / ITEM_FIT_FILE, fit.item_fit)
    n_bytes = len(vocabulary.judges) * len(vocabulary.classes) ** 2 * 8
    certain_at, doubted = vocabulary.certain_at, vocabulary.doubted
    sums = labels.sum(_sums, fit.item_fit, certain_at, doubted, n_bytes=n_bytes)
    public = list(vocabulary.judges.values())
    dump(folder / TASK_FIT_FILE, TaskFit(name, vocabulary.classes, public, fit, sums))


def _scan(rows: pa.Table, task: pa.Table) -> tuple[dict[str, str], set[str]]:
    """Return the judges of a block, and the labels that they gave; votes as counts have labels."""
    if task["by_votes"][0].as_py():
        return {}, set(vote_classes(used_rows(rows), None))
    tasks = label_tasks(rows, task)
    return (tasks[0].judges, set(tasks[0].classes)) if tasks else ({}, set())


def _block_labels(
    rows: pa.Table, vocabulary: TaskVocabulary, truths: Truths | None = None
) -> LabelTask:
    """Return the labels of a block, with the codes of the whole task."""
    tasks = label_tasks(rows, vocabulary.task, truths)
    if tasks:
        return tasks[0].among(vocabulary.judges, vocabulary.families)
    none, classes = np.empty(0, np.int64), vocabulary.classes
    n_judges = len(vocabulary.judges)
    codes = LabelCodes(none, none, none, 0, n_judges, len(classes), vocabulary.families)
    judges = dict(vocabulary.judges)
    name = vocabulary.task["task"][0].as_py()
    return LabelTask(name, [], judges, classes, codes, KnownItems.none())


def _task_labels(rows: pa.Table, vocabulary: TaskVocabulary, truths: Truths) -> list[TaskLabels]:
    return [_block_labels(rows, vocabulary, truths).labels]


def _sums(
    tasks: Sequence[TaskLabels],
    fit: ItemFit,
    certain_at: float,
    doubted: npt.NDArray[np.bool_],
) -> LabelSums:
    """Return the sums over the items of a block."""
    [labels] = tasks
    task = LabelTask("", [], {}, [], labels.codes, labels.known_items)
    return sums_of(labelled_items(task, fit, certain_at, doubted))


def _make(
    task_folder: Path,
    n: int,
    opened: Callable[[], pa.Table],
    folder: Path,
    key: str,
) -> tuple[Mapping[str, TableFile], Document]:
    """Write the rows of a block; the first block writes those of the whole task too."""
    rows = opened()
    vocabulary: TaskVocabulary = load(task_folder / VOCABULARY_FILE)
    items, models, voted = [], [], []
    if vocabulary.is_fitted:
        task = _block_labels(rows, vocabulary, load(task_folder / TRUTHS_FILE))
        fit: ItemFit = load(task_folder / ITEM_FIT_FILE)
        items.append(labelled_items(task, fit, vocabulary.certain_at, vocabulary.doubted))
        models += [load(task_folder / TASK_FIT_FILE)] if n == 0 else []
    elif vocabulary.classes:
        voted.append(vocabulary.voted_task(is_first=n == 0))
    tables, metrics = label_tables(rows, items, models, voted)
    files = {
        name: write_partition(folder, name, key, partial(iter, [table]))
        for name, table in tables.items()
    }
    return files, {TASK_FINGERPRINTS: {}, METRICS_BY_TASK: metrics}
