"""Bias, spread and inconsistency of judges of scores, by leaving each judge out in turn.

Model: a score is the item's quality, plus the judge's bias, plus noise of the judge's own size
("subject bias" and "subject inconsistency": Li & Bampis 2017, "Recover subjective quality scores
from noisy measurements", equation 1; Recommendations ITU-T P.913, section 12.6, and ITU-T P.910).
There both are estimated together with the items' qualities, which are means that the judge's own
scores have a part in: with two or three judges an item, a judge then agrees with itself.

**Reading**: here the mean of the others stands for the quality, and moments take its noise off.
With d = score - mean of the others, both less the bias of whoever gave them, Var(d) is the judge's
noise variance plus that of the others' mean: at first the mean noise variance of the task's
reference judges / n_others, then by the others' own variances that follow from it (drawn to that
mean as by 20 more items). All figures are sums over blocks of items. Of 26 judges of 79 items, the
sample data of ITU-R BT.500 in Netflix/sureal, bias and inconsistency are those of P.913 to 0.02
points and 8%, if the five judges who answer at random are no reference.

Spread is the slope of the assessor model (Brockhoff & Skovgaard 1994, Food Quality and Preference
5, 215-224; ISO 11132 of sensory panels): by how many points the judge's scores differ where items
differ by one point by the mean of the others. The noise of that mean would flatten the slope: its
variance is taken off (errors in variables, Fuller 1987, section 1.2). P.913 has no such figure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.judges import leave_one_out
from annot_pipeline.methods.numerics.blocks import Blocks

FEWEST_ITEMS = 3
"""Shared items below which a judge has no figures."""
PRIOR_FREEDOM = 20.0
"""Degrees of freedom that the mean noise variance of the task adds to that of one judge."""
MOST_NOISE = 0.5
"""Share of noise in the variance of the others' means beyond which there is no slope."""


@dataclass(frozen=True)
class JudgeFigures:
    """Figures by judge; arrays are ``(n_judges,)``, NaN below `FEWEST_ITEMS` shared items.

    Parameters
    ----------
    n
        Items and criteria that another judge of the reference scored too.
    bias
        Points that the judge gives more than the others on the same items; compared with others
        who have a bias of their own.
    spread
        Points by point of the others' mean: 1 where the judge uses the scale as they do, 0 where
        the score has nothing to do with the item. NaN where the means of the others do not vary,
        or more by noise than by items.
    inconsistency
        Standard deviation of the judge's noise, points; 0 where the judge is nearer to the others
        than they are to each other.
    """

    n: Codes
    bias: Floats
    spread: Floats
    inconsistency: Floats


@dataclass(frozen=True)
class SquareSums:
    """Sums by series, ``(n_series,)``, about the means of each; 0 with fewer than two units.

    Parameters
    ----------
    n, freedom
        Units; units less one.
    own, rest, cross, difference
        Squares of scores and of the others' means, their products, squares of differences.
    """

    n: Codes
    freedom: Floats
    own: Floats
    rest: Floats
    cross: Floats
    difference: Floats

    @classmethod
    def from_moments(cls, moments: leave_one_out.SharedMoments) -> SquareSums:
        """Return the sums of moments."""
        n = moments.own.n
        freedom = np.maximum(n - 1, 0).astype(np.float64)

        def squares(variance: Floats) -> Floats:
            return np.where(n >= 2, variance, 0.0) * freedom

        own, rest, difference = (
            squares(sample.variance) for sample in (moments.own, moments.rest, moments.difference)
        )
        varies = (own > 0) & (rest > 0)
        cross = np.where(varies, (own + rest - difference) / 2, 0.0)
        return cls(n, freedom, own, rest, cross, difference)


def judge_figures(
    blocks: Blocks[leave_one_out.SharedScores],
    moments: leave_one_out.SharedMoments,
    reference: Flags,
    judge: Codes,
    task: Codes,
    *,
    n_judges: int,
) -> JudgeFigures:
    """Return the figures of judges.

    Parameters
    ----------
    blocks
        Scores; a series is what one judge gave in one criterion of a task.
    moments
        Of the scores as they are, with this reference (`shared_moments`).
    reference
        ``(n_series,)`` whether a series counts in the mean of the others.
    judge, task
        ``(n_series,)`` codes of judges, and of tasks, whose judges share a noise variance.
    n_judges
        Size of the range of ``judge``.
    """
    n = moments.own.n
    bias = np.where(n > 0, moments.difference.mean, 0.0)
    unbiased = leave_one_out.shared_moments(blocks, reference, bias)
    sums = SquareSums.from_moments(unbiased)
    inverse = np.where(n > 0, unbiased.inverse, 0.0)
    typical = _task_noise(sums, inverse, reference, task)[task]
    own_squares = np.maximum(sums.difference - typical * inverse * sums.freedom, 0.0)
    noise = (own_squares + PRIOR_FREEDOM * typical) / (sums.freedom + PRIOR_FREEDOM)
    noise_of_means = blocks.sum(leave_one_out.noise_of_others, reference, noise) / np.maximum(n, 1)

    def by_judge(values: npt.ArrayLike) -> Floats:
        total = np.bincount(judge, np.asarray(values, np.float64), minlength=n_judges)
        return total.astype(np.float64)

    n_shared, freedom = by_judge(n), by_judge(sums.freedom)
    of_others = by_judge(noise_of_means * sums.freedom)
    rest = by_judge(sums.rest)
    is_defined = n_shared >= FEWEST_ITEMS
    has_slope = is_defined & (rest > 0) & (of_others <= MOST_NOISE * rest)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (by_judge(sums.difference) - of_others) / freedom
        spread = by_judge(sums.cross) / (rest - of_others)
        mean_bias = by_judge(bias * n) / n_shared
    has_noise = is_defined & (freedom > 0)
    return JudgeFigures(
        n_shared.astype(np.int64),
        np.where(is_defined, mean_bias, np.nan),
        np.where(has_slope, spread, np.nan),
        np.where(has_noise, np.sqrt(np.maximum(variance, 0.0)), np.nan),
    )


def _task_noise(sums: SquareSums, inverse: Floats, reference: Flags, task: Codes) -> Floats:
    """Return the mean noise variance of reference judges, ``(n_tasks,)``; 0 without any."""
    n_tasks = int(task.max(initial=-1)) + 1
    counts = np.where(reference, 1.0, 0.0)
    total = np.bincount(task, counts * sums.difference, minlength=n_tasks)
    weight = np.bincount(task, counts * sums.freedom * (1 + inverse), minlength=n_tasks)
    return np.asarray(total / np.where(weight > 0, weight, 1.0), np.float64)
