"""Agreement in a task that is too large for one job: its judgments come in blocks.

What does not belong here: how agreement is measured, which is the same for any blocks
(measure_label_agreement, measure_score_agreement).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pyarrow as pa

from annot_pipeline.errors import shorten
from annot_pipeline.methods.scores.zscores import Arithmetic
from annot_pipeline.runtime.blocks import StoredBlocks
from annot_pipeline.runtime.context import StageContext
from annot_pipeline.runtime.partitions import InputPartition
from annot_pipeline.stages.agreement import measure_label_agreement, score_sums
from annot_pipeline.stages.agreement.measure_label_agreement import label_rows
from annot_pipeline.stages.agreement.measure_score_agreement import score_rows
from annot_pipeline.stages.agreement.ratings import Row
from annot_pipeline.stages.agreement.repeated_scores import RepeatedScores
from annot_pipeline.stages.comparisons.bootstrap_rounds import BootstrapRounds
from annot_pipeline.storage.tables import StoredTable, read_verified


def label_agreement_in_blocks(
    context: StageContext, folder: Path, inputs: InputPartition, tasks: pa.Table
) -> list[Row]:
    """Return the rows of a categorical task.

    Parameters
    ----------
    folder
        For temporary files, which are deleted when the stage ends.
    inputs
        Files of the task: ``controlled``.
    tasks
        ``task``, ``labels``, ``ordinal`` of it.
    """
    [task] = tasks.to_pylist()
    folder.mkdir(parents=True)
    context.progress(f"agreement of {shorten(task['task'])}")
    opened = [
        partial(read_verified, block.files["controlled"], measure_label_agreement.COLUMNS)
        for block in inputs.slices("controlled")
    ]
    return [*label_rows(StoredBlocks[pa.Table](context, folder, opened), task)]


def score_agreement_in_blocks(
    context: StageContext, folder: Path, inputs: InputPartition, small: Mapping[str, pa.Table]
) -> list[Row]:
    """Return the rows of a scalar task.

    Parameters
    ----------
    folder
        For temporary files, which are deleted when the stage ends.
    inputs
        Files of the task: ``standardized``, ``judge_scores``, ``control_pairs``.
    small
        ``tasks``, ``judge_tests`` of this task.
    """
    [task] = small["tasks"].to_pylist()
    folder.mkdir(parents=True)
    settings = context.campaign.settings
    opened = [
        partial(read_verified, block.files["standardized"], score_sums.COLUMNS)
        for block in inputs.slices("standardized")
    ]
    repeats = partial(
        _read_repeats, inputs.files["control_pairs"], small["judge_tests"],
        inputs.files["judge_scores"], settings.standardize.arithmetic,
    )  # fmt: skip
    rows = score_rows(
        StoredBlocks[pa.Table](context, folder, opened),
        StoredBlocks[RepeatedScores](context, folder, [repeats]),
        task,
        BootstrapRounds(task["task"], settings.agreement.bootstrap, settings.seed),
        context.progress,
    )
    return [*rows]


def _read_repeats(
    pairs: StoredTable, judge_tests: pa.Table, judge_scores: StoredTable, arithmetic: Arithmetic
) -> RepeatedScores:
    return RepeatedScores.from_tables(
        read_verified(pairs), judge_tests, read_verified(judge_scores), arithmetic
    )
