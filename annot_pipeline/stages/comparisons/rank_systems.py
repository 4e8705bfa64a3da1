"""Systems ranked by their segment scores: raw, filtered and standardised means, and EASL.

A system's score is the unweighted mean of its segment scores; pairs of systems are tested on
them, and significant differences cut the ranking into clusters (Graham et al. 2013, section
5; WMT's direct assessment since). What does not belong here: how a segment is scored
(cell_means), the tests (system_comparisons), the cluster rules (clusters).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Ranking, Standardize
from annot_pipeline.contracts import SYSTEM_COMPARISONS, SYSTEM_RANKINGS, TEXT
from annot_pipeline.methods.comparisons.clusters import clusters, ranks
from annot_pipeline.methods.numerics.bootstrap_means import (
    SegmentScores,
    resample_judges,
    resample_segments,
)
from annot_pipeline.methods.numerics.moments import means
from annot_pipeline.methods.numerics.multiplicity import adjust
from annot_pipeline.methods.numerics.rounding import comparable
from annot_pipeline.methods.scores.system_comparisons import SystemComparisons, compare_systems
from annot_pipeline.runtime.indexing import index_pairs, names_of
from annot_pipeline.stages.scores.segment_scores import (
    Cells,
    JudgedOutputs,
    TaskCells,
    judged_outputs,
    local_codes,
    rows_of,
    task_cells,
)

TAILS = (0.025, 0.975)
SCHEMAS = {
    "system_rankings": SYSTEM_RANKINGS.schema,
    "system_comparisons": SYSTEM_COMPARISONS.schema,
}

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def rank_systems(
    standardized: pa.Table,
    tasks: pa.Table,
    *,
    ranking: Ranking,
    standardize: Standardize,
    seed: int,
    workers: int = 1,
    progress: Callable[[str], None] | None = None,
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Rank the systems of every scalar task that names systems.

    Parameters
    ----------
    standardized
        As `standardize_scores` gives it.
    tasks
        ``task`` and its scale: where there is one, EASL ranks too.
    ranking
        Cluster rule, level, correction, bootstrap.
    standardize
        Its ``arithmetic`` decides which segment scores count as equal.
    seed
        Of the bootstrap; each task has its own stream.
    workers
        Tasks ranked side by side; the result is the same.
    progress
        Told what is going on.

    Returns
    -------
    tables, metrics
        ``system_rankings``, ``system_comparisons``; by task, judgments that name no system.
    """
    judgments, without_system = judged_outputs(standardized, tasks)
    ranked_tasks: list[dict[str, pa.Table]] = []

    def ranked(number: int) -> dict[str, pa.Table]:
        cells = task_cells(judgments, number, standardize)
        if ranking.resample == "segments":
            return rank_cells(cells, ranking=ranking, seed=seed)
        stream = _stream(cells.task, seed)
        resampled = [
            _resampled_judges(judgments, number, method, len(cells.systems), ranking, stream)
            for method in cells.methods
        ]
        return _rank_task(cells, resampled, ranking)

    with ThreadPoolExecutor(workers) as pool:
        for number, of_task in enumerate(pool.map(ranked, range(len(judgments.task))), start=1):
            ranked_tasks.append(of_task)
            if progress:
                progress(f"ranking systems: task {number} of {len(judgments.task)}")
    none = {name: schema.empty_table() for name, schema in SCHEMAS.items()}
    tables = {
        name: pa.concat_tables([rankings[name] for rankings in (none, *ranked_tasks)])
        for name in SCHEMAS
    }
    return tables, {"judgments_without_system": without_system}


def rank_cells(cells: TaskCells, *, ranking: Ranking, seed: int) -> dict[str, pa.Table]:
    """Rank the systems of one task by its segment scores; segments are resampled.

    Parameters
    ----------
    cells
        Segment scores by method.
    ranking, seed
        As `rank_systems` takes them.

    Returns
    -------
    dict
        ``system_rankings``, ``system_comparisons``.
    """
    return _rank_task(cells, _resampled_segments(cells, ranking, seed), ranking)


def _rank_task(
    cells: TaskCells, of_rounds: Sequence[Floats], ranking: Ranking
) -> dict[str, pa.Table]:
    """Return the rows of systems and of pairs of systems of one task, by method."""
    names, task = cells.systems, cells.task
    tables: dict[str, list[pa.Table]] = {
        name: [schema.empty_table()] for name, schema in SCHEMAS.items()
    }
    for (method, scores), resampled in zip(cells.methods.items(), of_rounds, strict=True):
        compared = compare_systems(scores.systems, scores.scores, n_systems=len(names))
        p_adjusted = _adjusted(compared.p_value)
        p_decisive = p_adjusted if ranking.correction == "holm" else compared.p_value
        beats = np.nan_to_num(p_decisive, nan=1.0) < ranking.alpha
        rows = SYSTEM_RANKINGS.from_columns(
            {"task": pa.repeat(task, len(names)), "method": pa.repeat(method, len(names))}
            | _ranked(names, scores, beats, resampled, ranking)
        )
        tables["system_rankings"].append(rows)
        tables["system_comparisons"].append(
            _compared(task, method, names, compared, p_adjusted, beats)
        )
    return {name: pa.concat_tables(parts) for name, parts in tables.items()}


def _adjusted(p_value: Floats) -> Floats:
    """Return p-values after Holm's correction over all ordered pairs of the task."""
    return adjust(p_value.reshape(-1), "holm").reshape(p_value.shape)


def _stream(task: str, seed: int) -> list[int]:
    """Return the seeds of a task's draws."""
    name = hashlib.sha256(task.encode()).digest()
    return [seed, int.from_bytes(name[:8], "big")]


def _resampled_segments(cells: TaskCells, ranking: Ranking, seed: int) -> list[Floats]:
    """Return system scores ``(rounds, n_systems)`` per method, all from the same draws.

    A system without two of what is drawn has none: an interval would have no width.
    """
    n_systems, methods = len(cells.systems), cells.methods.values()
    resampled = resample_segments(
        [SegmentScores(scores.systems, scores.segments, scores.scores) for scores in methods],
        n_systems=n_systems, n_segments=cells.n_segments,
        rounds=ranking.bootstrap, rng=np.random.default_rng(_stream(cells.task, seed)),
    )  # fmt: skip
    for rounds, scores in zip(resampled, methods, strict=True):
        rounds[:, np.bincount(scores.systems, minlength=n_systems) < 2] = np.nan
    return resampled


def _resampled_judges(
    judgments: JudgedOutputs,
    task: int,
    method: str,
    n_systems: int,
    ranking: Ranking,
    stream: list[int],
) -> Floats:
    rows, of_task, first = rows_of(judgments, task)
    systems, _ = local_codes(judgments, task, of_task)
    parts = index_pairs(judgments.cells.codes[rows] - first, judgments.criteria[rows])
    names, judge = np.unique(judgments.judges[rows], return_inverse=True)
    values = judgments.values[method][rows]
    is_scored = ~np.isnan(values)
    part, judge = parts.codes[is_scored], judge.reshape(-1)[is_scored]
    judged = index_pairs(systems[parts.first[part]], judge)
    n_drawn = np.bincount(judged.first, minlength=n_systems)
    resampled = resample_judges(
        systems, parts.first, part, judge, values[is_scored],
        n_systems=n_systems, n_judges=names.size, rounds=ranking.bootstrap,
        rng=np.random.default_rng(stream),
    )  # fmt: skip
    resampled[:, n_drawn < 2] = np.nan
    return resampled


def _ranked(
    names: list[str], cells: Cells, beats: Flags, resampled: Floats, ranking: Ranking
) -> dict[str, Any]:
    n = len(names)
    n_segments = np.bincount(cells.systems, minlength=n)
    n_judgments = np.bincount(cells.systems, weights=cells.n_judgments, minlength=n)
    score = means(cells.systems, cells.scores, n_groups=n)
    scored = n_segments > 0
    place = ranks(comparable(score))
    order = np.lexsort((np.arange(n), place))[: int(scored.sum())]
    cluster = np.zeros(n, np.int64)
    cluster[order] = clusters(beats[np.ix_(order, order)], ranking.cluster_rule)
    interval = np.zeros(n, np.bool_)
    if len(resampled):
        interval |= ~np.isnan(resampled).all(axis=0)
    low, high = _quantiles(resampled, interval)
    # a system that is not drawn stays where it is: others do not move up for want of it
    places = ranks(comparable(np.where(np.isnan(resampled), score, resampled))).astype(np.float64)
    rank_low, rank_high = _quantiles(places, interval, whole=True)
    return {
        "system": names,
        "rank": pa.array(place, mask=~scored),
        "score": _null_nan(score),
        "ci_low": _null_nan(low),
        "ci_high": _null_nan(high),
        "rank_low": _null_nan(rank_low).cast(pa.int64()),
        "rank_high": _null_nan(rank_high).cast(pa.int64()),
        "wins": pa.array(beats.sum(axis=1), mask=~scored),
        "cluster": pa.array(cluster, mask=~scored),
        "n_segments": n_segments,
        "n_judgments": n_judgments.astype(np.int64),
        "reason": _reasons(n_segments, interval, ranking),
    }


def _reasons(n_segments: Codes, interval: Flags, ranking: Ranking) -> pa.Array:
    """Return why a row has nulls."""
    texts = (
        "no judgment that counts for this method",
        "the only system of the task: nothing to compare it with",
        f"fewer than two {'judges' if ranking.resample == 'judges' else 'segments'}: no interval",
    )
    scored = n_segments > 0
    which = np.select(
        [~scored, np.full(scored.size, scored.sum() == 1), ~interval & (ranking.bootstrap > 0)],
        range(3), -1,
    )  # fmt: skip
    return pc.take(pa.array(texts, TEXT), pa.array(which, mask=which < 0))


def _quantiles(values: Floats, is_defined: Flags, *, whole: bool = False) -> tuple[Floats, Floats]:
    """Return the ends of the 95% interval of each column; NaN where it is undefined."""
    low, high = np.full(is_defined.size, np.nan), np.full(is_defined.size, np.nan)
    if is_defined.any():
        defined = values[:, is_defined]
        low[is_defined] = np.nanquantile(
            defined, TAILS[0], axis=0, method="lower" if whole else "linear"
        )
        high[is_defined] = np.nanquantile(
            defined, TAILS[1], axis=0, method="higher" if whole else "linear"
        )
    return low, high


def _compared(
    task: str,
    method: str,
    names: list[str],
    compared: SystemComparisons,
    p_adjusted: Floats,
    beats: Flags,
) -> pa.Table:
    n = len(names)
    a, b = np.nonzero(~np.eye(n, dtype=np.bool_))
    return SYSTEM_COMPARISONS.from_columns(
        {
            "task": pa.repeat(task, a.size),
            "method": pa.repeat(method, a.size),
            "system_a": names_of(names, a),
            "system_b": names_of(names, b),
            "difference": _null_nan(compared.difference[a, b]),
            "p_value": _null_nan(compared.p_value[a, b]),
            "p_adjusted": _null_nan(p_adjusted[a, b]),
            "a_beats_b": beats[a, b],
        }
    )


def _null_nan(values: Floats) -> pa.Array:
    return pa.array(values, mask=np.isnan(values))
