"""What a careful judge shows, by those who pass a test: an effect corrected for selection.

Judges who pass show more than they have, and the more so the less power the test had: of six
questions with two classes only six right answers pass, and all who pass look perfect. Given that a
judge passed, the estimate follows a truncated distribution, and what is wanted is the value whose
median (of means) or mean (of right answers) is what was observed. Sources: Zhong & Prentice 2008,
Biostatistics 9, 621-634, section 2 (estimates conditional on significance); the truncated binomial
by maximum likelihood (Finney 1949).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes, Floats

HALVINGS = 52
"""Of an interval, until its ends are neighbours."""


def effect_given_passing(effect: Floats, error: Floats, least: Floats) -> Floats:
    """Return median-unbiased effects of judges who pass, from 0 to the effects observed.

    Parameters
    ----------
    effect
        ``(n_judges,)`` means that passed.
    error
        ``(n_judges,)`` their standard errors, by what judges vary; 0 where nothing varies.
    least
        ``(n_judges,)`` the effect from which on the judge passes, given how its scores vary. (Mean
        and variance of normal scores are independent, so that the mean of those who pass is
        normal, truncated here.)
    """
    from scipy.special import log_ndtr

    varies = error > 0
    unit = np.where(varies, error, 1.0)
    low, high = np.zeros(effect.size), np.maximum(effect, 0.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        # chance of more than was observed, given that the judge passes
        above = log_ndtr((middle - effect) / unit) - log_ndtr((middle - least) / unit)
        rises = above < np.log(0.5)
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    return np.where(varies, high, np.maximum(effect, 0.0))


def accuracy_given_passing(
    right: Codes, n: Codes, least: Codes, strata: Codes, chance: Floats
) -> Floats:
    """Return the common accuracy of judges who pass, ``(n_strata,)``, by maximum likelihood.

    Parameters
    ----------
    right, n
        ``(n_judges,)`` known answers given right, and asked.
    least
        ``(n_judges,)`` right answers with which a judge passes.
    strata
        ``(n_judges,)`` codes from 0.
    chance
        ``(n_strata,)`` share of right answers without looking.

    Returns
    -------
    accuracy
        NaN where passing tells nothing: where only perfect records pass, all who pass are perfect,
        and where those who pass show no more than luck does.
    """
    from scipy.special import bdtrc

    n_strata = chance.size
    tells = least < n
    right, n, least, strata = (x[tells] for x in (right, n, least, strata))

    def total(values: npt.ArrayLike) -> Floats:
        sums = np.bincount(strata, weights=np.asarray(values, np.float64), minlength=n_strata)
        return sums.astype(np.float64, copy=False)

    def expected(accuracy: Floats) -> Floats:
        p = accuracy[strata]
        with np.errstate(invalid="ignore", divide="ignore"):
            return total(n * p * bdtrc(least - 2, n - 1, p) / bdtrc(least - 1, n, p))

    # where all are right the likelihood has no maximum below 1; half an answer less is its median
    observed = np.minimum(total(right), total(n) - 0.5)
    low, high = chance.copy(), np.ones(n_strata)
    is_informative = (total(n) > 0) & (expected(low) < observed)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        rises = expected(middle) < observed
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    return np.where(is_informative, high, np.nan)
