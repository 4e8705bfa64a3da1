"""Verdicts of judge control, how each was reached, and whether a test could have told.

A judge who does not pass fails only where a careful judge would probably have passed: with what a
careful judge shows, the test has a power of at least ``quality.min_power`` at this
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

The effect of a careful judge is the median effect of the judges who pass (known answers: their
accuracy), corrected for selection, with the standard deviation within judges pooled over all of
them. (Judges who pass few controls vary less than they should; pooled over them alone the power
would be too high, and by the mean of all, random judges among them, too low.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.config import Quality
from annot_pipeline.contracts import TEXT, VERDICTS
from annot_pipeline.errors import counted
from annot_pipeline.methods.judges.consistency import Consistency
from annot_pipeline.methods.judges.effect_bounds import ControlScores, effect_interval, mean_errors
from annot_pipeline.methods.judges.grouped_tests import GroupedTest
from annot_pipeline.methods.judges.judge_figures import FEWEST_ITEMS
from annot_pipeline.methods.judges.judge_power import (
    SEARCHED,
    accuracy_given_passing,
    effect_given_passing,
    enough_controls,
    least_p_known_answers,
    least_p_mann_whitney,
    least_p_signed_rank,
    least_right,
    power_correlation,
    power_known_answers,
    power_mann_whitney,
    power_paired_t,
    power_signed_rank,
    power_welch,
    typical_sd,
)
from annot_pipeline.methods.numerics.hyperbolic import tanh
from annot_pipeline.methods.numerics.moments import moments, sums
from annot_pipeline.methods.numerics.multiplicity import adjust, thresholds


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


LARGE_EFFECT = 0.8
"""Standard deviations; what a careful judge is taken to show where no judge passes."""

LUCK = 0.05
"""Chance that so many judges pass by luck, above which they tell no correlation."""
CROWD_CHANCE = 0.95
"""That one of many judges would have passed, from which on it tells of all that none does."""


@dataclass(frozen=True)
class CarefulJudge:
    """What a careful judge shows, ``(n_units,)``; accuracies where answers are known.

    Parameters
    ----------
    effect
        That of the judges who pass, corrected for selection, or what is taken where it is not
        known; NaN for a correlation that they do not tell.
    is_estimated
        Whether the judges who pass tell it.
    n_passing
        Judges of the stratum who pass.
    required
        Effect below which a judge's work may be rejected; NaN where nothing tells it.
    strata, kind
        Whom a unit is compared with; the test.
    sd
        Standard deviations of each sample within judges, pooled by stratum.
    """

    test: ControlTest
    effect: Floats
    sd: tuple[Floats, ...]
    is_estimated: Flags
    n_passing: Codes
    required: Floats
    strata: Codes
    kind: str

    @classmethod
    def of_passing(
        cls, test: ControlTest, passes: Flags, alpha: Floats, strata: Codes, quality: Quality
    ) -> CarefulJudge:
        """Return the reference by the judges who pass."""
        n_passing = np.bincount(strata[passes], minlength=int(strata.max(initial=-1)) + 1)[strata]
        of_answers, of_items = (quality.test == name for name in ("known_answer", "consistency"))
        sd = test.sd
        if of_answers:
            start = test.chance
            typical = _accuracy_of_passing(test, passes, alpha, strata)
            fallback = (1 + test.chance) / 2
        elif of_items:
            start = np.zeros(strata.size)
            typical = _correlation_of_passing(test, passes, alpha, strata)
            fallback = np.full(strata.size, np.nan)  # the others may all be at fault
        else:
            start = np.zeros(strata.size)
            typical = _effect_of_passing(test, passes, alpha, strata)
            # an effect is told in standard deviations: where nothing varies any unit will do
            still = (n_passing == 0) & (np.sum(sd, axis=0) == 0)
            sd = tuple(np.where(still, 1.0, of_sample) for of_sample in sd)
            fallback = LARGE_EFFECT * np.sqrt(np.mean(np.square(sd), axis=0))
        is_estimated = typical > start
        required = np.where(is_estimated, (typical - start) / 2, np.nan)
        if of_answers:  # where passing tells no accuracy, as where only perfect records pass
            required = np.where(~is_estimated & (n_passing > 0), (fallback - start) / 2, required)
        if quality.required_effect is not None:
            required = np.full(strata.size, quality.required_effect)
            fallback = start + required
        effect = np.where(is_estimated, typical, fallback)
        effect = np.minimum(effect, 1) if of_answers or of_items else effect
        return cls(test, effect, sd, is_estimated, n_passing, required, strata, quality.test)

    def power(self, controls: tuple[Codes | Floats, ...], alpha: Floats) -> Floats:
        """Return the power of each unit with its numbers of controls."""
        everyone = np.arange(self.strata.size)
        return self._power(everyone, tuple(n.astype(np.float64) for n in controls), alpha)

    def _power(self, unit: Codes | int, n: tuple[Floats, ...], alpha: Floats) -> Floats:
        effect = self.effect[unit]
        if self.kind == "known_answer":
            chance = self.test.chance[unit]
            chance, effect = (np.where(np.isnan(x), 0.5, x) for x in (chance, effect))
            return power_known_answers(n[0], effect, chance, alpha)
        if self.kind == "consistency":
            return power_correlation(n[0], np.asarray(effect, np.float64), alpha)
        sd = [of_sample[unit] for of_sample in self.sd]
        if self.kind == "paired_t":
            return power_paired_t(n[0], effect, sd[0], alpha)
        if self.kind == "signed_rank":
            return power_signed_rank(n[0], effect, sd[0], alpha)
        two_samples = power_welch if self.kind == "welch" else power_mann_whitney
        return two_samples(n[0], n[1], effect, sd[0], sd[1], alpha)

    def none_of_many_passes(self, power: Floats) -> Flags:
        """Return where nobody passes though one of so many judges would have."""
        misses = np.log1p(-np.minimum(np.nan_to_num(power), 1 - 1e-15))
        chance = 1 - np.exp(_stratum_sums(self.strata, misses))
        return np.asarray((self.n_passing == 0) & (chance >= CROWD_CHANCE))

    def controls_needed(
        self, undetermined: Flags, alpha: Floats, fewest: int, quality: Quality
    ) -> Floats:
        """Return how many controls undetermined judges need, infinite beyond `SEARCHED`."""
        n_needed = np.full(self.strata.size, np.nan)
        totals = [_stratum_sums(self.strata, n) for n in self.test.controls]
        needed_by_key: dict[tuple[float, ...], float] = {}
        for unit in np.flatnonzero(undetermined).tolist():
            chance = float(self.test.chance[unit])
            key = (
                float(self.strata[unit]),
                float(alpha[unit]),
                -1.0 if chance != chance else chance,
            )
            if key not in needed_by_key:
                sizes = [float(total[unit]) for total in totals]
                needed_by_key[key] = self._enough(unit, float(alpha[unit]), sizes, fewest, quality)
            n = int(self.test.result.n[unit])
            n_needed[unit] = max(needed_by_key[key], n + 1)
        return n_needed

    def _enough(
        self, unit: int, alpha: float, sizes: list[float], fewest: int, quality: Quality
    ) -> float:
        """Return how many controls one unit needs, in the stratum's proportion of samples."""
        least = max(min(sizes), 1.0)

        def power(n: Floats) -> Floats:
            controls = tuple(np.round(n * max(size, 1.0) / least) for size in sizes)
            return self._power(unit, controls, np.full(n.size, alpha))

        enough = enough_controls(power, max(quality.required_power, 1e-9), least=fewest)
        return np.inf if enough is None else float(enough)


def _effect_of_passing(test: ControlTest, passes: Flags, alpha: Floats, strata: Codes) -> Floats:
    """Return the median effect of a stratum's passing judges; NaN without any."""
    unit = np.flatnonzero(passes)
    if not unit.size:  # scipy need not load
        return np.full(strata.size, np.nan)
    from scipy.special import ndtri, stdtrit

    result, freedom = test.result, np.asarray(test.result.freedom, np.float64)[unit]
    is_t = np.isfinite(freedom)
    quantile = 1 - alpha[unit]
    critical = np.where(is_t, stdtrit(np.where(is_t, freedom, 1.0), quantile), ndtri(quantile))
    # the effect with which this judge would just have passed; scores that do not vary need none
    statistic = np.where(result.statistic[unit] > 0, result.statistic[unit], np.inf)
    least = result.effect[unit] * critical / statistic
    errors = [sd[unit] ** 2 / n[unit] for sd, n in zip(test.sd, test.controls, strict=True)]
    effect = effect_given_passing(result.effect[unit], np.sqrt(np.sum(errors, axis=0)), least)
    return _medians(strata, passes, effect)[strata]


def _correlation_of_passing(
    test: ControlTest, passes: Flags, alpha: Floats, strata: Codes
) -> Floats:
    """Return the median correlation of a stratum's passing judges.

    NaN where luck alone would let so many pass with a chance above `LUCK`: of many judges who
    answer at random some pass, and theirs is no correlation to ask of the others.
    """
    passes = passes & (_chance_of_so_many(test, passes, alpha, strata) < LUCK)
    unit = np.flatnonzero(passes)
    if not unit.size:
        return np.full(strata.size, np.nan)
    from scipy.special import ndtri

    z = np.arctanh(np.minimum(test.result.effect[unit], 1 - 1e-12))
    error = 1 / np.sqrt(np.maximum(test.controls[0][unit] - 3, 1.0))
    least = np.minimum(ndtri(1 - alpha[unit]) * error, z)  # who passes by permutations has passed
    effect = effect_given_passing(z, error, least)
    return tanh(_medians(strata, passes, effect))[strata]


def _chance_of_so_many(test: ControlTest, passes: Flags, alpha: Floats, strata: Codes) -> Floats:
    """Return the chance that so many of a unit's stratum pass by luck, by the binomial."""
    if not passes.any():  # scipy need not load
        return np.ones(strata.size)
    from scipy.special import bdtrc

    tested = ~np.isnan(test.result.p_value)
    n, n_passing, total = (
        _stratum_sums(strata, values) for values in (tested, passes, np.where(tested, alpha, 0.0))
    )
    mean = total / np.maximum(n, 1)
    k, size = (np.rint(values).astype(np.int64) for values in (n_passing - 1, np.maximum(n, 1)))
    return np.where(n_passing > 0, bdtrc(np.maximum(k, 0), size, mean), 1.0)


def _accuracy_of_passing(test: ControlTest, passes: Flags, alpha: Floats, strata: Codes) -> Floats:
    """Return the accuracy of passing judges by stratum; NaN where it is unknown.

    It is common to them, not their median: few shares pass, and each is that of many accuracies.
    """
    unit = np.flatnonzero(passes)
    if not unit.size:
        return np.full(strata.size, np.nan)
    n, chance = test.result.n[unit], test.chance[unit]
    right = np.rint(test.result.statistic[unit]).astype(np.int64)
    lowest = np.ones(int(strata.max(initial=-1)) + 1)
    np.minimum.at(lowest, strata[unit], chance)
    least = least_right(n, chance, alpha[unit])
    return accuracy_given_passing(right, n, least, strata[unit], lowest)[strata]


def _medians(strata: Codes, chosen: Flags, value: Floats) -> Floats:
    """Return the median of chosen units, by stratum; NaN where none is chosen."""
    n_strata = int(strata.max(initial=-1)) + 1
    of_stratum = strata[chosen]
    order = np.lexsort((value, of_stratum))
    value, n = value[order], np.bincount(of_stratum, minlength=n_strata)
    median = np.full(n_strata, np.nan)
    some = n > 0
    first = (np.cumsum(n) - n)[some]
    low, high = first + (n[some] - 1) // 2, first + n[some] // 2
    median[some] = (value[low] + value[high]) / 2
    return median


def _stratum_sums(strata: Codes, values: npt.ArrayLike) -> Floats:
    """Sum over the stratum of each unit."""
    n_strata = int(strata.max(initial=-1)) + 1
    return sums(strata, np.asarray(values, np.float64), n_groups=n_strata)[strata]


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
