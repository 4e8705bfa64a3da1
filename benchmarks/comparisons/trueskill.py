"""TrueSkill of comparisons in their order, with the same noise and margin of ties."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from benchmarks.comparison import Comparison, Way, Work
from benchmarks.comparisons.bradley_terry import Comparisons, draw_comparisons

SYSTEMS, GAMMA, EPSILON = 50, 0.5, 0.1


def ours(given: Comparisons) -> Work:
    """Means ``(SYSTEMS,)``."""
    from annot_pipeline.methods.comparisons.trueskill import TrueSkillParams, trueskill

    params = TrueSkillParams(gamma=GAMMA, epsilon=EPSILON, mean=0, sd=1)
    return lambda: (
        trueskill(given.first, given.second, given.outcome, n_items=SYSTEMS, params=params).mean
    )


def by_trueskill(given: Comparisons) -> Work:
    """Means, an array too."""
    import trueskill

    # the package takes the chance of a tie between equals instead of the margin
    chance = float(2 * ndtr(EPSILON / (math.sqrt(2) * GAMMA)) - 1)
    environment = trueskill.TrueSkill(mu=0, sigma=1, beta=GAMMA, tau=0, draw_probability=chance)
    columns = given.first.tolist(), given.second.tolist(), given.outcome.tolist()

    def work() -> npt.NDArray[np.float64]:
        ratings = [environment.create_rating() for _ in range(SYSTEMS)]
        for first, second, outcome in zip(*columns, strict=True):
            a, b = (second, first) if outcome < 0 else (first, second)
            ratings[a], ratings[b] = trueskill.rate_1vs1(
                ratings[a], ratings[b], drawn=outcome == 0, env=environment
            )
        return np.array([rating.mu for rating in ratings])

    return work


COMPARISON = Comparison(
    f"TrueSkill of {SYSTEMS} systems, one comparison after the other",
    "comparisons",
    sizes=(10_000, 100_000),
    quick=(10_000,),
    draw=lambda n: draw_comparisons(n, systems=SYSTEMS),
    ways=(Way("annot-pipeline", ours), Way("trueskill", by_trueskill, needs="trueskill")),
)
