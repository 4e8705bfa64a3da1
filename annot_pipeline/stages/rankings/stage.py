"""Comparisons of outputs, and rankings of segments and systems.

Methods load in the work that needs them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import DESCRIBING, GOLD, SEGMENT_RANKS
from annot_pipeline.runtime import task_partitions
from annot_pipeline.runtime.context import StageContext, StageOutput
from annot_pipeline.runtime.hash_values import hash_values
from annot_pipeline.runtime.indexing import ByTask
from annot_pipeline.runtime.stage import Stage
from annot_pipeline.stages.rankings import metrics as ranking_metrics
from annot_pipeline.stages.rankings.answers_of_systems import (
    answers_of_systems,
    missing_answers,
)
from annot_pipeline.stages.shared.comparisons import COMPARISONS, LEFT_OUT
from annot_pipeline.stages.shared.judged_together import judged_together


def compare_outputs(context: StageContext) -> StageOutput[ranking_metrics.ComparisonMetrics]:
    """Collect the comparisons of all tasks that hold any."""
    work = task_partitions.TaskWork(
        inputs=("controlled", "standardized"),
        finish=_compare,
        schemas={"comparisons": COMPARISONS, "not_compared": LEFT_OUT},
        kinds={"controlled": ("pairwise", "ranking")},
        listed="controlled",
        is_large=task_partitions.several_files,
    )
    output = task_partitions.run_by_task(context, work)
    n, ties = (sum(output.metric(name).values()) for name in ("comparisons", "ties"))
    if n:
        context.progress(f"{n:,} comparisons, {ties:,} of them ties")
    return output.output(ranking_metrics.ComparisonMetrics)


def _compare(task: task_partitions.TaskData, _: None) -> task_partitions.TaskResult:
    from annot_pipeline.stages.rankings.break_into_comparisons import break_into_comparisons

    return break_into_comparisons(task, judged_together(task))


@dataclass(frozen=True)
class _Known:
    """What is known of a task's outputs: answers to their adequacy, and those that are equal."""

    fingerprint: str
    votes: pa.Table = field(repr=False)
    equal: pa.Table = field(repr=False)


def rank_outputs(context: StageContext) -> StageOutput[ranking_metrics.SegmentRankMetrics]:
    """Return ranks of the outputs of every segment."""
    work = task_partitions.TaskWork(
        inputs=("comparisons",),
        finish=_rank_outputs,
        schemas={SEGMENT_RANKS.name: SEGMENT_RANKS.schema},
        read_by_stage=("label_distributions", "item_rows"),
    )
    output = task_partitions.run_by_task(context, work, _known(context))
    graphs = output.metric("segment_graphs").values()
    n, n_outputs = (sum(counts[name] for counts in graphs) for name in ("segments", "outputs"))
    if n:
        context.progress(f"{n_outputs:,} outputs ranked in {n:,} segments")
    return output.output(ranking_metrics.SegmentRankMetrics)


def _known(context: StageContext) -> dict[str, _Known]:
    """Return what is known of outputs by task; nothing without comparisons."""
    if not context.inputs["comparisons"].rows:
        return {}
    from annot_pipeline.stages.shared.output_comparisons import equal_outputs

    tasks = context.read("tasks").to_pylist()
    asking = {row["adequacy_task"] for row in tasks} - {None}
    votes = ByTask(context.read("label_distributions", tasks=asking))
    equal = equal_outputs(context.read("item_rows"))
    by_task = {}
    for row in tasks:
        own = votes[row["adequacy_task"] or ""]
        same = equal.filter(pc.fill_null(pc.equal(equal["task"], row["task"]), True))
        by_task[row["task"]] = _Known(hash_values([own, same]), own, same)
    return by_task


def _rank_outputs(task: task_partitions.TaskData, _: None) -> task_partitions.TaskResult:
    from annot_pipeline.runtime.coded_task import CodedTask
    from annot_pipeline.stages.rankings.rank_segments import rank_segments

    rows = CodedTask(task.name, task["comparisons"].filter(task["comparisons"]["kept"]))
    if not len(rows):
        return {}, {}
    task.progress(f"ranking outputs of {task.name}")
    outputs: _Known = task.value
    graphs = task.settings.ranking.segment_graphs
    table, metrics = rank_segments(
        rows, task.declared, outputs.equal, outputs.votes, segment_graphs=graphs
    )
    return {SEGMENT_RANKS.name: table}, metrics


def rank_systems_of_tasks(context: StageContext) -> StageOutput[ranking_metrics.SystemRankMetrics]:
    """Return rankings and comparisons of systems.

    By their scores, and by comparisons of outputs.
    """
    settings = context.campaign.settings.ranking
    answers = answers_of_systems(context)
    # texts are read, and tasks ranked again where they change, only where they are asked for
    work = task_partitions.TaskWork(
        inputs=("standardized", "comparisons"),
        finish=_rank_systems,
        schemas={
            name: GOLD[name].schema
            for name in ("system_rankings", "system_comparisons", "variance")
        },
        whole=("item_rows",) if settings.covariates else (),
        read_by_stage=("controlled",) if settings.covariates else ("controlled", "item_rows"),
        is_large=task_partitions.several_files,
    )
    output = task_partitions.run_by_task(context, work, answers)
    return output.output(
        ranking_metrics.SystemRankMetrics,
        alpha=settings.alpha,
        missing_answers=missing_answers(answers),
    )


def _rank_systems(task: task_partitions.TaskData, _: None) -> task_partitions.TaskResult:
    from annot_pipeline.stages.rankings.rank_systems import rank_systems

    task.progress(f"ranking systems of {task.name}")
    return rank_systems(task)


def describe_comparisons_of_tasks(
    context: StageContext,
) -> StageOutput[ranking_metrics.ContradictionMetrics]:
    """Describe contradictions and times of all tasks that have comparisons."""
    from annot_pipeline.stages.rankings.describe_comparisons import TABLES

    work = task_partitions.TaskWork(("comparisons",), _describe, TABLES, whole=("item_rows",))
    return task_partitions.run_by_task(context, work).output(ranking_metrics.ContradictionMetrics)


def _describe(task: task_partitions.TaskData, _: None) -> task_partitions.TaskResult:
    from annot_pipeline.stages.rankings.describe_comparisons import describe_comparisons

    return describe_comparisons(task)


BREAK_INTO_COMPARISONS = Stage(
    "break_into_comparisons",
    "Converts preferences, rankings and scores within HITs into comparisons of two outputs.",
    inputs={
        "controlled": (
            *DESCRIBING, "item_a", "item_b", "system_a", "system_b",
            "preference", "strength", "rank", "rank_a", "rank_b", "score", "fate",
        ),
        "standardized": (
            "task", "item", "segment", "document", "system", "judge", "judge_id", "control",
            "kept", "score", "ranking", "hit", "submitted_at", "judgment_id", "position", "seconds",
            "hit_seconds",
        ),
        "tasks": ("task", "kind", "reconcile"),
        "item_rows": ("item", "segment", "document", "system", "place"),
    },
    outputs=("comparisons", "not_compared"),
    settings=("easl.margin",),
    code_version="7",  # documents of segments
    work=compare_outputs,
)  # fmt: skip

RANK_SEGMENTS = Stage(
    "rank_segments",
    "Ranks the outputs of each segment by dominance, and determines which are adequate.",
    inputs={
        "comparisons": (), "tasks": ("task", "references", "adequacy_task", "adequate"),
        "item_rows": ("task", "item", "segment", "system", "text"),
        "label_distributions": ("task", "item", "label", "votes"),
    },
    outputs=("segment_ranks",),
    settings=("ranking.segment_graphs",),
    code_version="3",  # in parts, its metrics by task
    work=rank_outputs,
)  # fmt: skip

RANK_SYSTEMS = Stage(
    "rank_systems",
    "Ranks and clusters systems by comparisons and scores adjusted for judges and segments.",
    inputs={
        "standardized": (
            "task", "item", "segment", "document", "system", "criterion", "judge", "control",
            "kept", "score", "z",
        ),
        "tasks": (
            "task", "kind", "scale_low", "scale_high", "assumed_low", "assumed_high", "criteria",
            "used_judges",
        ),
        "comparisons": (), "segment_ranks": ("task", "segment", "system", "dominance"),
        "item_rows": ("task", "item", "system", "text", "place"),
        "controlled": (
            "task", "judge_id", "judge_kind", "item", "item_a", "item_b", "system", "system_a",
            "system_b", "control", "score", "fate",
        ),
    },
    outputs=("system_rankings", "system_comparisons", "variance"),
    settings=(
        "ranking", "standardize", "seed", "judges", "easl.gamma", "easl.epsilon",
        "easl.trueskill_mean", "easl.trueskill_sd",
    ),
    code_version="12",  # rounding is no error
    work=rank_systems_of_tasks,
)  # fmt: skip

DESCRIBE_COMPARISONS = Stage(
    "describe_comparisons",
    "Counts contradictory comparisons by judge and segment, and measures comparison times.",
    inputs={
        "comparisons": (), "item_rows": ("task", "item", "segment", "source", "place"),
    },
    outputs=("judge_contradictions", "segment_contradictions", "comparison_times"),
    settings=(),
    code_version="3",  # in parts
    work=describe_comparisons_of_tasks,
)  # fmt: skip
