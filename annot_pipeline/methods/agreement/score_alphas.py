"""Krippendorff's alpha of scores as sums over units, which may lie in blocks.

As `krippendorff` has it: ordinal, interval and ratio. Sums are made of the data and of resamples.
Ordinal and ratio count every value that was given: of more than `MOST_VALUES` they are NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.agreement.krippendorff import (
    RatingTable,
    interval_alpha,
    interval_sums,
    ordinal_alpha,
    ordinal_within,
    pairable,
    ratio_alpha,
    ratio_within,
)
from annot_pipeline.methods.numerics.bootstrap import Counts, weighted

MOST_VALUES = 2_000
"""Distinct scores: their counts in each resample are added up over blocks."""
INTERVAL_SUMS = 5
"""Rows of `ScoreUnits.sums` for interval alpha; then one for ratio alpha, then those by value."""


@dataclass(frozen=True)
class Scale:
    """What blocks take of the scores of all units with two or more.

    Parameters
    ----------
    domain
        ``(n_values,)`` distinct scores, in order; of too many none.
    centre, largest
        A value near their mean, and how far the furthest is from it.
    is_constant
        Whether all scores are one value.
    """

    domain: Floats
    centre: float
    largest: float
    is_constant: bool

    def about(self, scores: Floats) -> Floats:
        """Return scores about the centre, between -1 and 1."""
        exponent = int(np.frexp(self.largest)[1])
        return np.asarray(np.ldexp(scores - self.centre, -exponent))


@dataclass(frozen=True)
class ScoreUnits:
    """Units of a block with two or more scores.

    Parameters
    ----------
    units, values
        ``(n_scores,)`` codes of units from 0, and scores as `Scale.about` has them.
    n_units
        How many there are.
    n_values
        Distinct scores of all blocks; 0 if these are too many.
    table
        Counts by distinct score; None without units, or if these are too many.
    within
        ``(n_units,)`` disagreement as ratio alpha has it.
    """

    units: Codes
    values: Floats
    n_units: int
    n_values: int
    table: RatingTable | None
    within: Floats

    @classmethod
    def from_scores(cls, units: Codes, scores: Floats, *, n_units: int, scale: Scale) -> ScoreUnits:
        """Take scores in long form; units with fewer than two are left out."""
        is_pairable, codes_of_units = pairable(units, n_units=n_units)
        scores, m = scores[is_pairable], int(codes_of_units.max(initial=-1)) + 1
        table, within = None, np.zeros(m)
        if scale.domain.size and m:
            codes = np.searchsorted(scale.domain, scores)
            table = RatingTable.from_ratings(
                codes_of_units, codes, n_units=m, n_codes=scale.domain.size
            )
            within = ratio_within(table, scale.domain)
        return cls(codes_of_units, scale.about(scores), m, scale.domain.size, table, within)

    @property
    def floats_per_round(self) -> int:
        """Work arrays of one resample."""
        return 5 * (self.n_units + self.n_values)

    def sums(self, times: Counts) -> Floats:
        """Return sums over units that are drawn ``(n_units, n_rounds)``.

        Rows as `INTERVAL_SUMS` says.
        """
        interval = interval_sums(self.units, self.values, times, n_units=self.n_units)
        ratio = weighted(self.within, times.astype(np.float64))
        counts = np.zeros((self.n_values, times.shape[1]))
        if self.table:
            counts = self.table.code_counts(times)
        return np.concatenate([interval, ratio[None, :], counts])

    def ordinal_sum(self, times: Counts, sums: Floats) -> Floats:
        """Return disagreement as ordinal alpha has it ``(n_rounds,)``.

        ``sums`` are of all units.
        """
        if self.table is None:
            return np.zeros(times.shape[1])
        counts = sums[INTERVAL_SUMS + 1 :]
        return ordinal_within(self.table, times.astype(np.float64), counts)


def alphas_of_sums(sums: Floats, ordinal_sum: Floats, scale: Scale) -> dict[str, Floats]:
    """Return alphas by metric ``(n_rounds,)``, computed from the sums of all units."""
    interval, ratio, counts = np.split(sums, [INTERVAL_SUMS, INTERVAL_SUMS + 1])
    unknown = np.full(sums.shape[1], np.nan)
    alphas = {"ordinal": unknown, "interval": unknown, "ratio": unknown}
    if not scale.is_constant:  # what rounding leaves is no disagreement
        alphas["interval"] = interval_alpha(interval)
    if scale.domain.size and counts.any():
        alphas["ordinal"] = ordinal_alpha(ordinal_sum, counts)
        if scale.domain[0] >= 0:
            alphas["ratio"] = ratio_alpha(ratio[0], counts, scale.domain)
    return alphas
