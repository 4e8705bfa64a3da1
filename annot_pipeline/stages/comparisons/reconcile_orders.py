"""Two judgments of a pair, one in each order, as one: a win only where both agree.

Source: Zheng et al. 2023, section 3.4 ("call a judge twice by swapping the order of two answers and
only declare a win when an answer is preferred in both orders").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import FLAG, REAL
from annot_pipeline.runtime.indexing import index, index_pairs, is_in

ONE_ORDER = "the judge saw the pair in one order only (reconcile: order)"
PAIR = ("task", "judge", "segment", "item_a", "item_b")


@dataclass(frozen=True)
class Reconciled:
    """Reconciled comparisons, and the row numbers of pairs that were judged in one order only."""

    rows: pa.Table
    lacking: pa.Array


def reconcile_orders(rows: pa.Table, tasks: Sequence[str]) -> Reconciled:
    """Reconcile the comparisons of some tasks; others stay as they are.

    Parameters
    ----------
    rows
        As `comparisons.COMPARISONS`, in any order.
    tasks
        Those whose pairs were judged in both orders.

    Returns
    -------
    Reconciled
        One comparison for each judge and pair: a win where all its judgments agree, else a tie;
        a graded share is the mean over both orders. The order of showing is null.
    """
    is_selected = is_in(rows["task"], tasks)
    if not pc.any(is_selected).as_py():
        return Reconciled(rows, pa.array([], pa.int64()))
    rows_of_tasks = np.flatnonzero(is_selected.to_numpy())
    some = rows.take(pa.array(rows_of_tasks))
    group = np.zeros(some.num_rows, np.int64)
    for name in PAIR:
        group = index_pairs(group, index(some[name], null="").codes).codes
    n = int(group.max()) + 1
    order = pc.fill_null(some["b_shown_first"].cast(pa.int64()), -1).to_numpy()
    n_by_order = [np.bincount(group[order == one], minlength=n) for one in (0, 1)]
    has_both = (n_by_order[0] > 0) & (n_by_order[1] > 0)
    outcome = some["outcome"].to_numpy().astype(np.int64)
    low, high = np.full(n, 2), np.full(n, -2)
    np.minimum.at(low, group, outcome)
    np.maximum.at(high, group, outcome)
    agreed = np.where(low == high, low, 0)
    share = some["share_a"].to_numpy()  # null is NaN
    means = [
        np.bincount(group[order == one], share[order == one], n) / np.maximum(n_by_order[one], 1)
        for one in (0, 1)
    ]
    mean = (means[0] + means[1]) / 2
    ids = index(some["judgment_id"]).codes
    first = np.lexsort((ids, group))
    first = first[np.unique(group[first], return_index=True)[1]]  # a group's least judgment id
    first = first[has_both[group[first]]]
    own = group[first]
    reconciled = some.take(pa.array(first))
    columns = {
        "outcome": agreed[own],
        "share_a": pa.array(mean[own], REAL, mask=np.isnan(mean[own])),
        "b_shown_first": pa.nulls(own.size, FLAG),
    }
    for name, column in columns.items():
        column_index = reconciled.schema.get_field_index(name)
        reconciled = reconciled.set_column(column_index, name, pa.chunked_array([column]))
    rest = rows.filter(pc.invert(is_selected))
    same_types = reconciled.cast(rest.schema)
    return Reconciled(
        pa.concat_tables([rest, same_types]), pa.array(rows_of_tasks[~has_both[group]])
    )
