"""Standardisation: z = (score - mean) / sd of each judge, ddof = 1.

Source: Graham et al. 2013, section 4.3; as WMT computes it, per judge *and task*, over all
of the judge's judgments, control items included. A judge with one score, or whose scores do
not vary, has no z: the result says which rows, it does not set them to 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ZScores:
    """Standardised scores.

    Parameters
    ----------
    z
        ``(n_judgments,)``; NaN where the judge has none.
    mean, sd
        ``(n_judges,)`` points of the scale; sd is NaN for fewer than two scores.
    n
        ``(n_judges,)`` scores of each judge.
    """

    z: Floats
    mean: Floats
    sd: Floats
    n: Codes


def z_scores(judges: Codes, scores: Floats, *, n_judges: int) -> ZScores:
    """Standardise scores by judge.

    Parameters
    ----------
    judges
        ``(n_judgments,)`` codes of judges (of judge and task together) from 0.
    scores
        ``(n_judgments,)`` points of the scale.
    n_judges
        Size of the code range.

    Raises
    ------
    ValueError
        Arrays of different lengths, or scores that are not finite.
    """
    judges, scores = np.asarray(judges, np.int64), np.asarray(scores, np.float64)
    if judges.shape != scores.shape:
        raise ValueError("judges and scores must be of one length")
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite")
    n = np.bincount(judges, minlength=n_judges)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(judges, weights=scores, minlength=n_judges) / n
        deviation = scores - mean[judges]
        squares = np.bincount(judges, weights=deviation**2, minlength=n_judges)
        sd = np.where(n >= 2, np.sqrt(squares / (n - 1)), np.nan)
        z = np.where(sd[judges] > 0, deviation / sd[judges], np.nan)
    return ZScores(z, mean, sd, n)
