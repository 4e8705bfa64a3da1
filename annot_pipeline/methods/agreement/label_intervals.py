"""95% intervals of statistics of agreement, for items and judges that both repeat.

Labels of one item err together, and labels of one judge. The variance is that of two-way clusters,
item + judge - both (Cameron, Gelbach & Miller 2011, eq. 2.8), from influence values; those of
judges, and of both, are divided by 1 - the judge's share of all pairs, as leaving the judge out
would (jackknife: Gwet 2014, chapter 5). What judges add to the variance by items is at least
`LEAST_ADDED` of their own: with few judges the difference is uncertain. The interval is one of t on
a transformed scale: logit for shares, Fisher's z for coefficients. Degrees of freedom follow
Satterthwaite 1946, with as many items and judges as carry the variance: (sum of squares)^2 / sum of
fourth powers, times `CARRYING_ITEMS` or `CARRYING_JUDGES`.

With fewer than `FEW_JUDGES` effective judges only items count as drawn: the interval is that of
these judges, and `reason` says so. Where coverage was measured to be too low or the interval says
nothing, there is none, and `reason` says why (studies.agreement_coverage).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Floats
from annot_pipeline.methods.numerics.hyperbolic import tanh

FEW_JUDGES = 4
"""Effective judges below which judges do not count as drawn."""
FEWEST_ITEMS = 20
"""Items below which there is no interval."""
RARE_ITEMS, RARE_SHARE = 16.0, 1 / 3
"""Items' worth of labels outside the most frequent class, below which chance agreement is too
uncertain for an interval; where there are few items, that share of them is enough."""
CARRYING_ITEMS, CARRYING_JUDGES = 1.5, 3.0
"""Of the effective number of clusters: with normal influence values a third of all is found, and
items of rare classes have none that are normal."""
LEAST_ADDED = 0.25
"""Of the variance by judges, what it adds to that by items at the least."""
MOST_SHARE = 2 / 3
"""Of all pairs that one judge has, as far as it counts."""
ROUNDING = 1e-9

NO_ITEM_SHARED = "no item has labels by two judges"
NO_ITEM_REPEATED = "no item has two labels"
ONE_CLASS = "all labels are of one class"
CERTAIN = "agreement by chance is certain: each judge has labels of one class"
ALL_AGREE = "all pairs of labels agree"
NONE_AGREES = "no pair of labels agrees"
FEW_ITEMS = f"fewer than {FEWEST_ITEMS} items for an interval"
RARE_CLASSES = "too few labels outside the most frequent class for an interval"
NO_SPREAD = "the labels do not vary enough for an interval"
MANY_JUDGES = "too many judges for an interval of a mean over pairs of judges"
THESE_JUDGES = f"interval for these judges only: fewer than {FEW_JUDGES}"


@dataclass(frozen=True)
class AgreementStatistic:
    """One statistic of one task.

    Parameters
    ----------
    value, ci_low, ci_high
        With its 95% interval; NaN where undefined.
    n_items
        Items it rests on: those with labels by two or more judges; for statistics that take no
        notice of judges, those with two or more labels.
    n_judges
        Judges of these items.
    reason
        Why a number is NaN, or that the interval is of these judges only; None otherwise.
    """

    value: float
    ci_low: float
    ci_high: float
    n_items: int
    n_judges: int
    reason: str | None = None


@dataclass(frozen=True)
class Influence:
    """Sums of influence values of one statistic.

    Parameters
    ----------
    items, items_fourth, cells
        Of squares and of fourth powers by item; of squares by item and judge.
    judges
        ``(n_judges,)`` by judge.
    judge_shares
        ``(n_judges,)`` of all labels in pairs with other judges; sums to 1, or to 0 without.
    """

    items: float
    items_fourth: float
    cells: float
    judges: Floats
    judge_shares: Floats


def effective_judges(shares: Floats) -> float:
    """Return how many judges with equal shares are worth these; 0 without any."""
    squares = float((shares**2).sum())
    return 1 / squares if squares else 0.0


def variance(influence: Influence, n_items: int) -> tuple[float, float, bool]:
    """Return variance, degrees of freedom, and whether judges count as drawn."""
    by_item = influence.items * n_items / max(n_items - 1, 1)
    item_freedom = _freedom(influence.items, influence.items_fourth, n_items, CARRYING_ITEMS)
    shares = influence.judge_shares
    n_judges = effective_judges(shares)
    if n_judges < FEW_JUDGES - ROUNDING:
        return by_item, item_freedom, False
    inflation = 1 / (1 - np.minimum(2 * shares, MOST_SHARE))
    squares = (influence.judges * inflation) ** 2
    n = int(np.count_nonzero(shares))
    by_judge = float(squares.sum()) * (n - 1) / n
    by_both = influence.cells * float((shares * inflation**2).sum())
    combined = by_item + max(by_judge - by_both, LEAST_ADDED * by_judge)
    judge_freedom = _freedom(
        float(squares.sum()), float((squares**2).sum()), n_judges, CARRYING_JUDGES
    )
    spread = by_item**2 / item_freedom + min(by_judge, combined) ** 2 / judge_freedom
    return combined, max(combined**2 / spread, 1.0) if spread > 0 else 1.0, True


def _freedom(squares: float, fourth: float, n: float, carrying: float) -> float:
    carrying *= squares**2 / fourth if fourth > 0 else 0.0
    return max(min(n, carrying) - 1, 1.0)


def interval_statistic(
    value: float, influence: Influence, counts: tuple[int, int], *, is_share: bool
) -> AgreementStatistic:
    """Return a statistic with its interval.

    Parameters
    ----------
    value
        Of the statistic.
    influence
        Its influence values.
    counts
        Items and judges that it rests on.
    is_share
        Whether it is a share (0 to 1) or a coefficient (-1 to 1).
    """
    from scipy.special import stdtrit

    n_items, n_judges = counts
    squared_error, freedom, are_drawn = variance(influence, n_items)
    low_end = 0.0 if is_share else -1.0
    if not squared_error > 0 or not low_end < value < 1:
        return without_interval(value, counts, NO_SPREAD)
    half = float(stdtrit(freedom, 0.975)) * np.sqrt(squared_error)
    low, high = _logit_ends(value, half) if is_share else _fisher_ends(value, half)
    return AgreementStatistic(
        value, low, high, n_items, n_judges, None if are_drawn else THESE_JUDGES
    )


def without_interval(value: float, counts: tuple[int, int], reason: str) -> AgreementStatistic:
    """Return a statistic that has no interval, and the reason."""
    return AgreementStatistic(value, np.nan, np.nan, *counts, reason)


def _logit_ends(value: float, half: float) -> tuple[float, float]:
    centre, reach = np.log(value / (1 - value)), half / (value * (1 - value))
    return _expit(centre - reach), _expit(centre + reach)


def _expit(x: float) -> float:
    return float((1 + tanh(x / 2)) / 2)


def _fisher_ends(value: float, half: float) -> tuple[float, float]:
    centre, reach = np.arctanh(value), half / (1 - value**2)
    return float(tanh(centre - reach)), float(tanh(centre + reach))
