"""Ratings that agreement is measured on, and rows of the table `agreement`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from annot_pipeline.runtime.indexing import is_in

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Row = dict[str, Any]
UNFILTERED = "_unfiltered"
"""Behind the names of statistics that count all judges, where some are left out."""


@dataclass(frozen=True)
class Ratings:
    """Codes of items (of item and criterion) and judges, and what was given."""

    items: Codes
    judges: Codes
    values: npt.NDArray[Any]
    names: tuple[str, ...] = ()  # labels

    def only(self, rows: npt.NDArray[np.bool_], values: npt.NDArray[Any]) -> Ratings:
        """Return some of the ratings, with other values."""
        return Ratings(self.items[rows], self.judges[rows], values[rows])

    @property
    def sizes(self) -> dict[str, int]:
        """Return sizes of the code ranges, as the methods take them."""
        return {
            "n_items": int(self.items.max(initial=-1)) + 1,
            "n_judges": int(self.judges.max(initial=-1)) + 1,
        }


def of_task(table: pa.Table, task: str) -> pa.Table:
    """Return the rows of a task; a view of the table where they stand together."""
    is_of = is_in(table["task"], (task,)).to_numpy()
    places = np.flatnonzero(is_of)
    if places.size and places[-1] - places[0] + 1 == places.size:
        return table.slice(places[0], places.size)
    return table.filter(pa.array(is_of))


NO_ROUNDS = "no interval: agreement.bootstrap is 0"
NO_VARIATION = "no interval: nothing varies, so that nothing tells how far it would"
ONE_DRAWN = "no interval: nothing to draw but one item or segment"


def bootstrap_reason(
    estimate: Any, rounds: int, undefined: str, *, unbounded: str | None = None
) -> str | None:
    """Return why numbers of a statistic with a bootstrap interval are NaN; None if none is.

    Parameters
    ----------
    estimate
        Has value, ci_low, ci_high.
    rounds
        Bootstrap rounds.
    undefined
        Why the value would be NaN.
    unbounded
        Why the interval would be, if not for want of rounds or of items.
    """
    if np.isnan(estimate.value):
        return undefined
    if not np.isnan(estimate.ci_low):
        return NO_VARIATION if estimate.ci_low == estimate.ci_high else None
    return unbounded or (ONE_DRAWN if rounds else NO_ROUNDS)


def interval_ends(estimate: Any) -> tuple[float, float]:
    """Return the ends of an interval; NaN where it has no width, which is no interval."""
    if estimate.ci_low == estimate.ci_high:
        return np.nan, np.nan
    return estimate.ci_low, estimate.ci_high


def agreement_row(
    task: Row,
    statistic: str,
    estimate: Any,
    n_items: int,
    n_judges: int,
    reason: str | None = None,
) -> Row:
    """Return a row of the table; ``estimate`` has value, ci_low, ci_high."""
    low, high = interval_ends(estimate)
    return {
        "task": task["task"],
        "statistic": statistic,
        "value": estimate.value,
        "ci_low": low,
        "ci_high": high,
        "n_items": n_items,
        "n_judges": n_judges,
        "reason": reason,
    }
