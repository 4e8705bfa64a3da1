"""Judges against known answers: accuracy, its interval, and a test against chance.

A judge who answers without looking is right with probability ``chance`` (1 / classes, unless
the campaign demands more). One-sided exact binomial test; Wilson's score interval. Where a
judge's questions have different chances their mean is used: by Hoeffding 1956 the tail of that
binomial is not too small above its mean, so p errs on the safe side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.shares import wilson_interval


@dataclass(frozen=True)
class KnownAnswers:
    """Arrays are ``(n_judges,)``; NaN for a judge without known answers.

    Parameters
    ----------
    n, n_right
        Known answers asked, and given right.
    accuracy, low, high
        Share right, and its 95% interval.
    effect
        Accuracy minus chance.
    p_value
        Chance of so many right answers without looking.
    """

    n: Codes
    n_right: Codes
    accuracy: Floats
    low: Floats
    high: Floats
    effect: Floats
    p_value: Floats


def known_answers(
    judges: Codes, right: npt.NDArray[np.bool_], chance: Floats, *, n_judges: int
) -> KnownAnswers:
    """Test judges by the questions whose answers are known.

    Parameters
    ----------
    judges
        ``(n_answers,)`` codes of judges from 0.
    right
        ``(n_answers,)`` whether the answer is the known one.
    chance
        ``(n_answers,)`` chance of a right answer without looking, in (0, 1).
    n_judges
        Size of the code range.
    """
    n = np.bincount(judges, minlength=n_judges)
    n_right = np.bincount(judges[right], minlength=n_judges)
    some = n > 0
    size = np.where(some, n, 1)
    share = n_right / size
    by_chance = np.bincount(judges, weights=chance, minlength=n_judges) / size
    low, high = wilson_interval(n_right, n)
    p, some_right = np.ones(n_judges), n_right > 0  # P(X >= 0) is 1
    if some_right.any():
        from scipy.special import bdtrc

        k, m, q = n_right[some_right], size[some_right], by_chance[some_right]
        p[some_right] = bdtrc(k - 1, m, q)  # P(X >= k) is P(X > k - 1)

    def where_tested(values: Floats) -> Floats:
        return np.where(some, values, np.nan)

    return KnownAnswers(
        n,
        n_right,
        where_tested(share),
        low,
        high,
        where_tested(share - by_chance),
        where_tested(p),
    )
