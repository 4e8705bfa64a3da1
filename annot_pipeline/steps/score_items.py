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

from annot_pipeline.config import Easl
from annot_pipeline.contracts import SCORES, TEXT
from annot_pipeline.methods.bounded_ra import BoundedRaParams, bounded_ra
from annot_pipeline.methods.cell_means import cell_means
from annot_pipeline.methods.easl import easl
from annot_pipeline.methods.trueskill import TrueSkillParams, trueskill
from annot_pipeline.steps.by_task import ByTask
from annot_pipeline.steps.comparing import imply_comparisons as implied
from annot_pipeline.steps.indexing import PairIndex, index, index_pairs, is_any, names_of
from annot_pipeline.steps.resolve_tasks import scales
from annot_pipeline.steps.standardize_scores import ORDINARY

NO_SCALE = "no EASL score: the task declares no scale, and its scores tell none"
NOT_KEPT = "no judgment of judges kept"

FACTS = ("items_by_judgments", "items_scored")

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


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
    standardized: pa.Table, tasks: pa.Table, *, settings: Easl
) -> tuple[pa.Table, dict[str, Any]]:
    """Score the items of all scalar tasks.

    Parameters
    ----------
    standardized
        As `standardize_scores` gives it.
    tasks
        ``task`` and its scale.
    settings
        Of the online methods.

    Returns
    -------
    scores, facts
        The facts are by task.
    """
    rows = standardized.filter(is_any(standardized["control"], ORDINARY))
    task, item = index(rows["task"]), index(rows["item"])
    pairs = index_pairs(task.codes, item.codes)
    items = _Items(pairs, *(ends[pairs.first] for ends in scales(task.names, tasks)))
    criteria = index(rows["criterion"], null="").codes
    kept = rows["kept"].to_numpy()
    score = rows["score"].to_numpy()
    z = rows["z"].to_numpy()  # null is NaN
    values = {
        "raw_mean": np.where(kept, score, np.nan),
        "z_mean": np.where(kept, z, np.nan),
        "unfiltered_mean": score,
    }
    found = {
        name: cell_means(pairs.codes, v, n_cells=items.n, criteria=criteria)
        for name, v in values.items()
    }
    n_kept = found["raw_mean"].n
    online, no_comparison = _online(rows, items, kept, score, settings)
    table = SCORES.of(
        {
            "task": names_of(task.names, pairs.first),
            "item": names_of(item.names, pairs.second),
            "segment": _least(rows["segment"], pairs.codes, items.n),
            "system": _least(rows["system"], pairs.codes, items.n),
            "n_judgments": n_kept,
            "n_unfiltered": found["unfiltered_mean"].n,
            **{name: pa.array(m.mean, mask=np.isnan(m.mean)) for name, m in found.items()},
            **_easl(items, kept, score),
            **online,
            "reason": _reasons(n_kept, np.isnan(items.low), no_comparison),
        }
    )
    by_task = ByTask(table)
    found_by_task = {name: _facts_of_task(by_task[name]) for name in by_task.names}
    return table, {name: {of: found[name] for of, found in found_by_task.items()} for name in FACTS}


def _facts_of_task(scores: pa.Table) -> dict[str, Any]:
    """How many items have how many judgments; those of systems the ranking counts."""
    n = scores["n_judgments"].to_numpy()
    alone = pc.is_null(scores["system"]).to_numpy() & (n > 0)
    judgments, n_items = np.unique(n[alone], return_counts=True)
    return {
        "items_by_judgments": np.column_stack([judgments, n_items]).tolist(),
        "items_scored": int((n > 0).sum()),
    }


def _easl(items: _Items, kept: npt.NDArray[np.bool_], score: Floats) -> dict[str, pa.Array]:
    counts = kept & ~np.isnan(items.low[items.pairs.codes])
    of = items.pairs.codes[counts]
    low, high = items.low[of], items.high[of]
    found = easl(of, np.clip((score[counts] - low) / (high - low), 0, 1), n_items=items.n)
    without = found.n == 0
    return {
        f"easl_{name}": pa.array(getattr(found, name), mask=without)
        for name in ("score", "alpha", "beta", "variance", "low", "high")
    }


def _online(
    rows: pa.Table, items: _Items, kept: npt.NDArray[np.bool_], score: Floats, settings: Easl
) -> tuple[dict[str, pa.Array], Codes]:
    """Bounded ranking aggregation and TrueSkill; and why an item has neither."""
    ordinary = kept & is_any(rows["control"], (ORDINARY[0],)).to_numpy()
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
    return {
        "ra_score": pa.array(bounded.score, mask=without),
        "trueskill_mean": pa.array(skill.mean, mask=without),
        "trueskill_sd": pa.array(skill.sd, mask=without),
        "n_comparisons": pa.array(bounded.n_comparisons),
    }, pairs.reason


def _reasons(n_kept: Codes, unscaled: npt.NDArray[np.bool_], no_comparison: Codes) -> pa.Array:
    """Why a row says less than others; null where nothing is missing."""
    both = (f"{NO_SCALE}; {reason}" for reason in implied.REASONS)
    texts = (NOT_KEPT, NO_SCALE, *implied.REASONS, *both)
    n = len(implied.REASONS)
    place = np.where(no_comparison >= 0, 2 + no_comparison, np.where(unscaled, 1, -1))
    place = np.where((no_comparison >= 0) & unscaled, 2 + n + no_comparison, place)
    place = np.where(n_kept == 0, 0, place)
    return pc.take(pa.array(texts, TEXT), pa.array(place, mask=place < 0))


def _least(names: pa.ChunkedArray, items: Codes, n_items: int) -> pa.Array:
    """The first in code point order of the names that rows give an item; null if none does."""
    known = names.is_valid().to_numpy()
    found = index(names.filter(pa.array(known)))
    least = np.full(n_items, len(found.names), np.int64)
    np.minimum.at(least, items[known], found.codes)
    return pc.take(pa.array(found.names, TEXT), pa.array(least, mask=least == len(found.names)))
