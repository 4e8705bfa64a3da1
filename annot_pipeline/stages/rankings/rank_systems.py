"""All rankings of the systems of a task: by scores, and by comparisons of their outputs.

A ranking method is a function that takes a task and `RankingContext` and returns `Ranked`. A new
one is a module, and its entry here.

Two outputs of one system say nothing about systems. Comparisons of judges who failed do not count,
but the systems that only they saw are in the table, without a rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Floats
from annot_pipeline.config.judges import JudgeSettings
from annot_pipeline.contracts import GOLD, TEXT
from annot_pipeline.contracts.task_table import scale_of
from annot_pipeline.runtime.coded_task import CodedTask
from annot_pipeline.runtime.task_partitions import TaskData, TaskResult
from annot_pipeline.stages.rankings import comparison_scores
from annot_pipeline.stages.rankings.answers_of_systems import with_answers
from annot_pipeline.stages.rankings.bradley_terry_ranking import (
    bradley_terry_rankings,
    length_rankings,
)
from annot_pipeline.stages.rankings.ranking_rows import (
    NAMED,
    Ranked,
    RankingContext,
    ranking_tables,
)
from annot_pipeline.stages.rankings.score_rankings import adjusted_rankings, mean_rankings
from annot_pipeline.stages.rankings.system_comparisons import SystemComparisons
from annot_pipeline.stages.rankings.system_scores import SystemScores
from annot_pipeline.stages.rankings.variance_rows import variance_rows

T = TypeVar("T")


def ranked_by(
    methods: Sequence[Callable[[T, RankingContext], Ranked]], task: T, context: RankingContext
) -> Ranked:
    """Return the rankings of a task's systems by all methods, in the order of their names."""
    results = [method(task, context) for method in methods]
    rankings = [ranking for result in results for ranking in result.rankings]
    metrics = {name: value for result in results for name, value in result.metrics.items()}
    adjusted = next((one.adjusted for one in results if one.adjusted is not None), None)
    return Ranked(sorted(rankings, key=lambda one: one.method), metrics, adjusted)


BY_SCORES = (adjusted_rankings, mean_rankings)
BY_COMPARISONS = (
    bradley_terry_rankings, length_rankings, comparison_scores.win_rankings,
    comparison_scores.dominance_rankings, comparison_scores.online_rankings,
)  # fmt: skip
"""Methods that rank the systems of a task: each one, or several that share their work."""


COLUMNS = ("task", "item", "text", "place")
"""What is read of item tables."""


def log_lengths(item_rows: pa.Table, task: str, items: pa.ChunkedArray) -> Floats:
    """Return the natural logarithm of the characters of each item's text; NaN without a text.

    Parameters
    ----------
    item_rows
        `COLUMNS` of the item tables; the first text that rows of the task, or rows that name no
        task, give an item is its text. Blank texts are none.
    task
        Name of the task.
    items
        Names of items.
    """
    is_own = pc.fill_null(pc.equal(item_rows["task"], task), True)
    rows = item_rows.filter(is_own).sort_by("place")
    length = pc.utf8_length(pc.utf8_trim_whitespace(rows["text"].cast(TEXT)))
    has_text = pc.fill_null(pc.greater(length, 0), False)
    names, length = rows["item"].cast(TEXT).filter(has_text), length.filter(has_text)
    if not len(names):
        return np.full(len(items), np.nan)
    row_of_item = pc.index_in(items.cast(TEXT), names.combine_chunks())
    first = np.asarray(pc.fill_null(row_of_item, 0).to_numpy(), np.int64)
    logs = np.log(np.asarray(length.to_numpy(), np.float64))[first]
    return np.where(np.asarray(pc.is_valid(row_of_item).to_numpy(), np.bool_), logs, np.nan)


TABLES = ("system_rankings", "system_comparisons", "variance")
COMPONENTS = 20
"""Components of a task that the metrics name."""


def rank_systems(task: TaskData) -> TaskResult:
    """Rank the systems of a task.

    Parameters
    ----------
    task
        ``standardized``, ``comparisons``, ``segment_ranks``, its row of ``tasks``, ``item_rows``
        where a covariate needs texts, and as value the answers that were asked for.

    Returns
    -------
    tables, metrics
        `TABLES` by their keys.
    """
    context = RankingContext.from_settings(task.settings, task.progress)
    by_scores, metrics = rank_by_scores(task, context)
    compared = CodedTask(task.name, task["comparisons"])
    is_scored = by_scores["system_rankings"].num_rows > 0
    by_comparisons, compared_metrics = rank_by_comparisons(
        compared,
        context,
        judges=task.settings.judges.declared,
        segment_ranks=task["segment_ranks"],
        item_rows=task.tables.get("item_rows"),
        is_headline=not is_scored,
    )
    tables = {
        name: pa.concat_tables(
            [tables[name] for tables in (by_scores, by_comparisons) if name in tables]
            or [GOLD[name].empty()]
        ).sort_by([(column, "ascending") for column in GOLD[name].key])
        for name in TABLES
    }
    tables["system_rankings"] = with_answers(tables["system_rankings"], task.value)
    by_system = tables["system_rankings"].group_by("system")  # of all methods, the one of most
    rows = by_system.aggregate([("n_judgments", "max")]).sort_by("system").to_pylist()
    most = {row["system"]: row["n_judgments_max"] for row in rows}
    return tables, metrics | compared_metrics | ({"judgments_of_systems": most} if most else {})


def rank_by_scores(
    task: TaskData, context: RankingContext
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Return the rows of tables by scores, and metrics; none without scores."""
    if task.declared["kind"] != "scalar":
        return {"system_rankings": GOLD["system_rankings"].empty()}, {}
    scores = SystemScores.from_blocks(
        task.name, task.blocks("standardized"), scale_of(task.declared), task.settings.standardize
    )
    if not scores.names and not scores.n_kept:
        return {"system_rankings": GOLD["system_rankings"].empty()}, {}
    if not scores.names:
        rankings = {"system_rankings": GOLD["system_rankings"].empty()}
        return rankings | {"variance": variance_rows(task.name, scores.blocks)}, {}
    ranked = ranked_by(BY_SCORES, scores, context)
    tables = ranking_tables(task.name, scores.names, ranked.rankings, "adjusted")
    if ranked.adjusted is not None:
        tables["variance"] = variance_rows(task.name, scores.blocks, ranked.adjusted)
    return tables, {
        "judgments_without_system": scores.n_without_system,
        "systems_scored": ranked.metrics,
    }


def rank_by_comparisons(
    compared: CodedTask,
    context: RankingContext,
    *,
    judges: Sequence[JudgeSettings] = (),
    segment_ranks: pa.Table | None = None,
    item_rows: pa.Table | None = None,
    is_headline: bool = True,
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Return the rows of tables by comparisons, and metrics; none without comparisons.

    Parameters
    ----------
    compared
        `comparisons.COMPARISONS` of the task, in their order.
    context
        Settings of the methods.
    judges
        Which judges are models.
    segment_ranks
        ``segment``, ``system``, ``dominance`` of the task; without rows no method ``dominance``.
    item_rows
        `COLUMNS` of the item tables, where a covariate needs them.
    is_headline
        Whether there is no ranking by scores.
    """
    _, first, second = compared.sides("system")
    is_known = (first >= 0) & (second >= 0)
    rows = compared.only(is_known & (first != second))
    metrics: dict[str, Any] = {
        "comparisons_without_system": int((~is_known).sum()),
        "comparisons_of_one_system": int((is_known & (first == second)).sum()),
    }
    metrics = {name: n for name, n in metrics.items() if n}
    if not len(rows):
        return {}, metrics
    systems = SystemComparisons.from_rows(rows, judges, segment_ranks, context.seed)
    if item_rows is not None:
        counted = rows.rows.filter(rows.rows["kept"])
        ends = [log_lengths(item_rows, compared.name, counted[f"item_{side}"]) for side in "ab"]
        systems = replace(systems, length_difference=ends[0] - ends[1])
    ranked = Ranked([])
    if systems.first.size:
        ranked = ranked_by(BY_COMPARISONS, systems, context)
    headline = "bradley_terry" if is_headline else ""
    is_small = len(systems.names) <= context.most_systems
    tried = is_small and context.ranking.regularize == "none"
    is_strong = systems.graph.strong[systems.graph.part[systems.part >= 0]]
    return ranking_tables(compared.name, systems.names, ranked.rankings, headline), metrics | {
        "not_strongly_connected": bool(tried and not is_strong.all()),
        "systems_compared": _graph_metrics(systems) | ranked.metrics,
    }


def _graph_metrics(task: SystemComparisons) -> dict[str, Any]:
    is_seen = task.part >= 0
    components = [
        np.flatnonzero(is_seen & (task.graph.component == code))
        for code in np.unique(task.graph.component[is_seen]).tolist()
    ]
    return {
        "systems": int(is_seen.sum()),
        "comparisons": int(task.first.size),
        "ties": int((task.outcome == 0).sum()),
        "parts": task.n_parts,
        "n_components": len(components),
        "components": [
            [task.names[code] for code in members[:NAMED]] for members in components[:COMPONENTS]
        ],
    }
