"""What categorical tasks choose together for the calibration of their labels, whatever their part.

A task with few labels is calibrated by what labels of all such tasks say (calibration_choice), so
this is found before any part is made, and given to each.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from annot_pipeline.config import Campaign
from annot_pipeline.config.signature import digest
from annot_pipeline.runtime.context import Document, StageContext
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.runtime.partitions import InputPartition, input_partitions
from annot_pipeline.storage.tables import StoredTable, read_unharmed

if TYPE_CHECKING:
    from annot_pipeline.methods.labels.calibration_choice import Choice
    from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams
    from annot_pipeline.methods.labels.held_out_labels import HeldOutLabels
    from annot_pipeline.stages.labels.label_tasks import LabelTask

SIZES = "predictable_labels"
"""The metric that holds predictable labels of tasks, by the file of judgments and its tasks."""
TOGETHER = "chosen_together"
"""The metric that holds the choice, and the hash of the labels that it was made by."""
COLUMNS = ("task", "item", "judge", "judge_id", "label", "fate")

Labels = tuple[StoredTable, pa.Table]
"""A table of judgments, and rows of ``tasks``: those of its categorical tasks that are wanted."""


def chosen_together(context: StageContext) -> tuple[dict[str, Choice], Document]:
    """Return the choice that tasks share, by task, and metrics for the next build."""
    from annot_pipeline.methods.labels.calibration_choice import deciding_tasks, large_and_others

    params = context.campaign.settings.calibration_params
    if params.given_pooling is not None and params.given_temper is not None:
        return {}, {}
    tasks = context.read("tasks")
    tasks = tasks.filter(is_in(tasks["kind"], ("categorical",)))
    partitions, latest = input_partitions(context, "controlled"), context.latest()
    slices = [piece for whole in partitions for piece in whole.slices("controlled")]
    by_file = _sizes_by_file(
        context, slices, tasks, latest.document.get(SIZES, {}) if latest else {}
    )
    sizes: Counter[str] = Counter()
    for of_file in by_file.values():
        sizes.update(of_file)
    names = sorted(sizes)
    _, together = large_and_others(np.array([sizes[name] for name in names], np.int64))
    others = [names[place] for place in together]
    asked = [others[place] for place in deciding_tasks([sizes[name] for name in others])]
    settings = context.campaign.settings
    jobs = [
        partial(_draw, _labels(inputs, tasks, asked), settings.seed)
        for inputs in partitions
        if {*asked}.intersection(inputs.tasks)
    ]
    held_out = {task: labels for by_task in context.run(jobs) for task, labels in by_task.items()}
    last_choice = latest.document.get(TOGETHER) if latest else None
    choose = partial(_choose, [held_out[name] for name in asked], settings, last_choice)
    [(choice, choice_document)] = context.run([choose]) if asked else [choose()]
    return dict.fromkeys(others, choice), {SIZES: by_file, TOGETHER: choice_document}


def _labels(inputs: InputPartition, tasks: pa.Table, names: Sequence[str]) -> Labels:
    named = sorted({*inputs.tasks}.intersection(names))
    return inputs.files["controlled"], tasks.filter(is_in(tasks["task"], named))


def _sizes_by_file(
    context: StageContext, slices: Sequence[InputPartition], tasks: pa.Table, known_sizes: Document
) -> dict[str, dict[str, int]]:
    """Return counts of predictable labels of tasks by file; earlier counts are reused."""
    labels = [_labels(inputs, tasks, inputs.tasks) for inputs in slices]
    asked = {
        digest([file.sha256, file_tasks["task"].to_pylist()]): (file, file_tasks)
        for file, file_tasks in labels
        if file_tasks.num_rows
    }
    new = [key for key in asked if key not in known_sizes]
    model = context.campaign.settings.dawid_skene_params
    jobs = [partial(_sizes, asked[key], model) for key in new]
    sizes = {**known_sizes, **dict(zip(new, context.run(jobs), strict=True))}
    return {key: sizes[key] for key in asked}


def _sizes(labels: Labels, model: DawidSkeneParams) -> dict[str, int]:
    """Count the predictable labels of a file's tasks; tasks without a model are left out."""
    from annot_pipeline.methods.labels.held_out_labels import n_predictable

    return {
        task.name: n_predictable(task.codes)
        for task in _read(labels)
        if model.can_fit(len(task.judges), len(task.classes))
    }


def _draw(labels: Labels, seed: int) -> dict[str, HeldOutLabels]:
    """Draw the labels by which tasks choose together."""
    from annot_pipeline.stages.labels.calibrate_labels import hold_out_together

    return {
        task.name: hold_out_together(task.name, task.codes, seed=seed) for task in _read(labels)
    }


def _choose(
    held_out: Sequence[HeldOutLabels], settings: Campaign, last_choice: Document | None
) -> tuple[Choice, Document]:
    """Choose for some tasks, or return the last choice if the labels are the same."""
    from annot_pipeline.methods.labels.calibration_choice import Choice
    from annot_pipeline.stages.labels.calibrate_labels import choose_together_by

    fingerprint = digest([[_hash(array) for array in labels.arrays()] for labels in held_out])
    if last_choice and last_choice["made_of"] == fingerprint:
        values: Document = {
            name: np.nan if value is None else value
            for name, value in last_choice["choice"].items()
        }
        return Choice(**values), last_choice
    choice = choose_together_by(
        held_out, model=settings.dawid_skene_params, params=settings.calibration_params
    )
    plain: Mapping[str, Any] = {
        name: None if value != value else value for name, value in asdict(choice).items()
    }
    return choice, {"made_of": fingerprint, "choice": plain}


def _hash(array: npt.NDArray[np.int64]) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()


def _read(labels: Labels) -> list[LabelTask]:
    """Read the labels of the tasks that are wanted."""
    from annot_pipeline.stages.labels.label_tasks import label_tasks

    table, tasks = labels
    names = tasks["task"].to_pylist()
    rows = read_unharmed(table, COLUMNS, names)
    return label_tasks(rows.filter(is_in(rows["task"], names)), tasks)
