"""Scores of systems as blocks of whole segments and documents, for adjusted scores.

Several criteria of one output are one score: the mean over criteria of what the judge gave, each
criterion less its own mean, so that an output of which a criterion is missing is no better for it.
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.numerics.moments import means, sums
from annot_pipeline.methods.rankings.document_clusters import document_clusters
from annot_pipeline.methods.rankings.score_block import ScoreBlock
from annot_pipeline.runtime.blocks import StoredBlocks
from annot_pipeline.runtime.context import StageContext
from annot_pipeline.runtime.indexing import index, is_in
from annot_pipeline.stages.scores.judge_sums import ORDINARY
from annot_pipeline.stages.scores.segment_scores import named_outputs, segment_codes, segment_keys
from annot_pipeline.storage.tables import StoredTable, read_verified

SCORED = ("item", "segment", "system", "criterion", "judge", "control", "kept", "score")
"""Columns of ``standardized`` that blocks are made of."""
PIECE = pa.schema(
    [(name, pa.string()) for name in ("segment", "item", "cluster", "judge", "system", "criterion")]
    + [("score", pa.float64())]
)
CLUSTERS = pa.schema([("segment", TEXT), ("cluster", TEXT)])
"""One row is a segment with a document; segments of one cluster have one name of it."""


def criterion_sums(criteria: Codes, scores: Floats) -> Floats:
    """Return sums of scores and their number by criterion, ``(2, n_criteria)``."""
    n = int(criteria.max(initial=-1)) + 1
    return np.stack([sums(criteria, scores, n_groups=n), np.bincount(criteria, minlength=n)])


def score_block(
    segments: Codes,
    judges: Codes,
    systems: Codes,
    criteria: Codes,
    scores: Floats,
    sizes: tuple[int, int, int],
    by_criterion: Floats,
    clusters: Codes | None = None,
) -> ScoreBlock:
    """Return scores of judges kept as a block; arrays are ``(n_scores,)``.

    Parameters
    ----------
    segments, judges, systems, criteria, scores
        Codes and points.
    sizes
        Segments, judges, systems.
    by_criterion
        As `criterion_sums` gives them, of the whole task.
    clusters
        ``(n_segments,)`` codes of documents; None where no segment has one.
    """
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


def segment_cluster_names(documents: pa.Table) -> pa.Table:
    """Return names of clusters by segment, of one task; without rows if it names no document.

    Parameters
    ----------
    documents
        ``segment``, ``document``: as `cell_sums.document_names` gives them, of all blocks.
    """
    segment, document = index(documents["segment"]), index(documents["document"])
    clusters = document_clusters(segment.codes, document.codes, len(segment.names))
    if clusters is None:
        return CLUSTERS.empty_table()
    names = pa.array([f"document {code}" for code in clusters.tolist()], TEXT)
    return pa.table([pa.array(segment.names, TEXT), names], schema=CLUSTERS)


def stored_score_blocks(
    context: StageContext,
    folder: Path,
    tables: Sequence[StoredTable],
    systems: Sequence[str],
    clusters: pa.Table,
) -> Blocks[ScoreBlock]:
    """Return the scores of a task that lies in blocks of items as blocks of segments.

    Parameters
    ----------
    folder
        For files that are of no use when the stage has ended.
    tables
        ``standardized`` of each block of items.
    systems
        Of the task; none: each item is a segment of one system.
    clusters
        As `segment_cluster_names` gives them.
    """
    paths = [folder / f"scores-{n}.arrow" for n in range(len(tables))]
    blocks = StoredBlocks[pa.Table](
        context, folder, [partial(read_verified, table, SCORED) for table in tables]
    )
    has_systems = bool(systems)
    names = blocks.map(_cut, len(tables), has_systems, clusters, each=paths)
    judges, criteria = (sorted(set().union(*column)) for column in zip(*names, strict=True))
    pieces = StoredBlocks[pa.Table](
        context, folder, [partial(_piece, paths, n) for n in range(len(paths))]
    )
    criterion_totals = pieces.sum(_criterion_sums, criteria)
    return pieces.keep(
        _coded, judges, list(systems) or [""], criteria, criterion_totals, clusters.num_rows > 0
    )


def whole_block(rows: pa.Table) -> ScoreBlock:
    """Return scores of judges kept of one task without systems as one block; items are segments."""
    piece = _piece_rows(rows, has_systems=False)
    judges, criteria = (
        sorted(pc.unique(piece[name]).to_pylist()) for name in ("judge", "criterion")
    )
    totals = _criterion_sums(piece, criteria)
    return _coded(piece, judges, [""], criteria, totals, has_documents=False)


def _piece_rows(rows: pa.Table, *, has_systems: bool) -> pa.Table:
    """Return scores as `PIECE`; without systems, each item is a segment of one system."""
    item, segment, system = (rows[name].cast(TEXT) for name in ("item", "segment", "system"))
    if has_systems:
        item = pc.if_else(segment.is_valid(), None, item)
    else:
        segment, system = pa.nulls(rows.num_rows, TEXT), pa.repeat("", rows.num_rows)
    columns = {
        "segment": segment, "item": item, "cluster": pa.nulls(rows.num_rows, TEXT),
        "judge": rows["judge"].cast(TEXT), "system": system,
        "criterion": rows["criterion"].cast(TEXT).fill_null(""), "score": rows["score"],
    }  # fmt: skip
    return pa.table(columns).cast(PIECE)


def _cut(
    rows: pa.Table, path: Path, n_pieces: int, has_systems: bool, clusters: pa.Table
) -> tuple[set[str], set[str]]:
    """Write the scores of judges kept by piece of whole clusters of segments.

    Return the names of judges and criteria.
    """
    counted = rows.filter(pc.and_(rows["kept"], is_in(rows["control"], ORDINARY)))
    table = _piece_rows(named_outputs(counted) if has_systems else counted, has_systems=has_systems)
    if clusters.num_rows:
        table = _with_clusters(table, clusters)
    cluster = index(pc.coalesce(table["cluster"], table["segment"], table["item"]))
    piece = np.array([zlib.crc32(name.encode()) % n_pieces for name in cluster.names], np.int64)
    order = np.argsort(piece[cluster.codes], kind="stable")
    ends = np.cumsum(np.bincount(piece[cluster.codes], minlength=n_pieces)).tolist()
    table = table.take(pa.array(order, pa.int64())).combine_chunks()
    temporary = path.with_name(f".tmp-{uuid.uuid4().hex}")  # two machines may do the same job
    with pa.OSFile(str(temporary), "wb") as file, pa.ipc.new_file(file, PIECE) as writer:
        for start, end in zip([0, *ends], ends, strict=False):
            part = table.slice(start, end - start)
            batches = part.to_batches() or [pa.RecordBatch.from_pylist([], schema=PIECE)]
            writer.write_batch(batches[0])
    temporary.replace(path)
    return {*pc.unique(table["judge"]).to_pylist()}, {*pc.unique(table["criterion"]).to_pylist()}


def _with_clusters(table: pa.Table, clusters: pa.Table) -> pa.Table:
    """Return scores with the cluster of each; a segment without a document has its own."""
    keys = segment_keys(table)
    cluster = (
        clusters["cluster"]
        .combine_chunks()
        .take(pc.index_in(keys.combine_chunks(), clusters["segment"].combine_chunks()))
    )
    at = table.schema.get_field_index("cluster")
    return table.set_column(at, "cluster", pc.coalesce(cluster, keys))


def _piece(paths: Sequence[Path], number: int) -> pa.Table:
    """Return a piece of segments from all blocks."""
    batches = []
    for path in paths:
        with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
            batches.append(reader.get_batch(number))
    return pa.Table.from_batches(batches, schema=PIECE)


def _criterion_sums(rows: pa.Table, criteria: Sequence[str]) -> Floats:
    codes = _codes(rows["criterion"], criteria)
    one_each = np.arange(len(criteria))  # so that the shape is that of all criteria
    totals = criterion_sums(
        np.append(codes, one_each), np.append(rows["score"].to_numpy(), np.zeros(one_each.size))
    )
    totals[1] -= 1
    return totals


def _coded(
    rows: pa.Table,
    judges: Sequence[str],
    systems: Sequence[str],
    criteria: Sequence[str],
    by_criterion: Floats,
    has_documents: bool,
) -> ScoreBlock:
    """Return a piece as a block, with the codes of the whole task."""
    codes = segment_codes(rows)
    segments = np.unique(codes, return_inverse=True)
    clusters = None
    if has_documents:
        _, first = np.unique(codes, return_index=True)
        clusters = index(rows["cluster"]).codes[first]
    return score_block(
        segments[1].reshape(-1), _codes(rows["judge"], judges), _codes(rows["system"], systems),
        _codes(rows["criterion"], criteria), rows["score"].to_numpy(),
        (segments[0].size, len(judges), len(systems)), by_criterion, clusters,
    )  # fmt: skip


def _codes(column: pa.ChunkedArray, names: Sequence[str]) -> Codes:
    codes: Codes = pc.index_in(column, pa.array(names, TEXT)).to_numpy().astype(np.int64)
    return codes
