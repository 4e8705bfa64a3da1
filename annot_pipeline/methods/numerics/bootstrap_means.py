"""Bootstrap of system scores over segments.

A round draws as many segments as there are, with replacement, the same ones for all systems; a
system's score is the mean over the segments drawn. Sums run through sparse products, whose order
does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from annot_pipeline.arrays import Codes, Floats

DRAWN_AT_ONCE = 2_000_000
"""Draws of segments, over rounds, held at once."""


@dataclass(frozen=True, eq=False)
class SegmentScores:
    """Scores of one method: codes of systems and segments, and scores; ``(n_cells,)`` each."""

    systems: Codes
    segments: Codes
    scores: Floats

    def same_cells(self, other: SegmentScores) -> bool:
        """Return whether both scored the same segments of the same systems, in one order."""
        return np.array_equal(self.systems, other.systems) and np.array_equal(
            self.segments, other.segments
        )


def resample_segments(
    methods: Sequence[SegmentScores],
    *,
    n_systems: int,
    n_segments: int,
    rounds: int,
    rng: np.random.Generator,
    drawn_at_once: int = DRAWN_AT_ONCE,
) -> list[Floats]:
    """Return system scores by method, each ``(rounds, n_systems)``, from the same draws.

    NaN where none of a system's segments is drawn. ``drawn_at_once`` bounds the draws held at once;
    it changes no number.
    """
    shape = n_systems, n_segments
    sums = [
        csr_matrix((method.scores, (method.systems, method.segments)), shape) for method in methods
    ]
    replicates = [np.empty((rounds, n_systems)) for _ in methods]
    alike = [
        next(k for k, method in enumerate(methods) if method.same_cells(own)) for own in methods
    ]
    counts = {
        k: csr_matrix((np.ones(method.scores.size), (method.systems, method.segments)), shape)
        for k, method in enumerate(methods)
        if k in alike
    }
    start = 0
    for times in _draws(n_segments, rounds, rng, drawn_at_once):
        some = slice(start, start := start + times.shape[1])
        n_drawn = {k: matrix @ times for k, matrix in counts.items()}
        for scores, own, k in zip(replicates, sums, alike, strict=True):
            scores[some] = _ratio(own @ times, n_drawn[k]).T
    return replicates


def _draws(
    size: int, rounds: int, rng: np.random.Generator, drawn_at_once: int
) -> Iterator[Floats]:
    """Yield how often each of ``size`` is drawn, ``(size, rounds)``, in bounded pieces."""
    at_once = max(1, drawn_at_once // max(size, 1))
    for start in range(0, rounds, at_once):
        n = min(at_once, rounds - start)
        # a row a round, turned at the end: a column at a time would be scattered writes
        times = np.empty((n, size), np.int32)
        for row in times:
            row[:] = np.bincount(rng.integers(size, size=size), minlength=size)
        yield times.T.astype(np.float64, order="C")


def _ratio(sums: Any, counts: Any) -> Floats:  # products of sparse matrices
    with np.errstate(invalid="ignore"):
        return np.where(counts > 0, sums / counts, np.nan)
