"""Scores of items: standardized by judge, averaged, and EASL."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping
from functools import partial

import pyarrow as pa

from annot_pipeline.contracts import DESCRIBING
from annot_pipeline.contracts.stage_metrics import TaskMetrics
from annot_pipeline.runtime.context import StageContext, StageOutput
from annot_pipeline.runtime.large_tasks import BLOCKS, block_partitions
from annot_pipeline.runtime.partitions import Partition
from annot_pipeline.runtime.stage import Stage
from annot_pipeline.runtime.task_partitions import TaskRows, WholeTasks, run_by_task
from annot_pipeline.stages.scores.metrics import ItemScoreMetrics
from annot_pipeline.stages.scores.standardize import standardize_judgments


def score_items_of_tasks(context: StageContext) -> StageOutput[ItemScoreMetrics]:
    """Return scores of the items of all scalar tasks."""
    output = run_by_task(
        context, _score_items, "standardized", large=partial(_scores_in_blocks, context)
    )
    shutil.rmtree(context.folder / BLOCKS, ignore_errors=True)
    for task, counts in output.metrics["items_by_judgments"].items():
        items: Counter[int] = Counter()
        for n_judgments, n_items in counts:  # those of a task in blocks stand one after the other
            items[n_judgments] += n_items
        output.metrics["items_by_judgments"][task] = [list(pair) for pair in sorted(items.items())]
    n_scored = sum(output.metrics["items_scored"].values())
    if n_scored:
        context.progress(f"{n_scored:,} items scored")
    return output.output(ItemScoreMetrics)


def _scores_in_blocks(context: StageContext, whole: WholeTasks) -> list[Partition]:
    """Return the partitions of a task that is standardised in blocks."""
    n_blocks = len(whole.inputs.files["standardized"].files)
    if n_blocks == 1:
        return []
    from annot_pipeline.stages.scores.score_blocks import scored_in_blocks

    folder, tasks = whole.folder(context), whole.small["tasks"]
    makes = partial(scored_in_blocks, context, folder, whole.inputs, tasks)
    return block_partitions(context, n_blocks, whole.fingerprint, makes)


def _score_items(inputs: TaskRows) -> tuple[Mapping[str, pa.Table], TaskMetrics]:
    from annot_pipeline.stages.scores.score_items import score_items

    table, metrics = score_items(
        inputs["standardized"], inputs["tasks"], settings=inputs.settings.easl
    )
    return {"scores": table}, metrics


STANDARDIZE_SCORES = Stage(
    "standardize_scores",
    "Reverses the scores of reversed criteria, and standardises scores by judge and task.",
    inputs={
        "controlled": (
            *DESCRIBING, "score", "fate", "native_id",
        ),
        "tasks": (),
        "item_rows": ("item", "segment", "document", "system", "place"),
    },
    outputs=("standardized", "judge_scores"),
    settings=("standardize",),
    code_version="8",  # documents of segments
    work=standardize_judgments,
    kinds=frozenset({"parquet", "numpy"}),
)  # fmt: skip

SCORE_ITEMS = Stage(
    "score_items",
    "Scores items by raw and standardised means, EASL, and comparisons within HITs.",
    inputs={
        "standardized": (
            "task", "item", "segment", "system", "criterion", "judge", "control", "kept",
            "score", "z", "ranking", "hit", "submitted_at", "judgment_id",
        ),
        "tasks": ("task", "scale_low", "scale_high", "assumed_low", "assumed_high"),
    },
    outputs=("scores",),
    settings=(
        "easl.gamma", "easl.epsilon", "easl.margin", "easl.trueskill_mean",
        "easl.trueskill_sd",
    ),
    code_version="7",  # what trueskill_sd is
    work=score_items_of_tasks,
    kinds=frozenset({"parquet", "numpy"}),
)  # fmt: skip
