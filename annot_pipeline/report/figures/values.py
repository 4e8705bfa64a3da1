"""Numbers on their way into a figure: what can be drawn, and which of very many are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]

LARGEST, SMALLEST = 1e100, 1e-100
"""Numbers further from 0 cannot be put on an axis, for their distances would not be finite;
those that are nearer are 0."""


def numbers(values: npt.ArrayLike) -> Numbers:
    """Return the values as numbers; what is missing, or too large for an axis, as NaN."""
    array = np.array(values, dtype=np.float64)  # None becomes NaN
    with np.errstate(invalid="ignore"):
        array[~(np.abs(array) <= LARGEST)] = np.nan
        array[np.abs(array) < SMALLEST] = 0
    return array


def beyond(values: npt.ArrayLike, low: float, high: float) -> list[float]:
    """Return values outside a range by more than rounding, infinite ones too, but no NaN."""
    array = np.array(values, dtype=np.float64)
    outside: list[float] = array[(array < low - 1e-9) | (array > high + 1e-9)].tolist()
    return outside


def evenly(n: int, most: int) -> npt.NDArray[np.intp]:
    """Return places of at most ``most`` of n things, evenly spread, first and last among them."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.intp))


def lowest(values: npt.ArrayLike, most: int) -> npt.NDArray[np.intp]:
    """Return places of the lowest values, at most so many, in the order of all."""
    return np.sort(np.argsort(np.asarray(values), kind="stable")[:most])
