"""One row is a judgment, once: what a judge answered; and one row is a record of it.

Records that are rejected, duplicate or superseded are in lineage alone, and so are votes that come
as counts: no judge is named. Their numbers are `label_distributions.votes`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import COUNTED_FATES, JUDGMENTS, TEXT
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.runtime.listed_items import ListedItems
from annot_pipeline.stages.shared.columns import nulls_for_nan


def shown_items(judgments: pa.Table) -> pa.ChunkedArray:
    """Return the names of items, and of pairs of them.

    Parameters
    ----------
    judgments
        ``item``; ``item_a`` and ``item_b`` where a pair was judged.
    """
    items, *pair = (judgments[name].cast(TEXT) for name in ("item", "item_a", "item_b"))
    return pc.coalesce(items, pc.binary_join_element_wise(*pair, " | "))


HASHED = {"ranking": "ranking:", "hit": "hit:"}
"""Columns whose names may tell who judged, and what is hashed before each."""


def judgment_rows(
    records: Iterable[pa.Table],
    z: pa.ChunkedArray,
    tasks: pa.Table,
    listed: ListedItems,
    *,
    salt: str | None,
) -> Iterator[pa.Table]:
    """Yield the rows of the table, chunk by chunk, in the order of the records.

    Parameters
    ----------
    records
        ``public_id``, ``judge_id``, ``item_a``, ``item_b``, and what the table has by the same
        name, in parts.
    z
        Of the scalar judgments that take part in standardisation, in the order of the records.
    tasks
        ``task``, ``kind``.
    listed
        What item tables say, which wins over what records say.
    salt
        Hashed into the names of HITs and rankings, so that nobody without the key can test a
        guess of who judged; None where judges have their own names.
    """
    scalar = tasks.filter(is_in(tasks["kind"], ("scalar",)))["task"].combine_chunks().cast(TEXT)
    standardized, start = z.to_numpy(), 0  # null is NaN
    for part in records:
        rows = part.filter(pc.and_(is_in(part["fate"], COUNTED_FATES), part["judge_id"].is_valid()))
        is_standardized = is_in(rows["fate"], ("used", "control", "judge_failed"))
        scored = pc.and_(is_in(rows["task"], scalar), is_standardized).to_numpy()
        of_rows = np.full(rows.num_rows, np.nan)
        of_rows[scored] = standardized[start : start + scored.sum()]
        start += scored.sum()
        rows = listed.describe(rows)
        columns = {name: rows[name] for name in rows.schema.names if name in JUDGMENTS.schema.names}
        columns |= {name: _hashed(rows[name], salt, what) for name, what in HASHED.items()}
        columns |= {"judgment_id": rows["public_id"], "judge": rows["judge_id"]}
        columns["kind"] = rows["judge_kind"]
        columns |= {"item": shown_items(rows), "z": nulls_for_nan(of_rows)}
        yield pa.table(columns)
    if start != standardized.size:
        raise ValueError(f"{standardized.size} z-scores, {start} judgments that have one")


def _hashed(names: pa.ChunkedArray, salt: str | None, what: str) -> pa.ChunkedArray:
    """Return names as hashes; each distinct name is hashed once."""
    if salt is None:
        return names
    encoded = names.combine_chunks().dictionary_encode()
    hashed = [
        hashlib.sha256(f"{salt}{what}{name}".encode()).hexdigest()[:16]
        for name in encoded.dictionary.to_pylist()
    ]
    return pa.DictionaryArray.from_arrays(encoded.indices, pa.array(hashed, pa.string()))


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
