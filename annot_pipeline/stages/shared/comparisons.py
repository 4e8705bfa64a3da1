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

from annot_pipeline.arrays import Codes, Flags
from annot_pipeline.contracts import FLAG, INT, REAL, TEXT, TIME
from annot_pipeline.runtime.coded_task import LATE, NONE, CodedTask
from annot_pipeline.runtime.indexing import index, index_pairs
from annot_pipeline.runtime.listed_items import ListedItems
from annot_pipeline.stages.shared.columns import nulls_for_nan, replace_columns

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
    rows = replace_columns(rows, {"ranking": pa.array(number[group])})
    return with_systems(rows.take(pa.array(order)))


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
    return replace_columns(rows, {f"system_{side}": rows[f"item_{side}"] for side in "ab"})


def comparisons_of_pairs(rows: pa.Table) -> pa.Table:
    """Return one comparison per pair of items that a judge compared, in the order of the rows.

    Parameters
    ----------
    rows
        Judgments of pairs, with ``kept``, as `describe_pairs` returns them.
    """
    turned, outcome = outcomes(rows)
    flip = pa.array(turned)
    sides = {
        f"{name}_{side}": pc.if_else(flip, rows[f"{name}_{other}"], rows[f"{name}_{side}"])
        for name in ("item", "system")
        for side, other in (("a", "b"), ("b", "a"))
    }
    rankings, seconds = _together(rows)
    return pa.table(
        {
            **{name: rows[name] for name in ("task", "judge", "kept", "segment", "document")},
            **sides,
            "outcome": outcome,
            "share_a": pc.if_else(flip, pc.subtract(1.0, rows["strength"]), rows["strength"]),
            "same_output": np.zeros(rows.num_rows, np.bool_),
            "b_shown_first": pc.if_else(
                rows["preference"].is_valid(), flip, pa.scalar(None, pa.bool_())
            ),
            "ranking": rankings,
            "submitted_at": rows["submitted_at"],
            "seconds": seconds,
            "judgment_id": rows["judgment_id"],
        }
    )


def outcomes(rows: pa.Table) -> tuple[Flags, Codes]:
    """Return whether item_b comes before item_a by name, and which of the two is better.

    1: the one that comes first, -1: the other, 0: a tie.

    Parameters
    ----------
    rows
        Judgments of pairs: ``item_a``, ``item_b``, ``preference``, or else ``rank_a``, ``rank_b``.
    """
    turned = pc.greater(rows["item_a"].cast(TEXT), rows["item_b"].cast(TEXT)).to_numpy()
    by_rank = np.sign(
        pc.fill_null(rows["rank_b"], 0).to_numpy() - pc.fill_null(rows["rank_a"], 0).to_numpy()
    )
    by_word = pc.index_in(rows["preference"].cast(TEXT), pa.array(("b", "tie", "a"), TEXT))
    outcome = np.where(
        rows["preference"].is_valid(), pc.fill_null(by_word, 1).to_numpy() - 1, by_rank
    )
    return turned, np.where(turned, -outcome, outcome)


def describe_pairs(rows: pa.Table, listed: ListedItems) -> pa.Table:
    """Return rows with the segments, documents and systems that item tables give their items."""
    for side in ("a", "b"):
        one = pa.table(
            {"item": rows[f"item_{side}"], "segment": rows["segment"],
             "document": rows["document"], "system": rows[f"system_{side}"]}
        )  # fmt: skip
        described = listed.describe(one)
        rows = replace_columns(rows, {f"system_{side}": described["system"]})
        for name in ("segment", "document"):
            rows = rows.append_column(f"{name}_{side}", described[name].cast(TEXT))
    same = pc.fill_null(pc.equal(rows["segment_a"], rows["segment_b"]), False)
    segment = pc.if_else(same, rows["segment_a"], pa.scalar(None, TEXT))
    document = pc.coalesce(rows["document_a"], rows["document_b"])
    return replace_columns(rows, {"segment": segment, "document": document})


def _together(rows: pa.Table) -> tuple[Codes, pa.Array]:
    """Return what was judged at once, and the seconds that it took as a whole."""
    ranked = pc.is_valid(rows["ranking"])
    name = pc.if_else(
        ranked,
        pc.binary_join_element_wise("ranking", rows["ranking"].cast(TEXT), " "),
        pc.if_else(
            pc.is_valid(rows["hit"]),
            pc.binary_join_element_wise("hit", rows["hit"].cast(TEXT), " "),
            pc.binary_join_element_wise("own", rows["judgment_id"].cast(TEXT), " "),
        ),
    )
    group = index(rows["task"]).codes
    for column in (rows["judge"], pc.fill_null(rows["segment"].cast(TEXT), ""), name):
        group = index_pairs(group, index(column).codes).codes
    own = pc.fill_null(rows["seconds"], np.nan).to_numpy()
    added = np.bincount(group, weights=np.where(np.isnan(own), 0, own), minlength=1)[group]
    # a ranking's seconds stand in each of its rows; those of single preferences add up
    of_each = np.where(ranked.to_numpy(), own, np.where(np.isnan(own), np.nan, added))
    whole = pc.fill_null(rows["hit_seconds"], np.nan).to_numpy()
    seconds = np.where(np.isnan(of_each), whole, of_each)
    return group, nulls_for_nan(seconds)
