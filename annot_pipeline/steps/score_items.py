"""Scores of items: means of raw and of standardised scores, filtered and not.

An item's score is the mean over its criteria of the mean over its judgments, ordinary ones
and repeats (Graham et al. 2013, section 5).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import SCORES, TEXT
from annot_pipeline.methods.cell_means import cell_means
from annot_pipeline.steps.indexing import index, index_pairs, names_of
from annot_pipeline.steps.standardize_scores import ORDINARY

CODE_VERSION = "1"


def score_items(standardized: pa.Table) -> tuple[pa.Table, dict[str, Any]]:
    """Score the items of all scalar tasks.

    Parameters
    ----------
    standardized
        As `standardize_scores` gives it.

    Returns
    -------
    scores, facts
    """
    rows = standardized.filter(
        pc.is_in(standardized["control"].cast(TEXT), pa.array(ORDINARY, TEXT))
    )
    task, item = index(rows["task"]), index(rows["item"])
    items = index_pairs(task.codes, item.codes)
    n = items.first.size
    criteria = index(pc.fill_null(rows["criterion"].cast(TEXT), "")).codes
    kept = rows["kept"].to_numpy()
    score = rows["score"].to_numpy()
    z = rows["z"].to_numpy()  # null is NaN
    values = {
        "raw_mean": np.where(kept, score, np.nan),
        "z_mean": np.where(kept, z, np.nan),
        "unfiltered_mean": score,
    }
    found = {
        name: cell_means(items.codes, v, n_cells=n, criteria=criteria) for name, v in values.items()
    }
    table = SCORES.of(
        {
            "task": names_of(task.names, items.first),
            "item": names_of(item.names, items.second),
            "segment": _least(rows["segment"], items.codes, n),
            "system": _least(rows["system"], items.codes, n),
            "n_judgments": found["raw_mean"].n,
            "n_unfiltered": found["unfiltered_mean"].n,
            **{name: pa.array(m.mean, mask=np.isnan(m.mean)) for name, m in found.items()},
        }
    )
    return table, {
        "items_scored": int((found["raw_mean"].n > 0).sum()),
        "items_without_kept_judgments": int((found["raw_mean"].n == 0).sum()),
    }


def _least(names: pa.ChunkedArray, items: np.ndarray, n_items: int) -> pa.Array:
    """The first in code point order of the names that rows give an item; null if none does."""
    known = names.is_valid().to_numpy()
    found = index(names.filter(pa.array(known)))
    least = np.full(n_items, len(found.names), np.int64)
    np.minimum.at(least, items[known], found.codes)
    return pc.take(pa.array(found.names, TEXT), pa.array(least, mask=least == len(found.names)))
