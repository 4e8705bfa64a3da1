"""Systems ranked by comparisons of their outputs: wins, Bradley-Terry, TrueSkill, dominance.

A task's comparisons are cut out, its systems scored by every method that the data allow, and
ranked. Two outputs of one system say nothing about systems; comparisons of judges who failed
do not count, but the systems that only they saw are in the table, without a rank. What does not
belong here: the methods (comparison_scores, online_scores), ranks and clusters (ranking_rows).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Easl, Ranking
from annot_pipeline.contracts import SYSTEM_COMPARISONS, SYSTEM_RANKINGS, TEXT
from annot_pipeline.methods.comparisons.bounded_ra import BoundedRaParams
from annot_pipeline.methods.comparisons.trueskill import TrueSkillParams
from annot_pipeline.runtime.indexing import Index, index
from annot_pipeline.stages.agreement.ratings import of_task
from annot_pipeline.stages.comparisons.comparison_scores import count_scores, dominance_scores
from annot_pipeline.stages.comparisons.online_scores import (
    affordable_rounds,
    bounded_ra_scores,
    trueskill_scores,
)
from annot_pipeline.stages.comparisons.ranking_rows import MOST_SYSTEMS, Scored, ranked_rows
from annot_pipeline.stages.comparisons.task_comparisons import FEW, TaskComparisons

NOT_KEPT = "no comparison of judges kept"
COMPONENTS = 20
"""Components of a task that the metrics name."""

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class _Comparisons:
    """Comparisons of two systems, of all tasks; codes are ``(n_comparisons,)``."""

    task: Index
    system: list[str]
    first: Codes
    second: Codes
    outcome: Codes
    is_kept: Flags
    ranking: Codes
    judge: Codes
    segment: Codes  # -1: none is known


def rank_by_comparisons(
    comparisons: pa.Table,
    *,
    ranking: Ranking,
    easl: Easl,
    seed: int,
    segment_ranks: pa.Table | None = None,
    progress: Callable[[str], None] | None = None,
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Rank the systems of every task in which outputs of two systems were compared.

    Parameters
    ----------
    comparisons
        `comparisons.COMPARISONS`, in their order.
    ranking
        Bootstrap, level, correction, and what Bradley-Terry takes.
    easl
        What TrueSkill and bounded ranking aggregation take.
    seed
        Of the rounds; each task has its own stream.
    segment_ranks
        ``task``, ``segment``, ``system``, ``dominance``; without it no method ``dominance``.
    progress
        Told what is going on.

    Returns
    -------
    tables, metrics
        ``system_rankings``, ``system_comparisons``; by task the metrics hold its systems,
        comparisons, components, online rounds, and how Bradley-Terry went; whether its systems
        are in one part, but not strongly connected, where that was looked at; and comparisons
        without systems, and of one system with itself.
    """
    compared_systems, left_out = _comparisons(comparisons)
    ranks: list[pa.Table] = []
    pairs: list[pa.Table] = []
    tasks: dict[str, dict[str, Any]] = {}
    not_strong: dict[str, bool] = {}
    for number, (name, rows) in enumerate(_tasks(compared_systems)):

        def tell(what: str, number: int = number) -> None:
            if progress:
                n = len(compared_systems.task.names)
                progress(f"ranking by comparisons: task {number + 1} of {n}, {what}")

        task, unseen = _task(compared_systems, name, rows, ranking, segment_ranks, seed)
        scores, metrics = _scores(task, ranking, easl, tell)
        for scored in scores:
            names, whole = _with_unseen(task, scored, unseen)
            ranked, compared = ranked_rows(name, names, whole, ranking)
            ranks.append(ranked)
            pairs.append(compared)
        tasks[name] = _metrics(task) | metrics
        tried = task.n <= MOST_SYSTEMS and ranking.regularize == "none"
        not_strong[name] = bool(tried and not task.graph.strong.all())
    return {
        "system_rankings": _stack(SYSTEM_RANKINGS.schema, ranks),
        "system_comparisons": _stack(SYSTEM_COMPARISONS.schema, pairs),
    }, {
        **left_out,
        "not_strongly_connected": not_strong,
        "systems_compared": tasks,
    }


def _scores(
    task: TaskComparisons, ranking: Ranking, easl: Easl, tell: Callable[[str], None]
) -> tuple[list[Scored], dict[str, Any]]:
    """Return the scores of every method, in the order of the methods' names."""
    chain = {"gamma": easl.gamma, "epsilon": easl.epsilon}
    start = {"mean": easl.trueskill_mean, "sd": easl.trueskill_sd}
    metrics: dict[str, Any] = {"online_rounds": affordable_rounds(task, ranking)}
    if not task.n:
        return [], metrics
    tell("bradley_terry and wins")
    scores, fit = count_scores(task, ranking)
    if fit is not None:
        metrics["bradley_terry"] = fit
    if task.dominance is not None:
        scores.append(dominance_scores(task, ranking, task.dominance))
    scores.append(bounded_ra_scores(task, ranking, BoundedRaParams(**chain), tell))
    scores += trueskill_scores(task, ranking, TrueSkillParams(**chain, **start), tell)
    return sorted(scores, key=lambda scored: scored.method), metrics


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
    compared_systems = _Comparisons(
        index(rows["task"]),
        system.names,
        first[two],
        second[two],
        rows["outcome"].to_numpy().astype(np.int64),
        rows["kept"].to_numpy(),
        rows["ranking"].to_numpy(),
        index(rows["judge"]).codes,
        segment,
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
    ranking: Ranking,
    segment_ranks: pa.Table | None,
    seed: int,
) -> tuple[TaskComparisons, list[str]]:
    """Return a task's comparisons that count, and systems that appear in none of them."""
    counted = rows[comparisons.is_kept[rows]]
    systems = np.unique([comparisons.first[counted], comparisons.second[counted]])
    of_rows = np.unique([comparisons.first[rows], comparisons.second[rows]])
    names = [comparisons.system[code] for code in systems]
    unseen = [comparisons.system[code] for code in np.setdiff1d(of_rows, systems)]
    segment, n_segments = comparisons.segment[counted], int(comparisons.segment.max(initial=-1)) + 1
    lone = n_segments + comparisons.ranking[counted] - comparisons.ranking.min(initial=0)
    units = {
        "rankings": comparisons.ranking[counted],
        "judges": comparisons.judge[counted],
        "segments": np.where(segment < 0, lone, segment),  # without one: on its own
    }
    digest = hashlib.sha256(name.encode()).digest()
    task = TaskComparisons(
        names=names,
        first=np.searchsorted(systems, comparisons.first[counted]),
        second=np.searchsorted(systems, comparisons.second[counted]),
        outcome=comparisons.outcome[counted],
        ranking=comparisons.ranking[counted],
        unit=units[ranking.resample_comparisons],
        segment=segment,
        dominance=None if segment_ranks is None else _dominance(segment_ranks, name, names),
        units=ranking.resample_comparisons,
        seed=[seed, int.from_bytes(digest[:8], "big")],
    )
    return task, unseen


def _dominance(
    segment_ranks: pa.Table, task: str, names: list[str]
) -> tuple[Codes, Codes, Floats] | None:
    """Return systems, segments and dominance of a task's outputs; None without any."""
    rows = of_task(segment_ranks, task)
    place = pc.index_in(rows["system"].cast(TEXT), pa.array(names, TEXT))
    is_ranked = pc.is_valid(place)
    rows = rows.filter(is_ranked)
    if not rows.num_rows:
        return None
    systems = place.filter(is_ranked).to_numpy().astype(np.int64)
    dominance = rows["dominance"].to_numpy().astype(np.float64)
    return systems, index(rows["segment"].cast(TEXT)).codes, dominance


def _with_unseen(
    task: TaskComparisons, scored: Scored, unseen: list[str]
) -> tuple[list[str], Scored]:
    """Return names and scores of all systems, including those without comparisons."""
    if not unseen:
        return task.names, scored
    n = len(unseen)
    names = [*task.names, *unseen]
    order = np.array(sorted(range(len(names)), key=names.__getitem__))
    none = np.full(n, np.nan)
    reasons = [*scored.reasons, *([NOT_KEPT] for _ in unseen)]
    zeros = np.zeros(n, np.int64)
    return [names[i] for i in order], Scored(
        method=scored.method,
        score=np.append(scored.score, none)[order],
        order=np.append(scored.order, none)[order],
        group=np.append(scored.group, np.full(n, -1))[order],
        rounds=np.pad(scored.rounds, ((0, 0), (0, n)), constant_values=np.nan)[:, order],
        sized=np.append(scored.sized, np.zeros(n, np.bool_))[order],
        n_units=np.append(scored.n_units, zeros)[order],
        n_segments=np.append(scored.n_segments, zeros)[order],
        n_judgments=np.append(scored.n_judgments, zeros)[order],
        reasons=[reasons[i] for i in order],
    )


def _metrics(task: TaskComparisons) -> dict[str, Any]:
    graph = task.graph
    members = np.split(
        np.argsort(graph.component, kind="stable"),
        np.cumsum(np.bincount(graph.component, minlength=graph.n_components))[:-1],
    )
    return {
        "systems": task.n,
        "comparisons": int(task.first.size),
        "ties": int((task.outcome == 0).sum()),
        "parts": graph.n_parts,
        "n_components": graph.n_components,
        "components": [[task.names[m] for m in c[:FEW]] for c in members[:COMPONENTS] if c.size],
    }


def _stack(schema: pa.Schema, parts: list[pa.Table]) -> pa.Table:
    """Concatenate tables by task and method, which are in the order of the key."""
    return pa.concat_tables(parts) if parts else schema.empty_table()
