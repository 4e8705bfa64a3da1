"""Standardisation: z = (score - mean) / sd of each judge, ddof = 1; and runs of equal scores.

Source: Graham et al. 2013, section 4.3; as WMT computes it, per judge *and task*, over all
of the judge's judgments, control items included. A judge with one score, or whose scores do
not vary, has no z: the result says which rows, it does not set them to 0.

WMT's scripts hand mean and sd on as R prints them (7 significant digits), read them in Perl,
and print z to 15 significant digits. That moves z by up to 3e-5 and decides which segment
means are exactly equal, on which the published rank-sum tests depend; `Arithmetic` "wmt"
repeats it, so that published tables come out to the last digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.distinct import is_new
from annot_pipeline.methods.numerics.moments import moments

Arithmetic = Literal["exact", "wmt"]


@dataclass(frozen=True)
class ZScores:
    """Standardised scores.

    Parameters
    ----------
    z
        ``(n_judgments,)``; NaN where the judge has none.
    mean, sd
        ``(n_judges,)`` points of the scale, over the scores that count; NaN for too few.
    n
        ``(n_judges,)`` scores of each judge that count.
    """

    z: Floats
    mean: Floats
    sd: Floats
    n: Codes


def z_scores(
    judges: Codes,
    scores: Floats,
    *,
    n_judges: int,
    counts: npt.NDArray[np.bool_] | None = None,
    arithmetic: Arithmetic = "exact",
) -> ZScores:
    """Standardise scores by judge.

    Parameters
    ----------
    judges
        ``(n_judgments,)`` codes of judges (of judge and task together) from 0.
    scores
        ``(n_judgments,)`` points of the scale.
    n_judges
        Size of the code range.
    counts
        ``(n_judgments,)`` whether a score counts for its judge's mean and sd; None: all do.
    arithmetic
        ``exact``, or ``wmt``: rounded where WMT's scripts print numbers.

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
    counted_judges, counted_scores = (
        (judges, scores) if counts is None else (judges[counts], scores[counts])
    )
    by_judge = moments(counted_judges, counted_scores, n_groups=n_judges)
    mean, sd = by_judge.mean, np.sqrt(by_judge.variance)
    z = standardized(judges, scores, mean, sd, arithmetic=arithmetic)
    return ZScores(z, mean, sd, by_judge.n)


def standardized(
    judges: Codes, scores: Floats, mean: Floats, sd: Floats, *, arithmetic: Arithmetic
) -> Floats:
    """Return z of scores ``(n_scores,)`` by judges' means and sds ``(n_judges,)``.

    NaN where sd is 0.
    """
    varies = sd > 0
    if arithmetic == "wmt":
        mean, sd = _as_perl_reads(mean), _as_perl_reads(sd)
    with np.errstate(invalid="ignore", divide="ignore"):
        z: Floats = (scores - mean[judges]) / sd[judges]
    if arithmetic == "wmt":
        z = printed(z)
    return np.where(varies[judges], z, np.nan)


def printed(values: Floats) -> Floats:
    """Return values as R and Perl print them: to 15 significant digits."""
    if not values.size:
        return values
    texts = np.char.mod("%.15g", values)
    return np.asarray(texts.astype(np.float64))


def _as_perl_reads(values: Floats) -> Floats:
    """Return values that R printed to 7 digits as read by a Perl that adds the whole part
    and the decimals over a power of ten: not always the nearest double.
    """
    is_rescaled = np.isfinite(values) & (values != 0)
    size = np.floor(np.log10(np.abs(values), where=is_rescaled, out=np.zeros_like(values)))
    power = 10.0 ** np.clip(6 - size, 0, 22)
    scaled = np.rint(np.abs(np.where(is_rescaled, values, 0.0)) * power)
    read = np.sign(values) * (np.floor(scaled / power) + np.mod(scaled, power) / power)
    return np.where(is_rescaled, read, values)


def longest_constant_runs(
    judges: Codes,
    sittings: Codes,
    order: Sequence[npt.NDArray[np.int64]],
    scores: Floats,
    *,
    n_judges: int,
) -> Codes:
    """Return the longest run ``(n_judges,)``; -1 where the order is not known.

    Parameters
    ----------
    judges
        ``(n_judgments,)`` codes of judges from 0.
    sittings
        ``(n_judgments,)`` codes of stretches of work whose order among each other is not known;
        no run goes over from one to the next.
    order
        Arrays ``(n_judgments,)`` that say which judgment came first, the most important first.
        A judge with two judgments equal in all of them has no known order.
    scores
        ``(n_judgments,)``.
    """
    keys = [judges, sittings, *order]
    sequence = np.lexsort(keys[::-1])
    who = judges[sequence]
    unknown = np.zeros(n_judges, np.bool_)
    unknown[who[~is_new(*(key[sequence] for key in keys))]] = True
    first = np.flatnonzero(is_new(who, sittings[sequence], scores[sequence]))
    lengths = np.diff(np.append(first, sequence.size))
    longest = np.zeros(n_judges, np.int64)
    np.maximum.at(longest, who[first], lengths)
    return np.where(unknown, -1, longest)
