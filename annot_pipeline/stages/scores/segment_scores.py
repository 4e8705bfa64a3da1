"""Segment scores of systems: judgments of outputs as codes, and their means by task and method.

A cell is a system's output of a segment. What does not belong here: what is made of segment scores
(rank_systems), the mean itself (cell_means).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.config import Standardize
from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.numerics.rounding import comparable
from annot_pipeline.methods.rankings.document_clusters import NO_DOCUMENT, document_clusters
from annot_pipeline.methods.scores.cell_means import CellMeans, cell_means
from annot_pipeline.methods.scores.zscores import printed
from annot_pipeline.runtime.indexing import Index, PairIndex, index, index_pairs, is_in
from annot_pipeline.stages.ingest.resolve_tasks import scales
from annot_pipeline.stages.scores.judge_sums import ORDINARY

METHODS = ("easl", "filtered_mean", "raw_mean", "z_mean")
"""In the order of the tables, so that what is made task by task is sorted."""


@dataclass(frozen=True)
class JudgedOutputs:
    """Judgments of outputs of systems, of all tasks; arrays are ``(n_rows,)``."""

    task: list[str]
    system: list[str]
    systems: PairIndex  # task and system
    segments: PairIndex  # task and segment (item, where no segment is known)
    documents: Codes  # of segments; NO_DOCUMENT where none is named
    cells: PairIndex  # systems and segments
    judges: Codes
    criteria: Codes
    values: dict[str, Floats]  # by method; NaN does not count
    scaled: Flags  # (n_tasks,) whether a scale is declared
    rows: list[Codes]  # of each task, in their order


@dataclass(frozen=True)
class Cells:
    """Segment scores of one task and method: ``(n_cells,)``, codes local to the task."""

    systems: Codes
    segments: Codes
    scores: Floats
    n_judgments: Codes


@dataclass(frozen=True)
class TaskCells:
    """Segment scores of a task by method: what its systems are ranked by.

    Parameters
    ----------
    task
        Its name.
    systems
        Names of its systems, by their codes.
    n_segments
        Number of its segments.
    methods
        `Cells` by method, in the order of the tables.
    """

    task: str
    systems: list[str]
    n_segments: int
    methods: dict[str, Cells]


def judged_outputs(standardized: pa.Table, tasks: pa.Table) -> tuple[JudgedOutputs, dict[str, int]]:
    """Return the judgments of systems' outputs, and counts without a system, by task."""
    ordinary = standardized.filter(is_in(standardized["control"], ORDINARY))
    rows = named_outputs(ordinary)
    task, system = index(rows["task"]), index(rows["system"])
    systems = index_pairs(task.codes, system.codes)
    segments = index_pairs(task.codes, segment_codes(rows))
    is_kept, score, z = (rows[name].to_numpy() for name in ("kept", "score", "z"))
    lowest, highest = scales(task.names, tasks)
    low, high = lowest[task.codes], highest[task.codes]
    judgments = JudgedOutputs(
        task.names,
        system.names,
        systems,
        segments,
        document_codes(rows["document"]),
        index_pairs(systems.codes, segments.codes),
        index(rows["judge"]).codes,
        index(rows["criterion"], null="").codes,
        {
            "easl": np.where(is_kept, np.clip((score - low) / (high - low), 0, 1), np.nan),
            "raw_mean": score,
            "filtered_mean": np.where(is_kept, score, np.nan),
            "z_mean": np.where(is_kept, z, np.nan),
        },
        ~np.isnan(lowest),
        _by_task(task),
    )
    without = Counter(ordinary.filter(pc.is_null(ordinary["system"]))["task"].to_pylist())
    return judgments, {name: without[name] for name in task.names}


def named_outputs(rows: pa.Table) -> pa.Table:
    """Return ordinary judgments that name a system, in their order."""
    of_systems = pc.and_(is_in(rows["control"], ORDINARY), pc.is_valid(rows["system"]))
    return rows.filter(of_systems)


def segment_codes(rows: pa.Table) -> Codes:
    """Return codes of segments; an item without one is a segment of its own, whatever its name."""
    without = pc.is_null(rows["segment"])
    items = index(rows["item"].filter(without))
    segments = index(rows["segment"].filter(pc.invert(without)))
    codes = np.empty(rows.num_rows, np.int64)
    codes[without.to_numpy()] = items.codes
    codes[~without.to_numpy()] = len(items.names) + segments.codes
    return codes


def segment_keys(rows: pa.Table) -> pa.ChunkedArray:
    """Return names of segments, and of items without one, that are as different as their codes."""
    segment, item = (rows[name].cast(TEXT) for name in ("segment", "item"))
    return pc.if_else(
        segment.is_valid(),
        pc.binary_join_element_wise("segment", segment, " "),
        pc.binary_join_element_wise("item", item, " "),
    )


def document_codes(documents: pa.ChunkedArray) -> Codes:
    """Return codes of the names of documents; `NO_DOCUMENT` where there is none."""
    is_named = documents.is_valid()
    codes = np.full(len(documents), NO_DOCUMENT)
    codes[is_named.to_numpy()] = index(documents.filter(is_named)).codes
    return codes


def segment_clusters(judgments: JudgedOutputs, task: int) -> Codes | None:
    """Return the cluster of each segment of a task; None if none of them names a document."""
    rows, first = judgments.rows[task], _span(judgments.segments.first, task).start
    segments = judgments.segments.codes[rows] - first
    return document_clusters(segments, judgments.documents[rows], n_segments(judgments, task))


def _by_task(task: Index) -> list[Codes]:
    order = np.argsort(task.codes, kind="stable")
    sizes = np.bincount(task.codes, minlength=len(task.names))
    return np.split(order, np.cumsum(sizes))[:-1]


def methods_of(judgments: JudgedOutputs, task: int) -> list[str]:
    """Return the methods that the task allows: without a scale there is no EASL."""
    return [method for method in METHODS if method != "easl" or judgments.scaled[task]]


def system_names(judgments: JudgedOutputs, task: int) -> list[str]:
    """Return the names of a task's systems, by their codes in it."""
    codes = judgments.systems.second[_span(judgments.systems.first, task)]
    return [judgments.system[code] for code in codes]


def n_segments(judgments: JudgedOutputs, task: int) -> int:
    """Return the number of segments of a task."""
    span = _span(judgments.segments.first, task)
    return int(span.stop - span.start)


def segment_scores(
    judgments: JudgedOutputs, task: int, method: str, standardize: Standardize
) -> Cells:
    """Return the segment scores of one task; those without a judgment that counts are left out."""
    rows, cells, first = rows_of(judgments, task)
    means = cell_means(
        judgments.cells.codes[rows] - first,
        judgments.values[method][rows],
        n_cells=cells.stop - cells.start,
        criteria=None if method == "easl" else judgments.criteria[rows],
    )
    return cells_of(*local_codes(judgments, task, cells), means, standardize)


def cells_of(systems: Codes, segments: Codes, means: CellMeans, standardize: Standardize) -> Cells:
    """Return the cells that have a score, rounded so that equal scores are equal."""
    some = means.n > 0
    as_equal = printed if standardize.arithmetic == "wmt" else comparable
    return Cells(systems[some], segments[some], as_equal(means.mean[some]), means.n[some])


def task_cells(judgments: JudgedOutputs, task: int, standardize: Standardize) -> TaskCells:
    """Return the segment scores of one task, by all methods that it allows."""
    return TaskCells(
        judgments.task[task],
        system_names(judgments, task),
        n_segments(judgments, task),
        {
            method: segment_scores(judgments, task, method, standardize)
            for method in methods_of(judgments, task)
        },
    )


def rows_of(judgments: JudgedOutputs, task: int) -> tuple[Codes, slice, int]:
    """Return the rows of a task, its cells, and the first of them."""
    systems = _span(judgments.systems.first, task)
    ends = np.searchsorted(judgments.cells.first, [systems.start, systems.stop])
    start, stop = ends.tolist()
    return judgments.rows[task], slice(start, stop), start


def local_codes(judgments: JudgedOutputs, task: int, cells: slice) -> tuple[Codes, Codes]:
    """Return the codes of systems and segments of a task's cells, from 0 in the task."""
    systems = judgments.cells.first[cells] - _span(judgments.systems.first, task).start
    segments = judgments.cells.second[cells] - _span(judgments.segments.first, task).start
    return systems, segments


def _span(tasks: Codes, task: int) -> slice:
    """Return the slice of a task in rising codes of tasks."""
    start, stop = np.searchsorted(tasks, [task, task + 1]).tolist()
    return slice(start, stop)
