"""Krippendorff's alpha of ratings 1 to 5 in long form, on three levels of measurement.

The package takes a matrix of judges x units, which is what its users have, or counts of values by
unit, here counted in the fastest way that numpy has. It then holds units x values x values
numbers; that is why ratings are not from 0 to 100: a million of them would ask for 8 GB,
four times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from benchmarks.comparison import Comparison, Way, Work

VALUES, JUDGES, RATINGS_PER_UNIT = 5, 200, 10
Level = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True)
class Ratings:
    """Codes of judges and units, and values 1 to `VALUES`; ``(n_ratings,)`` each."""

    judges: npt.NDArray[np.int64]
    units: npt.NDArray[np.int64]
    values: npt.NDArray[np.int64]
    n_units: int


def draw_ratings(n: int) -> Ratings:
    """Ratings spread around the unit's own value, by judges next to each other."""
    rng = np.random.default_rng(17)
    n_units = n // RATINGS_PER_UNIT
    units = np.repeat(np.arange(n_units), RATINGS_PER_UNIT)
    first = rng.integers(JUDGES, size=n_units)
    judges = (first[units] + np.tile(np.arange(RATINGS_PER_UNIT), n_units)) % JUDGES
    own = rng.normal(3, 1, size=n_units)
    values = np.clip(np.rint(own[units] + rng.normal(size=units.size)), 1, VALUES)
    return Ratings(judges, units, values.astype(np.int64), n_units)


def ours(given: Ratings) -> Work:
    """Alphas by level."""
    from annot_pipeline.methods.agreement.krippendorff import krippendorff_alpha

    def work() -> list[float]:
        return [
            krippendorff_alpha(given.units, given.values, n_units=given.n_units, metric=level).value
            for level in get_args(Level)
        ]

    return work


def from_matrix(given: Ratings) -> Work:
    """Alphas by level."""
    import krippendorff

    def work() -> list[float]:
        matrix = np.full((JUDGES, given.n_units), np.nan)
        matrix[given.judges, given.units] = given.values
        return [
            float(krippendorff.alpha(reliability_data=matrix, level_of_measurement=level))
            for level in get_args(Level)
        ]

    return work


def from_counts(given: Ratings) -> Work:
    """Alphas by level."""
    import krippendorff

    domain = np.arange(1, VALUES + 1)

    def work() -> list[float]:
        cells = given.units * VALUES + given.values - 1
        counts = np.bincount(cells, minlength=given.n_units * VALUES).reshape(-1, VALUES)
        return [
            float(
                krippendorff.alpha(
                    value_counts=counts, value_domain=domain, level_of_measurement=level
                )
            )
            for level in get_args(Level)
        ]

    return work


COMPARISON = Comparison(
    f"Krippendorff's alpha of ratings 1 to {VALUES}, {RATINGS_PER_UNIT} a unit: "
    + ", ".join(get_args(Level)),
    "ratings",
    sizes=(100_000, 1_000_000, 3_000_000),
    quick=(100_000,),
    draw=draw_ratings,
    ways=(
        Way("annot-pipeline", ours),
        Way("krippendorff, judges x units", from_matrix, needs="krippendorff"),
        Way("krippendorff, counts", from_counts, needs="krippendorff"),
    ),
)
