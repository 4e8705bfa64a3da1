"""Scores so far from all others that one of them decides a mean: mostly typing errors.

The rule follows Tukey's fences (Tukey 1977, chapter 2C) with a wider fence: it is to find `111111`
among scores up to 100, not a score that is rare. Of a lognormal with a standard deviation of 1 (the
logarithm's), as of magnitude estimation, 4 in 100,000 are beyond it.
"""

from __future__ import annotations

import numpy as np

from annot_pipeline.arrays import Floats

FENCE = 10.0
"""Widths of the central 90% of scores, and sizes of the median, that a score may be from it."""
NARROW_FENCE = 3.0
"""The same, beyond which no score tells whom a judge agrees with: 1 in 400 of a lognormal."""
FEWEST = 10
"""Scores that are needed to say how far others are."""


def fences(scores: Floats, fence: float = FENCE) -> tuple[float, float]:
    """Return the lowest and highest score that is not outlying.

    Parameters
    ----------
    scores
        ``(n,)`` points of any scale. Fewer than `FEWEST`, or all alike and 0: none is outlying.
    fence
        `FENCE` or `NARROW_FENCE`.
    """
    if scores.size < FEWEST:
        return -np.inf, np.inf
    low, median, high = np.quantile(scores, (0.05, 0.5, 0.95))
    reach = fence * max(high - low, abs(median)) or np.inf
    return float(median - reach), float(median + reach)
