"""What judges answered about the adequacy of outputs: the majority of their votes.

Votes are counted, not modelled: with one answer an item, which is what adequacy questions often
get, the model of judges cannot tell a judge's confusion from the truth. A draw is no answer: the
output is asked again.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Codes
from annot_pipeline.methods.comparisons.adequacy import NOT_KNOWN
from annot_pipeline.runtime.coded_task import NONE, CodedTask


def adequacy_answers(votes: pa.Table, items: pa.Array, adequate: Collection[str]) -> Codes:
    """Return the answer about each item.

    Parameters
    ----------
    votes
        ``item``, ``label``, ``votes`` of the task that asks whether an output is adequate.
    items
        ``(n_items,)`` names.
    adequate
        Labels that say it is.

    Returns
    -------
    ndarray
        ``(n_items,)`` 1 adequate, 0 inadequate, -1 not asked, or asked and a draw.
    """
    named = CodedTask("", pa.table({"item": items}))["item"]  # a name may be of several segments
    rows = CodedTask("", votes)
    at, weight = rows.codes_among("item", named.names), rows.numbers("votes")
    sign = np.where(rows.is_in("label", *adequate), weight, -weight)
    some = at != NONE
    balance = np.bincount(at[some], weights=sign[some], minlength=len(named.names))[named.codes]
    return np.where(balance > 0, 1, np.where(balance < 0, 0, NOT_KNOWN))
