"""Scores become z-scores: a part of whole tasks is a job, a large task goes on in blocks.

Steps and their methods load in the work that needs them.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa

from annot_pipeline.config import Standardize
from annot_pipeline.config.signature import digest
from annot_pipeline.runtime.context import Document, StageContext, StageOutput
from annot_pipeline.runtime.hash_values import hash_values
from annot_pipeline.runtime.indexing import is_any
from annot_pipeline.runtime.large_tasks import BLOCKS, has_blocks, parts_of_blocks
from annot_pipeline.runtime.partitions import (
    Part,
    in_parts,
    input_parts,
    write_part,
)
from annot_pipeline.stages.gold.described_items import listed_of
from annot_pipeline.stages.scores.metrics import StandardizeMetrics
from annot_pipeline.storage.tables import (
    StoredTable,
    TableFile,
    read_unharmed,
)


def standardize_judgments(context: StageContext) -> StageOutput[StandardizeMetrics]:
    """z-scores of all scalar tasks."""
    from annot_pipeline.stages.scores.standardize_scores import COUNTED

    tasks, items = context.read("tasks"), context.inputs["item_rows"]
    listed = hash_values([context.read("item_rows")])
    settings, columns = context.campaign.settings.standardize, context.columns["controlled"]
    parts = []
    for inputs in input_parts(context, "controlled"):
        known_tasks = tasks.filter(is_any(tasks["task"], inputs.tasks))
        fingerprint = [inputs.hashes, known_tasks.to_pylist(), listed]
        if has_blocks(context, inputs, "controlled", "scalar", known_tasks, COUNTED):
            from annot_pipeline.stages.scores.standardize_blocks import standardized_in_blocks

            folder = context.folder / BLOCKS / digest(fingerprint)[:32]
            makes = partial(standardized_in_blocks, context, folder, inputs, known_tasks, items)
            n_blocks = len(inputs.files["controlled"].files)
            parts += parts_of_blocks(context, n_blocks, fingerprint, makes)
        else:
            make = partial(
                _standardize, inputs.files["controlled"], columns, known_tasks, items, settings
            )
            parts.append(Part(fingerprint, make))
    tables, by_part = in_parts(context, parts)
    shutil.rmtree(context.folder / BLOCKS, ignore_errors=True)
    partitions = [StandardizeMetrics.read(document) for document in by_part.values()]
    metrics = StandardizeMetrics(
        scalar_judgments=sum(partition.scalar_judgments for partition in partitions),
        kept_judgments=sum(partition.kept_judgments for partition in partitions),
        kept_without_z=sum(partition.kept_without_z for partition in partitions),
        judges_without_z=[
            judge for partition in partitions for judge in partition.judges_without_z
        ],
    )
    return StageOutput(tables, metrics, by_part)


def _standardize(
    controlled: StoredTable,
    columns: Sequence[str],
    tasks: pa.Table,
    items: StoredTable,
    settings: Standardize,
    folder: Path,
    key: str,
) -> tuple[Mapping[str, TableFile], Document]:
    """Standardise the scores of some tasks."""
    from annot_pipeline.stages.scores.standardize_scores import standardize_scores

    scalar = tasks.filter(is_any(tasks["kind"], ("scalar",)))["task"].to_pylist()
    judgments = read_unharmed(controlled, columns, scalar)
    listed = listed_of(items, [judgments])
    tables, metrics = standardize_scores(judgments, tasks, listed, settings=settings)
    files = {
        name: write_part(folder, name, key, partial(iter, [rows])) for name, rows in tables.items()
    }
    return files, metrics.document()
