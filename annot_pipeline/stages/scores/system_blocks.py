"""Scores of systems as blocks of whole segments, for adjusted scores.

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
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.numerics.moments import means, sums
from annot_pipeline.methods.rankings.score_block import ScoreBlock
from annot_pipeline.runtime.blocks import StoredBlocks
from annot_pipeline.runtime.context import StageContext
from annot_pipeline.runtime.indexing import index, is_in
from annot_pipeline.stages.scores.judge_sums import ORDINARY
from annot_pipeline.stages.scores.segment_scores import named_outputs, segment_codes
from annot_pipeline.storage.tables import StoredTable, read_unharmed

SCORED = ("item", "segment", "system", "criterion", "judge", "control", "kept", "score")
"""Columns of ``standardized`` that blocks are made of."""
PIECE = pa.schema(
    [(name, pa.string()) for name in ("segment", "item", "judge", "system", "criterion")]
    + [("score", pa.float64())]
)

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


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
    return ScoreBlock.from_rows(segments, judges, systems, scores, sizes)


def stored_score_blocks(
    context: StageContext, folder: Path, tables: Sequence[StoredTable], systems: Sequence[str]
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
    """
    paths = [folder / f"scores-{n}.arrow" for n in range(len(tables))]
    blocks = StoredBlocks[pa.Table](
        context, folder, [partial(read_unharmed, table, SCORED) for table in tables]
    )
    has_systems = bool(systems)
    names = blocks.map(_cut, len(tables), has_systems, each=paths)
    judges, criteria = (sorted(set().union(*column)) for column in zip(*names, strict=True))
    pieces = StoredBlocks[pa.Table](
        context, folder, [partial(_piece, paths, n) for n in range(len(paths))]
    )
    criterion_totals = pieces.sum(_criterion_sums, criteria)
    return pieces.keep(_coded, judges, list(systems) or [""], criteria, criterion_totals)


def whole_block(rows: pa.Table) -> ScoreBlock:
    """Return scores of judges kept of one task without systems as one block; items are segments."""
    piece = _piece_rows(rows, has_systems=False)
    judges, criteria = (
        sorted(pc.unique(piece[name]).to_pylist()) for name in ("judge", "criterion")
    )
    return _coded(piece, judges, [""], criteria, _criterion_sums(piece, criteria))


def _piece_rows(rows: pa.Table, *, has_systems: bool) -> pa.Table:
    """Return scores as `PIECE`; without systems, each item is a segment of one system."""
    item, segment, system = (rows[name].cast(TEXT) for name in ("item", "segment", "system"))
    if has_systems:
        item = pc.if_else(segment.is_valid(), None, item)
    else:
        segment, system = pa.nulls(rows.num_rows, TEXT), pa.repeat("", rows.num_rows)
    columns = {
        "segment": segment, "item": item, "judge": rows["judge"].cast(TEXT), "system": system,
        "criterion": rows["criterion"].cast(TEXT).fill_null(""), "score": rows["score"],
    }  # fmt: skip
    return pa.table(columns).cast(PIECE)


def _cut(rows: pa.Table, path: Path, n_pieces: int, has_systems: bool) -> tuple[set[str], set[str]]:
    """Write the scores of judges kept by piece of segments; the names of judges and criteria."""
    counted = rows.filter(pc.and_(rows["kept"], is_in(rows["control"], ORDINARY)))
    table = _piece_rows(named_outputs(counted) if has_systems else counted, has_systems=has_systems)
    segment = index(pc.coalesce(table["segment"], table["item"]))
    piece = np.array([zlib.crc32(name.encode()) % n_pieces for name in segment.names], np.int64)
    order = np.argsort(piece[segment.codes], kind="stable")
    ends = np.cumsum(np.bincount(piece[segment.codes], minlength=n_pieces)).tolist()
    table = table.take(pa.array(order, pa.int64())).combine_chunks()
    temporary = path.with_name(f".tmp-{uuid.uuid4().hex}")  # two machines may do the same job
    with pa.OSFile(str(temporary), "wb") as file, pa.ipc.new_file(file, PIECE) as writer:
        for start, end in zip([0, *ends], ends, strict=False):
            part = table.slice(start, end - start)
            batches = part.to_batches() or [pa.RecordBatch.from_pylist([], schema=PIECE)]
            writer.write_batch(batches[0])
    temporary.replace(path)
    return {*pc.unique(table["judge"]).to_pylist()}, {*pc.unique(table["criterion"]).to_pylist()}


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
) -> ScoreBlock:
    """Return a piece as a block, with the codes of the whole task."""
    segments = np.unique(segment_codes(rows), return_inverse=True)
    return score_block(
        segments[1].reshape(-1), _codes(rows["judge"], judges), _codes(rows["system"], systems),
        _codes(rows["criterion"], criteria), rows["score"].to_numpy(),
        (segments[0].size, len(judges), len(systems)), by_criterion,
    )  # fmt: skip


def _codes(column: pa.ChunkedArray, names: Sequence[str]) -> Codes:
    codes: Codes = pc.index_in(column, pa.array(names, TEXT)).to_numpy().astype(np.int64)
    return codes
