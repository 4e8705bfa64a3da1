"""Lengths of the texts of compared outputs, from item tables."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Floats
from annot_pipeline.contracts import TEXT

COLUMNS = ("task", "item", "text", "place")
"""What is read of item tables."""


def log_lengths(item_rows: pa.Table, task: str, items: pa.ChunkedArray) -> Floats:
    """Return the natural logarithm of the characters of each item's text; NaN without a text.

    Parameters
    ----------
    item_rows
        `COLUMNS` of the item tables; the first text that rows of the task, or rows that name no
        task, give an item is its text. Blank texts are none.
    task
        Name of the task.
    items
        Names of items.
    """
    is_own = pc.fill_null(pc.equal(item_rows["task"], task), True)
    rows = item_rows.filter(is_own).sort_by("place")
    length = pc.utf8_length(pc.utf8_trim_whitespace(rows["text"].cast(TEXT)))
    has_text = pc.fill_null(pc.greater(length, 0), False)
    names, length = rows["item"].cast(TEXT).filter(has_text), length.filter(has_text)
    if not len(names):
        return np.full(len(items), np.nan)
    row_of_item = pc.index_in(items.cast(TEXT), names.combine_chunks())
    first = np.asarray(pc.fill_null(row_of_item, 0).to_numpy(), np.int64)
    logs = np.log(np.asarray(length.to_numpy(), np.float64))[first]
    return np.where(np.asarray(pc.is_valid(row_of_item).to_numpy(), np.bool_), logs, np.nan)
