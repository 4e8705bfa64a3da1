"""What judges answered about the adequacy of outputs: the majority of their votes.

Votes are counted, not modelled: with one answer an item, which is what adequacy questions often
get, the model of judges cannot tell a judge's confusion from the truth. A draw is no answer: the
output is asked again.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.comparisons.adequacy import NOT_KNOWN
from annot_pipeline.runtime.indexing import index, is_in


def adequacy_answers(
    votes: pa.Table, items: pa.Array, *, task: str, adequate: Collection[str]
) -> npt.NDArray[np.int64]:
    """Return the answer about each item.

    Parameters
    ----------
    votes
        ``task``, ``item``, ``label``, ``votes``, as `label_distributions` has them.
    items
        ``(n_items,)`` names.
    task
        The task that asks whether an output is adequate.
    adequate
        Labels that say it is.

    Returns
    -------
    ndarray
        ``(n_items,)`` 1 adequate, 0 inadequate, -1 not asked, or asked and a draw.
    """
    rows = votes.filter(is_in(votes["task"], (task,)))
    named = index(items.cast(TEXT))  # one name may stand in several segments
    positions = pc.index_in(rows["item"].cast(TEXT), pa.array(named.names, TEXT))
    is_named = positions.is_valid()
    at = positions.filter(is_named).to_numpy()
    weight = rows["votes"].filter(is_named).to_numpy()
    good = is_in(rows["label"], list(adequate)).filter(is_named)
    sign = np.where(good.to_numpy(), weight, -weight)
    balance = np.bincount(at, weights=sign, minlength=len(named.names))[named.codes]
    return np.where(balance > 0, 1, np.where(balance < 0, 0, NOT_KNOWN))
