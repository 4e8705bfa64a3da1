"""Numbers on their way to an axis: what can be drawn, over which range, with which ticks."""

from __future__ import annotations

from math import floor, log10

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


def steps(low: float, high: float, n: int = 6) -> tuple[list[float], list[str]]:
    """Return round values of an axis between two ends, and how they are written."""
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(n, steps=[1, 2, 5, 10]).tick_values(low, high)
    slack = 1e-9 * (high - low)
    values = [float(v) + 0.0 for v in ticks if low - slack <= v <= high + slack]
    step = float(ticks[1] - ticks[0])
    digits = max(0, -floor(log10(step) + 1e-9))
    plain = digits <= 6 and max(abs(low), abs(high)) < 1e6
    return values, [written(v, f",.{digits}f" if plain else ".12g") for v in values]


def round_up(largest: float, n: int = 6) -> float:
    """Return the least end of an axis from 0 that is on a tick, at or above the largest value."""
    values, _ = steps(0, max(1.25 * largest, 1e-6), n)
    return next((v for v in values if v >= largest * (1 - 1e-9) and v > 0), 1.0)


def written(value: float, form: str) -> str:
    """Return the number with a minus sign instead of a hyphen."""
    return format(value, form).replace("-", "\u2212")


def padded(low: float, high: float, share: float = 0.04) -> tuple[float, float]:
    """Return a range with some room at both ends; around one value, a range at all."""
    room = share * (high - low)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        room = 0.5 * max(abs(low), abs(high)) or 0.5
    return low - room, high + room


def power_of_ten(exponent: int) -> str:
    """Return a power of ten as text, such as 10⁻⁸."""
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
