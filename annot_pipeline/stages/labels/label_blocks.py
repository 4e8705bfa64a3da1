"""Labels of a task that is too large for one job: its items come in blocks.

A block is a file of judgments of whole items (runtime.partitions). Each is coded once; then
Dawid-Skene asks all blocks for their expected counts, again and again, and adds these in the order
of blocks, so the sums hang on the judgments alone, not on engine or machines. Labels that are held
out or checked are drawn from all items, as they are of a task that is done whole. Where EM stands
is put into the store now and then: a build that was killed goes on there.

What does not belong here: EM itself (methods.labels.label_em), what rows look like
(stages.labels.label_items, stages.labels.label_models).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from annot_pipeline.config import Campaign
from annot_pipeline.contracts import LABEL_CALIBRATION
from annot_pipeline.errors import shorten
from annot_pipeline.methods.labels.calibration_choice import (
    Choice,
    choose_alone,
    given_choice,
    unknown_choice,
)
from annot_pipeline.methods.labels.dawid_skene import (
    expected_counts,
    stacked_priors,
)
from annot_pipeline.methods.labels.estimates import Estimates
from annot_pipeline.methods.labels.held_out_labels import (
    n_judges_of,
    tempered,
)
from annot_pipeline.methods.labels.label_calibration import early_fits, evidence_of
from annot_pipeline.methods.labels.label_matrix import LabelCodes, LabelMatrix
from annot_pipeline.methods.labels.predictive_checks import checks_of
from annot_pipeline.runtime.context import StageContext
from annot_pipeline.runtime.indexing import class_order
from annot_pipeline.runtime.partitions import Facts, InputPart, Make, write_part
from annot_pipeline.runtime.task_partitions import MADE_OF, OF_TASKS
from annot_pipeline.stages.labels.adjudicate import adjudicate
from annot_pipeline.stages.labels.block_codes import (
    Block,
    Drawn,
    ItemSizes,
    draw,
    dump,
    load,
    take_as_one,
)
from annot_pipeline.stages.labels.block_em import em_of_blocks
from annot_pipeline.stages.labels.calibrate_labels import (
    calibration_table,
    held_out_rows,
    rows_of_checks,
    task_seed,
)
from annot_pipeline.stages.labels.infer_labels import SCHEMAS
from annot_pipeline.stages.labels.label_items import (
    LabelledItems,
    LabelSums,
    distribution_rows,
    label_rows,
    sums_of,
)
from annot_pipeline.stages.labels.label_models import FACTS, LabelModel, model_facts, model_tables
from annot_pipeline.stages.labels.label_tasks import LabelTask, label_tasks
from annot_pipeline.stages.labels.vote_labels import vote_facts, vote_tables
from annot_pipeline.storage.tables import StoredTable, TableFile, read_unharmed

T = TypeVar("T")
Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

CODED = ("task", "item", "judge", "judge_id", "label", "fate")
"""What codes are made of."""

ALL_SCHEMAS = SCHEMAS | {"label_evidence": LABEL_CALIBRATION.schema}


def labels_in_blocks(
    context: StageContext, folder: Path, of: InputPart, tasks: pa.Table, choice: Choice | None
) -> list[Make]:
    """Fit the models of one task; what makes the rows of each block.

    Parameters
    ----------
    folder
        Where it may put what is of no use when the stage has ended.
    of
        Its judgments, ``controlled``.
    tasks
        ``task``, ``kind``, ``labels`` of it.
    choice
        What it chose with others.
    """
    blocks, columns = of.slices("controlled"), context.columns["controlled"]
    folder.mkdir(parents=True)
    _fit(context, folder, blocks, tasks, choice)
    return [
        partial(_make, folder, n, block.files["controlled"], columns)
        for n, block in enumerate(blocks)
    ]


GIVEN, FITS, TOLD = "given", "fits", "told"
"""Files of a task, beside its codes, that hold these."""


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


@dataclass(frozen=True)
class _Fits:
    """Estimates under which items are labelled, and how these are calibrated."""

    raw: Estimates
    pooled: Estimates
    choice: Choice


@dataclass(frozen=True)
class _Told:
    """What is told of a model, and rows of `LABEL_CALIBRATION`."""

    model: LabelModel
    evidence: pa.Table


def _fit(
    context: StageContext,
    folder: Path,
    blocks: Sequence[InputPart],
    tasks: pa.Table,
    together: Choice | None,
) -> None:
    """Fit the models of a task to its blocks, unless no label counts or it is too large a model.

    What comes of it lies in files that jobs read: judges, and how each confuses classes, may be
    more than each job can be given.
    """
    settings = context.campaign.settings
    model = settings.dawid_skene_params
    name = tasks["task"][0].as_py()
    tables = [block.files["controlled"] for block in blocks]
    judges, labels = _names(context, tables, tasks)
    declared = tasks["labels"][0].as_py()
    classes = list(declared or class_order(sorted(labels)))
    tasks = tasks.set_column(
        tasks.schema.get_field_index("labels"), "labels", pa.array([classes], pa.list_(pa.string()))
    )
    given = folder / GIVEN
    is_fitted = bool(labels) and model.can_fit(len(judges), len(classes))
    dump(given, _Given(tasks, judges, is_fitted))
    if not is_fitted:
        return
    coded = [Block(folder, n) for n in range(len(blocks))]
    codings = [partial(_code, *of, given) for of in zip(tables, coded, strict=True)]
    n_items = sum(context.run(codings))
    [drawn] = context.run([partial(draw, coded, task_seed(name, settings.seed))])
    choice = _choice(drawn, together, settings)
    em = partial(em_of_blocks, context, name, coded, params=model, n_items=n_items)
    raw, fit = em("", [block.matrix for block in coded], len(judges))
    pooled, borrowed = raw, fit
    if choice.pooling > 0:
        context.run([partial(take_as_one, block) for block in coded])
        _, shared = em("judges taken as one", [block.alike for block in coded], 1)
        prior = stacked_priors([choice.pooling * shared.confusion[0]], len(classes))
        pooled, borrowed = em("pooled", [block.matrix for block in coded], len(judges), prior=prior)
    context.progress(f"Dawid-Skene of {shorten(name)}: calibrating by labels that are held out")
    [evidence] = evidence_of([drawn.evidence], [choice], early_fits(model))
    rows = [*held_out_rows(choice, evidence)]
    for which, of in (("raw", fit), ("pooled", borrowed)):
        found = checks_of(drawn.checked, of, rng=copy.deepcopy(drawn.rng))
        rows += rows_of_checks(which, found)
    fits = folder / FITS
    dump(fits, _Fits(raw, pooled, choice))
    sums = reduce(add, context.run([partial(_sums, block, fits) for block in coded]))
    told = LabelModel(name, classes, list(judges.values()), fit, borrowed, choice, evidence, sums)
    evidence_rows = calibration_table([{"task": name, **row} for row in rows])
    dump(folder / TOLD, _Told(told, evidence_rows))


def _names(
    context: StageContext, tables: Sequence[StoredTable], tasks: pa.Table
) -> tuple[dict[str, str], set[str]]:
    """All judges of a task, by name, and the labels that they gave."""
    judges: dict[str, str] = {}
    labels: set[str] = set()
    for of_block, given in context.run([partial(_scan, of, tasks) for of in tables]):
        judges |= of_block
        labels |= given
    return dict(sorted(judges.items())), labels


def _choice(drawn: Drawn, together: Choice | None, settings: Campaign) -> Choice:
    """What the task takes, as `calibration_choice.choose` has it."""
    params = settings.calibration_params
    pooling, temper = params.given_pooling, params.given_temper
    if pooling is not None and temper is not None:
        return given_choice(pooling, temper)
    if together:
        return replace(together, is_pooling_given=pooling is not None)
    if not drawn.n_predictable:
        return unknown_choice(pooling=pooling, temper=temper)
    early = early_fits(settings.dawid_skene_params)
    [choice] = choose_alone([drawn.choice], pooling=pooling, temper=temper, params=early)
    return choice


def _scan(table: StoredTable, tasks: pa.Table) -> tuple[dict[str, str], set[str]]:
    """Judges of a block, and the labels that they gave."""
    given = tasks.set_column(
        tasks.schema.get_field_index("labels"), "labels", pa.nulls(1, pa.list_(pa.string()))
    )
    found = label_tasks(read_unharmed(table, CODED), given)
    return (found[0].judges, set(found[0].classes)) if found else ({}, set())


def _labels_of(rows: pa.Table, given: _Given) -> LabelTask:
    """Labels of a block, with the codes of the whole task; none may count."""
    found = label_tasks(rows, given.task)
    if found:
        return found[0].among(given.judges)
    none, classes = np.empty(0, np.int64), given.classes
    codes = LabelCodes(none, none, none, 0, len(given.judges), len(classes))
    return LabelTask(given.task["task"][0].as_py(), [], dict(given.judges), classes, codes)


def _code(table: StoredTable, block: Block, given: Path) -> int:
    """Put the codes of a block where its jobs find them; how many items it has."""
    codes = _labels_of(read_unharmed(table, CODED), load(given)).codes
    n = np.bincount(codes.items, minlength=codes.n_items).astype(np.int32)
    dump(block.codes, codes)
    dump(block.sizes, ItemSizes(n, n_judges_of(codes).astype(np.int32)))
    dump(block.matrix, LabelMatrix.of([0], [codes]))
    return codes.n_items


def _sums(block: Block, fits: Path) -> LabelSums:
    """What the items of a block add up to."""
    task = LabelTask("", [], {}, [], load(block.codes))
    return sums_of(_labelled(task, load(block.matrix), load(fits)))


def _labelled(task: LabelTask, matrix: LabelMatrix, fits: _Fits) -> LabelledItems:
    raw, pooled = (expected_counts(matrix, of)[0] for of in (fits.raw, fits.pooled))
    power = fits.choice.power(n_judges_of(task.codes))
    return LabelledItems.of(task, raw, pooled, tempered(pooled, power))


def _make(
    task_folder: Path,
    n: int,
    table: StoredTable,
    columns: Sequence[str],
    folder: Path,
    key: str,
) -> tuple[Mapping[str, TableFile], Facts]:
    """Rows of a block; with the first one what is told of the whole task."""
    rows = read_unharmed(table, columns)
    tables = {name: schema.empty_table() for name, schema in ALL_SCHEMAS.items()}
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
        of = _labelled(task, LabelMatrix.of([0], [task.codes]), load(task_folder / FITS))
        tables |= {"labels": label_rows(of), "label_distributions": distribution_rows(of)}
        classes = {task.name: given.classes}
        if n == 0:
            told: _Told = load(task_folder / TOLD)
            tables |= model_tables(told.model) | {"label_evidence": told.evidence}
            of_model = model_facts(told.model, tables["judge_figures"])
            facts |= {name: {told.model.name: of_model[name]} for name in FACTS}
    tables["labels"], decided = adjudicate(
        tables["labels"], tables["label_distributions"], rows, classes
    )
    files = {
        name: write_part(folder, name, key, partial(iter, [made])) for name, made in tables.items()
    }
    return files, {MADE_OF: {}, OF_TASKS: facts | decided}
