"""Scores of a task that is too large for one job: of its items and systems, and comparisons.

Items come in blocks, each of which has all that was said of its items. What a judge scored side by
side may lie in several blocks: those judgments alone are put together by one job, as online methods
take comparisons one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Campaign, Easl
from annot_pipeline.contracts import GOLD
from annot_pipeline.contracts.stage_metrics import TaskMetrics
from annot_pipeline.runtime.blocks import dump, load
from annot_pipeline.runtime.context import Document, StageContext
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.runtime.partitions import InputPartition, WritePartition, write_partition
from annot_pipeline.runtime.task_partitions import METRICS_BY_TASK, TASK_FINGERPRINTS
from annot_pipeline.stages.comparisons.answers_of_systems import SystemAnswers
from annot_pipeline.stages.comparisons.break_into_comparisons import break_into_comparisons
from annot_pipeline.stages.comparisons.imply_comparisons import MOST_ITEMS
from annot_pipeline.stages.comparisons.rank_systems import TABLES, rank_task
from annot_pipeline.stages.comparisons.ranked import RankingContext
from annot_pipeline.stages.comparisons.system_rankings import with_comparisons
from annot_pipeline.stages.comparisons.task_scores import TaskScores
from annot_pipeline.stages.comparisons.variance_rows import variance_rows
from annot_pipeline.stages.ingest.resolve_tasks import scale_of
from annot_pipeline.stages.scores.cell_sums import cell_sums, cells_of_sums, document_names
from annot_pipeline.stages.scores.score_items import Online, score_items, score_online
from annot_pipeline.stages.scores.system_blocks import segment_cluster_names, stored_score_blocks
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.tables import (
    StoredTable,
    TableFile,
    read_verified,
    read_verified_groups,
    verify_table,
)

MOST_TOGETHER = {"most_items": MOST_ITEMS}
"""What queries are told of HITs without segments."""
RANKED = "ranked"
"""File of a task with its rankings by scores, and their metrics."""
SCORED_METRICS: TaskMetrics = {"judgments_without_system": {}, "systems_scored": {}}


def scored_in_blocks(
    context: StageContext, folder: Path, inputs: InputPartition, tasks: pa.Table
) -> list[WritePartition]:
    """Compare what was scored side by side; what makes ``scores`` of each block.

    Parameters
    ----------
    folder
        Where it may put what is of no use when the stage has ended.
    inputs
        Its judgments, ``standardized``.
    tasks
        As `score_items` takes them, of this task.
    """
    folder.mkdir(parents=True)
    settings, online = context.campaign.settings.easl, folder / "online"
    whole, columns = inputs.files["standardized"], context.columns["standardized"]
    context.run([partial(_score_online, context.partition_queries, whole, settings, online)])
    return [
        partial(_score, block.files["standardized"], columns, tasks, settings, online)
        for block in inputs.slices("standardized")
    ]


def compared_in_blocks(
    context: StageContext, inputs: InputPartition, tasks: pa.Table
) -> list[WritePartition]:
    """Return what makes ``comparisons`` of a task, from judgments given side by side.

    Parameters
    ----------
    inputs
        Its judgments, ``controlled`` and ``standardized``.
    tasks
        As `break_into_comparisons` takes them, of this task.
    """
    blocks = [block.files["standardized"] for block in inputs.slices("standardized")]
    n_scored = sum(context.run([partial(_n_ordinary, block) for block in blocks]))
    compare = partial(
        _compare, context.partition_queries, inputs.files, context.inputs["item_rows"],
        context.columns, tasks, n_scored, context.campaign.settings,
    )  # fmt: skip
    return [compare]


def ranked_in_blocks(
    context: StageContext,
    folder: Path,
    inputs: InputPartition,
    small: Mapping[str, pa.Table],
    answers: Mapping[str, SystemAnswers],
) -> list[WritePartition]:
    """Return what makes the system rankings of a task, by sums over its blocks.

    Parameters
    ----------
    folder
        Where it may put what is of no use when the stage has ended.
    inputs
        Its judgments, ``standardized``, and ``comparisons``.
    small
        ``tasks``, ``segment_ranks`` of this task.
    answers
        Answers that were asked for, of this task.
    """
    folder.mkdir(parents=True)
    columns, settings = context.columns["standardized"], context.campaign.settings
    [task] = small["tasks"].to_pylist()
    tables = [block.files["standardized"] for block in inputs.slices("standardized")]
    sums = [folder / f"sums-{n}" for n in range(len(tables))]
    counted = context.run([
        partial(_sum_cells, table, columns, small["tasks"], path)
        for table, path in zip(tables, sums, strict=True)
    ])  # fmt: skip
    cells = cells_of_sums(
        [load(path) for path in sums], task["task"], settings.standardize,
        has_scale=scale_of(task) is not None,
    )  # fmt: skip
    ranked = {name: GOLD[name].empty() for name in TABLES}
    metrics: TaskMetrics = {}
    without, documents = zip(*counted, strict=True)
    clusters = segment_cluster_names(pa.concat_tables(documents))
    blocks = stored_score_blocks(context, folder, tables, cells.systems, clusters)
    if not cells.systems:
        ranked["variance"] = variance_rows(cells.task, blocks)
    else:
        of_task, systems = rank_task(
            TaskScores(cells, blocks), RankingContext.from_settings(settings)
        )
        ranked |= of_task
        metrics = {
            "judgments_without_system": {cells.task: sum(without)},
            "systems_scored": {cells.task: systems},
        }
    dump(folder / RANKED, (ranked, metrics))
    items = context.inputs["item_rows"] if settings.ranking.covariates else None
    rank = partial(
        _rank, folder / RANKED, inputs.files["comparisons"], small, settings, items,
        context.columns["item_rows"], answers,
    )  # fmt: skip
    return [rank]


def _sum_cells(
    standardized: StoredTable, columns: Sequence[str], tasks: pa.Table, path: Path
) -> tuple[int, pa.Table]:
    """Write the sums of a block; return how many judgments name no system, and its documents."""
    rows = read_verified(standardized, columns)
    table, without = cell_sums(rows, tasks)
    dump(path, table)
    return without, document_names(rows)


def _rank(
    ranked: Path,
    comparisons: StoredTable,
    small: Mapping[str, pa.Table],
    settings: Campaign,
    items: StoredTable | None,
    columns: Sequence[str],
    answers: Mapping[str, SystemAnswers],
    folder: Path,
    key: str,
) -> tuple[Mapping[str, TableFile], Document]:
    """Write the rankings of a task, with those by comparisons."""
    tables, metrics = load(ranked)
    whole, compared = with_comparisons(
        tables, read_verified(comparisons), small["segment_ranks"], settings,
        None if items is None else read_verified(items, columns), answers=answers,
    )  # fmt: skip
    files = {
        name: write_partition(folder, name, key, partial(iter, [rows]))
        for name, rows in whole.items()
    }
    return files, {TASK_FINGERPRINTS: {}, METRICS_BY_TASK: SCORED_METRICS | metrics | compared}


def _judged_together(queries: Queries, standardized: StoredTable) -> pa.Table:
    return queries.table(
        "gold/judged_together", {"standardized": verify_table(standardized)}, MOST_TOGETHER
    )


def _score_online(
    queries: Queries, standardized: StoredTable, settings: Easl, online: Path
) -> None:
    crowded = queries.table("gold/crowded_hits", {"standardized": standardized}, MOST_TOGETHER)
    scores = score_online(_judged_together(queries, standardized), settings=settings)
    dump(online, Online(scores, crowded))


def _score(
    standardized: StoredTable,
    columns: Sequence[str],
    tasks: pa.Table,
    settings: Easl,
    online: Path,
    folder: Path,
    key: str,
) -> tuple[Mapping[str, TableFile], Document]:
    """Score the items of a block."""
    rows = read_verified(standardized, columns)
    table, metrics = score_items(rows, tasks, settings=settings, online=load(online))
    files = {"scores": write_partition(folder, "scores", key, partial(iter, [table]))}
    return files, {TASK_FINGERPRINTS: {}, METRICS_BY_TASK: metrics}


def _n_ordinary(standardized: StoredTable) -> int:
    return sum(
        pc.sum(is_in(rows["control"], ("none",))).as_py() or 0
        for rows in read_verified_groups(standardized, ["control"])
    )


def _compare(
    queries: Queries,
    files: Mapping[str, StoredTable],
    items: StoredTable,
    columns: Mapping[str, Sequence[str]],
    tasks: pa.Table,
    n_scored: int,
    settings: Campaign,
    folder: Path,
    key: str,
) -> tuple[Mapping[str, TableFile], Document]:
    """Break what was given side by side into comparisons."""
    [task] = tasks["task"].to_pylist()
    judgments = read_verified(files["controlled"], columns["controlled"], [])  # none is a ranking
    tables, metrics = break_into_comparisons(
        judgments,
        _judged_together(queries, files["standardized"]).select(columns["standardized"]),
        tasks,
        next(read_verified_groups(items, columns["item_rows"])).slice(0, 0),  # they are described
        margin=settings.easl.margin,
        n_scored={task: n_scored},
    )
    written = {
        name: write_partition(folder, name, key, partial(iter, [rows]))
        for name, rows in tables.items()
    }
    return written, {TASK_FINGERPRINTS: {}, METRICS_BY_TASK: metrics}
