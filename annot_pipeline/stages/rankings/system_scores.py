"""Scores of the systems of one task: segment scores by method, and scores by judge and segment.

A cell is a system's output of a segment; an item without a segment is a segment of its own.
Several criteria of one output are one score: in cells the mean over its criteria (cell_means), in
scores by judge the mean over criteria of what the judge gave, each criterion less its own mean, so
that an output of which a criterion is missing is no better for it. All is written over blocks of
items: cells are sums over them, and scores by judge are put into blocks of whole segments and
documents (`Blocks.regroup`).
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.config import Standardize
from annot_pipeline.contracts import ORDINARY, TEXT
from annot_pipeline.methods.numerics.blocks import Blocks, InMemoryBlocks
from annot_pipeline.methods.numerics.distinct import linked_groups
from annot_pipeline.methods.numerics.moments import Additive, means, sums
from annot_pipeline.methods.numerics.rounding import comparable
from annot_pipeline.methods.rankings.cluster_variance import document_clusters
from annot_pipeline.methods.rankings.score_block import ScoreBlock
from annot_pipeline.methods.scores.cell_means import CellMeans, cell_means
from annot_pipeline.methods.scores.zscores import printed
from annot_pipeline.runtime.coded_task import NONE, CodedTask
from annot_pipeline.runtime.indexing import index_pairs, is_in

METHODS = ("easl", "filtered_mean", "raw_mean", "z_mean")
"""In the order of the tables."""
NAMES = ("system", "segment", "item", "criterion")
"""What a row of sums is named by; the item names it where no segment is known."""
MOST_CELLS = 4_000_000
"""Segments times systems of a block, which has tables of that size."""

Scale = tuple[float, float] | None


@dataclass(frozen=True)
class Cells:
    """Segment scores by one method: ``(n_cells,)`` codes of systems and segments, and scores."""

    systems: Codes
    segments: Codes
    scores: Floats
    n_judgments: Codes


@dataclass(frozen=True)
class ScoreCounts(Additive):
    """Counts of scores of judges kept.

    Parameters
    ----------
    judgments, segments
        ``(K,)`` of each system.
    segments_of_judge
        ``(n_judges,)``.
    """

    judgments: Floats
    segments: Floats
    segments_of_judge: Floats

    @property
    def by_system(self) -> tuple[Codes, Codes]:
        """Return segments and judgments of each system."""
        return self.segments.astype(np.int64), self.judgments.astype(np.int64)


@dataclass(frozen=True)
class SystemScores:
    """Scores of the systems of one task, as ranking methods take them.

    Parameters
    ----------
    task
        Its name.
    names
        ``(K,)`` systems in code point order; empty: the task names none, and all items are outputs
        of one.
    n_segments
        Number of segments.
    cells
        `Cells` by descriptive method, in the order of the tables.
    blocks
        Scores of judges kept.
    n_kept
        Ordinary judgments of judges kept.
    n_without_system
        Ordinary judgments that name no system.
    """

    task: str
    names: list[str]
    n_segments: int
    cells: dict[str, Cells]
    blocks: Blocks[ScoreBlock]
    n_kept: int
    n_without_system: int

    @classmethod
    def from_blocks(
        cls, task: str, judgments: Blocks[pa.Table], scale: Scale, standardize: Standardize
    ) -> SystemScores:
        """Return the scores of a task.

        Parameters
        ----------
        task
            Its name.
        judgments
            ``standardized`` of the task, in blocks of whole items.
        scale
            Its ends; None: there is none, and no EASL.
        standardize
            Its ``arithmetic`` decides which segment scores count as equal.
        """
        n_kept, n_without, parts, documents = zip(*judgments.map(_scan, task, scale), strict=True)
        sums_of_parts = CodedTask(task, pa.concat_tables(parts).unify_dictionaries())
        names = sums_of_parts["system"].names
        n_segments, cells = _cells(sums_of_parts, standardize, has_scale=scale is not None)
        blocks = _score_blocks(judgments, names, _clusters(pa.concat_tables(documents)))
        return cls(task, names, n_segments, cells, blocks, sum(n_kept), sum(n_without))

    @cached_property
    def counts(self) -> ScoreCounts:
        """Return counts of scores of judges kept."""
        return self.blocks.sum(_counts)

    @cached_property
    def shares_documents(self) -> bool:
        """Return whether several segments are of one document."""
        return any(self.blocks.map(_shares_documents))

    @cached_property
    def connected(self) -> Codes:
        """Return components of systems that judges connect; -1 without judgments of judges kept."""
        pairs = np.concatenate(self.blocks.map(_judge_systems), axis=1)
        component = linked_groups(pairs[1], pairs[0], len(self.names))
        without = np.ones(component.size, np.bool_)
        without[pairs[1]] = False
        component = np.where(without, -1, component)
        return np.unique(np.append(component, -1), return_inverse=True)[1].reshape(-1)[:-1] - 1


def _segments(rows: CodedTask) -> Codes:
    """Return codes of segments; an item without one is a segment of its own, whatever its name."""
    segment = rows["segment"].codes
    if (segment != NONE).all():
        return segment
    return np.where(segment == NONE, rows["item"].codes, rows.n("item") + segment)


def _segment_keys(rows: pa.Table) -> pa.ChunkedArray:
    """Return names of segments, and of items without one, that are as different as their codes."""
    segment, item = (rows[name].cast(TEXT) for name in ("segment", "item"))
    return pc.if_else(
        segment.is_valid(),
        pc.binary_join_element_wise("segment", segment, " "),
        pc.binary_join_element_wise("item", item, " "),
    )


# --- segment scores: sums over blocks of items ----------------------------------------------


def _scan(judgments: pa.Table, task: str, scale: Scale) -> tuple[int, int, pa.Table, pa.Table]:
    """Return what a block adds to cells and clusters.

    Returns
    -------
    n_kept, n_without_system, sums, documents
        ``sums`` has `NAMES`, and by method the sum of the values and their number; a row is an
        output of a system for a segment, and one of its criteria. ``documents`` are the documents
        of segments, as `_segment_keys` names these.
    """
    ordinary = judgments.filter(is_in(judgments["control"], ORDINARY))
    table = ordinary.filter(pc.is_valid(ordinary["system"]))
    rows = CodedTask(task, table)
    cells = index_pairs(rows["system"].codes, _segments(rows))
    parts = index_pairs(cells.codes, rows["criterion"].codes + 1)
    first = np.unique(parts.codes, return_index=True)[1]
    columns = {name: table[name].take(pa.array(first)) for name in NAMES}
    for method, values in _values(rows, scale).items():
        scored = np.flatnonzero(~np.isnan(values))
        columns[f"{method}_sum"] = sums(parts.codes[scored], values[scored], n_groups=first.size)
        columns[f"{method}_n"] = np.bincount(parts.codes[scored], minlength=first.size)
    named = table.filter(table["document"].is_valid())
    documents = pa.table(
        {"segment": _segment_keys(named), "document": named["document"].cast(TEXT)}
    )
    return (
        pc.sum(ordinary["kept"]).as_py() or 0,
        ordinary.num_rows - table.num_rows,
        pa.table(columns),
        documents.group_by(["segment", "document"]).aggregate([]),
    )


def _values(rows: CodedTask, scale: Scale) -> dict[str, Floats]:
    """Return the value of each judgment by method; NaN does not count."""
    is_kept, score = rows.flags("kept"), rows.numbers("score")
    values = {
        "filtered_mean": np.where(is_kept, score, np.nan),
        "raw_mean": score,
        "z_mean": np.where(is_kept, rows.numbers("z"), np.nan),
    }
    if scale is None:
        return values
    on_unit = np.clip((score - scale[0]) / (scale[1] - scale[0]), 0, 1)
    return {"easl": np.where(is_kept, on_unit, np.nan)} | values


def _cells(
    rows: CodedTask, standardize: Standardize, *, has_scale: bool
) -> tuple[int, dict[str, Cells]]:
    """Return the number of segments and the cells by method, of sums of all blocks.

    Scores are rounded so that equal scores are equal.
    """
    as_equal = printed if standardize.arithmetic == "wmt" else comparable
    segments = np.unique(_segments(rows), return_inverse=True)
    cells = index_pairs(rows["system"].codes, segments[1].reshape(-1))
    parts = index_pairs(cells.codes, rows["criterion"].codes + 1)
    n_cells = cells.first.size

    def means_by(method: str) -> CellMeans:
        # an output may lie in two blocks, under two names of items
        total, n = (
            np.bincount(parts.codes, rows.numbers(f"{method}_{what}"), parts.first.size).astype(
                np.float64
            )
            for what in ("sum", "n")
        )
        n_of_cell = np.bincount(parts.first, n, n_cells)
        with np.errstate(invalid="ignore"):
            if method == "easl":  # a mean over judgments, of whichever criterion
                mean = sums(parts.first, total, n_groups=n_cells) / n_of_cell
            else:
                mean = cell_means(parts.first, total / n, n_cells=n_cells).mean
        return CellMeans(mean, n_of_cell.astype(np.int64))

    by_method = {}
    for method in METHODS:
        if has_scale or method != "easl":
            scored = means_by(method)
            some = scored.n > 0
            by_method[method] = Cells(
                cells.first[some], cells.second[some], as_equal(scored.mean[some]), scored.n[some]
            )
    return segments[0].size, by_method


# --- scores by judge, in blocks of whole segments and documents ------------------------------


def _clusters(documents: pa.Table) -> pa.Table:
    """Return the ``cluster`` of each ``segment`` with a document; without rows if none has one."""
    rows = CodedTask("", documents)
    clusters = document_clusters(rows["segment"].codes, rows["document"].codes, rows.n("segment"))
    names = [] if clusters is None else [f"document {code}" for code in clusters.tolist()]
    segments = pa.array(rows["segment"].names if names else [], TEXT)
    return pa.table({"segment": segments, "cluster": pa.array(names, TEXT)})


def _score_blocks(
    judgments: Blocks[pa.Table], systems: Sequence[str], clusters: pa.Table
) -> Blocks[ScoreBlock]:
    """Return the scores of judges kept in blocks of whole clusters of segments.

    Where the task names no system, each item is a segment of one system.
    """
    pieces = judgments.regroup(_cut, pa.concat_tables, bool(systems), clusters)
    used = pieces.map(_used_names)
    judges, criteria = (sorted(set().union(*names)) for names in zip(*used, strict=True))
    totals = pieces.sum(_criterion_sums, criteria)
    blocks = pieces.keep(_score_block, list(systems) or [""], judges, criteria, totals, clusters)
    if not isinstance(blocks, InMemoryBlocks):
        return blocks
    most = max(MOST_CELLS // max(len(systems), 1), 1)
    return InMemoryBlocks([part for block in blocks.blocks for part in block.split(most)])


def _cut(
    judgments: pa.Table, n_pieces: int, has_systems: bool, clusters: pa.Table
) -> list[pa.Table]:
    """Return the scores of judges kept in pieces of whole clusters."""
    counts = pc.and_(judgments["kept"], is_in(judgments["control"], ORDINARY))
    if has_systems:
        counts = pc.and_(counts, pc.is_valid(judgments["system"]))
    rows = judgments.filter(counts)
    n = rows.num_rows
    segment, item, system = rows["segment"], rows["item"], rows["system"]
    if not has_systems:
        segment, system = pa.nulls(n, TEXT), pa.repeat(pa.scalar("", TEXT), n)
    table = pa.table(
        {
            "segment": segment, "item": item, "system": system, "judge": rows["judge"],
            "criterion": rows["criterion"], "score": rows["score"],
        }
    )  # fmt: skip
    if n_pieces == 1:
        return [table]
    keys = pc.coalesce(table["segment"].cast(TEXT), table["item"].cast(TEXT))
    if clusters.num_rows:
        keys = _segment_keys(table)
        named = clusters["cluster"].combine_chunks().take(_positions(keys, clusters["segment"]))
        keys = pc.coalesce(named, keys)
    cluster = CodedTask("", pa.table({"name": keys}))["name"]
    piece = np.array([zlib.crc32(name.encode()) % n_pieces for name in cluster.names], np.int64)
    of_row = piece[cluster.codes]
    return [table.filter(pa.array(of_row == number)) for number in range(n_pieces)]


def _positions(keys: pa.ChunkedArray, names: pa.ChunkedArray) -> pa.Array:
    return pc.index_in(keys, names.combine_chunks()).combine_chunks()


def _used_names(piece: pa.Table) -> tuple[set[str], set[str]]:
    """Return the names of judges and criteria; no criterion is one of the name ''."""
    rows = CodedTask("", piece)
    return {*rows["judge"].names}, {*rows.names_or_none("criterion")}


def _criterion_sums(piece: pa.Table, criteria: Sequence[str]) -> Floats:
    """Return sums of scores and their number by criterion, ``(2, n_criteria)``."""
    rows, n = CodedTask("", piece), len(criteria)
    codes = rows.codes_among("criterion", criteria)
    return np.stack(
        [sums(codes, rows.numbers("score"), n_groups=n), np.bincount(codes, minlength=n)]
    )


def _score_block(
    piece: pa.Table,
    systems: Sequence[str],
    judges: Sequence[str],
    criteria: Sequence[str],
    by_criterion: Floats,
    clusters: pa.Table,
) -> ScoreBlock:
    """Return a piece as a block, with the codes of the whole task."""
    rows = CodedTask("", piece)
    segments, first, codes = np.unique(_segments(rows), return_index=True, return_inverse=True)
    of_segments = None
    if clusters.num_rows:
        positions = _positions(_segment_keys(piece.take(pa.array(first))), clusters["segment"])
        own_cluster = clusters.num_rows + np.arange(first.size)
        cluster = CodedTask("", clusters)["cluster"].codes
        at = pc.fill_null(positions, 0).to_numpy()
        of_segments = np.where(positions.is_valid().to_numpy(False), cluster[at], own_cluster)
    return _block(
        codes.reshape(-1), rows.codes_among("judge", judges), rows.codes_among("system", systems),
        rows.codes_among("criterion", criteria), rows.numbers("score"),
        (segments.size, len(judges), len(systems)), by_criterion, of_segments,
    )  # fmt: skip


def _block(
    segments: Codes,
    judges: Codes,
    systems: Codes,
    criteria: Codes,
    scores: Floats,
    sizes: tuple[int, int, int],
    by_criterion: Floats,
    clusters: Codes | None,
) -> ScoreBlock:
    """Return scores as a block; criteria of one output and judge become one score."""
    n_criteria = by_criterion.shape[1]
    if n_criteria > 1:
        criterion_means = by_criterion[0] / np.maximum(by_criterion[1], 1)
        scores = scores - criterion_means[criteria] + criterion_means.mean()
        key = (segments * sizes[1] + judges) * sizes[2] + systems
        outputs, output = np.unique(key, return_inverse=True)
        part = output.reshape(-1) * n_criteria + criteria
        parts, codes = np.unique(part, return_inverse=True)
        of_part = means(codes.reshape(-1), scores, n_groups=parts.size)
        scores = means(parts // n_criteria, of_part, n_groups=outputs.size)
        rest, systems = np.divmod(outputs, max(sizes[2], 1))
        segments, judges = np.divmod(rest, max(sizes[1], 1))
    return ScoreBlock.from_rows(segments, judges, systems, scores, sizes, clusters)


# --- counts of blocks ------------------------------------------------------------------------


def _counts(block: ScoreBlock) -> ScoreCounts:
    def nonzero(counts: Any) -> Floats:
        return np.bincount(counts.indices, minlength=counts.shape[1]).astype(np.float64)

    judgments = np.bincount(block.systems, minlength=block.n_systems).astype(np.float64)
    return ScoreCounts(judgments, nonzero(block.segment_systems), nonzero(block.segment_judges))


def _shares_documents(block: ScoreBlock) -> bool:
    return block.n_clusters < block.n_segments


def _judge_systems(block: ScoreBlock) -> Codes:
    """Return the distinct judges and systems of a block, ``(2, n)``."""
    codes = np.unique(block.judges * block.n_systems + block.systems)
    return np.stack(np.divmod(codes, max(block.n_systems, 1)))
