"""Comparisons of outputs, and rankings of segments and systems."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from annot_pipeline.contracts import DESCRIBING
from annot_pipeline.contracts.stage_metrics import TaskMetrics
from annot_pipeline.runtime.by_task import ByTask
from annot_pipeline.runtime.context import StageContext, StageOutput
from annot_pipeline.runtime.hash_values import hash_values
from annot_pipeline.runtime.large_tasks import BLOCKS, block_partitions
from annot_pipeline.runtime.partitions import Partition
from annot_pipeline.runtime.stage import Stage
from annot_pipeline.runtime.task_partitions import (
    TaskRows,
    WholeTasks,
    run_by_task,
    throttle_progress,
)
from annot_pipeline.stages.comparisons.answers_of_systems import (
    answers_of_systems,
    missing_answers,
)
from annot_pipeline.stages.comparisons.metrics import (
    ComparisonMetrics,
    ContradictionMetrics,
    SegmentRankMetrics,
    SystemRankMetrics,
)


def compare_outputs(context: StageContext) -> StageOutput[ComparisonMetrics]:
    """Collect the comparisons of all tasks that hold any."""
    output = run_by_task(
        context, _compare_outputs, "controlled", "standardized",
        kinds={"controlled": ("pairwise", "ranking")}, whole=("item_rows",),
        large=partial(_comparisons_in_blocks, context),
    )  # fmt: skip
    n, ties = (sum(output.metrics[name].values()) for name in ("comparisons", "ties"))
    if n:
        context.progress(f"{n:,} comparisons, {ties:,} of them ties")
    return output.output(ComparisonMetrics)


def _comparisons_in_blocks(context: StageContext, whole: WholeTasks) -> list[Partition]:
    """Return the partition of a task that is standardised in blocks."""
    if len(whole.inputs.files["standardized"].files) == 1:
        return []
    from annot_pipeline.stages.scores.score_blocks import compared_in_blocks

    makes = partial(compared_in_blocks, context, whole.inputs, whole.small["tasks"])
    return block_partitions(context, 1, whole.fingerprint, makes)


def _compare_outputs(inputs: TaskRows) -> tuple[Mapping[str, pa.Table], TaskMetrics]:
    from annot_pipeline.stages.comparisons.break_into_comparisons import break_into_comparisons

    names = ("controlled", "standardized", "tasks", "item_rows")
    return break_into_comparisons(
        *map(inputs.__getitem__, names), margin=inputs.settings.easl.margin
    )


@dataclass(frozen=True)
class _Votes:
    """What judges said in another task, that of a ranking's adequacy."""

    task: str
    fingerprint: str
    rows: pa.Table = field(repr=False)


def rank_outputs(context: StageContext) -> StageOutput[SegmentRankMetrics]:
    """Return ranks of the outputs of every segment."""
    adequacy_tasks = {
        row["task"]: row["adequacy_task"]
        for row in context.read("tasks").to_pylist()
        if row["adequacy_task"] is not None
    }
    votes = ByTask(context.read("label_distributions", tasks={*adequacy_tasks.values()}))
    task_votes = {
        task: _Votes(labelling, hash_values([votes[labelling]]), votes[labelling])
        for task, labelling in adequacy_tasks.items()
    }
    output = run_by_task(
        context, _rank_outputs, "comparisons", whole=("item_rows",),
        read_by_stage=("label_distributions",), task_values=task_votes,
    )  # fmt: skip
    if output.metrics["segment_graphs"]:
        graphs = output.metrics["segment_graphs"].values()
        n, n_outputs = (sum(counts[name] for counts in graphs) for name in ("segments", "outputs"))
        context.progress(f"{n_outputs:,} outputs ranked in {n:,} segments")
    return output.output(SegmentRankMetrics)


def _rank_outputs(inputs: TaskRows) -> tuple[Mapping[str, pa.Table], TaskMetrics]:
    from annot_pipeline.stages.comparisons.rank_segments import VOTES, rank_segments

    votes = {
        task_votes.task: task_votes.rows.cast(VOTES) for task_votes in inputs.task_values.values()
    }
    table, metrics = rank_segments(
        inputs["comparisons"],
        inputs["tasks"],
        inputs["item_rows"],
        pa.concat_tables([VOTES.empty_table(), *votes.values()]),
        segment_graphs=inputs.settings.ranking.segment_graphs,
        progress=throttle_progress(inputs.progress),
    )
    return {"segment_ranks": table}, metrics


def rank_systems_of_tasks(context: StageContext) -> StageOutput[SystemRankMetrics]:
    """Return rankings and comparisons of systems.

    By their scores, and by comparisons of outputs.
    """
    settings = context.campaign.settings.ranking
    answers = answers_of_systems(context)
    # texts are read, and tasks ranked again where they change, only where they are asked for
    output = run_by_task(
        context, _rank_systems, "standardized", "comparisons",
        whole=("item_rows",) if settings.covariates else (),
        read_by_stage=("controlled",) if settings.covariates else ("controlled", "item_rows"),
        task_values=answers, large=partial(_rankings_in_blocks, context),
    )  # fmt: skip
    shutil.rmtree(context.folder / BLOCKS, ignore_errors=True)
    return output.output(
        SystemRankMetrics, alpha=settings.alpha, missing_answers=missing_answers(answers)
    )


def _rankings_in_blocks(context: StageContext, whole: WholeTasks) -> list[Partition]:
    """Return the partition of a task in blocks."""
    if len(whole.inputs.files["standardized"].files) == 1:
        return []
    from annot_pipeline.stages.scores.score_blocks import ranked_in_blocks

    makes = partial(
        ranked_in_blocks, context, whole.folder(context), whole.inputs, whole.small,
        whole.task_values,
    )  # fmt: skip
    return block_partitions(context, 1, whole.fingerprint, makes)


def _rank_systems(inputs: TaskRows) -> tuple[Mapping[str, pa.Table], TaskMetrics]:
    from annot_pipeline.stages.comparisons.rank_systems import rank_systems
    from annot_pipeline.stages.comparisons.ranked import RankingContext
    from annot_pipeline.stages.comparisons.system_rankings import with_comparisons

    tables, metrics = rank_systems(
        inputs["standardized"],
        inputs["tasks"],
        RankingContext.from_settings(inputs.settings, throttle_progress(inputs.progress)),
        standardize=inputs.settings.standardize,
        workers=inputs.workers,
    )
    compared, compared_metrics = with_comparisons(
        tables,
        inputs["comparisons"],
        inputs["segment_ranks"],
        inputs.settings,
        inputs.tables.get("item_rows"),
        throttle_progress(inputs.progress),
        inputs.task_values,
    )
    return compared, metrics | compared_metrics


def describe_comparisons_of_tasks(context: StageContext) -> StageOutput[ContradictionMetrics]:
    """Describe contradictions and times of all tasks that have comparisons."""
    output = run_by_task(context, _describe_comparisons, "comparisons", whole=("item_rows",))
    return output.output(ContradictionMetrics)


def _describe_comparisons(inputs: TaskRows) -> tuple[Mapping[str, pa.Table], TaskMetrics]:
    from annot_pipeline.stages.comparisons.describe_comparisons import describe_comparisons

    return describe_comparisons(inputs["comparisons"], inputs["item_rows"])


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
    kinds=frozenset({"parquet", "numpy"}),
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
    kinds=frozenset({"parquet", "numpy"}),
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
            "task", "scale_low", "scale_high", "assumed_low", "assumed_high", "criteria",
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
    code_version="9",  # answers asked for, ranks across components without a total order
    work=rank_systems_of_tasks,
    kinds=frozenset({"parquet", "numpy", "duckdb"}),
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
    kinds=frozenset({"parquet", "numpy"}),
)  # fmt: skip
