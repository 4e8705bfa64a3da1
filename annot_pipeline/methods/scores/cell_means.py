"""Means of means: judgments to criteria, criteria to cells, cells to systems.

A cell is what is scored at once (an item, or a system's output for a segment). With several
criteria a cell's score is the unweighted mean over its criteria, whatever the number of
judgments of each; a system's score is the unweighted mean over its segments (Graham et al.
2013, section 5; as WMT computes it). A judgment without a value counts for nothing, and a
cell without any has NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.moments import means


@dataclass(frozen=True)
class CellMeans:
    """Arrays are ``(n_cells,)``: the mean (NaN without values) and the number of values."""

    mean: Floats
    n: Codes


def cell_means(
    cells: Codes, values: Floats, *, n_cells: int, criteria: Codes | None = None
) -> CellMeans:
    """Return the mean value of each cell.

    Parameters
    ----------
    cells
        ``(n_values,)`` codes of cells from 0.
    values
        ``(n_values,)``; NaN is left out.
    n_cells
        Size of the code range.
    criteria
        ``(n_values,)`` codes of criteria from 0; None: there is one.
    """
    is_scored = ~np.isnan(values)
    cells, values = cells[is_scored], values[is_scored]
    n = np.bincount(cells, minlength=n_cells)
    if criteria is None or not criteria.size:
        return CellMeans(means(cells, values, n_groups=n_cells), n)
    width = int(criteria.max()) + 1
    parts, part = np.unique(cells * width + criteria[is_scored], return_inverse=True)
    part_means = means(part.reshape(-1), values, n_groups=parts.size)
    return CellMeans(means(parts // width, part_means, n_groups=n_cells), n)
