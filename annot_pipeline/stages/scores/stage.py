"""Scores of items: standardized by judge, averaged, and EASL.

Methods load in the work that needs them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from annot_pipeline.contracts import DESCRIBING, SCORES
from annot_pipeline.contracts.task_table import scale_of
from annot_pipeline.runtime import task_partitions
from annot_pipeline.runtime.context import StageContext, StageOutput
from annot_pipeline.runtime.stage import Stage
from annot_pipeline.stages.scores.metrics import ItemScoreMetrics, StandardizeMetrics
from annot_pipeline.stages.shared.judged_together import crowded_hits, judged_together

if TYPE_CHECKING:
    from annot_pipeline.stages.scores.score_items import Online
    from annot_pipeline.stages.scores.standardize_scores import Standardization


def standardize_judgments(context: StageContext) -> StageOutput[StandardizeMetrics]:
    """Standardise the scores of all scalar tasks."""
    from annot_pipeline.stages.scores.standardize_scores import (
        COUNTED,
        STANDARDIZED,
        standardize_scores,
    )

    work = task_partitions.TaskWork(
        inputs=("controlled",),
        finish=standardize_scores,
        schemas=STANDARDIZED,
        prepare=partial(_standardizations, most=context.sizes.task_judgments),
        only=("scalar",),
        kinds={"controlled": ("scalar",)},
        listed="controlled",
        is_large=partial(
            task_partitions.has_many, table="controlled", kind="scalar", fates=COUNTED
        ),
        blocks="controlled",
    )
    output = task_partitions.run_by_task(context, work)
    names = ("scalar_judgments", "kept_judgments", "kept_without_z", "outlying_scores")
    totals: dict[str, Any] = {name: sum(output.metric(name).values()) for name in names}
    for name in ("judges_without_z", "farthest_scores"):
        totals[name] = list(chain(*output.metric(name).values()))
    return output.output(StandardizeMetrics, **totals)


def _standardizations(
    tasks: Sequence[task_partitions.TaskData], most: int
) -> list[Standardization]:
    from annot_pipeline.stages.scores.standardize_scores import Standardization

    return [Standardization.from_task(task, most) for task in tasks]


def score_items_of_tasks(context: StageContext) -> StageOutput[ItemScoreMetrics]:
    """Return scores of the items of all scalar tasks."""
    work = task_partitions.TaskWork(
        inputs=("standardized",),
        finish=_score_items,
        schemas={"scores": SCORES.schema},
        prepare=_online_scores,
        only=("scalar",),
        is_large=task_partitions.several_files,
        blocks="standardized",
    )
    output = task_partitions.run_by_task(context, work)
    for task, counts in output.metric("items_by_judgments").items():
        items: Counter[int] = Counter()
        for n_judgments, n_items in counts:  # those of a task in blocks stand one after the other
            items[n_judgments] += n_items
        output.metrics["items_by_judgments"][task] = [list(pair) for pair in sorted(items.items())]
    n_scored = sum(output.metric("items_scored").values())
    if n_scored:
        context.progress(f"{n_scored:,} items scored")
    return output.output(ItemScoreMetrics)


def _online_scores(tasks: Sequence[task_partitions.TaskData]) -> list[Online]:
    from annot_pipeline.stages.scores.score_items import Online, score_online

    return [
        Online(score_online(judged_together(task), task.settings.easl), crowded_hits(task))
        for task in tasks
    ]


def _score_items(task: task_partitions.TaskData, online: Any) -> task_partitions.TaskResult:
    from annot_pipeline.stages.scores.score_items import score_items

    table, metrics = score_items(task.name, task["standardized"], scale_of(task.declared), online)
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
    code_version="9",  # outlying scores
    work=standardize_judgments,
)  # fmt: skip

SCORE_ITEMS = Stage(
    "score_items",
    "Scores items by raw and standardised means, EASL, and comparisons within HITs.",
    inputs={
        "standardized": (
            "task", "item", "segment", "system", "criterion", "judge", "control", "kept",
            "score", "z", "ranking", "hit", "submitted_at", "judgment_id",
        ),
        "tasks": (
            "task", "kind", "scale_low", "scale_high", "assumed_low", "assumed_high",
        ),
    },
    outputs=("scores",),
    settings=(
        "easl.gamma", "easl.epsilon", "easl.margin", "easl.trueskill_mean",
        "easl.trueskill_sd",
    ),
    code_version="7",  # what trueskill_sd is
    work=score_items_of_tasks,
)  # fmt: skip
