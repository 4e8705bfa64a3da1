"""Dawid-Skene of one task, as many iterations on both sides.

crowd-kit starts from shares of votes and ends with an M-step, we with an E-step: n of its
iterations and n - 1 of ours after our start are n E-steps both, and give the same posterior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes
from benchmarks.comparison import Comparison, Way, Work

CLASSES, JUDGES, LABELS_PER_ITEM = 5, 200, 10
ITERATIONS = 20
LEAST = 1e-10
"""Least probability of crowd-kit's matrices; our smoothing."""


@dataclass(frozen=True)
class Labels:
    """Codes of items, judges and labels; ``(n_labels_given,)`` each."""

    items: Codes
    judges: Codes
    labels: Codes
    n_items: int
    n_judges: int


def draw_labels(n: int, *, judges: int = JUDGES, seed: int = 17) -> Labels:
    """Labels of judges 70% of whose answers are right."""
    rng = np.random.default_rng(seed)
    n_items = n // LABELS_PER_ITEM
    truth = rng.integers(CLASSES, size=n_items)
    items = np.repeat(np.arange(n_items), LABELS_PER_ITEM)
    judge = rng.integers(judges, size=items.size)
    right = rng.random(items.size) < 0.7
    labels = np.where(right, truth[items], rng.integers(CLASSES, size=items.size))
    return Labels(items, judge, labels, n_items, judges)


def ours(given: Labels) -> Work:
    """Posterior ``(n_items, CLASSES)``."""
    from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams, dawid_skene

    params = DawidSkeneParams(
        start="votes", smoothing=LEAST, tolerance=0, max_iterations=ITERATIONS - 1
    )
    return lambda: dawid_skene(
        given.items, given.judges, given.labels,
        n_items=given.n_items, n_judges=given.n_judges, n_labels=CLASSES, params=params,
    ).posterior  # fmt: skip


def by_crowd_kit(given: Labels) -> Work:
    """Posterior, a DataFrame: items by classes."""
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    table = pd.DataFrame({"task": given.items, "worker": given.judges, "label": given.labels})
    # no tolerance: it would stop where rounding lets its objective fall
    return lambda: DawidSkene(n_iter=ITERATIONS, tol=-np.inf).fit_predict_proba(table)


COMPARISON = Comparison(
    f"Dawid-Skene, one task, {CLASSES} classes, {JUDGES} judges, {ITERATIONS} iterations",
    "labels",
    sizes=(100_000, 1_000_000),
    quick=(100_000,),
    draw=draw_labels,
    ways=(Way("annot-pipeline", ours), Way("crowd-kit", by_crowd_kit, needs="crowdkit")),
)
