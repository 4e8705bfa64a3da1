"""Systems ranked by their segment scores: raw, filtered and standardised means, and EASL.

A system's score is the unweighted mean of its segment scores; pairs of systems are tested on
them, and significant differences cut the ranking into clusters (Graham et al. 2013, section
5; WMT's direct assessment since). What does not belong here: how a segment is scored
(cell_means), the tests (system_comparisons), the cluster rules (clusters).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Ranking, Standardize
from annot_pipeline.contracts import SYSTEM_COMPARISONS, SYSTEM_RANKINGS, TEXT
from annot_pipeline.methods.bootstrap_means import (
    SegmentScores,
    resample_judges,
    resample_segments,
)
from annot_pipeline.methods.cell_means import cell_means
from annot_pipeline.methods.clusters import clusters, ranks
from annot_pipeline.methods.moments import means
from annot_pipeline.methods.multiplicity import adjust
from annot_pipeline.methods.rounding import comparable
from annot_pipeline.methods.system_comparisons import SystemComparisons, compare_systems
from annot_pipeline.methods.zscores import printed
from annot_pipeline.steps.indexing import PairIndex, index, index_pairs, is_any, names_of
from annot_pipeline.steps.resolve_tasks import scales
from annot_pipeline.steps.standardize_scores import ORDINARY

METHODS = ("easl", "filtered_mean", "raw_mean", "z_mean")
"""In the order of the tables, so that what is made task by task is sorted."""
TAILS = (0.025, 0.975)

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class _Judgments:
    """Judgments of outputs of systems, of all tasks; rows are ``(n_rows,)``."""

    task: list[str]
    system: list[str]
    systems: PairIndex  # task and system
    segments: PairIndex  # task and segment (item, where no segment is known)
    cells: PairIndex  # systems and segments
    judges: Codes
    criteria: Codes
    values: dict[str, Floats]  # by method; NaN does not count
    scaled: Flags  # (n_tasks,) whether a scale is declared


@dataclass(frozen=True)
class _Cells:
    """Segment scores of one task and method: ``(n_cells,)``, codes local to the task."""

    systems: Codes
    segments: Codes
    scores: Floats
    n_judgments: Codes


def rank_systems(
    standardized: pa.Table,
    tasks: pa.Table,
    *,
    ranking: Ranking,
    standardize: Standardize,
    seed: int,
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
    progress
        Told what is going on.

    Returns
    -------
    tables, facts
        ``system_rankings``, ``system_comparisons``.
    """
    judgments, without_system = _judgments(standardized, tasks)
    rankings, comparisons = [], []
    for number, task in enumerate(judgments.task):
        if progress:
            progress(f"ranking systems: task {number + 1} of {len(judgments.task)}")
        names = _names(judgments, number)
        scored = {m: _cells(judgments, number, m, standardize) for m in _methods(judgments, number)}
        of_rounds = _resampled(judgments, number, scored, len(names), ranking, seed)
        for (method, cells), resampled in zip(scored.items(), of_rounds, strict=True):
            compared = compare_systems(cells.systems, cells.scores, n_systems=len(names))
            p_adjusted = _adjusted(compared.p_value)
            p_decisive = p_adjusted if ranking.correction == "holm" else compared.p_value
            beats = np.nan_to_num(p_decisive, nan=1.0) < ranking.alpha
            rankings.append(
                SYSTEM_RANKINGS.of(
                    {"task": pa.repeat(task, len(names)), "method": pa.repeat(method, len(names))}
                    | _ranked(names, cells, beats, resampled, ranking)
                )
            )
            comparisons.append(_compared(task, method, names, compared, p_adjusted, beats))
    tables = {
        "system_rankings": _stack(SYSTEM_RANKINGS.schema, rankings),
        "system_comparisons": _stack(SYSTEM_COMPARISONS.schema, comparisons),
    }
    return tables, {
        "ranked_tasks": len(judgments.task),
        "judgments_without_system": without_system,
    }


def _judgments(standardized: pa.Table, tasks: pa.Table) -> tuple[_Judgments, int]:
    ordinary = standardized.filter(is_any(standardized["control"], ORDINARY))
    rows = ordinary.filter(pc.is_valid(ordinary["system"]))
    task, system = index(rows["task"]), index(rows["system"])
    systems = index_pairs(task.codes, system.codes)
    segments = index_pairs(task.codes, _segments(rows))
    kept, score, z = (rows[name].to_numpy() for name in ("kept", "score", "z"))
    lowest, highest = scales(task.names, tasks)
    low, high = lowest[task.codes], highest[task.codes]
    found = _Judgments(
        task.names,
        system.names,
        systems,
        segments,
        index_pairs(systems.codes, segments.codes),
        index(rows["judge"]).codes,
        index(rows["criterion"], null="").codes,
        {
            "easl": np.where(kept, np.clip((score - low) / (high - low), 0, 1), np.nan),
            "raw_mean": score,
            "filtered_mean": np.where(kept, score, np.nan),
            "z_mean": np.where(kept, z, np.nan),
        },
        ~np.isnan(lowest),
    )
    ranked = is_any(ordinary["task"], task.names)
    of_ranked_tasks = int(pc.sum(ranked).as_py() or 0)
    return found, of_ranked_tasks - rows.num_rows


def _segments(rows: pa.Table) -> Codes:
    """Codes of segments; an item without one is a segment of its own, whatever its name."""
    without = pc.is_null(rows["segment"])
    items = index(rows["item"].filter(without))
    segments = index(rows["segment"].filter(pc.invert(without)))
    codes = np.empty(rows.num_rows, np.int64)
    codes[without.to_numpy()] = items.codes
    codes[~without.to_numpy()] = len(items.names) + segments.codes
    return codes


def _methods(judgments: _Judgments, task: int) -> list[str]:
    """Those that the task allows: without a scale there is no EASL."""
    return [method for method in METHODS if method != "easl" or judgments.scaled[task]]


def _names(judgments: _Judgments, task: int) -> list[str]:
    of = judgments.systems.second[judgments.systems.first == task]
    return [judgments.system[code] for code in of]


def _cells(judgments: _Judgments, task: int, method: str, standardize: Standardize) -> _Cells:
    """Segment scores of one task; those without any judgment that counts are left out."""
    rows, cells, first = _rows(judgments, task)
    found = cell_means(
        judgments.cells.codes[rows] - first,
        judgments.values[method][rows],
        n_cells=cells.stop - cells.start,
        criteria=None if method == "easl" else judgments.criteria[rows],
    )
    some = found.n > 0
    as_equal = printed if standardize.arithmetic == "wmt" else comparable
    systems, segments = _local(judgments, task, cells)
    return _Cells(systems[some], segments[some], as_equal(found.mean[some]), found.n[some])


def _rows(judgments: _Judgments, task: int) -> tuple[Codes, slice, int]:
    """Rows of a task, its cells, and the first of them."""
    of_cell = judgments.systems.first[judgments.cells.first]
    start, stop = np.searchsorted(of_cell, [task, task + 1]).tolist()
    codes = judgments.cells.codes
    return np.flatnonzero((codes >= start) & (codes < stop)), slice(start, stop), start


def _local(judgments: _Judgments, task: int, cells: slice) -> tuple[Codes, Codes]:
    systems = judgments.cells.first[cells] - np.searchsorted(judgments.systems.first, task)
    segments = judgments.cells.second[cells] - np.searchsorted(judgments.segments.first, task)
    return systems, segments


def _adjusted(p_value: Floats) -> Floats:
    """Holm over all ordered pairs of the task."""
    return adjust(p_value.reshape(-1), "holm").reshape(p_value.shape)


def _resampled(
    judgments: _Judgments,
    task: int,
    methods: dict[str, _Cells],
    n_systems: int,
    ranking: Ranking,
    seed: int,
) -> list[Floats]:
    """System scores by bootstrap round ``(rounds, n_systems)``; the same draws for all methods.

    A system without two of what is drawn has none: an interval would have no width.
    """
    name = hashlib.sha256(judgments.task[task].encode()).digest()
    stream = [seed, int.from_bytes(name[:8], "big")]
    if ranking.resample == "judges":
        return [
            _resampled_judges(judgments, task, method, n_systems, ranking, stream)
            for method in methods
        ]
    found = resample_segments(
        [SegmentScores(of.systems, of.segments, of.scores) for of in methods.values()],
        n_systems=n_systems, n_segments=int((judgments.segments.first == task).sum()),
        rounds=ranking.bootstrap, rng=np.random.default_rng(stream),
    )  # fmt: skip
    for rounds, cells in zip(found, methods.values(), strict=True):
        rounds[:, np.bincount(cells.systems, minlength=n_systems) < 2] = np.nan
    return found


def _resampled_judges(
    judgments: _Judgments,
    task: int,
    method: str,
    n_systems: int,
    ranking: Ranking,
    stream: list[int],
) -> Floats:
    rows, of_task, first = _rows(judgments, task)
    systems, _ = _local(judgments, task, of_task)
    parts = index_pairs(judgments.cells.codes[rows] - first, judgments.criteria[rows])
    names, judge = np.unique(judgments.judges[rows], return_inverse=True)
    values = judgments.values[method][rows]
    known = ~np.isnan(values)
    part, judge = parts.codes[known], judge.reshape(-1)[known]
    judged = index_pairs(systems[parts.first[part]], judge)
    n_drawn = np.bincount(judged.first, minlength=n_systems)
    found = resample_judges(
        systems, parts.first, part, judge, values[known],
        n_systems=n_systems, n_judges=names.size, rounds=ranking.bootstrap,
        rng=np.random.default_rng(stream),
    )  # fmt: skip
    found[:, n_drawn < 2] = np.nan
    return found


def _ranked(
    names: list[str], cells: _Cells, beats: Flags, resampled: Floats, ranking: Ranking
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
    """Why a row says less than others."""
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


def _quantiles(values: Floats, known: Flags, *, whole: bool = False) -> tuple[Floats, Floats]:
    """Ends of the 95% interval of each column; NaN where it is not known."""
    low, high = np.full(known.size, np.nan), np.full(known.size, np.nan)
    if known.any():
        of = values[:, known]
        low[known] = np.nanquantile(of, TAILS[0], axis=0, method="lower" if whole else "linear")
        high[known] = np.nanquantile(of, TAILS[1], axis=0, method="higher" if whole else "linear")
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
    return SYSTEM_COMPARISONS.of(
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


def _stack(schema: pa.Schema, parts: list[pa.Table]) -> pa.Table:
    """Parts by task and method, made in the order of the key, as one."""
    return pa.concat_tables(parts) if parts else schema.empty_table()


def _null_nan(values: Floats) -> pa.Array:
    return pa.array(values, mask=np.isnan(values))
