"""Bradley-Terry of comparisons as they come, with bootstrap rounds over comparisons.

evalica is called once for the data and once a round, on comparisons drawn again; its own
`bootstrap` does the same and, as of 0.4, holds the comparisons of all rounds at once, which at a
million takes longer and most of this machine's memory. Who counts comparisons by pair
first could give evalica the counts as weights, and be fast with it too: that is what we do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.comparison import Comparison, Way, Work

Codes = npt.NDArray[np.int64]

SYSTEMS, ROUNDS, TIES = 50, 100, 0.1


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
    """Scores ``(SYSTEMS,)`` and those of the rounds ``(ROUNDS, SYSTEMS)``, logarithms."""
    from annot_pipeline.methods.comparisons.bradley_terry import (
        BradleyTerryParams,
        bradley_terry,
        bradley_terry_rounds,
    )
    from annot_pipeline.methods.comparisons.comparison_counts import count_comparisons

    params, unit = BradleyTerryParams(ties="half"), np.arange(given.first.size)

    def work() -> tuple[np.ndarray, np.ndarray]:
        of = count_comparisons(given.first, given.second, given.outcome, unit, n_systems=SYSTEMS)
        pairs, counted = (of.first, of.second), of.counts
        fit = bradley_terry(
            *pairs, counted.wins[0], counted.ties[0], counted.losses[0],
            n_systems=SYSTEMS, params=params,
        )  # fmt: skip
        rounds = [
            bradley_terry_rounds(
                *pairs, drawn.wins, drawn.ties, drawn.losses,
                part=fit.connectivity.part, params=params, start=fit.score,
            ).score
            for drawn in of.resampled(ROUNDS, np.random.default_rng(17))
        ]  # fmt: skip
        return fit.score, np.concatenate(rounds)

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
    f"Bradley-Terry of {SYSTEMS} systems, a tie half a win, with {ROUNDS} bootstrap rounds over "
    "comparisons",
    "comparisons",
    sizes=(100_000, 1_000_000),
    quick=(20_000,),
    draw=draw_comparisons,
    ways=(Way("annot-pipeline", ours), Way("evalica", by_evalica, needs="evalica")),
)
