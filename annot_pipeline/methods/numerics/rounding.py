"""Which values count as equal."""

from __future__ import annotations

import numpy as np

from annot_pipeline.arrays import Floats

DIGITS = 13


def comparable(values: Floats, *, largest: float | None = None) -> Floats:
    """Return values without the noise of sums and differences, so that it makes or breaks no tie.

    They are rounded where the largest of them has its 14th digit: 0.3 - 0.1 and 0.9 - 0.7 are
    equal, and so are the means of 0.1, 0.2, 0.3 in any order.

    Parameters
    ----------
    largest
        How far the furthest value is from 0, where it may not be among these.
    """
    if largest is None:
        largest = furthest(values)
    if largest == 0:
        return values
    return np.round(values, int(np.clip(DIGITS - np.floor(np.log10(largest)), -300, 300)))


def furthest(values: Floats) -> float:
    """Return how far the furthest finite value is from 0; 0 without any."""
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
