"""Each judge of scores compared with the others: figures, and the verdict of their agreement.

Judges who agree no better than chance are left out of the mean that the others are compared with,
and everybody is tested again, at most `ROUNDS` times: where many answer at random, the mean of all
is mostly theirs, and honest judges seem to agree less than they do. (Of 18 judges who answer 40
items at random beside 6 honest ones, 48% fail by the mean of all, and 94% by that of the others.)
Left out are those who do not pass though one with a correlation of 0.5 ("large", Cohen 1988) would
have with a chance of one half: the verdict itself asks for more, and for what judges show, which
means of random scores hide. Who is left out comes back by passing alone. At least three judges
stay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Flags
from annot_pipeline.config import Quality
from annot_pipeline.methods.judges.consistency import (
    Correlations,
    judge_consistency,
    judge_correlations,
)
from annot_pipeline.methods.judges.judge_figures import JudgeFigures, judge_figures
from annot_pipeline.methods.judges.judge_power import power_correlation
from annot_pipeline.methods.judges.leave_one_out import shared_moments
from annot_pipeline.stages.judges.careful_judge import ControlTest, correlation_test
from annot_pipeline.stages.judges.control_scores import ScoredJudges, SeriesCodes, Units
from annot_pipeline.stages.judges.judge_verdicts import (
    FAILED,
    PASSED,
    UNDETERMINED,
    JudgeVerdicts,
    judge_verdicts,
)

ROUNDS = 5
LARGE_CORRELATION = 0.5
LIKELY = 0.5
"""Power for such a correlation, from which on a judge who does not pass is no reference."""
FEWEST_JUDGES = 3
"""Of the reference."""


@dataclass(frozen=True)
class ComparedJudges:
    """What comparing judges says.

    Parameters
    ----------
    test, verdicts
        By unit of testing.
    inconsistent
        ``(n_units,)`` whether a judge agrees with the others no better than chance: who fails, and
        where nobody tells what a careful judge shows, who would have passed with a correlation of
        0.5.
    figures, correlations
        By task and judge, ``(n_pairs,)``.
    """

    test: ControlTest
    verdicts: JudgeVerdicts
    inconsistent: Flags
    figures: JudgeFigures
    correlations: Correlations


def compare_judges(
    scored: ScoredJudges, units: Units, dropped: Flags, quality: Quality, seed: int
) -> ComparedJudges:
    """Compare each judge with the others.

    Parameters
    ----------
    scored
        Ordinary scores.
    units
        Whom verdicts are about.
    dropped
        ``(n_units,)`` judges who do not count, by another test; they are compared, and nobody is
        compared with them.
    quality
        Settings of test ``consistency``.
    seed
        Of permutations.
    """
    series = SeriesCodes.from_names(scored.names, units, by_task=quality.scope == "task")
    none = np.zeros(series.unit.size)
    excluded = np.zeros(units.size, np.bool_)
    for _ in range(ROUNDS):
        reference = ~(excluded | dropped)[series.unit]
        moments = shared_moments(scored.blocks, reference, none)
        test = correlation_test(
            judge_consistency(
                scored.blocks, moments, reference, series.unit, series.task,
                names=series.names, seed=seed,
            )
        )  # fmt: skip
        verdicts = judge_verdicts(test, series.has_scores, units.stratum, quality)
        power = power_correlation(
            test.controls[0].astype(np.float64),
            np.array(LARGE_CORRELATION),
            np.array(quality.alpha),
        )
        is_tested = ~np.isnan(test.result.p_value)
        excluded_before = excluded
        excluded = (verdicts.verdict != PASSED) & (excluded | (is_tested & (power >= LIKELY)))
        n_left = int((series.has_scores & ~excluded & ~dropped).sum())
        if np.array_equal(excluded, excluded_before) or n_left < FEWEST_JUDGES:
            break
    lacks_typical = np.isnan(np.asarray(verdicts.power, np.float64))
    is_open = is_tested & (verdicts.verdict == UNDETERMINED) & lacks_typical
    inconsistent = is_open & (power >= quality.required_power)
    n_pairs = units.pairs.first.size
    return ComparedJudges(
        test,
        verdicts,
        inconsistent | (verdicts.verdict == FAILED),
        judge_figures(
            scored.blocks, moments, reference, series.pair, series.task, n_judges=n_pairs
        ),
        judge_correlations(moments, series.pair, series.task, n_judges=n_pairs),
    )
