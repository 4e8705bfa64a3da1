"""Scores of first showings in a block of items, as codes that all blocks of a task share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.runtime.indexing import Index, index, index_pairs, is_in


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
    def is_pairable(self) -> npt.NDArray[np.bool_]:
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
    first = standardized.filter(is_in(standardized["control"], ("none",)))
    item = index(first["item"])
    units = index_pairs(item.codes, index(first["criterion"], null="").codes)
    return CodedScores(
        item.codes,
        units.codes,
        _among(index(first["judge"]), judges),
        _among(index(first["criterion"], null=""), criteria),
        first["score"].to_numpy(),
        first["z"].to_numpy(),  # null is NaN
        len(item.names),
        units.first.size,
        len(judges),
    )


def _among(indexed: Index, names: Sequence[str]) -> Codes:
    """Return codes among other names, which hold all that were found."""
    position = {name: n for n, name in enumerate(names)}
    return np.array([position[name] for name in indexed.names], np.int64)[indexed.codes]
