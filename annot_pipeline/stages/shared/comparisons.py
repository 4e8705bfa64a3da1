"""The table of comparisons: what preferences, rankings and scored HITs all become.

A row is one comparison of two outputs of a segment by one judge. A ranking of n outputs gives
n (n - 1) / 2 of them, a preference gives one. What belongs together (`ranking`) was judged at
once: its errors are not independent, so intervals resample rankings, never rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from annot_pipeline.contracts import FLAG, INT, REAL, TEXT, TIME
from annot_pipeline.runtime.coded_task import LATE, NONE, CodedTask
from annot_pipeline.runtime.indexing import index_pairs

NAME = pa.dictionary(pa.int32(), TEXT)

COMPARISONS = pa.schema(
    [
        pa.field("task", NAME, nullable=False),
        pa.field("judge", NAME, nullable=False),  # as the export names it, no pseudonym
        pa.field("kept", FLAG, nullable=False),  # whether the judge counts (judge control)
        pa.field("segment", NAME),  # null: none is mapped
        pa.field("document", NAME),  # that the segment is of; null: none is mapped
        pa.field("item_a", NAME, nullable=False),  # before item_b in code point order
        pa.field("item_b", NAME, nullable=False),
        pa.field("system_a", NAME),  # null: none is mapped
        pa.field("system_b", NAME),
        pa.field("outcome", pa.int8(), nullable=False),  # 1: a is better, -1: b is, 0: a tie
        pa.field("share_a", REAL),  # of a graded preference that goes to a; null: not graded
        pa.field("same_output", FLAG, nullable=False),  # one output of two systems: nobody asked
        pa.field("b_shown_first", FLAG),  # null: nothing tells
        pa.field("ranking", INT, nullable=False),  # number of what was judged at once; in order
        pa.field("submitted_at", TIME),
        pa.field("seconds", REAL),  # that the whole ranking took
        pa.field("judgment_id", TEXT, nullable=False),  # the least of its judgments
    ]
)
"""Sorted by task, ranking, item_a, item_b. Rankings are numbered in each task, in the order of
submission, then of their least judgment id: online methods take comparisons as they stand."""

LEFT_OUT = pa.schema(
    [
        ("task", TEXT),
        ("item", TEXT),
        ("judge_id", TEXT),
        ("judgment_id", TEXT),
        ("left_out_of", TEXT),
        ("reason", TEXT),
    ]
)
"""Judgments that count, but that no comparison or no ranking of systems could take."""


def comparison_table(parts: Sequence[pa.Table]) -> pa.Table:
    """Return the comparisons of a task from several tables, each with rankings of its own.

    Rankings are numbered by time and judgment id.
    """
    texts = [name for name in COMPARISONS.names if COMPARISONS.field(name).type == NAME]
    plain = pa.schema([f.with_type(TEXT) if f.name in texts else f for f in COMPARISONS])
    rows = pa.concat_tables([part.select(plain.names).cast(plain) for part in parts])
    part = np.repeat(np.arange(len(parts)), [p.num_rows for p in parts])
    group = index_pairs(part, rows["ranking"].to_numpy()).codes
    task = CodedTask("", rows)
    ids, n = task["judgment_id"].codes, int(group.max(initial=-1)) + 1
    submitted, least = np.full(n, -LATE), np.full(n, LATE)
    np.maximum.at(submitted, group, task.times("submitted_at"))
    np.minimum.at(least, group, ids)
    number = np.empty(n, np.int64)
    number[np.lexsort((least, submitted))] = np.arange(n)
    _, a, b = task.sides("item")
    order = np.lexsort((ids, b, a, number[group]))
    at = rows.schema.get_field_index("ranking")
    rows = rows.set_column(at, "ranking", pa.array(number[group])).take(pa.array(order))
    return with_systems(rows)


def encoded(table: pa.Table) -> pa.Table:
    """Return comparisons as `COMPARISONS`; names are coded in code point order."""
    rows = CodedTask("", table)
    columns = {}
    for field in COMPARISONS:
        column: pa.ChunkedArray | pa.Array = rows.rows[field.name]
        if field.type == NAME:
            named = rows[field.name]
            codes = pa.array(named.codes.astype(np.int32), mask=named.codes == NONE)
            column = pa.DictionaryArray.from_arrays(codes, pa.array(named.names, TEXT))
        columns[field.name] = column
    return pa.table(columns, schema=COMPARISONS)


def with_systems(rows: pa.Table) -> pa.Table:
    """Return comparisons of a task; items are its systems if it names no segment and system."""
    if any(rows[name].null_count < len(rows) for name in ("segment", "system_a", "system_b")):
        return rows
    for side in ("a", "b"):
        at = rows.schema.get_field_index(f"system_{side}")
        rows = rows.set_column(at, rows.schema.field(at), rows[f"item_{side}"])
    return rows
