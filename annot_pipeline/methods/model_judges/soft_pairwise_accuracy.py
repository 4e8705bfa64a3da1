"""Soft pairwise accuracy: how alike a model and people order systems, and how surely.

SPA = 1 - mean over pairs of systems of |p_human - p_model|, where p is that of a one-sided paired
permutation test that the first system is no better than the second: within each segment the two
systems' scores are swapped or not, at random, and alike for people and for the model.

Source: Thompson, Mathur, Deutsch & Khayrallah 2024, "Improving Statistical Significance in Human
Evaluation of Automatic Metrics via Soft Pairwise Accuracy" (WMT), section 3.

**Reading**: permutations whose difference equals the observed one count half, so that the p-values
of the two directions sum to 1 and neither the order of systems nor ties matter. The same swaps
serve all pairs of systems. Where all swaps are no more than the permutations asked for, each is
taken once, and the p-values are exact.

Assumes scores of one direction (more is better) by people and the model; scales may differ.

Degenerate input: fewer than two systems, or no pair of systems with a common segment, have no
accuracy (NaN). A pair that one side scores alike in all segments has p = 0.5 there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Floats

PERMUTATIONS = 1000
ROUNDING = 1e-12
"""Share of a pair's absolute differences by which equal sums may differ."""
SIGNS = 4_000_000
"""Swaps of segments held at once."""


@dataclass(frozen=True)
class SoftPairwiseAccuracy:
    """The accuracy, with the p-values that it is made of.

    Parameters
    ----------
    accuracy
        In [0, 1]; NaN without a pair of systems.
    human_p_values, model_p_values
        ``(K, K)`` that the row's system is no better than the column's; NaN without common
        segments.
    n_pairs
        Pairs of systems with a common segment.
    n_permutations
        Drawn, or enumerated.
    is_exact
        Whether all swaps were enumerated.
    """

    accuracy: float
    human_p_values: Floats
    model_p_values: Floats
    n_pairs: int
    n_permutations: int
    is_exact: bool


def soft_pairwise_accuracy(
    human: npt.ArrayLike,
    model: npt.ArrayLike,
    *,
    n_permutations: int = PERMUTATIONS,
    seed: int = 0,
    signs_at_once: int = SIGNS,
) -> SoftPairwiseAccuracy:
    """Compare the p-values of pairs of systems by people and by a model.

    Parameters
    ----------
    human, model
        ``(n_segments, K)`` scores; NaN where missing. A pair of systems is compared on the segments
        in which both have both scores.
    n_permutations
        Swaps drawn.
    seed
        Of the swaps.
    signs_at_once
        Swaps of segments held at once; other swaps are drawn with other chunks.

    Raises
    ------
    ValueError
        Matrices of different shapes, or no permutations.
    """
    scores = [np.asarray(human, np.float64), np.asarray(model, np.float64)]
    if scores[0].ndim != 2 or scores[0].shape != scores[1].shape:
        raise ValueError(f"human scores {scores[0].shape}, model scores {scores[1].shape}")
    if n_permutations < 1:
        raise ValueError("n_permutations must be 1 or more")
    has_both = ~np.isnan(scores[0]) & ~np.isnan(scores[1])
    scores = [np.where(has_both, one, 0.0) for one in scores]
    n_segments, n_systems = has_both.shape
    is_exact = n_segments < 60 and 2**n_segments <= n_permutations
    counts = np.zeros((2, n_systems, n_systems))
    total = 0
    for signs in _signs(n_segments, n_permutations, seed, signs_at_once, is_exact=is_exact):
        total += len(signs)
        for system in range(n_systems - 1):
            common = has_both[:, [system]] & has_both[:, system + 1 :]
            for side, one in enumerate(scores):
                differences = (one[:, [system]] - one[:, system + 1 :]) * common
                counts[side, system, system + 1 :] += _at_least(signs, differences)
    n_common = has_both.astype(np.float64).T @ has_both.astype(np.float64)
    pairs = np.triu(n_common > 0, 1)
    p_values = np.where(pairs, counts / total, np.nan)
    other = np.where(pairs.T, 1 - np.swapaxes(p_values, 1, 2), np.nan)
    p_values = np.where(pairs, p_values, other)
    n_pairs = int(pairs.sum())
    gaps = np.abs(p_values[0] - p_values[1])[pairs]
    accuracy = 1 - float(gaps.sum()) / n_pairs if n_pairs else float("nan")
    return SoftPairwiseAccuracy(accuracy, p_values[0], p_values[1], n_pairs, total, is_exact)


def _signs(
    n_segments: int, n_permutations: int, seed: int, signs_at_once: int, *, is_exact: bool
) -> Iterator[Floats]:
    """Return swaps in chunks ``(n, n_segments)``: -1 where the two systems are swapped."""
    if is_exact:
        swaps = np.arange(2**n_segments)[:, None] >> np.arange(n_segments) & 1
        yield np.asarray(1.0 - 2.0 * swaps, np.float64)
        return
    rng = np.random.default_rng(seed)
    size = max(1, signs_at_once // max(n_segments, 1))
    for start in range(0, n_permutations, size):
        shape = (min(size, n_permutations - start), n_segments)
        yield np.asarray(1.0 - 2.0 * rng.integers(0, 2, shape, np.int8), np.float64)


def _at_least(signs: Floats, differences: Floats) -> Floats:
    """Return how many swaps have at least the observed sum, ``(n_pairs,)``; equal ones half."""
    above = signs @ differences - differences.sum(axis=0)
    noise = ROUNDING * np.abs(differences).sum(axis=0)
    is_more, is_less = above > noise, above < -noise
    return np.asarray((1.0 + is_more - is_less).sum(axis=0) / 2)
