"""Dawid-Skene of many small tasks: ours as one batch, crowd-kit task by task."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.comparison import Comparison, Way, Work
from benchmarks.comparisons.dawid_skene import (
    CLASSES,
    ITERATIONS,
    LEAST,
    Labels,
    by_crowd_kit,
    draw_labels,
)

LABELS_PER_TASK, JUDGES = 1_000, 20


def draw_tasks(n_tasks: int) -> list[Labels]:
    """Tasks of equal size, each with its own judges."""
    return [draw_labels(LABELS_PER_TASK, judges=JUDGES, seed=17 + t) for t in range(n_tasks)]


def ours(tasks: Sequence[Labels]) -> Work:
    """Posteriors, an array a task."""
    from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams, dawid_skene_batch
    from annot_pipeline.methods.labels.label_matrix import LabelCodes

    params = DawidSkeneParams(
        start="votes", smoothing=LEAST, tolerance=0, max_iterations=ITERATIONS - 1
    )
    codes = [LabelCodes(**vars(task), n_labels=CLASSES) for task in tasks]
    return lambda: [fit.posterior for fit in dawid_skene_batch(codes, params=params)]


def task_by_task(tasks: Sequence[Labels]) -> Work:
    """Posteriors, a DataFrame a task."""
    fits = [by_crowd_kit(task) for task in tasks]
    return lambda: [fit() for fit in fits]


COMPARISON = Comparison(
    f"Dawid-Skene, tasks of {LABELS_PER_TASK:,} labels, {CLASSES} classes, {JUDGES} judges, "
    f"{ITERATIONS} iterations; all tasks in one batch, or one by one",
    "tasks",
    sizes=(1_000,),
    quick=(20,),
    draw=draw_tasks,
    ways=(Way("annot-pipeline", ours), Way("crowd-kit", task_by_task, needs="crowdkit")),
)
