"""The table of comparisons: what preferences, rankings and scored HITs all become.

A row is one comparison of two outputs of a segment by one judge. A ranking of n outputs gives
n (n - 1) / 2 of them, a preference gives one. What belongs together (`ranking`) was judged at
once: its errors are not independent, so intervals resample rankings, never rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import FLAG, INT, REAL, TEXT, TIME
from annot_pipeline.runtime.indexing import index, index_pairs

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
    """Return one table of comparisons from several, each with rankings of its own."""
    return _encoded(with_systems(_numbered(parts)))


def _numbered(parts: Sequence[pa.Table]) -> pa.Table:
    """Return all comparisons, with a task's rankings numbered by time and judgment id."""
    texts = [name for name in COMPARISONS.names if COMPARISONS.field(name).type == NAME]
    plain = pa.schema([f.with_type(TEXT) if f.name in texts else f for f in COMPARISONS])
    rows = pa.concat_tables([part.select(plain.names).cast(plain) for part in parts])
    part = np.repeat(np.arange(len(parts)), [p.num_rows for p in parts])
    group = index_pairs(part, rows["ranking"].to_numpy()).codes
    task, ids = index(rows["task"]).codes, index(rows["judgment_id"]).codes
    late = np.iinfo(np.int64).max  # what has no time comes last
    time = pc.fill_null(rows["submitted_at"].cast(pa.int64()), late).to_numpy()
    n = int(group.max(initial=-1)) + 1
    submitted, least, task_of = np.full(n, -late), np.full(n, late), np.zeros(n, np.int64)
    np.maximum.at(submitted, group, time)
    np.minimum.at(least, group, ids)
    task_of[group] = task
    number = np.empty(n, np.int64)
    in_order = np.lexsort((least, submitted, task_of))
    first = np.searchsorted(task_of[in_order], task_of[in_order])  # ranking of the same task
    number[in_order] = np.arange(n) - first
    a, b = index(rows["item_a"]).codes, index(rows["item_b"]).codes
    order = np.lexsort((ids, b, a, number[group], task))
    rows = rows.set_column(
        rows.schema.get_field_index("ranking"), "ranking", pa.array(number[group])
    )
    return rows.take(pa.array(order))


def _encoded(rows: pa.Table) -> pa.Table:
    """Return the rows as `COMPARISONS` has them; names are coded in code point order."""
    columns = {}
    for field in COMPARISONS:
        column = rows[field.name]
        if field.type == NAME:
            named = index(column.drop_null())
            positions = np.zeros(rows.num_rows, np.int32)
            valid = column.is_valid().to_numpy()
            positions[valid] = named.codes
            column = pa.DictionaryArray.from_arrays(
                pa.array(positions, mask=~valid), pa.array(named.names, TEXT)
            )
        columns[field.name] = column
    return pa.table(columns, schema=COMPARISONS)


def with_systems(rows: pa.Table) -> pa.Table:
    """Return comparisons with items as systems in tasks that name neither segments nor systems."""
    task = index(rows["task"])
    has_names = np.zeros(len(task.names), np.bool_)
    for name in ("segment", "system_a", "system_b"):
        has_names[task.codes[rows[name].is_valid().to_numpy()]] = True
    bare = pa.array(~has_names[task.codes], pa.bool_())
    for side in ("a", "b"):
        at = rows.schema.get_field_index(f"system_{side}")
        column = pc.if_else(bare, rows[f"item_{side}"], rows[f"system_{side}"])
        rows = rows.set_column(at, rows.schema.field(at), column)
    return rows
