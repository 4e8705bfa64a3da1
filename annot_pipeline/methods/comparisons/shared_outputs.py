"""Comparisons as they were asked: systems that share an output are one output.

Where several systems gave the same text, a ranking shows it once, and the judgment counts for each
system: pairs of systems tell more than anybody was asked. Collapsed, the systems that share an
output in a ranking are one output, known under all their names (WMT15, "collapsed").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from annot_pipeline.arrays import Codes, Flags


@dataclass(frozen=True)
class AskedComparisons:
    """One row a comparison that was asked.

    Parameters
    ----------
    first, second
        ``(n_asked,)`` codes of outputs. An output of one item has the code of the item; a
        shared one has a code from ``n_items`` on, the same in every ranking where the same
        items share it. first < second.
    rows
        ``(n_asked,)`` a row of the table that says the same.
    reversed_
        ``(n_asked,)`` whether that row has them the other way round.
    """

    first: Codes
    second: Codes
    rows: Codes
    reversed_: Flags


def asked_comparisons(
    rankings: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    same_output: npt.ArrayLike,
    *,
    n_items: int,
) -> AskedComparisons:
    """Leave out ties of shared outputs, and count a comparison of shared outputs once.

    Parameters
    ----------
    rankings
        ``(n_comparisons,)`` codes of what was judged at once.
    first, second
        ``(n_comparisons,)`` codes of items, from 0.
    same_output
        ``(n_comparisons,)`` whether both items are one output.
    n_items
        Size of the code range.

    Raises
    ------
    ValueError
        Arrays of different lengths, a code outside its range.
    """
    ranking, one, other = (np.asarray(column, np.int64) for column in (rankings, first, second))
    same = np.asarray(same_output, np.bool_)
    if ranking.ndim != 1 or not ranking.shape == one.shape == other.shape == same.shape:
        raise ValueError("rankings, first, second and same_output must be 1-d and of one length")
    both = np.concatenate([one, other])
    if both.size and not 0 <= both.min() <= both.max() < n_items:
        raise ValueError(
            f"items hold codes {both.min()} to {both.max()}, allowed are 0 to {n_items - 1}"
        )
    # a node is an item in a ranking
    nodes, places = np.unique(np.tile(ranking, 2) * n_items + both, return_inverse=True)
    one_node, other_node = places.reshape(2, -1)
    output = _outputs(nodes % max(n_items, 1), one_node[same], other_node[same], n_items)
    ends = np.stack([output[one_node], output[other_node]])
    candidates = np.flatnonzero(~same)
    low, high = ends[:, candidates].min(axis=0), ends[:, candidates].max(axis=0)
    keys = np.stack([ranking[candidates], low, high])
    order = np.lexsort((other[candidates], one[candidates], *keys[::-1]))
    new = np.ones(order.size, np.bool_)
    new[1:] = (np.diff(keys[:, order], axis=1) != 0).any(axis=0)
    chosen = np.sort(order[new])
    rows = candidates[chosen]
    return AskedComparisons(low[chosen], high[chosen], rows, ends[0, rows] > ends[1, rows])


def _outputs(items: Codes, one: Codes, other: Codes, n_items: int) -> Codes:
    """Return ``(n_nodes,)`` code of the output of each node.

    An output is that of its item, or of the set of its items.
    """
    size = items.size
    shared = coo_array((np.ones(one.size, np.int64), (one, other)), (size, size)).tocsr()
    group = np.asarray(connected_components(shared, directed=False)[1], np.int64)
    order = np.lexsort((items, group))
    n = np.bincount(group)
    starts = np.cumsum(n) - n
    code = items[order][starts]
    base = n_items
    for k in range(1, int(n.max(initial=1))):  # as deep as the largest set
        deep = np.flatnonzero(n > k)
        _, names = np.unique(
            np.stack([code[deep], items[order][starts[deep] + k]]), axis=1, return_inverse=True
        )
        code[deep] = base + names.reshape(-1)
        base += int(names.max()) + 1
    return np.asarray(code[group])
