"""Judge control: a one-sided paired t-test for each judge, or a loop over judges with scipy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Floats
from benchmarks.comparison import Comparison, Way, Work

PAIRS = 24
"""Outputs that a judge scored, with their degraded copies: two HITs."""


@dataclass(frozen=True)
class Pairs:
    """A judge's code and both scores of each pair, by judge; ``(n_pairs,)`` each."""

    judges: npt.NDArray[np.int64]
    outputs: Floats
    degraded: Floats
    n_judges: int


def draw_pairs(n_judges: int) -> Pairs:
    """Scores of judges, a quarter of whom guess."""
    rng = np.random.default_rng(17)
    judges = np.repeat(np.arange(n_judges), PAIRS)
    outputs = rng.normal(60, 15, size=judges.size)
    fall = np.where(judges % 4 == 3, 0, 10)
    degraded = outputs - fall + rng.normal(0, 15, size=judges.size)
    return Pairs(judges, outputs.round(), degraded.round(), n_judges)


def ours(given: Pairs) -> Work:
    """p-values ``(n_judges,)``."""
    from annot_pipeline.methods.judges.grouped_tests import paired_t

    return lambda: (
        paired_t(given.judges, given.outputs - given.degraded, n_groups=given.n_judges).p_value
    )


def by_scipy(given: Pairs) -> Work:
    """p-values, a list by judge; the judges' scores already apart."""
    import scipy.stats

    outputs = given.outputs.reshape(-1, PAIRS)
    degraded = given.degraded.reshape(-1, PAIRS)
    return lambda: [
        scipy.stats.ttest_rel(first, second, alternative="greater").pvalue
        for first, second in zip(outputs, degraded, strict=True)
    ]


COMPARISON = Comparison(
    f"Judge control: a paired t-test for each judge, {PAIRS} pairs a judge",
    "judges",
    sizes=(1_000, 10_000),
    quick=(1_000,),
    draw=draw_pairs,
    ways=(Way("annot-pipeline", ours), Way("scipy, a loop", by_scipy)),
)
