"""z-scores of a task that is too large for one job: its items come in blocks.

A block is a file of judgments of whole items (runtime.partitions). What does not belong here: how
judges are measured and scores standardised, which is the same for any blocks (standardize_scores).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa

from annot_pipeline.config import Standardize
from annot_pipeline.runtime.blocks import StoredBlocks, dump, load
from annot_pipeline.runtime.context import Document, StageContext
from annot_pipeline.runtime.partitions import InputPartition, WritePartition, write_partition
from annot_pipeline.stages.gold.described_items import listed_of
from annot_pipeline.stages.scores.standardize_scores import (
    JUDGE_SCORES,
    Standardization,
    standardize_metrics,
    standardized_rows,
    takes_part,
)
from annot_pipeline.storage.tables import StoredTable, TableFile, read_verified

STANDARDIZATION = "standardization"
"""The file of a task that holds its `Standardization`."""


def standardized_in_blocks(
    context: StageContext, folder: Path, inputs: InputPartition, tasks: pa.Table, items: StoredTable
) -> list[WritePartition]:
    """Measure the judges of all blocks; return a callable for each block that writes its rows.

    Parameters
    ----------
    folder
        For files that are deleted when the stage ends.
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

    def open_blocks(columns: Sequence[str]) -> StoredBlocks[pa.Table]:
        opened = [partial(_rows, table, columns, tasks) for table in tables]
        return StoredBlocks(context, folder, opened)

    of_judges = Standardization.from_blocks(
        open_blocks, tasks, settings, context.sizes.task_judgments
    )
    dump(folder / STANDARDIZATION, of_judges)
    return [
        partial(
            _standardize, partial(_rows, table, context.columns["controlled"], tasks), tasks,
            settings, folder / STANDARDIZATION, items, is_first=position == 0,
        )
        for position, table in enumerate(tables)
    ]  # fmt: skip


def _rows(table: StoredTable, columns: Sequence[str], tasks: pa.Table) -> pa.Table:
    read = read_verified(table, columns)
    return read.filter(takes_part(read, tasks))


def _standardize(
    opened: Callable[[], pa.Table],
    tasks: pa.Table,
    settings: Standardize,
    standardization: Path,
    items: StoredTable,
    folder: Path,
    key: str,
    *,
    is_first: bool,
) -> tuple[Mapping[str, TableFile], Document]:
    """Standardise a block; the first block writes the rows of judges too."""
    of_judges: Standardization = load(standardization)
    rows = opened()
    standardized = standardized_rows(rows, tasks, of_judges, listed_of(items, [rows]), settings)
    judge_scores = of_judges.judge_scores if is_first else JUDGE_SCORES.empty_table()
    files = {
        name: write_partition(folder, name, key, partial(iter, [table]))
        for name, table in (("standardized", standardized), ("judge_scores", judge_scores))
    }
    without_z = of_judges.without_z if is_first else []
    return files, standardize_metrics(standardized, without_z).document()
