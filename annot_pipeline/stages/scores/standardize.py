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
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.runtime.large_tasks import BLOCKS, block_partitions, has_blocks
from annot_pipeline.runtime.partitions import (
    Partition,
    input_partitions,
    run_partitions,
    write_partition,
)
from annot_pipeline.stages.gold.described_items import listed_of
from annot_pipeline.stages.scores.metrics import StandardizeMetrics
from annot_pipeline.storage.tables import (
    StoredTable,
    TableFile,
    read_verified,
)


def standardize_judgments(context: StageContext) -> StageOutput[StandardizeMetrics]:
    """Standardise the scores of all scalar tasks."""
    from annot_pipeline.stages.scores.standardize_scores import COUNTED

    tasks, items = context.read("tasks"), context.inputs["item_rows"]
    listed = hash_values([context.read("item_rows")])
    settings, columns = context.campaign.settings.standardize, context.columns["controlled"]
    partitions = []
    for inputs in input_partitions(context, "controlled"):
        known_tasks = tasks.filter(is_in(tasks["task"], inputs.tasks))
        fingerprint = [inputs.hashes, known_tasks.to_pylist(), listed]
        if has_blocks(context, inputs, "controlled", "scalar", known_tasks, COUNTED):
            from annot_pipeline.stages.scores.standardize_blocks import standardized_in_blocks

            folder = context.folder / BLOCKS / digest(fingerprint)[:32]
            makes = partial(standardized_in_blocks, context, folder, inputs, known_tasks, items)
            n_blocks = len(inputs.files["controlled"].files)
            partitions += block_partitions(context, n_blocks, fingerprint, makes)
        else:
            make = partial(
                _standardize, inputs.files["controlled"], columns, known_tasks, items, settings
            )
            partitions.append(Partition(fingerprint, make))
    tables, documents = run_partitions(context, partitions)
    shutil.rmtree(context.folder / BLOCKS, ignore_errors=True)
    metrics_of_partitions = [StandardizeMetrics.read(document) for document in documents.values()]
    metrics = StandardizeMetrics(
        scalar_judgments=sum(
            of_partition.scalar_judgments for of_partition in metrics_of_partitions
        ),
        kept_judgments=sum(of_partition.kept_judgments for of_partition in metrics_of_partitions),
        kept_without_z=sum(of_partition.kept_without_z for of_partition in metrics_of_partitions),
        judges_without_z=[
            judge
            for of_partition in metrics_of_partitions
            for judge in of_partition.judges_without_z
        ],
    )
    return StageOutput(tables, metrics, documents)


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

    scalar = tasks.filter(is_in(tasks["kind"], ("scalar",)))["task"].to_pylist()
    judgments = read_verified(controlled, columns, scalar)
    listed = listed_of(items, [judgments])
    tables, metrics = standardize_scores(judgments, tasks, listed, settings=settings)
    files = {
        name: write_partition(folder, name, key, partial(iter, [rows]))
        for name, rows in tables.items()
    }
    return files, metrics.document()
