"""Dawid-Skene against the number of labels."""

from __future__ import annotations

from benchmarks.comparison import Comparison, Way
from benchmarks.comparisons.dawid_skene import CLASSES, ITERATIONS, JUDGES, draw_labels, ours

COMPARISON = Comparison(
    f"Dawid-Skene by size: one task, {CLASSES} classes, {JUDGES} judges, {ITERATIONS} iterations",
    "labels",
    sizes=(10_000, 100_000, 1_000_000, 10_000_000),
    quick=(10_000, 100_000),
    draw=draw_labels,
    ways=(Way("annot-pipeline", ours),),
    exponent_from=10_000,
)
