"""Verdicts of judge control, and whether a test could have told a careful judge from another.

A judge who does not pass fails only where a careful judge would probably have passed: with what a
careful judge shows (careful_judge), the test has a power of at least ``quality.min_power`` at this
judge's controls. Where judges are compared with each other (``consistency``) the power is 1 - alpha
at least, so that a judge who agrees as the typical judge does fails at most at alpha. Else, and
where even a perfect record could not reach alpha, the verdict is undetermined.

Where no judge passes, or passing alone tells no effect (of six questions only six right answers
pass), what a careful judge shows is unknown. The power is then that for
``quality.required_effect`` or, without one, for an effect of 0.8 standard deviations ("large",
Cohen 1988) or an accuracy halfway from chance to 1: many controls can show that nobody looks, few
cannot. A crowd can, too: judges who do not pass fail where, of so many judges with that effect, at
least one would have passed with a chance of 0.95. Of a correlation nothing is assumed: where no
more judges agree with the others than by luck, a judge may be right and all others wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.config import Quality
from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.numerics.multiplicity import adjust, thresholds
from annot_pipeline.stages.judges.careful_judge import CarefulJudge
from annot_pipeline.stages.judges.control_power import ControlTest
from annot_pipeline.stages.judges.verdict_reasons import (
    FAILED,
    PASSED,
    UNDETERMINED,
    UNTESTED,
    verdict_reasons,
)


@dataclass(frozen=True)
class JudgeVerdicts:
    """Verdicts and what they rest on; arrays are ``(n_units,)``, NaN where undefined.

    Parameters
    ----------
    verdict
        Place in ``VERDICTS``.
    reason
        Why there is none, or how it was reached; null where the test says it all.
    p_adjusted
        After the correction for many judges.
    power
        Chance that a judge with the reference effect passes.
    n_needed
        Controls that would be needed for a verdict; NaN for judges who have one.
    lacks_power
        Whether a test was done and is undetermined for lack of power.
    required
        Effect below which a judge's work may be rejected.
    """

    verdict: Codes
    reason: pa.Array
    p_adjusted: Floats | None
    power: Floats | None
    n_needed: Floats
    lacks_power: Flags
    required: Floats | None


def untested(n_units: int) -> JudgeVerdicts:
    """Return the verdicts of a campaign that asks for no test."""
    return JudgeVerdicts(
        np.full(n_units, UNTESTED), pa.repeat(pa.scalar("quality.test is none", TEXT), n_units),
        None, None, np.full(n_units, np.nan), np.zeros(n_units, np.bool_), None,
    )  # fmt: skip


def judge_verdicts(
    test: ControlTest, controlled: Flags, strata: Codes, quality: Quality
) -> JudgeVerdicts:
    """Decide on every unit.

    Parameters
    ----------
    test
        Its results.
    controlled
        ``(n_units,)`` whether any task of the unit holds controls for the test.
    strata
        ``(n_units,)`` whom a unit is compared with.
    quality
        What is asked of judges.
    """
    result = test.result
    fewest = 1 if quality.test == "known_answer" else quality.min_pairs
    tested = controlled & (result.n >= fewest) & ~np.isnan(result.p_value)
    p_values = np.where(tested, result.p_value, np.nan)
    p_adjusted = adjust(p_values, quality.correction)
    alpha = thresholds(p_values, quality.correction, quality.alpha)
    can_pass = test.least_p < alpha
    significant = np.less(p_adjusted, quality.alpha, where=tested, out=np.zeros(alpha.size, bool))
    passes = tested & significant & can_pass
    reference = CarefulJudge.of_passing(test, passes, alpha, strata, quality)
    power = np.full(strata.size, np.nan)
    if tested.any():  # else scipy need not load
        power = np.where(tested, reference.power(test.controls, alpha), np.nan)
    fails = tested & ~passes & can_pass & (power >= quality.required_power)
    by_crowd = tested & can_pass & ~fails & reference.none_of_many_passes(power)
    fails |= by_crowd
    verdict = np.select([passes, fails, controlled], [PASSED, FAILED, UNDETERMINED], UNTESTED)
    n_needed = reference.controls_needed(verdict == UNDETERMINED, alpha, fewest, quality)
    reason = verdict_reasons(
        test, verdict, tested, can_pass, by_crowd, alpha, power, n_needed, reference, quality
    )
    return JudgeVerdicts(
        verdict, reason, p_adjusted, power, n_needed, tested & (verdict == UNDETERMINED),
        reference.required,
    )  # fmt: skip
