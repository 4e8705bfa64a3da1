"""Control pairs of equal judges, to measure the power of the tests of judge control."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from studies.simulators.scores import ORDINARY_PER_GROUP


@dataclass(frozen=True, eq=False)
class ScorePairs:
    """What the tests of judges look at, on a scale without ends.

    Parameters
    ----------
    judge
        ``(n_judges * n_pairs,)`` codes of judges, of the next three.
    ordinary, degraded
        Score of an output, and the same judge's score of its degraded copy.
    repeat_difference
        |first - repeated| score of another output.
    ordinary_judge, all_ordinary
        ``(n_judges * n_ordinary,)`` all scores of ordinary outputs; those of the pairs and the
        first ones of the repeats are among them.
    """

    judge: Codes
    ordinary: Floats
    degraded: Floats
    repeat_difference: Floats
    ordinary_judge: Codes
    all_ordinary: Floats


def simulate_pairs(
    n_pairs: int,
    *,
    n_judges: int = 4000,
    degradation: float = 20.0,
    item_sd: float = 22.0,
    noise_sd: float = 12.0,
    n_ordinary: int | None = None,
    seed: int = 17,
) -> ScorePairs:
    """Draw control pairs of equal conscientious judges, to measure the power of tests.

    Parameters
    ----------
    n_pairs
        Degraded copies of each judge, and as many repeats; 10 a HIT.
    n_judges
        Judges, each an independent trial.
    degradation, item_sd, noise_sd
        As in `ScoreSimulation`, points.
    n_ordinary
        Ordinary outputs of each judge; by default 7 a pair, as in a HIT.
    seed
        Of all randomness.

    Raises
    ------
    ValueError
        No pairs or judges, or fewer outputs than the pairs and repeats need.
    """
    n_ordinary = ORDINARY_PER_GROUP * n_pairs if n_ordinary is None else n_ordinary
    if n_pairs < 1 or n_judges < 1 or n_ordinary < 2 * n_pairs:
        raise ValueError("n_pairs and n_judges must be 1 or more, n_ordinary 2 * n_pairs or more")
    rng = np.random.default_rng(seed)
    worth = rng.normal(0, item_sd, size=(n_judges, n_ordinary))
    ordinary = worth + rng.normal(0, noise_sd, size=worth.shape)
    paired, repeated = slice(n_pairs), slice(n_pairs, 2 * n_pairs)
    repeats = worth[:, repeated] + rng.normal(0, noise_sd, size=(n_judges, n_pairs))
    degraded = worth[:, paired] - degradation + rng.normal(0, noise_sd, size=(n_judges, n_pairs))
    return ScorePairs(
        judge=np.repeat(np.arange(n_judges), n_pairs),
        ordinary=ordinary[:, paired].reshape(-1),
        degraded=degraded.reshape(-1),
        repeat_difference=np.abs(ordinary[:, repeated] - repeats).reshape(-1),
        ordinary_judge=np.repeat(np.arange(n_judges), n_ordinary),
        all_ordinary=ordinary.reshape(-1),
    )
