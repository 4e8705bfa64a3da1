"""When simulated judges work: in opening hours, one thing after the other within a HIT."""

from __future__ import annotations

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from studies.simulators.labels import CLOSES, DAY, FIRST_NIGHT, OPENS


def times_of_work(rng: np.random.Generator, night: Codes, hit: Codes, seconds: Floats) -> Codes:
    """Return when each thing was done.

    Parameters
    ----------
    rng
        The source of chance.
    night
        ``(n_hits,)`` day on which each HIT is begun, from 1.
    hit, seconds
        ``(n_rows,)`` code of the HIT, ascending, and how long each thing took.

    Returns
    -------
    ndarray
        ``(n_rows,)`` when it was finished, seconds since 1970, UTC.
    """
    begun = FIRST_NIGHT + (night - 1) * DAY + rng.integers(OPENS, CLOSES, size=night.size)
    worked = np.append(0, np.cumsum(np.ceil(seconds).astype(np.int64)))
    start = np.searchsorted(hit, hit)  # the first row of the same HIT
    return np.asarray(begun[hit] + worked[1:] - worked[start])
