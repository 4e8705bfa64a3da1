"""Correction of p-values for many tests: Holm 1979, Benjamini & Hochberg 1995."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Correction = Literal["none", "holm", "benjamini_hochberg"]


def adjust(p_values: Floats, method: Correction) -> Floats:
    """Adjusted p-values ``(n,)``; undefined ones (NaN) are no tests and stay as they are."""
    adjusted = np.array(p_values, dtype=np.float64)
    defined = np.flatnonzero(~np.isnan(adjusted))
    if method == "none" or not defined.size:
        return adjusted
    order = defined[np.argsort(adjusted[defined], kind="stable")]
    p, m = adjusted[order], order.size
    if method == "holm":
        stepped = np.maximum.accumulate(p * (m - np.arange(m)))
    else:
        stepped = np.minimum.accumulate((p * m / (np.arange(m) + 1))[::-1])[::-1]
    adjusted[order] = np.minimum(stepped, 1)
    return adjusted
