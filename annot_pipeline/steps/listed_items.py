"""What item tables say of the items that were judged."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import TEXT
from annot_pipeline.steps.indexing import index


class ListedItems:
    """Segments and systems by item; what the first row says of an item wins.

    Parameters
    ----------
    items
        ``item``, ``segment``, ``system``, ``place`` of the item tables.
    """

    def __init__(self, items: pa.Table) -> None:
        listed = items.sort_by("place")
        first = np.sort(np.unique(index(listed["item"]).codes, return_index=True)[1])
        listed = listed.take(pa.array(first))
        self._names = listed["item"].cast(TEXT).combine_chunks()
        self._given = {
            name: listed[name].cast(TEXT).combine_chunks() for name in ("segment", "system")
        }

    def describe(self, rows: pa.Table) -> pa.Table:
        """Rows with the segments and systems that item tables give their items.

        Parameters
        ----------
        rows
            ``item``, ``segment``, ``system`` and more.
        """
        if not len(self._names):
            return rows
        place = pc.index_in(rows["item"].cast(TEXT), self._names).combine_chunks()
        for name, given in self._given.items():
            at = rows.schema.get_field_index(name)
            column = pc.coalesce(given.take(place), rows[name].cast(TEXT))
            rows = rows.set_column(at, name, column)
        return rows
