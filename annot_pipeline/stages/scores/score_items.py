"""Scores of the items of a task: means of raw and of standardised scores, EASL, and comparisons.

An item's mean score is the mean over its criteria of the mean over its judgments, ordinary
ones and repeats (Graham et al. 2013, section 5). EASL adds up the same judgments, each of
whichever criterion, on the scale's own 0 to 1. Bounded ranking aggregation and TrueSkill see
the comparisons that ordinary judgments of one HIT imply (Sakaguchi & Van Durme 2018): they go
through the judgments of the whole task in order, all else is worked out item by item.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.config import Easl
from annot_pipeline.contracts import ORDINARY, SCORES, TEXT
from annot_pipeline.methods.comparisons.bounded_ra import BoundedRaParams, bounded_ra
from annot_pipeline.methods.comparisons.implied_comparisons import (
    ALONE,
    CROWDED,
    REASONS,
    imply_comparisons,
)
from annot_pipeline.methods.comparisons.trueskill import TrueSkillParams, trueskill
from annot_pipeline.methods.scores.cell_means import cell_means
from annot_pipeline.methods.scores.easl import easl
from annot_pipeline.runtime.coded_task import NONE, CodedTask, seen_at_once
from annot_pipeline.runtime.indexing import is_in, text_keys
from annot_pipeline.stages.shared.columns import nulls_for_nan

NO_SCALE = "no EASL score: the task declares no scale, and its scores imply none"
NOT_KEPT = "no judgment of judges kept"
FIRST = ORDINARY[:1]

ONLINE = pa.schema(
    [("item", TEXT), ("reason", pa.int64())]
    + [SCORES.schema.field(name) for name in ("ra_score", "trueskill_mean", "trueskill_sd")]
    + [SCORES.schema.field("n_comparisons")]
)
"""One row is an item; ``reason`` is a place in `REASONS`, -1 where it was compared."""


@dataclass(frozen=True)
class Online:
    """What comparisons made of the items of one task.

    Parameters
    ----------
    scores
        `ONLINE`, as `score_online` gives it.
    crowded
        ``judge``, ``hit`` of HITs without segments that hold too many items to be compared, and
        whose judgments ``scores`` was not made of. None: it was made of all judgments.
    """

    scores: pa.Table
    crowded: pa.Table | None = None


def score_online(rows: pa.Table, settings: Easl) -> pa.Table:
    """Return online scores of the items of one task.

    Parameters
    ----------
    rows
        As `standardize_scores` gives it: at least the judgments of items that their judge scored
        beside others.
    settings
        Of the online methods.

    Returns
    -------
    pa.Table
        `ONLINE`.
    """
    counted = CodedTask("", rows.filter(pc.and_(rows["kept"], is_in(rows["control"], FIRST))))
    n = counted.n("item")
    pairs = imply_comparisons(
        counted["item"].codes, counted.numbers("score"), seen_at_once(counted),
        n_items=n, margin=settings.margin,
    )  # fmt: skip
    chain = {"gamma": settings.gamma, "epsilon": settings.epsilon}
    outcomes = (pairs.first, pairs.second, pairs.outcome)
    bounded = bounded_ra(*outcomes, n_items=n, params=BoundedRaParams(**chain))
    start = {"mean": settings.trueskill_mean, "sd": settings.trueskill_sd}
    skill = trueskill(*outcomes, n_items=n, params=TrueSkillParams(**chain, **start))
    without = pairs.reason >= 0
    columns = {
        "item": counted["item"].names,
        "reason": pairs.reason,
        "ra_score": pa.array(bounded.score, mask=without),
        "trueskill_mean": pa.array(skill.mean, mask=without),
        "trueskill_sd": pa.array(skill.sd, mask=without),
        "n_comparisons": bounded.n_comparisons,
    }
    return pa.table(columns, schema=ONLINE)


def score_items(
    task: str, standardized: pa.Table, scale: tuple[float, float] | None, online: Online
) -> tuple[pa.Table, dict[str, Any]]:
    """Score items of a scalar task.

    Parameters
    ----------
    task
        Its name.
    standardized
        As `standardize_scores` gives it: all judgments of the items.
    scale
        Its ends; None: there is none, and no EASL.
    online
        What comparisons made of the items of the task.

    Returns
    -------
    scores, metrics
        Metrics are ``items_scored``, and ``items_by_judgments`` as pairs.
    """
    rows = CodedTask(task, standardized.filter(is_in(standardized["control"], ORDINARY)))
    item, n = rows["item"], rows.n("item")
    is_kept, score = rows.flags("kept"), rows.numbers("score")
    criteria = rows["criterion"].codes + 1
    values = {
        "raw_mean": np.where(is_kept, score, np.nan),
        "z_mean": np.where(is_kept, rows.numbers("z"), np.nan),
        "unfiltered_mean": score,
    }
    means = {
        name: cell_means(item.codes, v, n_cells=n, criteria=criteria) for name, v in values.items()
    }
    n_kept = means["raw_mean"].n
    compared, why_not = _compared(rows, is_kept, online)
    table = SCORES.from_columns(
        {
            "task": pa.repeat(pa.scalar(task, TEXT), n),
            "item": item.names,
            "segment": rows.least("segment", item.codes, n),
            "system": rows.least("system", item.codes, n),
            "n_judgments": n_kept,
            "n_unfiltered": means["unfiltered_mean"].n,
            **{name: nulls_for_nan(m.mean) for name, m in means.items()},
            **_easl(item.codes[is_kept], score[is_kept], n, scale),
            **compared,
            "reason": _reasons(n_kept, why_not, has_scale=scale is not None),
        }
    )
    lone = n_kept[table["system"].is_null().to_numpy() & (n_kept > 0)]
    return table, {
        "items_by_judgments": np.column_stack(np.unique(lone, return_counts=True)).tolist(),
        "items_scored": int((n_kept > 0).sum()),
    }


def _easl(
    items: Codes, score: Floats, n_items: int, scale: tuple[float, float] | None
) -> dict[str, pa.Array]:
    if scale is None:
        items, score, scale = items[:0], score[:0], (0.0, 1.0)
    on_unit = np.clip((score - scale[0]) / (scale[1] - scale[0]), 0, 1)
    scores = easl(items, on_unit, n_items=n_items)
    return {
        f"easl_{name}": pa.array(getattr(scores, name), mask=scores.n == 0)
        for name in ("score", "alpha", "beta", "variance")
    }


def _compared(rows: CodedTask, is_kept: Flags, online: Online) -> tuple[dict[str, pa.Array], Codes]:
    """Return the columns of online scores, and the place in `REASONS` of why there is none."""
    names = pa.array(rows["item"].names, TEXT)
    positions = pc.index_in(names, online.scores["item"].combine_chunks())
    compared = online.scores.take(positions).combine_chunks()
    columns = {name: compared[name].combine_chunks() for name in ONLINE.names[2:]}
    columns["n_comparisons"] = columns["n_comparisons"].fill_null(0)
    reason = np.zeros(len(names), np.int64)
    if online.crowded is not None:
        ordinary = is_kept & rows.is_in("control", *FIRST)
        is_grouped = (rows["hit"].codes != NONE) | (rows["ranking"].codes != NONE)
        reason[rows["item"].codes[ordinary & is_grouped]] = ALONE
        reason[rows["item"].codes[ordinary & _in_crowd(rows.rows, online.crowded)]] = CROWDED
    is_found = positions.is_valid().to_numpy(zero_copy_only=False)
    return columns, np.where(is_found, compared["reason"].fill_null(-1).to_numpy(), reason)


def _in_crowd(rows: pa.Table, crowded: pa.Table) -> Flags:
    """Return whether a judgment was given in a HIT of `Online.crowded`."""
    loose = pc.and_(rows["segment"].is_null(), rows["ranking"].is_null())
    crowd_keys = pa.array(text_keys(crowded["judge"], crowded["hit"]).to_pylist(), TEXT)
    is_crowded = pc.is_in(text_keys(rows["judge"], rows["hit"]), crowd_keys)
    return np.asarray(pc.and_(loose, is_crowded).to_numpy(), np.bool_)


def _reasons(n_kept: Codes, why_not: Codes, *, has_scale: bool) -> pa.Array:
    """Return why a row has nulls; null where nothing is missing."""
    unscaled = () if has_scale else (NO_SCALE,)
    texts = [
        *("; ".join((*unscaled, reason)) for reason in REASONS),
        "; ".join(unscaled) or None,  # compared
        NOT_KEPT,
    ]
    codes = np.where(n_kept == 0, len(REASONS) + 1, np.where(why_not < 0, len(REASONS), why_not))
    return pc.take(pa.array(texts, TEXT), pa.array(codes))
