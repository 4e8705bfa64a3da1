"""The smallest difference of two systems that an evaluation can tell, and how large it must be.

A one-sided test at ``alpha`` finds a difference of (t_{1 - alpha} + t_{power}) standard errors with
the probability ``power``, at the degrees of freedom of its error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Floats

ALPHA, POWER = 0.05, 0.8


@dataclass(frozen=True)
class DesignParams:
    """An evaluation in which judges share the outputs of all systems evenly.

    Parameters
    ----------
    judges, segments
        Their numbers.
    per_output
        Judgments of each system's output for each segment.
    """

    judges: int
    segments: int
    per_output: float = 1.0


def detectable_difference(
    error: npt.ArrayLike, freedom: npt.ArrayLike, *, alpha: float = ALPHA, power: float = POWER
) -> Floats:
    """Return the difference that is found with a probability.

    Parameters
    ----------
    error, freedom
        Standard error of the difference, and its degrees of freedom; of one shape.
    alpha
        Level of the one-sided test.
    power
        Probability to find the difference.
    """
    from scipy.special import stdtrit

    quantiles = stdtrit(freedom, 1 - alpha) + stdtrit(freedom, power)
    return np.asarray(quantiles * np.asarray(error, np.float64))


def design_error(
    design: DesignParams, *, judge_system: float, segment_system: float, residual: float
) -> tuple[float, float]:
    """Return the standard error of a difference of two systems, and its degrees of freedom.

    Levels of judges and segments cancel, as judges and segments are shared; what a judge, or a
    segment, makes of a system does not (Searle, Casella & McCulloch 1992, section 5.2).

    Parameters
    ----------
    design
        Of the evaluation.
    judge_system, segment_system, residual
        Variances, points squared.
    """
    n = design.segments * design.per_output
    by_judge, by_segment = judge_system / design.judges, segment_system / design.segments
    rest = residual / n
    variance = 2 * (by_judge + by_segment + rest)
    # each kind of cluster also bears its share of the rest
    kinds = ((by_judge + rest, design.judges - 1), (by_segment + rest, design.segments - 1))
    parts = sum((2 * part) ** 2 / max(own, 1e-9) for part, own in kinds)
    freedom = variance**2 / parts if parts else float(n)
    return float(np.sqrt(variance)), float(freedom)
