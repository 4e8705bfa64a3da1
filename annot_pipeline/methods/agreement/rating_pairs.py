"""Pairs of ratings of one item by distinct judges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes


@dataclass(frozen=True)
class Partners:
    """Of rows in order of item and judge: the rows after each one, same item, other judge."""

    starts: Codes
    counts: Codes

    @classmethod
    def from_rows(cls, items: Codes, judges: Codes) -> Partners:
        """Find the partners of rows sorted by item and judge."""
        new_item = np.ones(items.size, dtype=np.bool_)
        new_item[1:] = items[1:] != items[:-1]
        new_judge = new_item.copy()
        new_judge[1:] |= judges[1:] != judges[:-1]
        starts = _ends(new_judge)
        return cls(starts, _ends(new_item) - starts)


def _ends(new: npt.NDArray[np.bool_]) -> Codes:
    """Return where the run of each position ends; ``new`` marks the first of a run."""
    bounds = np.append(np.flatnonzero(new), new.size)
    return np.repeat(bounds[1:], np.diff(bounds))
