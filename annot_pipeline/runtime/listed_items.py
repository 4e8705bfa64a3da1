"""What item tables say of the items that were judged."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import TEXT
from annot_pipeline.runtime.indexing import index, is_in
from annot_pipeline.storage.tables import StoredTable, read_verified_groups

COLUMNS = ("item", "segment", "document", "system", "place")
"""What is read of item tables."""
DESCRIBED = ("segment", "document", "system")
"""What they say of an item."""


class ListedItems:
    """Segments, documents and systems by item; what the first row says of an item wins.

    Parameters
    ----------
    items
        `COLUMNS` of the item tables.
    """

    def __init__(self, items: pa.Table) -> None:
        self._are_any = items.num_rows > 0
        listed = items.sort_by("place")
        first = np.sort(np.unique(index(listed["item"]).codes, return_index=True)[1])
        listed = listed.take(pa.array(first))
        self._names = listed["item"].cast(TEXT).combine_chunks()
        self._given = {name: listed[name].cast(TEXT).combine_chunks() for name in DESCRIBED}

    @classmethod
    def none(cls) -> ListedItems:
        """Return no items, as of a campaign without item tables."""
        return cls(pa.table({name: pa.array([], TEXT) for name in COLUMNS}))

    @classmethod
    def named(cls, items: Iterable[pa.Table], rows: Iterable[pa.Table]) -> ListedItems:
        """Return the items that some rows name; a campaign may list millions of others.

        Parameters
        ----------
        items
            The item tables, in parts, at least one.
        rows
            ``item``, or ``item_a`` and ``item_b``, in parts.
        """
        chunks = (
            chunk
            for part in rows
            for name in ("item", "item_a", "item_b")
            if name in part.schema.names
            for chunk in part[name].chunks
        )
        names = pa.chunked_array([pc.unique(chunk).cast(TEXT) for chunk in chunks], TEXT)
        names = pc.drop_null(pc.unique(names))
        n_rows, parts = 0, []
        for part in items:
            n_rows += part.num_rows
            parts.append(part.filter(is_in(part["item"], names)))
        listed = cls(pa.concat_tables(parts).unify_dictionaries())
        listed._are_any = n_rows > 0
        return listed

    def describe(self, rows: pa.Table) -> pa.Table:
        """Return rows with the segments, documents and systems that item tables give their items.

        Parameters
        ----------
        rows
            ``item``, `DESCRIBED` and more.
        """
        if not self._are_any:
            return rows
        positions = pc.index_in(rows["item"].cast(TEXT), self._names).combine_chunks()
        for name, listed_names in self._given.items():
            at = rows.schema.get_field_index(name)
            column = pc.coalesce(listed_names.take(positions), rows[name].cast(TEXT))
            rows = rows.set_column(at, name, column)
        return rows


def listed_of(items: StoredTable, judgments: Iterable[pa.Table]) -> ListedItems:
    """Return what item tables say of the items that judgments name."""
    return ListedItems.named(read_verified_groups(items, COLUMNS), judgments if items.rows else ())
