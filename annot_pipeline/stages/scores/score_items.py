"""Scores of items: means of raw and of standardised scores, EASL, and online comparisons.

An item's mean score is the mean over its criteria of the mean over its judgments, ordinary
ones and repeats (Graham et al. 2013, section 5). EASL adds up the same judgments, each of
whichever criterion, on the scale's own 0 to 1. Bounded ranking aggregation and TrueSkill see
the comparisons that ordinary judgments of one HIT imply (Sakaguchi & Van Durme 2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.config import Easl
from annot_pipeline.contracts import SCORES, TEXT
from annot_pipeline.methods.comparisons.bounded_ra import BoundedRaParams, bounded_ra
from annot_pipeline.methods.comparisons.trueskill import TrueSkillParams, trueskill
from annot_pipeline.methods.scores.cell_means import cell_means
from annot_pipeline.methods.scores.easl import easl
from annot_pipeline.runtime.by_task import ByTask
from annot_pipeline.runtime.indexing import (
    PairIndex,
    index,
    index_pairs,
    is_in,
    names_of,
    text_keys,
)
from annot_pipeline.stages.comparisons import imply_comparisons as implied
from annot_pipeline.stages.ingest.resolve_tasks import scales
from annot_pipeline.stages.scores.judge_sums import ORDINARY

NO_SCALE = "no EASL score: the task declares no scale, and its scores imply none"
NOT_KEPT = "no judgment of judges kept"

TASK_METRICS = ("items_by_judgments", "items_scored")


@dataclass(frozen=True)
class _Items:
    """Codes of items of all tasks, and the ends of their scales (NaN: none declared)."""

    pairs: PairIndex  # task and item
    low: Floats
    high: Floats

    @property
    def n(self) -> int:
        return self.pairs.first.size


def score_items(
    standardized: pa.Table,
    tasks: pa.Table,
    *,
    settings: Easl,
    online: Online | None = None,
) -> tuple[pa.Table, dict[str, Any]]:
    """Score the items of all scalar tasks.

    Parameters
    ----------
    standardized
        As `standardize_scores` gives it; of some items of one task, if ``online`` is given.
    tasks
        ``task`` and its scale.
    settings
        Of the online methods.
    online
        Of one task: what comparisons made of all its items; None: they are made here.

    Returns
    -------
    scores, metrics
        Metrics are by name and task.
    """
    rows = standardized.filter(is_in(standardized["control"], ORDINARY))
    task, item = index(rows["task"]), index(rows["item"])
    pairs = index_pairs(task.codes, item.codes)
    items = _Items(pairs, *(ends[pairs.first] for ends in scales(task.names, tasks)))
    criteria = index(rows["criterion"], null="").codes
    is_kept = rows["kept"].to_numpy()
    score = rows["score"].to_numpy()
    z = rows["z"].to_numpy()  # null is NaN
    values = {
        "raw_mean": np.where(is_kept, score, np.nan),
        "z_mean": np.where(is_kept, z, np.nan),
        "unfiltered_mean": score,
    }
    means = {
        name: cell_means(pairs.codes, v, n_cells=items.n, criteria=criteria)
        for name, v in values.items()
    }
    n_kept = means["raw_mean"].n
    ordinary = is_kept & is_in(rows["control"], (ORDINARY[0],)).to_numpy()
    if online is None:
        compared = _compared(rows, items, ordinary, score, settings)
    else:
        compared = _compared_before(rows, item.names, pairs.codes, ordinary, online)
    table = SCORES.from_columns(
        {
            "task": names_of(task.names, pairs.first),
            "item": names_of(item.names, pairs.second),
            "segment": _least(rows["segment"], pairs.codes, items.n),
            "system": _least(rows["system"], pairs.codes, items.n),
            "n_judgments": n_kept,
            "n_unfiltered": means["unfiltered_mean"].n,
            **{name: pa.array(m.mean, mask=np.isnan(m.mean)) for name, m in means.items()},
            **_easl(items, is_kept, score),
            **compared.columns,
            "reason": _reasons(n_kept, np.isnan(items.low), compared.reason),
        }
    )
    by_task = ByTask(table)
    metrics_by_task = {name: _metrics_of_task(by_task[name]) for name in by_task.names}
    return table, {
        name: {task_name: of_task[name] for task_name, of_task in metrics_by_task.items()}
        for name in TASK_METRICS
    }


def _metrics_of_task(scores: pa.Table) -> dict[str, Any]:
    """Count items without a system by number of judgments, and all scored items."""
    n = scores["n_judgments"].to_numpy()
    is_lone = pc.is_null(scores["system"]).to_numpy() & (n > 0)
    judgments, n_items = np.unique(n[is_lone], return_counts=True)
    return {
        "items_by_judgments": np.column_stack([judgments, n_items]).tolist(),
        "items_scored": int((n > 0).sum()),
    }


def _easl(items: _Items, is_kept: npt.NDArray[np.bool_], score: Floats) -> dict[str, pa.Array]:
    counts = is_kept & ~np.isnan(items.low[items.pairs.codes])
    item_codes = items.pairs.codes[counts]
    low, high = items.low[item_codes], items.high[item_codes]
    scores = easl(item_codes, np.clip((score[counts] - low) / (high - low), 0, 1), n_items=items.n)
    without = scores.n == 0
    return {
        f"easl_{name}": pa.array(getattr(scores, name), mask=without)
        for name in ("score", "alpha", "beta", "variance")
    }


@dataclass(frozen=True)
class _Compared:
    """What online methods made of items; arrays are ``(n_items,)``.

    Parameters
    ----------
    columns
        Of `SCORES`.
    reason
        Place in `imply_comparisons.REASONS` of why an item is in no comparison; -1 where it is.
    """

    columns: dict[str, pa.Array]
    reason: Codes


ONLINE = pa.schema(
    [("item", TEXT), ("reason", pa.int64())]
    + [SCORES.schema.field(name) for name in ("ra_score", "trueskill_mean", "trueskill_sd")]
    + [SCORES.schema.field("n_comparisons")]
)
"""One row is an item of a task that was scored beside another one; see `score_online`."""


@dataclass(frozen=True)
class Online:
    """What comparisons made of the items of one task.

    Parameters
    ----------
    scores
        `ONLINE`, as `score_online` gives it.
    crowded
        ``judge``, ``hit`` of HITs without segments that hold too many items to be compared.
    """

    scores: pa.Table
    crowded: pa.Table


def score_online(rows: pa.Table, *, settings: Easl) -> pa.Table:
    """Return online scores of the items of one task.

    Parameters
    ----------
    rows
        As `standardize_scores` gives it: judgments of items that their judge scored beside others.
    settings
        Of the online methods.

    Returns
    -------
    pa.Table
        `ONLINE`.
    """
    counted = rows.filter(pc.and_(rows["kept"], is_in(rows["control"], ORDINARY[:1])))
    item = index(counted["item"])
    whole = index_pairs(np.zeros_like(item.codes), item.codes)
    nowhere = np.full(len(item.names), np.nan)
    compared = _compared(
        counted,
        _Items(whole, nowhere, nowhere),
        np.ones(counted.num_rows, np.bool_),
        counted["score"].to_numpy(),
        settings,
    )
    columns = {"item": pa.array(item.names, TEXT), "reason": compared.reason, **compared.columns}
    return pa.table({name: columns[name] for name in ONLINE.names}, schema=ONLINE)


def _compared(
    rows: pa.Table, items: _Items, ordinary: npt.NDArray[np.bool_], score: Floats, settings: Easl
) -> _Compared:
    """Run bounded ranking aggregation and TrueSkill on ``ordinary`` judgments."""
    codes = items.pairs.codes[ordinary]
    pairs = implied.imply_comparisons(
        rows.filter(pa.array(ordinary)),
        codes,
        items.pairs.first[codes],
        score[ordinary],
        n_items=items.n,
        margin=settings.margin,
    )
    chain = {"gamma": settings.gamma, "epsilon": settings.epsilon}
    outcomes = (pairs.first, pairs.second, pairs.outcome)
    bounded = bounded_ra(*outcomes, n_items=items.n, params=BoundedRaParams(**chain))
    start = {"mean": settings.trueskill_mean, "sd": settings.trueskill_sd}
    skill = trueskill(*outcomes, n_items=items.n, params=TrueSkillParams(**chain, **start))
    without = pairs.reason >= 0
    columns = {
        "ra_score": pa.array(bounded.score, mask=without),
        "trueskill_mean": pa.array(skill.mean, mask=without),
        "trueskill_sd": pa.array(skill.sd, mask=without),
        "n_comparisons": pa.array(bounded.n_comparisons),
    }
    return _Compared(columns, pairs.reason)


def _compared_before(
    rows: pa.Table,
    names: list[str],
    items: Codes,
    ordinary: npt.NDArray[np.bool_],
    online: Online,
) -> _Compared:
    """Return the rows of `score_online` by item name; for other items, the reason."""
    positions = pc.index_in(pa.array(names, TEXT), online.scores["item"].combine_chunks())
    online_rows = online.scores.take(positions)
    is_grouped = pc.or_(rows["hit"].is_valid(), rows["ranking"].is_valid()).to_numpy()
    reason_codes = np.zeros(len(names), np.int64)
    reason_codes[items[ordinary & is_grouped]] = implied.ALONE
    reason_codes[items[ordinary & _in_crowd(rows, online.crowded)]] = implied.CROWDED
    columns = {name: online_rows[name].combine_chunks() for name in ONLINE.names[2:]}
    columns["n_comparisons"] = columns["n_comparisons"].fill_null(0)
    reason = np.where(
        positions.is_valid(), online_rows["reason"].fill_null(-1).to_numpy(), reason_codes
    )
    return _Compared(columns, reason)


def _in_crowd(rows: pa.Table, crowded: pa.Table) -> npt.NDArray[np.bool_]:
    """Return whether a judgment was given in a HIT of `Online.crowded`."""
    loose = pc.and_(rows["segment"].is_null(), rows["ranking"].is_null())
    crowd_keys = pa.array(text_keys(crowded["judge"], crowded["hit"]).to_pylist(), TEXT)
    is_crowded = pc.is_in(text_keys(rows["judge"], rows["hit"]), crowd_keys)
    return np.asarray(pc.and_(loose, is_crowded).to_numpy(), np.bool_)


def _reasons(n_kept: Codes, unscaled: npt.NDArray[np.bool_], no_comparison: Codes) -> pa.Array:
    """Return why a row has nulls; null where nothing is missing."""
    both = (f"{NO_SCALE}; {reason}" for reason in implied.REASONS)
    texts = (NOT_KEPT, NO_SCALE, *implied.REASONS, *both)
    n = len(implied.REASONS)
    reason_codes = np.where(no_comparison >= 0, 2 + no_comparison, np.where(unscaled, 1, -1))
    reason_codes = np.where((no_comparison >= 0) & unscaled, 2 + n + no_comparison, reason_codes)
    reason_codes = np.where(n_kept == 0, 0, reason_codes)
    return pc.take(pa.array(texts, TEXT), pa.array(reason_codes, mask=reason_codes < 0))


def _least(names: pa.ChunkedArray, items: Codes, n_items: int) -> pa.Array:
    """Return the first name, by code point, that rows give an item; null if none does."""
    is_named = names.is_valid().to_numpy()
    named = index(names.filter(pa.array(is_named)))
    least = np.full(n_items, len(named.names), np.int64)
    np.minimum.at(least, items[is_named], named.codes)
    return pc.take(pa.array(named.names, TEXT), pa.array(least, mask=least == len(named.names)))
