"""Sums by cell of a table."""

from __future__ import annotations

import numpy as np

from annot_pipeline.arrays import Codes, Floats


def cell_sums(*codes: Codes, shape: tuple[int, ...], weights: Floats | None = None) -> Floats:
    """Return the sum of weights, or the number of rows, in each cell.

    Sums are made in the order of the rows, as by `numpy.add.at`, which takes ten times as long.

    Parameters
    ----------
    codes
        ``(n,)`` codes of the rows, one array a dimension.
    shape
        How many cells each dimension has.
    weights
        ``(n,)``; None: 1 each.
    """
    cells = np.ravel_multi_index(codes, shape) if codes[0].size else np.zeros(0, np.int64)
    sums = np.bincount(cells, weights, minlength=int(np.prod(shape)))
    return sums.astype(np.float64).reshape(shape)
