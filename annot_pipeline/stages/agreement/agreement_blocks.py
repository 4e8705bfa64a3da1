"""Agreement on labels of a task that is too large for one job: its judgments come in blocks.

What does not belong here: how agreement is measured, which is the same for any blocks
(measure_label_agreement).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pyarrow as pa

from annot_pipeline.errors import shorten
from annot_pipeline.runtime.blocks import StoredBlocks
from annot_pipeline.runtime.context import StageContext
from annot_pipeline.runtime.partitions import InputPartition
from annot_pipeline.stages.agreement.measure_agreement import agreement_table
from annot_pipeline.stages.agreement.measure_label_agreement import COLUMNS, label_rows
from annot_pipeline.storage.tables import read_verified


def label_agreement_in_blocks(
    context: StageContext, folder: Path, inputs: InputPartition, tasks: pa.Table
) -> tuple[pa.Table, dict[str, int]]:
    """Return the rows of the table ``agreement`` of one task; no pair of judges is left out.

    Parameters
    ----------
    folder
        Where it may put files that are deleted when the stage ends.
    inputs
        Its judgments, ``controlled``.
    tasks
        ``task``, ``labels``, ``ordinal`` of it.
    """
    [task] = tasks.to_pylist()
    folder.mkdir(parents=True)
    context.progress(f"agreement of {shorten(task['task'])}")
    opened = [
        partial(read_verified, block.files["controlled"], COLUMNS)
        for block in inputs.slices("controlled")
    ]
    judgments = StoredBlocks[pa.Table](context, folder, opened)
    return agreement_table([*label_rows(judgments, task)]), {}
