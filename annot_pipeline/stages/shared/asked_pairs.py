"""Pairs of items that judges were asked to compare, as comparisons with items in order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes
from annot_pipeline.contracts import TEXT
from annot_pipeline.runtime.indexing import index, index_pairs
from annot_pipeline.runtime.listed_items import ListedItems


def comparisons_of_pairs(rows: pa.Table) -> pa.Table:
    """Return one comparison per pair of items that a judge compared, in the order of the rows.

    Parameters
    ----------
    rows
        Judgments of pairs, with ``kept``, as `describe_pairs` returns them.
    """
    turned = pc.greater(rows["item_a"].cast(TEXT), rows["item_b"].cast(TEXT)).to_numpy()
    stated = rows["preference"].is_valid()
    by_rank = np.sign(
        pc.fill_null(rows["rank_b"], 0).to_numpy() - pc.fill_null(rows["rank_a"], 0).to_numpy()
    )
    by_word = pc.index_in(rows["preference"].cast(TEXT), pa.array(("b", "tie", "a"), TEXT))
    outcome = np.where(stated.to_numpy(), pc.fill_null(by_word, 1).to_numpy() - 1, by_rank)
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
            "outcome": np.where(turned, -outcome, outcome),
            "share_a": pc.if_else(flip, pc.subtract(1.0, rows["strength"]), rows["strength"]),
            "same_output": np.zeros(rows.num_rows, np.bool_),
            "b_shown_first": pc.if_else(stated, flip, pa.scalar(None, pa.bool_())),
            "ranking": rankings,
            "submitted_at": rows["submitted_at"],
            "seconds": seconds,
            "judgment_id": rows["judgment_id"],
        }
    )


def describe_pairs(rows: pa.Table, listed: ListedItems) -> pa.Table:
    """Return rows with the segments, documents and systems that item tables give their items."""
    for side in ("a", "b"):
        one = pa.table(
            {"item": rows[f"item_{side}"], "segment": rows["segment"],
             "document": rows["document"], "system": rows[f"system_{side}"]}
        )  # fmt: skip
        described = listed.describe(one)
        at = rows.schema.get_field_index(f"system_{side}")
        rows = rows.set_column(at, f"system_{side}", described["system"])
        for name in ("segment", "document"):
            rows = rows.append_column(f"{name}_{side}", described[name].cast(TEXT))
    same = pc.fill_null(pc.equal(rows["segment_a"], rows["segment_b"]), False)
    segment = pc.if_else(same, rows["segment_a"], pa.scalar(None, TEXT))
    document = pc.coalesce(rows["document_a"], rows["document_b"])
    for name, column in (("segment", segment), ("document", document)):
        rows = rows.set_column(rows.schema.get_field_index(name), name, column)
    return rows


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
    return group, pa.array(seconds, mask=np.isnan(seconds))
