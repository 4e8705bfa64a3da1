"""Rows of the table `agreement`, and when they have an interval."""

from __future__ import annotations

from typing import Any

import numpy as np

from annot_pipeline.contracts.table import NO_ROUNDS

Row = dict[str, Any]
UNFILTERED = "_unfiltered"
"""Behind the names of statistics that count all judges, where some are left out."""


NO_VARIATION = "no interval: the statistic is the same in all bootstrap rounds"
FEW_DRAWN = 30
"""Items or segments below which bootstrap intervals are too short: coverage .86 to .93 at 10."""
TOO_FEW_DRAWN = f"no interval: fewer than {FEW_DRAWN} items or segments to draw from"
THESE_JUDGES = "interval over items or segments, for these judges"


def bootstrap_interval(
    estimate: Any, n_drawn: int, rounds: int, undefined: str, *, unbounded: str | None = None
) -> tuple[float, float, str | None]:
    """Return the ends of a bootstrap interval, NaN without one, and what limits the numbers.

    Parameters
    ----------
    estimate
        Has value, ci_low, ci_high.
    n_drawn
        Items or segments that the bootstrap draws from.
    rounds
        Bootstrap rounds.
    undefined
        Why the value would be NaN.
    unbounded
        Why there is no interval, if not for want of rounds or of items.
    """
    if np.isnan(estimate.value):
        return np.nan, np.nan, undefined
    why = unbounded
    if why is None and not rounds:
        why = NO_ROUNDS
    if why is None and n_drawn < FEW_DRAWN:
        why = TOO_FEW_DRAWN
    if why is None and (np.isnan(estimate.ci_low) or estimate.ci_low == estimate.ci_high):
        why = NO_VARIATION
    if why is not None:
        return np.nan, np.nan, why
    return estimate.ci_low, estimate.ci_high, THESE_JUDGES


def agreement_row(
    task: Row,
    statistic: str,
    estimate: Any,
    n_items: int,
    n_judges: int,
    reason: str | None = None,
) -> Row:
    """Return a row of the table; ``estimate`` has value, ci_low, ci_high."""
    return {
        "task": task["task"],
        "statistic": statistic,
        "value": estimate.value,
        "ci_low": estimate.ci_low,
        "ci_high": estimate.ci_high,
        "n_items": n_items,
        "n_judges": n_judges,
        "reason": reason,
    }
