"""One row is a record: which judgment it is, what became of it and why, and where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from annot_pipeline.steps.indexing import is_any
from annot_pipeline.steps.shown_items import shown_items


def lineage_rows(records: Iterable[pa.Table], exports: pa.Table) -> Iterator[pa.Table]:
    """The rows of lineage, part by part, in the order of the records.

    Parameters
    ----------
    records
        ``public_id``, ``task``, ``item``, ``item_a``, ``item_b``, ``judge_id``, ``fate``,
        ``reason``, ``source_order``, ``file_order``, ``source_row``, ``cell``, in parts.
    exports
        ``kind``, ``source_order``, ``file_order``, ``source_file``, ``source_sha256``.
    """
    judged = exports.filter(is_any(exports["kind"], ("judgments",)))
    orders = [judged[name].to_numpy() for name in ("source_order", "file_order")]
    places = np.full([int(order.max(initial=-1)) + 1 for order in orders], -1)
    places[*orders] = np.arange(judged.num_rows)
    names = {
        name: judged[name].combine_chunks().cast(pa.string())
        for name in ("source_sha256", "source_file")
    }
    for part in records:
        of_file = pa.array(places[part["source_order"].to_numpy(), part["file_order"].to_numpy()])
        files = {
            name: pa.DictionaryArray.from_arrays(of_file.cast(pa.int32()), values)
            for name, values in names.items()
        }
        yield pa.table(
            {
                "judgment_id": part["public_id"],
                "task": part["task"],
                "item": shown_items(part),
                "judge": part["judge_id"],
                "fate": part["fate"],
                "reason": part["reason"],
                **files,
                "source_row": part["source_row"],
                "cell": part["cell"],
            }
        )
