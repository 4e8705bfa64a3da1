"""Share of wins: the plainest score of systems that were compared in pairs.

- ``wins``: wins / (wins + losses), ties left out (WMT's expected wins, Bojar et al. 2013).
- ``wins_ties_half``: (wins + ties / 2) / comparisons.

Neither looks at whom a system was compared with: a system that met weak ones only looks good.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from annot_pipeline.arrays import Codes, Floats

TiesOfShares = Literal["out", "half"]


def win_shares(
    first: Codes,
    second: Codes,
    wins: Floats,
    ties: Floats,
    losses: Floats,
    *,
    n_systems: int,
    ties_count: TiesOfShares,
) -> Floats:
    """Return shares ``(n_rounds, n_systems)`` in [0, 1]; NaN where nothing counts.

    Parameters
    ----------
    first, second
        ``(n_pairs,)`` codes of systems.
    wins, ties, losses
        ``(n_rounds, n_pairs)`` counts; wins are the first's.
    n_systems
        Size of the code range.
    ties_count
        ``out``: not at all; ``half``: as half a win of each.
    """
    half = ties / 2 if ties_count == "half" else np.zeros_like(ties)
    won, lost = (
        sums_by_system(first, of_first, n_systems) + sums_by_system(second, of_second, n_systems)
        for of_first, of_second in ((wins + half, losses + half), (losses + half, wins + half))
    )
    total = won + lost
    shares: Floats = np.divide(won, total, out=np.full(total.shape, np.nan), where=total > 0)
    return shares


def sums_by_system(systems: Codes, values: Floats, n_systems: int) -> Floats:
    """Sum values of pairs ``(n_rounds, n_pairs)`` over the pairs of each system, in their order."""
    n_rounds = len(values)
    rows = (np.arange(n_rounds) * n_systems)[:, None] + systems
    summed = np.bincount(rows.reshape(-1), values.reshape(-1), minlength=n_rounds * n_systems)
    return np.asarray(summed.reshape(n_rounds, n_systems))
