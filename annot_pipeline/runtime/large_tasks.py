"""Find the tasks with more judgments than one job takes, and split their work into blocks.

Such a task lies in several files of whole items (runtime.partitions), and what is worked out is
sums over these blocks, then what follows from the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.runtime.context import StageContext
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.runtime.partitions import (
    InputPartition,
    Partition,
    WritePartition,
    cached_partitions,
    never_called,
    partition_key,
)
from annot_pipeline.storage.tables import StoredTable, read_verified_groups

BLOCKS = "blocks"
"""Name of the folder for temporary files of larger tasks, while a stage runs."""


def has_blocks(
    context: StageContext, inputs: InputPartition, table: str, kind: str, tasks: pa.Table,
    fates: Collection[str],
) -> bool:  # fmt: skip
    """Return whether the input is one task of a kind with too many judgments for one job.

    Parameters
    ----------
    table
        The input that holds the judgments, with their ``fate``.
    tasks
        ``kind`` of its tasks.
    fates
        Of the judgments that count: copies of exports must not change it.
    """
    judgments = inputs.files[table]
    most = context.sizes.task_judgments
    if len(judgments.files) == 1 or judgments.rows <= most:
        return False
    if tasks["kind"].to_pylist() != [kind]:
        return False
    counts = [partial(_n_of_fates, piece.files[table], [*fates]) for piece in inputs.slices(table)]
    return sum(context.run(counts)) > most


def _n_of_fates(table: StoredTable, fates: Sequence[str]) -> int:
    return sum(
        pc.sum(is_in(rows["fate"], fates)).as_py() or 0
        for rows in read_verified_groups(table, ["fate"])
    )


def block_partitions(
    context: StageContext,
    n_blocks: int,
    fingerprint: Any,
    makes: Callable[[], Sequence[WritePartition]],
) -> list[Partition]:
    """Return one partition per block of a task; shared work is done unless all are cached.

    Parameters
    ----------
    fingerprint
        All that the rows of the task depend on, except code and settings.
    makes
        Does the shared work, and returns what makes each partition.
    """
    fingerprints = [[fingerprint, n] for n in range(n_blocks)]
    cached_keys = {partition.key for partition in cached_partitions(context.latest())}
    keys = {
        partition_key(fingerprint_of_block, continues_previous=n > 0)
        for n, fingerprint_of_block in enumerate(fingerprints)
    }
    makers = [never_called] * n_blocks if keys <= cached_keys else makes()
    return [
        Partition(fingerprint_of_block, make, continues_previous=n > 0)
        for n, (fingerprint_of_block, make) in enumerate(zip(fingerprints, makers, strict=True))
    ]
