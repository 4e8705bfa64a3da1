"""Verdicts of judge control, how each was reached, and whether a test could have told.

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

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.config import Quality
from annot_pipeline.contracts import TEXT, VERDICTS
from annot_pipeline.errors import counted
from annot_pipeline.methods.judges.judge_figures import FEWEST_ITEMS
from annot_pipeline.methods.judges.judge_power import SEARCHED
from annot_pipeline.methods.numerics.multiplicity import adjust, thresholds
from annot_pipeline.stages.judges.careful_judge import CarefulJudge, ControlTest

PASSED, FAILED, UNDETERMINED, UNTESTED = range(len(VERDICTS))


def verdict_reasons(
    test: ControlTest,
    verdict: Codes,
    tested: Flags,
    can_pass: Flags,
    by_crowd: Flags,
    alpha: Floats,
    power: Floats,
    n_needed: Floats,
    reference: CarefulJudge,
    quality: Quality,
) -> pa.Array:
    """Return why a verdict is undetermined or how it was reached, for people."""
    result = test.result
    constant = tested & np.isin(result.p_value, (0.0, 1.0)) & ~np.isfinite(result.statistic)
    constant |= tested & (result.statistic == 0) & (result.effect == 0) & (result.p_value == 1)
    texts: list[str | None] = [None] * verdict.size
    for unit in np.flatnonzero(by_crowd).tolist():
        texts[unit] = (
            "no judge passes, although at least one of so many judges with "
            f"{_effect_text(reference, unit, quality)} would"
        )
    for unit in np.flatnonzero(constant).tolist():
        texts[unit] = (
            "all scores of shared items are equal"
            if quality.test == "consistency"
            else "the scores do not vary: decided by the means"
        )
    for unit in np.flatnonzero(verdict == UNTESTED).tolist():
        texts[unit] = f"no {'controls' if quality.uses_controls else 'scores'} for this test"
    for unit in np.flatnonzero(verdict == UNDETERMINED).tolist():
        n = int(result.n[unit])
        if tested[unit] and not can_pass[unit]:
            texts[unit] = _imperfect_text(test, unit, alpha[unit], n_needed[unit], quality)
            continue
        if quality.test == "consistency" and n >= FEWEST_ITEMS and not tested[unit]:
            texts[unit] = "the means of the other judges do not vary"
            continue
        if quality.test == "consistency" and tested[unit] and np.isnan(power[unit]):
            texts[unit] = "no judge agrees enough with the others to decide who is right"
            continue
        text = _shortage(n, n_needed[unit], quality)
        if tested[unit]:
            text += f": {_power_text(power[unit], reference, unit, quality)}"
        texts[unit] = text
    return pa.array(texts, TEXT)


def _shortage(n: int, n_needed: float, quality: Quality) -> str:
    """Return how many controls a judge has and needs; no number where there is none to tell by."""
    if n == 0 and quality.test == "known_answer":
        return "no known answers"
    return f"{_held_text(n, quality)}, {_needed_text(n_needed)} needed"


def _held_text(n: int, quality: Quality) -> str:
    if quality.test == "known_answer":
        return counted(n, "known answer")
    if quality.test == "consistency":
        return counted(n, "shared item")
    if quality.contrast == "pooled":
        return f"{counted(n, 'score')} in the smaller sample"
    return counted(n, "pair")


def _needed_text(n_needed: float) -> str:
    return f"{n_needed:,.0f} are" if np.isfinite(n_needed) else f"more than {SEARCHED:,} are"


def _imperfect_text(
    test: ControlTest, unit: int, alpha: float, n_needed: float, quality: Quality
) -> str:
    """Return why a perfect record cannot pass, from how many on it can, and how many give power."""
    text = (
        f"{_held_text(int(test.result.n[unit]), quality)}: even a perfect record has p = "
        f"{test.least_p[unit]:.3g}, not below {alpha:.3g}"
    )
    chance = 0.5 if quality.test == "signed_rank" else float(test.chance[unit])
    if quality.test in ("known_answer", "signed_rank") and 0 < chance < 1 and alpha > 0:
        text += f" ({_fewest_of_perfect_record(chance, alpha):,} are enough)"
    return f"{text}; {_needed_text(n_needed)} needed for a power of {quality.required_power:g}"


def _fewest_of_perfect_record(chance: float, alpha: float) -> int:
    """Return the least n for which chance^n is below alpha."""
    n = max(1, math.floor(math.log(alpha) / math.log(chance)))
    while chance**n >= alpha:
        n += 1
    return n


def _effect_text(reference: CarefulJudge, unit: int, quality: Quality) -> str:
    effect = reference.effect[unit]
    if quality.test == "known_answer":
        return f"an accuracy of {effect:.2g}"
    if quality.test == "consistency":
        return f"a correlation of {effect:.2g}"
    return f"an effect of {effect:.3g}"


def _power_text(power: float, reference: CarefulJudge, unit: int, quality: Quality) -> str:
    size = _effect_text(reference, unit, quality)
    who = "of the judges who pass, corrected for selection"
    if quality.test != "known_answer":
        who = f"the median {who}"
    if not reference.n_passing[unit]:
        who = "assumed: no judge passes"
    elif not reference.is_estimated[unit]:
        who = "assumed: the judges who pass do not determine it"
    return f"the power is {power:.2g} for {size} ({who}), {quality.required_power:g} is needed"


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
