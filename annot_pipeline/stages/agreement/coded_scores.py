"""Scores of first showings in a block of items, as codes that all blocks of a task share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.runtime.coded_task import CodedTask
from annot_pipeline.runtime.indexing import is_in


@dataclass(frozen=True)
class CodedScores:
    """Holds scores with their codes; arrays are ``(n_scores,)``.

    Parameters
    ----------
    items, units
        Codes of items, and of items and criteria, of the block.
    judges, criteria
        Codes of those of all blocks.
    scores, z
        Points of the scale, more is better; z-scores, NaN where there is none.
    n_items, n_units, n_judges
        Sizes of the code ranges.
    """

    items: Codes
    units: Codes
    judges: Codes
    criteria: Codes
    scores: Floats
    z: Floats
    n_items: int
    n_units: int
    n_judges: int

    @property
    def is_pairable(self) -> Flags:
        """Return whether a score is of a unit with two or more scores, ``(n_scores,)``."""
        return np.asarray(np.bincount(self.units, minlength=self.n_units)[self.units] >= 2)


def coded_scores(
    standardized: pa.Table, judges: Sequence[str], criteria: Sequence[str]
) -> CodedScores:
    """Code the first showings of a block.

    Parameters
    ----------
    standardized
        ``item``, ``criterion``, ``judge``, ``control``, ``score``, ``z``.
    judges, criteria
        Names of all blocks, in order.
    """
    rows = CodedTask("", standardized.filter(is_in(standardized["control"], ("none",))))
    units = rows.groups("item", "criterion")
    return CodedScores(
        rows["item"].codes,
        units,
        rows.codes_among("judge", judges),
        rows.codes_among("criterion", criteria),
        rows.numbers("score"),
        rows.numbers("z"),
        rows.n("item"),
        int(units.max(initial=-1)) + 1,
        len(judges),
    )
