"""Scores of judges who judge the same items, for tests of methods that compare them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.judges.leave_one_out import SharedScores, shared_moments
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks

Floats = npt.NDArray[np.float64]


def block(table: Any) -> SharedScores:
    """Scores ``(n_items, n_judges)``, NaN where a judge did not judge an item, as a block."""
    scores = np.asarray(table, np.float64)
    items, judges = np.nonzero(~np.isnan(scores))
    return SharedScores.from_scores(
        items, judges, scores[items, judges], np.zeros_like(items),
        n_items=scores.shape[0], n_judges=scores.shape[1], n_criteria=1,
    )  # fmt: skip


def blocks(table: Any, sizes: Sequence[int] = ()) -> InMemoryBlocks[SharedScores]:
    """The same in blocks of so many items."""
    parts = np.split(np.asarray(table, np.float64), np.cumsum(sizes)[:-1]) if sizes else [table]
    return InMemoryBlocks([block(part) for part in parts])


def arguments(table: Any, reference: Any = None, sizes: Sequence[int] = ()) -> tuple[Any, ...]:
    """Arguments of methods that compare the judges of one task and criterion."""
    n_judges = np.asarray(table).shape[1]
    counts = np.ones(n_judges, np.bool_) if reference is None else np.asarray(reference)
    parts = blocks(table, sizes)
    moments = shared_moments(parts, counts, np.zeros(n_judges))
    return parts, moments, counts, np.arange(n_judges), np.zeros(n_judges, np.int64)


def panel(
    rng: np.random.Generator,
    n_items: int,
    noise: Sequence[float],
    bias: Any = 0.0,
    spread: Any = 1.0,
) -> Floats:
    """Scores of items around 60, sd 18, by judges with noise, bias and spread of their own."""
    quality = rng.normal(60, 18, n_items)[:, None]
    errors = rng.normal(0, 1, (n_items, len(noise))) * np.asarray(noise)
    return 60 + np.asarray(spread) * (quality - 60) + np.asarray(bias) + errors
