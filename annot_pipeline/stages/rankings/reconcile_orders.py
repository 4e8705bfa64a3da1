"""Two judgments of a pair, one in each order, as one: a win only where both agree.

Source: Zheng et al. 2023, section 3.4 ("call a judge twice by swapping the order of two answers and
only declare a win when an answer is preferred in both orders").
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import FLAG, REAL
from annot_pipeline.runtime.coded_task import CodedTask

ONE_ORDER = "the judge saw the pair in one order only (reconcile: order)"
PAIR = ("judge", "segment", "item_a", "item_b")


def reconcile_orders(rows: pa.Table) -> tuple[pa.Table, pa.Array]:
    """Reconcile the comparisons of a task whose pairs were judged in both orders.

    Parameters
    ----------
    rows
        As `comparisons.COMPARISONS`, in any order.

    Returns
    -------
    rows, lacking
        One comparison for each judge and pair: a win where all its judgments agree, else a tie;
        a graded share is the mean over both orders. The order of showing is null. ``lacking`` are
        the numbers of rows of pairs that were judged in one order only.
    """
    group = CodedTask("", rows).groups(*PAIR)
    n = int(group.max(initial=-1)) + 1
    order = pc.fill_null(rows["b_shown_first"].cast(pa.int64()), -1).to_numpy()
    n_by_order = [np.bincount(group[order == one], minlength=n) for one in (0, 1)]
    has_both = (n_by_order[0] > 0) & (n_by_order[1] > 0)
    outcome = rows["outcome"].to_numpy().astype(np.int64)
    low, high = np.full(n, 2), np.full(n, -2)
    np.minimum.at(low, group, outcome)
    np.maximum.at(high, group, outcome)
    agreed = np.where(low == high, low, 0)
    share = rows["share_a"].to_numpy()  # null is NaN
    means = [
        np.bincount(group[order == one], share[order == one], n) / np.maximum(n_by_order[one], 1)
        for one in (0, 1)
    ]
    mean = (means[0] + means[1]) / 2
    ids = CodedTask("", rows)["judgment_id"].codes
    first = np.lexsort((ids, group))
    first = first[np.unique(group[first], return_index=True)[1]]  # a group's least judgment id
    first = first[has_both[group[first]]]
    own = group[first]
    reconciled = rows.take(pa.array(first))
    columns = {
        "outcome": agreed[own],
        "share_a": pa.array(mean[own], REAL, mask=np.isnan(mean[own])),
        "b_shown_first": pa.nulls(own.size, FLAG),
    }
    for name, column in columns.items():
        at = reconciled.schema.get_field_index(name)
        reconciled = reconciled.set_column(at, name, pa.chunked_array([column]))
    return reconciled, pa.array(np.flatnonzero(~has_both[group]))
