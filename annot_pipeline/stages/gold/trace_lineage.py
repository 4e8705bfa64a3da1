"""One row is a record: which judgment it is, what became of it and why, and where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from annot_pipeline.stages.gold.shown_items import shown_items


def lineage_rows(records: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield the rows of lineage, chunk by chunk, in the order of the records.

    Parameters
    ----------
    records
        ``public_id``, ``task``, ``item``, ``item_a``, ``item_b``, ``judge_id``, ``fate``,
        ``reason``, ``source_digest``, ``source_file``, ``source_row``, ``cell``, in parts.
    """
    for part in records:
        yield pa.table(
            {
                "judgment_id": part["public_id"],
                "task": part["task"],
                "item": shown_items(part),
                "judge": part["judge_id"],
                "fate": part["fate"],
                "reason": part["reason"],
                "source_digest": part["source_digest"],
                "source_file": part["source_file"],
                "source_row": part["source_row"],
                "cell": part["cell"],
            }
        )
