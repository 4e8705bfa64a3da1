"""What was judged, by the name that tables publish."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import TEXT


def shown_items(judgments: pa.Table) -> pa.ChunkedArray:
    """Return the names of items, and of pairs of them.

    Parameters
    ----------
    judgments
        ``item``; ``item_a`` and ``item_b`` where a pair was judged.
    """
    items, *pair = (judgments[name].cast(TEXT) for name in ("item", "item_a", "item_b"))
    return pc.coalesce(items, pc.binary_join_element_wise(*pair, " | "))
