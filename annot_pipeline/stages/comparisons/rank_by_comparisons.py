"""Rank systems by comparisons of their outputs: Bradley-Terry, wins, dominance, TrueSkill.

Two outputs of one system say nothing about systems. Comparisons of judges who failed do not count,
but the systems that only they saw are in the table, without a rank. What does not belong here: the
methods (registry), rows of tables (ranking_rows).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.config.judges import JudgeSettings, is_model
from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.rankings.document_clusters import document_clusters
from annot_pipeline.runtime.indexing import Index, index
from annot_pipeline.stages.agreement.ratings import of_task
from annot_pipeline.stages.comparisons.inference_reasons import NAMED
from annot_pipeline.stages.comparisons.ranked import Ranked, RankingContext
from annot_pipeline.stages.comparisons.ranking_rows import (
    SCHEMAS,
    ranking_tables,
)
from annot_pipeline.stages.comparisons.registry import BY_COMPARISONS
from annot_pipeline.stages.comparisons.task_comparisons import TaskComparisons
from annot_pipeline.stages.comparisons.text_lengths import log_lengths
from annot_pipeline.stages.scores.segment_scores import document_codes

COMPONENTS = 20
"""Components of a task that the metrics name."""


@dataclass(frozen=True)
class _Comparisons:
    """Comparisons of two systems, of all tasks; codes are ``(n_comparisons,)``."""

    task: Index
    system: list[str]
    first: Codes
    second: Codes
    outcome: Codes
    share: Floats  # of a graded preference that goes to the first; NaN: not graded
    second_shown_first: Codes  # -1: not known
    is_kept: Flags
    ranking: Codes
    judge: Index
    segment: Codes  # -1: none is known
    document: Codes  # of the segment; NO_DOCUMENT where none is named
    items: pa.Table = field(repr=False)  # item_a and item_b of the first and the second


def rank_by_comparisons(
    comparisons: pa.Table,
    context: RankingContext,
    *,
    judges: Sequence[JudgeSettings] = (),
    segment_ranks: pa.Table | None = None,
    item_rows: pa.Table | None = None,
    scored: frozenset[str] = frozenset(),
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Rank the systems of every task in which outputs of two systems were compared.

    Parameters
    ----------
    comparisons
        `comparisons.COMPARISONS`, in their order.
    context
        Settings of the methods.
    judges
        Which judges are models.
    segment_ranks
        ``task``, ``segment``, ``system``, ``dominance``; without it no method ``dominance``.
    item_rows
        `text_lengths.COLUMNS` of the item tables, where a covariate needs them.
    scored
        Tasks whose headline is by scores.

    Returns
    -------
    tables, metrics
        ``system_rankings``, ``system_comparisons``; metrics are by name and task.
    """
    compared_systems, left_out = _comparisons(comparisons)
    ranked: list[dict[str, pa.Table]] = []
    tasks: dict[str, dict[str, Any]] = {}
    not_strong: dict[str, bool] = {}
    for number, (name, rows) in enumerate(_tasks(compared_systems)):

        def tell(what: str, number: int = number) -> None:
            n = len(compared_systems.task.names)
            context.progress(f"ranking by comparisons: task {number + 1} of {n}, {what}")

        task = _task(compared_systems, name, rows, judges, segment_ranks, context.seed)
        if item_rows is not None:
            items = compared_systems.items.take(pa.array(rows[compared_systems.is_kept[rows]]))
            task = replace(task, length_difference=_length_difference(items, item_rows, name))
        result = Ranked([])
        if task.first.size:
            result = BY_COMPARISONS.rank(task, replace(context, progress=tell))
        headline = "" if name in scored else BY_COMPARISONS.headline
        ranked.append(ranking_tables(name, task.names, result.rankings, headline))
        tasks[name] = _metrics(task) | result.metrics
        is_small = len(task.names) <= context.most_systems
        tried = is_small and context.ranking.regularize == "none"
        is_strong = task.graph.strong[task.graph.part[task.part >= 0]]
        not_strong[name] = bool(tried and not is_strong.all())
    return {
        name: pa.concat_tables([schema.empty_table(), *(tables[name] for tables in ranked)])
        for name, schema in SCHEMAS.items()
    }, {
        **left_out,
        "not_strongly_connected": not_strong,
        "systems_compared": tasks,
    }


def _comparisons(table: pa.Table) -> tuple[_Comparisons, dict[str, dict[str, int]]]:
    has_systems = pc.and_(pc.is_valid(table["system_a"]), pc.is_valid(table["system_b"]))
    rows = table.filter(has_systems)
    sides = [rows[name].cast(TEXT) for name in ("system_a", "system_b")]
    system = index(pa.chunked_array([c for side in sides for c in side.chunks], TEXT))
    first, second = np.split(system.codes, 2)
    two = first != second
    left_out = {
        "comparisons_without_system": _by_task(table.filter(pc.invert(has_systems))),
        "comparisons_of_one_system": _by_task(rows.filter(pa.array(~two))),
    }
    rows = rows.filter(pa.array(two))
    segment = np.full(rows.num_rows, -1)
    valid = rows["segment"].is_valid().to_numpy()
    segment[valid] = index(rows["segment"].filter(pa.array(valid))).codes
    order = pc.fill_null(rows["b_shown_first"].cast(pa.int64()), -1)
    compared_systems = _Comparisons(
        index(rows["task"]),
        system.names,
        first[two],
        second[two],
        rows["outcome"].to_numpy().astype(np.int64),
        rows["share_a"].to_numpy(),
        order.to_numpy(),
        rows["kept"].to_numpy(),
        rows["ranking"].to_numpy(),
        index(rows["judge"]),
        segment,
        document_codes(rows["document"]),
        rows.select(["item_a", "item_b"]),
    )
    return compared_systems, left_out


def _by_task(rows: pa.Table) -> dict[str, int]:
    return dict(sorted(Counter(rows["task"].to_pylist()).items()))


def _tasks(comparisons: _Comparisons) -> Iterator[tuple[str, Codes]]:
    """Yield the names of tasks in order, and the rows of each."""
    order = np.argsort(comparisons.task.codes, kind="stable")
    sizes = np.bincount(comparisons.task.codes, minlength=len(comparisons.task.names))
    yield from zip(comparisons.task.names, np.split(order, np.cumsum(sizes)[:-1]), strict=False)


def _task(
    comparisons: _Comparisons,
    name: str,
    rows: Codes,
    judges: Sequence[JudgeSettings],
    segment_ranks: pa.Table | None,
    seed: int,
) -> TaskComparisons:
    """Return a task's comparisons by judges kept, with all its systems."""
    counted = rows[comparisons.is_kept[rows]]
    systems = np.unique([comparisons.first[rows], comparisons.second[rows]])
    names = [comparisons.system[code] for code in systems]
    segment, n_segments = comparisons.segment[counted], int(comparisons.segment.max(initial=-1)) + 1
    lone = n_segments + comparisons.ranking[counted] - comparisons.ranking.min(initial=0)
    judge, code = np.unique(comparisons.judge.codes[counted], return_inverse=True)
    digest = hashlib.sha256(name.encode()).digest()
    return TaskComparisons(
        names=names,
        first=np.searchsorted(systems, comparisons.first[counted]),
        second=np.searchsorted(systems, comparisons.second[counted]),
        outcome=comparisons.outcome[counted],
        share=comparisons.share[counted],
        second_shown_first=comparisons.second_shown_first[counted],
        judge=code.reshape(-1),
        ranking=comparisons.ranking[counted],
        segment=np.where(segment < 0, lone, segment),
        has_segment=segment >= 0,
        cluster=_clusters(comparisons, rows),
        order_group=_order_groups(
            [comparisons.judge.names[one] for one in judge], judges
        )[code.reshape(-1)],
        dominance=None if segment_ranks is None else _dominance(segment_ranks, name, names),
        seed=[seed, int.from_bytes(digest[:8], "big")],
    )  # fmt: skip


def _length_difference(items: pa.Table, item_rows: pa.Table, task: str) -> Floats:
    """Return the logarithm of the length of each first text less that of the second."""
    first, second = (log_lengths(item_rows, task, items[side]) for side in ("item_a", "item_b"))
    return first - second


def _clusters(comparisons: _Comparisons, rows: Codes) -> Codes | None:
    """Return the cluster of each comparison by judges kept; None if no row names a document."""
    segment = comparisons.segment[rows]
    rankings = int(comparisons.segment.max(initial=-1)) + 1 + comparisons.ranking[rows]
    segments = np.unique(np.where(segment < 0, rankings, segment), return_inverse=True)
    codes = segments[1].reshape(-1)
    clusters = document_clusters(codes, comparisons.document[rows], segments[0].size)
    return None if clusters is None else clusters[codes][comparisons.is_kept[rows]]


def _order_groups(names: Sequence[str], judges: Sequence[JudgeSettings]) -> Codes:
    """Return the order group of each judge: 0 for people, from 1 for each model."""
    groups, n_models = np.zeros(len(names), np.int64), 0
    for code, name in enumerate(names):
        if is_model(name, judges):
            n_models += 1
            groups[code] = n_models
    return groups


def _dominance(
    segment_ranks: pa.Table, task: str, names: list[str]
) -> tuple[Codes, Codes, Floats] | None:
    """Return systems, segments and dominance of a task's outputs; None without any."""
    rows = of_task(segment_ranks, task)
    positions = pc.index_in(rows["system"].cast(TEXT), pa.array(names, TEXT))
    is_ranked = pc.is_valid(positions)
    rows = rows.filter(is_ranked)
    if not rows.num_rows:
        return None
    systems = positions.filter(is_ranked).to_numpy().astype(np.int64)
    dominance = rows["dominance"].to_numpy().astype(np.float64)
    return systems, index(rows["segment"].cast(TEXT)).codes, dominance


def _metrics(task: TaskComparisons) -> dict[str, Any]:
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
