"""Each judge of scores compared with the others: figures, and the verdict of their agreement.

Judges who agree no better than chance are left out of the mean that the others are compared with,
and everybody is tested again, at most `ROUNDS` times: where many answer at random, the mean of all
is mostly theirs, and honest judges seem to agree less than they do. (Of 18 judges who answer 40
items at random beside 6 honest ones, 48% fail by the mean of all, and 94% by that of the others.)
Left out are those who do not pass though one with a correlation of 0.5 ("large", Cohen 1988) would
have with a chance of one half: the verdict itself asks for more, and for what judges show, which
means of random scores hide. Who is left out comes back by passing alone. At least three judges
stay.

Judges are screened as recommendations of the ITU have it: by hidden references (ITU-R BS.1534-3
(2015), section 4.1.2: a listener is excluded who rates the hidden reference below 90 of 100 in more
than 15% of the test items), and by ITU-R BT.500 (methods.judges.bt500). Neither is a test of
significance: there is no p, and no power.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.config import Quality
from annot_pipeline.contracts import TEXT
from annot_pipeline.errors import ConfigError, Problem, counted
from annot_pipeline.methods.judges.bt500 import FEWEST_SCORES, bt500_screening
from annot_pipeline.methods.judges.consistency import (
    Correlations,
    judge_consistency,
    judge_correlations,
)
from annot_pipeline.methods.judges.grouped_tests import GroupedTest
from annot_pipeline.methods.judges.judge_figures import JudgeFigures, judge_figures
from annot_pipeline.methods.judges.judge_power import power_correlation
from annot_pipeline.methods.judges.leave_one_out import shared_moments
from annot_pipeline.methods.numerics.rounding import comparable
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.stages.judges.control_scores import ScoredJudges, SeriesCodes, Units
from annot_pipeline.stages.judges.judge_verdicts import (
    FAILED,
    PASSED,
    UNDETERMINED,
    UNTESTED,
    ControlTest,
    JudgeVerdicts,
    correlation_test,
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


Screened = tuple[ControlTest, JudgeVerdicts]


def screen_by_references(
    pairs: pa.Table, tasks: pa.Table, units: Units, quality: Quality
) -> Screened:
    """Screen judges by how often they score a reference below the threshold.

    Parameters
    ----------
    pairs
        Controls, as `orient_pairs` gives them; references need no pair.
    tasks
        ``task``, ``scale_low``, ``scale_high``.
    units
        Whom verdicts are about.
    quality
        ``threshold`` (percent of the scale), ``share``, ``min_pairs``.

    Raises
    ------
    ConfigError
        A task with references declares no scale.
    """
    rows = pairs.filter(is_in(pairs["control"], ("good_reference",)))
    rows = rows.filter(rows["in_control"])
    low, high = _scales(rows, tasks)
    percent = comparable(100 * (rows["score"].to_numpy() - low) / (high - low))
    unit = units.of_rows(rows)
    n = np.bincount(unit, minlength=units.size)
    below = np.bincount(unit[percent < quality.threshold], minlength=units.size)
    with np.errstate(invalid="ignore"):
        share = below / n
    controlled = units.are_controlled(set(pc.unique(rows["task"]).to_pylist()))

    def reason(code: int) -> str:
        return (
            f"{below[code]:,} of {counted(int(n[code]), 'reference')} below "
            f"{quality.threshold:g}% of the scale, {quality.share:.0%} are allowed"
        )

    def shortage(code: int) -> str:
        return f"{counted(int(n[code]), 'reference')}, {quality.min_pairs} are needed"

    return _screened(
        n, share, share > quality.share, controlled, quality.min_pairs, reason, shortage,
        "no references",
    )  # fmt: skip


def screen_by_bt500(scored: ScoredJudges, units: Units, quality: Quality) -> Screened:
    """Screen judges as ITU-R BT.500 has it.

    Parameters
    ----------
    scored
        Ordinary scores.
    units
        Whom verdicts are about.
    quality
        ``scope``, ``min_pairs``.
    """
    series = SeriesCodes.from_names(scored.names, units, by_task=quality.scope == "task")
    result = bt500_screening(scored.blocks, series.unit, n_judges=units.size)

    def reason(code: int) -> str:
        return (
            f"of {counted(int(result.n[code]), 'score')} {result.above[code]:,} far above and "
            f"{result.below[code]:,} far below the others"
        )

    def shortage(code: int) -> str:
        return (
            f"{counted(int(result.n[code]), 'score')} of items with {FEWEST_SCORES} scores or "
            f"more, {quality.min_pairs} are needed"
        )

    return _screened(
        result.n, result.share, result.rejected, series.has_scores, quality.min_pairs, reason,
        shortage, "no scores for this test",
    )  # fmt: skip


def _screened(
    n: Codes,
    share: Floats,
    rejected: Flags,
    has_rows: Flags,
    fewest: int,
    reason: Callable[[int], str],
    shortage: Callable[[int], str],
    nothing: str,
) -> Screened:
    """Return the share of scores as a statistic, and what follows from it."""
    tested = has_rows & (n >= fewest)
    verdict = np.select(
        [tested & rejected, tested, has_rows], [FAILED, PASSED, UNDETERMINED], UNTESTED
    )
    texts: list[str | None] = [None] * n.size
    for code, kind in enumerate(verdict.tolist()):
        if kind == FAILED:
            texts[code] = reason(code)
        elif kind != PASSED:
            texts[code] = shortage(code) if kind == UNDETERMINED else nothing
    nan = np.full(n.size, np.nan)
    result = GroupedTest(share, nan, nan, n, np.full(n.size, np.inf))
    test = ControlTest(result, nan, (n,), nan, nan, nan, ())
    return test, JudgeVerdicts(
        verdict, pa.array(texts, TEXT), None, None, nan, np.zeros(n.size, np.bool_), None
    )


def _scales(rows: pa.Table, tasks: pa.Table) -> tuple[Floats, Floats]:
    """Return the ends of the scale of each row's task, ``(n_rows,)`` each."""
    scales = {row["task"]: (row["scale_low"], row["scale_high"]) for row in tasks.to_pylist()}
    unknown = sorted(
        task for task in pc.unique(rows["task"]).to_pylist() if scales[task][0] is None
    )
    if unknown:
        raise ConfigError(
            "judges cannot be screened by references without a scale",
            [
                Problem(
                    "tasks",
                    "no scale is declared, and quality.threshold is a percentage of it",
                    do="declare scale: [lowest, highest]",
                    values=tuple(unknown),
                )
            ],
        )
    names = rows["task"].cast(TEXT).to_pylist()
    ends = np.array([scales[task] for task in names], np.float64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]
