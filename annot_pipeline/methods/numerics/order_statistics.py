"""Values at places in the order of all of them, which lie in blocks: exact, in two looks at each.

Blocks count their values in the cells of a grid, which tells the cells that hold the places; then
they tell the values of those cells alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from annot_pipeline.arrays import Codes, Floats

CELLS = 1 << 16
FURTHEST = 8.0
"""Beyond lie few z-scores; they are in the cells at both ends."""


def cells_of(values: Floats) -> Codes:
    """Return cell of each value, ``(n_values,)``; rising with the values."""
    scaled = (values + FURTHEST) * (CELLS / (2 * FURTHEST))
    return np.clip(np.floor(scaled), 0, CELLS - 1).astype(np.int64)


def cell_counts(values: Floats) -> Codes:
    """Return values in each cell, ``(CELLS,)``; of blocks they are added up."""
    return np.bincount(cells_of(values), minlength=CELLS)


def cells_of_places(counts: Codes, places: Codes) -> Codes:
    """Return the cells, each once, that hold places from 0 among all values."""
    return np.unique(np.searchsorted(np.cumsum(counts), places, side="right"))


def values_of_cells(values: Floats, cells: Codes) -> tuple[Floats, Codes]:
    """Return the distinct values of a block that lie in some cells, and how often each occurs."""
    distinct_values, n = np.unique(values[np.isin(cells_of(values), cells)], return_counts=True)
    return distinct_values, n


def values_at(
    counts: Codes, cells: Codes, values_by_block: Sequence[tuple[Floats, Codes]], places: Codes
) -> Floats:
    """Return the values at some places, ``(n_places,)``.

    Parameters
    ----------
    counts
        Of all blocks, added up.
    cells, values_by_block
        Cells, each once, and `values_of_cells` of all blocks.
    places
        From 0, among all values in order; they lie in these cells.
    """
    values, n = (np.concatenate([pair[part] for pair in values_by_block]) for part in (0, 1))
    order = np.argsort(values, kind="stable")
    values, ends = values[order], np.cumsum(n[order])
    unknown = counts.copy()
    unknown[cells] = 0  # what lies before a place, and is not among the values that are known
    of_places = np.searchsorted(np.cumsum(counts), places, side="right")
    before = np.cumsum(unknown)[of_places]
    return np.asarray(values[np.searchsorted(ends, places - before, side="right")])
