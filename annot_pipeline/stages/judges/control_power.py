"""Tests of judges by controls or by scores, with what their power depends on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.config import Quality
from annot_pipeline.methods.judges.consistency import Consistency
from annot_pipeline.methods.judges.effect_bounds import ControlScores, effect_interval, mean_errors
from annot_pipeline.methods.judges.grouped_tests import GroupedTest
from annot_pipeline.methods.judges.judge_power import (
    least_p_known_answers,
    least_p_mann_whitney,
    least_p_signed_rank,
    typical_sd,
)
from annot_pipeline.methods.numerics.moments import moments


@dataclass(frozen=True)
class ControlTest:
    """A test of judges, with what its power depends on; arrays are ``(n_units,)``.

    Parameters
    ----------
    result
        What it says.
    least_p
        p of a perfect record of so many controls; 0 for t-tests.
    controls
        Numbers of controls of each sample; of a correlation the effective number of items.
    chance
        Chance of a right answer without looking; NaN for tests of scores.
    low, high
        95% interval of the effect.
    sd
        Standard deviations of each sample within judges, pooled by stratum.
    """

    result: GroupedTest
    least_p: Floats
    controls: tuple[Codes | Floats, ...]
    chance: Floats
    low: Floats
    high: Floats
    sd: tuple[Floats, ...]


def score_test(
    result: GroupedTest, samples: tuple[ControlScores, ...], strata: Codes, quality: Quality
) -> ControlTest:
    """Return a test of scores with what its power depends on."""
    n_units = strata.size
    controls = tuple(np.bincount(sample.unit, minlength=n_units) for sample in samples)
    least = np.zeros(n_units)
    if quality.test == "signed_rank":
        least = least_p_signed_rank(controls[0])
    elif quality.test == "mann_whitney":
        least = least_p_mann_whitney(*controls)
    low, high = effect_interval(result.effect, *(mean_errors(s, strata) for s in samples))
    sd = tuple(_pooled_sd(sample, strata) for sample in samples)
    return ControlTest(result, least, controls, np.full(n_units, np.nan), low, high, sd)


def correlation_test(consistency: Consistency) -> ControlTest:
    """Return the test of correlations with the other judges."""
    n_units = consistency.n.size
    result = GroupedTest(
        consistency.statistic, consistency.correlation, consistency.p_value, consistency.n,
        consistency.effective - 2,
    )  # fmt: skip
    return ControlTest(
        result, consistency.least_p, (consistency.effective,), np.full(n_units, np.nan),
        consistency.low, consistency.high, (),
    )  # fmt: skip


def answer_test(
    result: GroupedTest, chance: Floats, accuracy_low: Floats, accuracy_high: Floats
) -> ControlTest:
    """Return the test of known answers with what its power depends on."""
    least = least_p_known_answers(result.n, np.where(np.isnan(chance), 1.0, chance))
    low, high = accuracy_low - chance, accuracy_high - chance
    return ControlTest(result, least, (result.n,), chance, low, high, ())


def _pooled_sd(sample: ControlScores, strata: Codes) -> Floats:
    """Return standard deviation within judges of the stratum of each unit."""
    of_unit = moments(sample.unit, sample.value, n_groups=strata.size)
    freedom = np.maximum(of_unit.n - 1, 0)
    return typical_sd(np.where(freedom > 0, of_unit.variance, 0.0), freedom, strata)[strata]
