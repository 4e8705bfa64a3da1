"""z-scores of a task that is too large for one job: its items come in blocks.

A block is a file of judgments of whole items (runtime.partitions). What judges' means and standard
deviations are made of is asked of all blocks and added up in their order
(stages.scores.judge_sums); then each block is standardised. Runs of equal scores follow a judge
through all blocks: they are looked for some judges at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Standardize
from annot_pipeline.contracts import INT
from annot_pipeline.runtime.blocks import StoredBlocks, dump, load
from annot_pipeline.runtime.context import Document, StageContext
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.runtime.partitions import InputPartition, Make, write_partition
from annot_pipeline.stages.comparisons.runs_of_work import longest_runs, order_is_told
from annot_pipeline.stages.gold.described_items import listed_of
from annot_pipeline.stages.scores.judge_sums import (
    Judges,
    ScoreBlock,
    judge_moments,
    kept_of_judges,
    n_of_judges,
)
from annot_pipeline.stages.scores.standardize_scores import (
    JUDGE_SCORES,
    judge_rows,
    judges_without_z,
    standardize_metrics,
    standardized_rows,
    takes_part,
)
from annot_pipeline.storage.tables import StoredTable, TableFile, read_verified

Codes = npt.NDArray[np.int64]

SUMMED = ("task", "judge", "judge_id", "control", "criterion", "score", "fate")
"""What sums over judges are made of."""
SUMS = "sums"
"""The file of a task that holds its judges, and their moments."""
TELLING = ("position", "submitted_at")
"""What tells the order in which a judge worked."""
SCANNED = ("task", "judge", "judge_id", "fate", *TELLING)
"""What judges are found by."""
RUN = ("task", "judge", "fate", "hit", "native_id", "criterion", "score", *TELLING)
"""What runs of equal scores are found by."""


def standardized_in_blocks(
    context: StageContext, folder: Path, inputs: InputPartition, tasks: pa.Table, items: StoredTable
) -> list[Make]:
    """Work out what all blocks of a task share; what makes ``standardized`` of each.

    Parameters
    ----------
    folder
        Where it may put what is of no use when the stage has ended.
    inputs
        Its judgments, ``controlled``.
    tasks
        As `standardize_scores` takes them, of this task.
    items
        What item tables say of items.
    """
    folder.mkdir(parents=True)
    settings = context.campaign.settings.standardize
    tables = [block.files["controlled"] for block in inputs.slices("controlled")]

    def blocks(columns: Sequence[str]) -> StoredBlocks[pa.Table]:
        opened = [partial(_rows, table, columns, tasks) for table in tables]
        return StoredBlocks(context, folder, opened)

    scanned = blocks(SCANNED).map(_scan)
    judges = Judges.joined([block_judges for block_judges, _ in scanned])
    scores = blocks(SUMMED).keep(ScoreBlock.from_rows, tasks, judges)
    moments = judge_moments(scores, settings)
    n = scores.sum(n_of_judges)
    is_told = any(tells_order for _, tells_order in scanned)
    runs = _runs(context, tables, tasks, n, judges) if is_told else pa.nulls(n.size, INT)
    rows = judge_rows(judges, moments, tasks, runs, settings)
    without_z = judges_without_z(rows, scores.sum(kept_of_judges))
    none: tuple[pa.Table, list[str]] = JUDGE_SCORES.empty_table(), []
    dump(folder / SUMS, (judges, moments))
    return [
        partial(
            _standardize, partial(_rows, table, context.columns["controlled"], tasks), tasks,
            settings, folder / SUMS, items, *((rows, without_z) if position == 0 else none),
        )
        for position, table in enumerate(tables)
    ]  # fmt: skip


def _rows(table: StoredTable, columns: Sequence[str], tasks: pa.Table) -> pa.Table:
    read = read_verified(table, columns)
    return read.filter(takes_part(read, tasks))


def _scan(rows: pa.Table) -> tuple[Judges, bool]:
    """Return the judges of a block, and whether anything tells the order in which they worked."""
    return Judges.from_rows(rows), bool(pc.any(order_is_told(rows)).as_py())


def _runs(
    context: StageContext,
    tables: Sequence[StoredTable],
    tasks: pa.Table,
    n: Codes,
    judges: Judges,
) -> pa.Array:
    """Return the longest runs of equal scores; ``n`` are judgments of each judge."""
    some = context.sizes.chunk_judges(dict(zip(judges.judges, n.tolist(), strict=True)))
    runs = np.concatenate(
        context.run([partial(_runs_of_some, tables, tasks, names) for names in some])
    )
    return pa.array(runs, INT, mask=runs < 0)


def _runs_of_some(tables: Sequence[StoredTable], tasks: pa.Table, judges: Sequence[str]) -> Codes:
    """Return the longest runs of some judges, in their order."""
    blocks = (_rows(table, RUN, tasks) for table in tables)
    rows = pa.concat_tables([block.filter(is_in(block["judge"], judges)) for block in blocks])
    positions = pc.index_in(rows["judge"].cast(pa.string()), pa.array(judges, pa.string()))
    codes = positions.to_numpy().astype(np.int64)
    return longest_runs(rows.unify_dictionaries(), codes, n_judges=len(judges))


def _standardize(
    opened: Callable[[], pa.Table],
    tasks: pa.Table,
    settings: Standardize,
    sums: Path,
    items: StoredTable,
    judge_scores: pa.Table,
    without_z: list[str],
    folder: Path,
    key: str,
) -> tuple[Mapping[str, TableFile], Document]:
    """Standardise a block; with the first one comes what is told of judges."""
    judges, moments = load(sums)
    block = ScoreBlock.from_rows(opened(), tasks, judges)
    standardized = standardized_rows(block, moments, listed_of(items, [block.rows]), settings)
    files = {
        name: write_partition(folder, name, key, partial(iter, [rows]))
        for name, rows in (("standardized", standardized), ("judge_scores", judge_scores))
    }
    return files, standardize_metrics(standardized, without_z).document()
