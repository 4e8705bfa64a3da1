"""Rank the systems of scalar tasks: by adjusted scores, and by means of segment scores and EASL."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Standardize
from annot_pipeline.contracts import GOLD, VARIANCE
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.runtime.by_task import ByTask
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.stages.comparisons.ranked import RankingContext
from annot_pipeline.stages.comparisons.ranking_rows import ranking_tables
from annot_pipeline.stages.comparisons.registry import BY_SCORES
from annot_pipeline.stages.comparisons.task_scores import TaskScores
from annot_pipeline.stages.comparisons.variance_rows import variance_rows
from annot_pipeline.stages.scores.judge_sums import ORDINARY
from annot_pipeline.stages.scores.segment_scores import (
    JudgedOutputs,
    judged_outputs,
    rows_of,
    segment_clusters,
    task_cells,
)
from annot_pipeline.stages.scores.system_blocks import criterion_sums, score_block, whole_block

MOST_CELLS = 4_000_000
"""Segments times systems of a block, which has tables of that size."""
TABLES = ("system_rankings", "system_comparisons", "variance")


def rank_systems(
    standardized: pa.Table,
    tasks: pa.Table,
    context: RankingContext,
    *,
    standardize: Standardize,
    workers: int = 1,
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Rank the systems of every scalar task that names systems.

    Parameters
    ----------
    standardized
        As `standardize_scores` gives it.
    tasks
        ``task`` and its scale: where there is one, EASL ranks too.
    context
        Settings of the methods.
    standardize
        Its ``arithmetic`` decides which segment scores count as equal.
    workers
        Tasks ranked side by side; the result is the same.

    Returns
    -------
    tables, metrics
        `TABLES`; metrics are by name and task.
    """
    judgments, without_system = judged_outputs(standardized, tasks)

    def rank(number: int) -> tuple[dict[str, pa.Table], dict[str, Any]]:
        return rank_task(_task_scores(judgments, number, standardize), context)

    ranked = [{"variance": _without_systems(standardized, {*judgments.task})}]
    metrics = {}
    with ThreadPoolExecutor(workers) as pool:
        results = pool.map(rank, range(len(judgments.task)))
        for number, (name, (tables, task_metrics)) in enumerate(
            zip(judgments.task, results, strict=True), start=1
        ):
            ranked.append(tables)
            metrics[name] = task_metrics
            context.progress(f"ranking systems: task {number} of {len(judgments.task)}")
    return {
        name: pa.concat_tables(
            [GOLD[name].empty(), *(tables[name] for tables in ranked if name in tables)]
        )
        for name in TABLES
    }, {"judgments_without_system": without_system, "systems_scored": metrics}


def rank_task(
    scores: TaskScores, context: RankingContext
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Return the rows of `TABLES` for one task, and its metrics."""
    ranked = BY_SCORES.rank(scores, context)
    task = scores.cells.task
    tables = ranking_tables(task, scores.names, ranked.rankings, BY_SCORES.headline)
    if ranked.adjusted is not None:
        tables["variance"] = variance_rows(task, scores.blocks, ranked.adjusted)
    return tables, ranked.metrics


def _without_systems(standardized: pa.Table, ranked: Collection[str]) -> pa.Table:
    """Return the variances of tasks that name no system: their items are segments."""
    counted = standardized.filter(
        pc.and_(standardized["kept"], is_in(standardized["control"], ORDINARY))
    )
    by_task = ByTask(counted)
    return pa.concat_tables([
        VARIANCE.empty(),
        *(variance_rows(task, InMemoryBlocks([whole_block(by_task[task])]))
          for task in by_task.names if task not in ranked),
    ])  # fmt: skip


def _task_scores(judgments: JudgedOutputs, number: int, standardize: Standardize) -> TaskScores:
    """Return the scores of one task as one block."""
    cells = task_cells(judgments, number, standardize)
    rows, _, _ = rows_of(judgments, number)
    score = judgments.values["filtered_mean"][rows]
    rows, score = rows[~np.isnan(score)], score[~np.isnan(score)]
    first_cell = judgments.cells.first[judgments.cells.codes[rows]]
    systems = first_cell - int(np.searchsorted(judgments.systems.first, number))
    segments = np.unique(judgments.cells.second[judgments.cells.codes[rows]], return_inverse=True)
    judges = np.unique(judgments.judges[rows], return_inverse=True)
    criteria = np.unique(judgments.criteria[rows], return_inverse=True)[1].reshape(-1)
    clusters = segment_clusters(judgments, number)
    if clusters is not None:
        first_segment = int(np.searchsorted(judgments.segments.first, number))
        clusters = clusters[segments[0] - first_segment]
    block = score_block(
        segments[1].reshape(-1), judges[1].reshape(-1), systems, criteria, score,
        (segments[0].size, judges[0].size, len(cells.systems)), criterion_sums(criteria, score),
        clusters,
    )  # fmt: skip
    most = max(MOST_CELLS // max(len(cells.systems), 1), 1)
    return TaskScores(cells, InMemoryBlocks(block.split(most)))
