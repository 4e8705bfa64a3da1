"""The hyperbolic tangent with the same digits on all processors, which numpy's has not."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T", float, npt.NDArray[np.float64])


def tanh(values: T) -> T:
    """Return the hyperbolic tangent, by the logistic function."""
    from scipy.special import expit

    result: T = 2 * expit(2 * values) - 1
    return result
