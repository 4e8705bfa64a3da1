"""Bradley-Terry of comparisons as they come, with intervals.

Ours are by clusters of judges and segments, evalica's by bootstrap rounds over comparisons. evalica
is called once for the data and once a round, on comparisons drawn again; its own `bootstrap` does
the same and, as of 0.4, holds the comparisons of all rounds at once, which at a million takes
longer and most of this machine's memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes
from benchmarks.comparison import Comparison, Way, Work

SYSTEMS, ROUNDS, TIES = 50, 100, 0.1
JUDGES, SEGMENTS = 200, 1_000


@dataclass(frozen=True)
class Comparisons:
    """Codes of two systems, and 1 (the first wins), 0 (tie) or -1; ``(n_comparisons,)`` each."""

    first: Codes
    second: Codes
    outcome: Codes


def draw_comparisons(n: int, *, systems: int = SYSTEMS) -> Comparisons:
    """Comparisons of systems evenly spread in strength, a tenth of them ties."""
    rng = np.random.default_rng(17)
    first = rng.integers(systems, size=n)
    second = (first + rng.integers(1, systems, size=n)) % systems
    wins = rng.random(n) < 1 / (1 + np.exp(3 * (second - first) / systems))
    return Comparisons(first, second, np.where(rng.random(n) < TIES, 0, np.where(wins, 1, -1)))


def ours(given: Comparisons) -> Work:
    """Strengths ``(SYSTEMS,)`` and half their intervals, logits."""
    from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
    from annot_pipeline.methods.rankings.adjusted_comparisons import (
        ComparisonBlock,
        adjusted_comparisons,
    )
    from annot_pipeline.methods.rankings.inference import compare_estimates

    n = given.first.size
    judges, segments = np.arange(n) % JUDGES, np.arange(n) % SEGMENTS
    preferences, unknown = (given.outcome + 1) / 2, np.full(n, -1)

    def work() -> tuple[np.ndarray, np.ndarray]:
        block = ComparisonBlock(
            segments, judges, given.first, given.second, preferences, unknown, SEGMENTS, JUDGES,
            SYSTEMS, 0,
        )  # fmt: skip
        fitted = adjusted_comparisons(InMemoryBlocks([block]), has_ties=False)
        return fitted.fit.strengths, compare_estimates(fitted.estimates).half_width

    return work


def by_evalica(given: Comparisons) -> Work:
    """Scores, a Series by system, and a list of those of the rounds; no logarithms."""
    import evalica
    import pandas as pd

    winners = {1: evalica.Winner.X, 0: evalica.Winner.Draw, -1: evalica.Winner.Y}
    xs, ys = given.first, given.second
    ws = np.array([winners[outcome] for outcome in given.outcome.tolist()])
    index = pd.Index(np.arange(SYSTEMS))

    def scores(rows: Codes | slice) -> pd.Series[float]:
        fit = evalica.bradley_terry(xs[rows], ys[rows], ws[rows].tolist(), index=index)
        scores: pd.Series[float] = fit.scores
        return scores

    def work() -> tuple[pd.Series[float], list[pd.Series[float]]]:
        rng = np.random.default_rng(17)
        n = xs.size
        return scores(slice(None)), [scores(rng.integers(n, size=n)) for _ in range(ROUNDS)]

    return work


COMPARISON = Comparison(
    f"Bradley-Terry of {SYSTEMS} systems, a tie half a win, with intervals: by clusters, and by "
    f"{ROUNDS} bootstrap rounds",
    "comparisons",
    sizes=(100_000, 1_000_000),
    quick=(20_000,),
    draw=draw_comparisons,
    ways=(Way("annot-pipeline", ours), Way("evalica", by_evalica, needs="evalica")),
)
