"""Dense ranks within groups: 1 for the highest value, equal values equal, no gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes


def dense_ranks(group: Codes, values: npt.NDArray[Any]) -> Codes:
    """Rank the members of each group.

    Parameters
    ----------
    group
        ``(n,)`` codes.
    values
        ``(n,)`` numbers, more is better; equal if they are equal to the last bit.

    Returns
    -------
    ndarray
        ``(n,)`` ranks from 1.
    """
    order = np.lexsort((-values, group))
    new_group = np.append(True, np.diff(group[order]) != 0)[: group.size]
    step = np.cumsum(new_group | np.append(True, np.diff(values[order]) != 0)[: group.size])
    start = np.maximum.accumulate(np.where(new_group, step, 0))
    rank = np.empty_like(order)
    rank[order] = step - start + 1
    return np.asarray(rank)
