"""Ratings that agreement is measured on, and rows of the table `agreement`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import TEXT

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
        """Some of the ratings, with other values."""
        return Ratings(self.items[rows], self.judges[rows], values[rows])

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes of the code ranges, as the methods take them."""
        return {
            "n_items": int(self.items.max(initial=-1)) + 1,
            "n_judges": int(self.judges.max(initial=-1)) + 1,
        }


def of_task(table: pa.Table, task: str) -> pa.Table:
    """Rows of a task."""
    return table.filter(pc.equal(table["task"].cast(TEXT), task))


def agreement_row(task: Row, statistic: str, found: Any, n_items: int, n_judges: int) -> Row:
    """A row of the table; ``found`` has value, ci_low, ci_high."""
    return {
        "task": task["task"],
        "statistic": statistic,
        "value": found.value,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "n_items": n_items,
        "n_judges": n_judges,
    }
