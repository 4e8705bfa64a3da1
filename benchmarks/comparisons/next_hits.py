"""The next HITs of EASL: a round of a fifth as many HITs as items.

The algorithm as it is written takes the match quality of all pairs, memory items x items: beyond
20,000 items there is only ours. Draws differ from way to way; seeds do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Floats
from benchmarks.comparison import Comparison, Way, Work

HIT_SIZE, GAMMA = 5, 0.1
MOST = 20_000


@dataclass(frozen=True)
class States:
    """Parameters of the items' Beta distributions; ``(n_items,)`` each."""

    alpha: Floats
    beta: Floats


def draw_states(n_items: int) -> States:
    """Items with 1 to 5 judgments each."""
    rng = np.random.default_rng(17)
    n, mean = rng.integers(1, 6, n_items), rng.beta(2, 2, n_items)
    return States(1 + n * mean, 1 + n * (1 - mean))


def ours(given: States) -> Work:
    """`NextHits`."""
    from annot_pipeline.methods.planning.easl_hits import NextHitsParams, next_hits

    judged = np.ones(given.alpha.size, np.bool_)
    params = NextHitsParams(gamma=GAMMA, hit_size=HIT_SIZE)
    return lambda: next_hits(
        given.alpha, given.beta, judged=judged, rng=np.random.default_rng(17), params=params
    )


def all_pairs(given: States) -> Work:
    """Items ``(n_hits, HIT_SIZE)``, the seed first."""

    def work() -> npt.NDArray[np.int64]:
        rng = np.random.default_rng(17)
        alpha, beta = given.alpha, given.beta
        total = alpha + beta
        mode, variance = (alpha - 1) / (total - 2), alpha * beta / (total**2 * (total + 1))
        order = np.argsort(-variance)
        seeds, others = np.split(order, [alpha.size // HIT_SIZE])
        noise = 2 * GAMMA**2
        spread = noise + variance[seeds, None] + variance[others]
        apart = mode[seeds, None] - mode[others]
        quality = np.sqrt(noise / spread) * np.exp(-(apart**2) / (2 * spread))
        partners = [
            rng.choice(others, HIT_SIZE - 1, replace=False, p=row / row.sum()) for row in quality
        ]
        return np.column_stack([seeds, partners])

    return work


COMPARISON = Comparison(
    f"The next HITs of EASL: a round of HITs of {HIT_SIZE} items, partners by match quality",
    "items",
    sizes=(1_000, 10_000, 1_000_000),
    quick=(1_000, 100_000),
    draw=draw_states,
    ways=(Way("annot-pipeline", ours), Way("numpy, all pairs", all_pairs, most=MOST)),
)
