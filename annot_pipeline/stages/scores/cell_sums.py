"""Segment scores of one task as sums over blocks of its items (segment_scores, of all at once).

A row of sums is an output of a system for a segment, and one of its criteria. An output that lies
in two blocks, under two names of items, is added up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Standardize
from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.numerics.moments import sums
from annot_pipeline.methods.scores.cell_means import CellMeans, cell_means
from annot_pipeline.runtime.indexing import index, index_pairs, is_in
from annot_pipeline.stages.scores.judge_sums import ORDINARY
from annot_pipeline.stages.scores.segment_scores import (
    METHODS,
    TaskCells,
    cells_of,
    judged_outputs,
    named_outputs,
    segment_codes,
    segment_keys,
)

NAMES = ("system", "segment", "item", "criterion")
"""What a row of sums is named by; the item where no segment is known, else null."""


def cell_sums(standardized: pa.Table, tasks: pa.Table) -> tuple[pa.Table, int]:
    """Return the sums of a block, and how many of its judgments name no system.

    Parameters
    ----------
    standardized
        As `standardize_scores` gives it: all judgments of some items of one task.
    tasks
        ``task`` and its scale.

    Returns
    -------
    sums, n_without_system
        ``sums`` has `NAMES`, and by method the sum of the values and their number.
    """
    judgments, _ = judged_outputs(standardized, tasks)
    rows = named_outputs(standardized)
    n_ordinary = int(is_in(standardized["control"], ORDINARY).to_numpy().sum())
    parts = index_pairs(judgments.cells.codes, judgments.criteria)
    first = np.unique(parts.codes, return_index=True)[1]
    columns = {name: rows[name].cast(TEXT).take(pa.array(first)) for name in NAMES}
    columns["item"] = pc.if_else(columns["segment"].is_valid(), None, columns["item"])
    for method, values in judgments.values.items():
        is_scored = ~np.isnan(values)
        scored_parts = parts.codes[is_scored]
        columns[f"{method}_sum"] = sums(scored_parts, values[is_scored], n_groups=first.size)
        columns[f"{method}_n"] = np.bincount(scored_parts, minlength=first.size)
    return pa.table(columns), n_ordinary - rows.num_rows


def document_names(standardized: pa.Table) -> pa.Table:
    """Return the documents that a block names of segments, and of items without one.

    One row is a segment, or item, and document: ``segment`` as `segment_keys` gives it.
    """
    rows = named_outputs(standardized.filter(standardized["document"].is_valid()))
    table = pa.table({"segment": segment_keys(rows), "document": rows["document"].cast(TEXT)})
    return table.group_by(["segment", "document"]).aggregate([])


def cells_of_sums(
    blocks: Sequence[pa.Table], task: str, standardize: Standardize, *, has_scale: bool
) -> TaskCells:
    """Return the segment scores of a task from the sums of all blocks in their order."""
    table = pa.concat_tables(blocks)
    system, segments = index(table["system"]), segment_codes(table)
    cells = index_pairs(system.codes, segments)
    parts = index_pairs(cells.codes, index(table["criterion"], null="").codes)

    def cell_means_by(method: str) -> CellMeans:
        total, n = (
            np.bincount(parts.codes, table[f"{method}_{what}"].to_numpy(), parts.first.size)
            for what in ("sum", "n")
        )
        n_of_cell, n_cells = np.bincount(parts.first, n, cells.first.size), cells.first.size
        with np.errstate(invalid="ignore"):
            if method == "easl":  # a mean over judgments, of whichever criterion
                mean = np.bincount(parts.first, total, n_cells) / n_of_cell
            else:
                mean = cell_means(parts.first, total / n, n_cells=n_cells).mean
        return CellMeans(mean, n_of_cell.astype(np.int64))

    methods = [method for method in METHODS if method != "easl" or has_scale]
    return TaskCells(
        task,
        system.names,
        int(segments.max(initial=-1)) + 1,
        {
            name: cells_of(cells.first, cells.second, cell_means_by(name), standardize)
            for name in methods
        },
    )
