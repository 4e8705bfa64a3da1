"""Wilson's score interval of a share.

Source: Wilson 1927; recommended for small counts by Brown, Cai & DasGupta 2001.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Floats

Z = 1.959963984540054
"""97.5th percentile of the normal distribution."""


def wilson_interval(n_right: npt.ArrayLike, n: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return the 95% interval of ``n_right`` of ``n``; NaN where ``n`` is 0.

    Parameters
    ----------
    n_right, n
        ``(n_shares,)`` counts.

    Raises
    ------
    ValueError
        More right than there are, or less than none.
    """
    right, size = np.asarray(n_right, np.float64), np.asarray(n, np.float64)
    if ((right < 0) | (right > size)).any():
        raise ValueError("n_right must be from 0 to n")
    some = size > 0
    count = np.where(some, size, 1.0)
    share = right / count
    middle = (share + Z**2 / (2 * count)) / (1 + Z**2 / count)
    half = Z * np.sqrt(share * (1 - share) / count + Z**2 / (4 * count**2)) / (1 + Z**2 / count)
    low = np.where(right > 0, np.maximum(middle - half, 0.0), 0.0)
    high = np.where(right < size, np.minimum(middle + half, 1.0), 1.0)
    return np.where(some, low, np.nan), np.where(some, high, np.nan)
