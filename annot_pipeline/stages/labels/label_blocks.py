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
import pyarrow as pa

from annot_pipeline.methods.labels.calibration_choice import Choice
from annot_pipeline.methods.labels.label_calibration import ItemFit, fit_calibrated
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.runtime.blocks import StoredBlocks, dump, load
from annot_pipeline.runtime.context import StageContext
from annot_pipeline.runtime.indexing import class_order
from annot_pipeline.runtime.partitions import Facts, InputPart, Make, write_part
from annot_pipeline.runtime.task_partitions import MADE_OF, OF_TASKS
from annot_pipeline.stages.labels.adjudicate import adjudicate
from annot_pipeline.stages.labels.calibrate_labels import task_seed
from annot_pipeline.stages.labels.em_checkpoints import watch_blocks
from annot_pipeline.stages.labels.infer_labels import SCHEMAS
from annot_pipeline.stages.labels.label_items import (
    LabelSums,
    distribution_rows,
    label_rows,
    labelled_items,
    sums_of,
)
from annot_pipeline.stages.labels.label_models import FACTS, LabelModel, model_facts, model_tables
from annot_pipeline.stages.labels.label_tasks import LabelTask, label_tasks
from annot_pipeline.stages.labels.vote_labels import vote_facts, vote_tables
from annot_pipeline.storage.tables import TableFile, read_unharmed

CODED = ("task", "item", "judge", "judge_id", "label", "fate")
"""What codes are made of."""
GIVEN, FITS, MODEL = "given", "fits", "model"
"""Files of a task that hold what was given, `ItemFit` and `LabelModel`."""


@dataclass(frozen=True)
class _Given:
    """What codes of a task are made with: its row of tasks, with its classes; judges.

    Parameters
    ----------
    judges
        By the names that records have for them, their public names.
    is_fitted
        Whether the model is fitted; else items are labelled by votes (vote_labels).
    """

    task: pa.Table
    judges: Mapping[str, str]
    is_fitted: bool

    @property
    def classes(self) -> list[str]:
        """In their order."""
        classes: list[str] = self.task["labels"][0].as_py()
        return classes


def labels_in_blocks(
    context: StageContext, folder: Path, of: InputPart, tasks: pa.Table, choice: Choice | None
) -> list[Make]:
    """Fit the model of one task; what makes the rows of each block.

    What comes of it lies in files that jobs read: judges, and how each confuses classes, may be
    more than each job can be given.

    Parameters
    ----------
    folder
        Where it may put what is of no use when the stage has ended; named by all that its files
        are made of.
    of
        Its judgments, ``controlled``.
    tasks
        ``task``, ``kind``, ``labels`` of it.
    choice
        What it chose with others.
    """
    folder.mkdir(parents=True)
    tables = [block.files["controlled"] for block in of.slices("controlled")]
    opened = [partial(read_unharmed, table, CODED) for table in tables]
    rows = StoredBlocks[pa.Table](context, folder, opened)
    given = _names(rows, tasks, context)
    dump(folder / GIVEN, given)
    if given.is_fitted:
        _fit(context, folder, rows, given, choice)
    columns = context.columns["controlled"]
    return [partial(_make, folder, n, partial(read_unharmed, table, columns))
            for n, table in enumerate(tables)]  # fmt: skip


def _names(rows: StoredBlocks[pa.Table], tasks: pa.Table, context: StageContext) -> _Given:
    """Return all judges of a task, and its classes."""
    at = tasks.schema.get_field_index("labels")
    kind = pa.list_(pa.string())
    judges: dict[str, str] = {}
    labels: set[str] = set()
    for of_block, given in rows.map(_scan, tasks.set_column(at, "labels", pa.nulls(1, kind))):
        judges |= of_block
        labels |= given
    classes = list(tasks["labels"][0].as_py() or class_order(sorted(labels)))
    model = context.campaign.settings.dawid_skene_params
    is_fitted = bool(labels) and model.can_fit(len(judges), len(classes))
    tasks = tasks.set_column(at, "labels", pa.array([classes], kind))
    return _Given(tasks, dict(sorted(judges.items())), is_fitted)


def _fit(
    context: StageContext,
    folder: Path,
    rows: StoredBlocks[pa.Table],
    given: _Given,
    together: Choice | None,
) -> None:
    """Fit the model of a task to its blocks."""
    settings, name = context.campaign.settings, given.task["task"][0].as_py()
    codes = rows.keep(_codes, given)
    [fits] = fit_calibrated(
        codes,
        seeds=[task_seed(name, settings.seed)],
        model=settings.dawid_skene_params,
        params=settings.calibration_params,
        together=[together],
        watch=watch_blocks(context, folder.name, name),
    )
    dump(folder / FITS, fits.of_items)
    sums = codes.sum(_sums, fits.of_items)
    public = list(given.judges.values())
    dump(folder / MODEL, LabelModel(name, given.classes, public, fits, sums))


def _scan(rows: pa.Table, task: pa.Table) -> tuple[dict[str, str], set[str]]:
    """Judges of a block, and the labels that they gave."""
    found = label_tasks(rows, task)
    return (found[0].judges, set(found[0].classes)) if found else ({}, set())


def _labels_of(rows: pa.Table, given: _Given) -> LabelTask:
    """Labels of a block, with the codes of the whole task; none may count."""
    found = label_tasks(rows, given.task)
    if found:
        return found[0].among(given.judges)
    none, classes = np.empty(0, np.int64), given.classes
    codes = LabelCodes(none, none, none, 0, len(given.judges), len(classes))
    return LabelTask(given.task["task"][0].as_py(), [], dict(given.judges), classes, codes)


def _codes(rows: pa.Table, given: _Given) -> list[LabelCodes]:
    return [_labels_of(rows, given).codes]


def _sums(tasks: Sequence[LabelCodes], fit: ItemFit) -> LabelSums:
    """What the items of a block add up to."""
    [of] = labelled_items([LabelTask("", [], {}, [], codes) for codes in tasks], [fit])
    return sums_of(of)


def _make(
    task_folder: Path,
    n: int,
    opened: Callable[[], pa.Table],
    folder: Path,
    key: str,
) -> tuple[Mapping[str, TableFile], Facts]:
    """Rows of a block; with the first one what is told of the whole task."""
    rows = opened()
    tables = {name: schema.empty_table() for name, schema in SCHEMAS.items()}
    facts: Facts = {name: {} for name in (*FACTS, "not_fitted")}
    given: _Given = load(task_folder / GIVEN)
    classes: dict[str, Sequence[str]] = {}
    task = _labels_of(rows, given)
    if given.judges and not given.is_fitted:
        classes = {task.name: given.classes}
        tables |= vote_tables(task)
        facts |= {name: {task.name: of} for name, of in vote_facts(tables).items()}
        if n == 0:
            facts["not_fitted"] = {task.name: [len(given.judges), len(given.classes)]}
    elif given.is_fitted:
        [of] = labelled_items([task], [load(task_folder / FITS)])
        tables |= {"labels": label_rows(of), "label_distributions": distribution_rows(of)}
        classes = {task.name: given.classes}
        if n == 0:
            model: LabelModel = load(task_folder / MODEL)
            tables |= model_tables(model)
            of_model = model_facts(model, tables["judge_figures"])
            facts |= {name: {model.name: of_model[name]} for name in FACTS}
    tables["labels"], decided = adjudicate(
        tables["labels"], tables["label_distributions"], rows, classes
    )
    files = {
        name: write_part(folder, name, key, partial(iter, [made])) for name, made in tables.items()
    }
    return files, {MADE_OF: {}, OF_TASKS: facts | decided}
