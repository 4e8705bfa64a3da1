"""What labels of a task depend on beside its judgments: truths, and weights that tasks share."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from annot_pipeline.runtime.context import StageContext
from annot_pipeline.runtime.indexing import ByTask, is_in
from annot_pipeline.runtime.partitions import input_partitions
from annot_pipeline.stages.shared.known_items import Truths
from annot_pipeline.storage.tables import StoredTable, read_verified, read_verified_groups

if TYPE_CHECKING:
    from annot_pipeline.config import Campaign
    from annot_pipeline.methods.labels.held_out_labels import Predictions

COLUMNS = ("task", "item", "judge", "judge_id", "label", "fate")
ENOUGH = 1_000
"""Labels that weights are shared from: fewer do not tell them better than crowds usually do."""
MOST_TASKS = 64
"""Tasks of which shared weights are made, those whose names have the lowest hashes."""
STEP = 0.05
"""Weights are rounded to it: a few labels more must not move the labels of all small tasks."""


@dataclass(frozen=True)
class LabelPrior:
    """What is known beside the judgments of a task; its ``repr`` tells all of it.

    Parameters
    ----------
    truths
        Of items.
    weights
        Of the published model's members, which tasks with few labels share; none: each task has
        its own.
    doubted
        judge_id of judges by whom no label is certain (suspected or unlinked), in order.
    """

    truths: Truths = field(default_factory=Truths)
    weights: tuple[float, ...] = ()
    doubted: tuple[str, ...] = ()

    @property
    def shared_weights(self) -> npt.NDArray[np.float64] | None:
        """Return the weights as the methods take them."""
        return np.array(self.weights) if self.weights else None


def label_priors(context: StageContext) -> dict[str, LabelPrior]:
    """Return what is known beside judgments, by task."""
    items = read_verified_groups(context.inputs["items"], context.columns["items"])
    truths = Truths.from_items(items)
    own, names = LabelPrior(truths), context.tasks_of("categorical")
    tasks = context.read("tasks")
    by_votes = {*tasks.filter(tasks["by_votes"])["task"].to_pylist()}  # no model is fitted
    weights, large = _shared_weights(context, [name for name in names if name not in by_votes])
    shared = LabelPrior(truths, weights)
    tests = context.read("judge_tests")
    doubted: dict[str, list[str]] = {}
    for row in tests.filter(tests["uncertain"]).to_pylist():
        doubted.setdefault(row["task"], []).append(row["judge"])
    return {
        name: replace(
            own if name in large else shared, doubted=tuple(sorted(doubted.get(name, ())))
        )
        for name in names
    }


def _shared_weights(
    context: StageContext, names: Collection[str]
) -> tuple[tuple[float, ...], set[str]]:
    """Return weights by which the labels of small tasks are predicted best together.

    With the tasks that were found to be too large to take them, which no change of them touches.
    """
    settings = context.campaign.settings
    if settings.label_model != "hierarchical" or len(names) < 2:
        return (), set()
    sample = sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())[:MOST_TASKS]
    tasks = context.read("tasks")
    jobs = []
    for inputs in input_partitions(context, "controlled"):
        table = inputs.files["controlled"]
        names_to_read = sorted({*inputs.tasks}.intersection(sample))
        if names_to_read and len(table.files) == 1:  # else it is one large task
            rows = tasks.filter(is_in(tasks["task"], names_to_read))
            jobs.append(partial(_predictions, table, rows, settings))
    by_task = {name: task for of_file in context.run(jobs) for name, task in of_file.items()}
    predictions = [by_task[name] for name in sample if name in by_task]
    large = {*sample} - by_task.keys()
    if sum(task.item.size for task in predictions) < ENOUGH:
        return (), large
    from annot_pipeline.methods.labels.held_out_labels import pool_predictions
    from annot_pipeline.methods.labels.stacking import stacking_weights
    from annot_pipeline.methods.numerics.blocks import InMemoryBlocks

    weights = stacking_weights(InMemoryBlocks([pool_predictions(predictions)]))
    rounded = np.maximum(np.round(weights / STEP), 0.2)
    return tuple((rounded / rounded.sum()).tolist()), large


def _predictions(table: StoredTable, tasks: pa.Table, settings: Campaign) -> dict[str, Predictions]:
    """Return predictions of labels of a file's small tasks."""
    from annot_pipeline.methods.labels.inference import predict_small_task
    from annot_pipeline.methods.labels.stacking import ENOUGH as FEW
    from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
    from annot_pipeline.stages.labels.label_items import (
        JudgedTask,
        LabelTask,
        Vocabulary,
        used_rows,
    )

    params, names = settings.dawid_skene_params, tasks["task"].to_pylist()
    by_task = ByTask(read_verified(table, COLUMNS, names))
    predictions = {}
    for row in tasks.to_pylist():
        rows, name = by_task[row["task"]], row["task"]
        task = JudgedTask(name, InMemoryBlocks([rows]), row["labels"])
        own = Vocabulary.from_task(task, settings.judges.declared)
        can_fit = bool(own.judges) and params.can_fit(len(own.judges), len(own.classes))
        if can_fit and used_rows(rows).num_rows < FEW:
            codes = LabelTask.from_rows(rows, name, own, Truths()).codes
            predictions[name] = predict_small_task(codes, params)
    return predictions
