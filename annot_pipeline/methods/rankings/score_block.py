"""Scores of whole segments, and their sums by segment, judge, system, and pairs of these.

Sums and counts of a block with weights are weighted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.distinct import is_new, numbered_by_first

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class ScoreBlock:
    """Scores of whole segments; arrays are ``(n_scores,)``, sorted by segment, judge and system.

    Parameters
    ----------
    segments
        Codes from 0, of the block.
    judges, systems
        Codes of the whole task.
    scores
        Points.
    n_segments, n_judges, n_systems
        Sizes: of the block, of the task, of the task.
    clusters
        ``(n_segments,)`` rising codes from 0, of the block: the documents of its segments, each of
        which lies in one block. None: each segment is a cluster.
    weights
        ``(n_scores,)`` of judgments; None: each counts once.
    """

    segments: Codes
    judges: Codes
    systems: Codes
    scores: Floats
    n_segments: int
    n_judges: int
    n_systems: int
    clusters: Codes | None = None
    weights: Floats | None = None

    @classmethod
    def from_rows(
        cls,
        segments: Codes,
        judges: Codes,
        systems: Codes,
        scores: Floats,
        sizes: tuple[int, int, int],
        clusters: Codes | None = None,
    ) -> ScoreBlock:
        """Return rows in any order as a block; ``sizes``: segments, judges, systems.

        ``clusters``: ``(n_segments,)`` codes in any order. Segments of one become neighbours.
        """
        if clusters is not None:
            clusters = numbered_by_first(clusters)
            in_clusters = np.argsort(clusters, kind="stable")
            code = np.empty_like(in_clusters)
            code[in_clusters] = np.arange(code.size)
            segments, clusters = code[segments], clusters[in_clusters]
        order = np.lexsort((scores, systems, judges, segments))
        rows = (segments[order], judges[order], systems[order], scores[order])
        return cls(*rows, *sizes, clusters)

    def with_weights(self, weights: Floats) -> ScoreBlock:
        """Return the block with weights of judgments by judge and system, ``(n_judges, K)``."""
        return replace(self, weights=weights[self.judges, self.systems])

    def weighted(self, values: Floats | None) -> Floats:
        """Return ``(n_scores,)`` values times their weights; the weights themselves for None."""
        if self.weights is None:
            return np.ones(self.scores.size) if values is None else values
        return self.weights if values is None else self.weights * values

    def split(self, most_segments: int) -> list[ScoreBlock]:
        """Return blocks of at most so many segments, whose tables by segment stay small.

        A document of more segments is a block of its own.
        """
        if self.n_segments <= most_segments:
            return [self]
        starts = self._starts(most_segments)
        ends = np.searchsorted(self.segments, starts).tolist()
        return [
            ScoreBlock(
                self.segments[start:end] - first, self.judges[start:end], self.systems[start:end],
                self.scores[start:end], after - first, self.n_judges, self.n_systems,
                None if self.clusters is None
                else self.clusters[first:after] - self.clusters[first],
            )
            for first, after, start, end in zip(
                starts[:-1], starts[1:], ends[:-1], ends[1:], strict=True
            )
        ]  # fmt: skip

    def _starts(self, most_segments: int) -> list[int]:
        """Return the segments at which blocks start, and the end of the last."""
        if self.clusters is None:
            return [*range(0, self.n_segments, most_segments), self.n_segments]
        starts = [0]
        ends = [*(np.flatnonzero(np.diff(self.clusters)) + 1).tolist(), self.n_segments]
        for previous, end in pairwise([0, *ends]):
            if end - starts[-1] > most_segments and previous > starts[-1]:
                starts.append(previous)
        return [*starts, self.n_segments]

    @property
    def n_clusters(self) -> int:
        """Return clusters of segments, with judgments or without."""
        if self.clusters is None:
            return self.n_segments
        return int(self.clusters[-1]) + 1 if self.clusters.size else 0

    @cached_property
    def cluster_codes(self) -> Codes:
        """Return code of the cluster of each judgment, ``(n_scores,)``."""
        return self.segments if self.clusters is None else self.clusters[self.segments]

    @cached_property
    def cluster_systems(self) -> csr_array:
        """Return judgments ``(n_clusters, K)``."""
        if self.clusters is None:
            return self.segment_systems
        return self._sums(self.cluster_codes, self.systems, None, (self.n_clusters, self.n_systems))

    @cached_property
    def segment_systems(self) -> csr_array:
        """Return judgments ``(n_segments, K)``."""
        return self._sums(self.segments, self.systems, None, (self.n_segments, self.n_systems))

    @cached_property
    def segment_judges(self) -> csr_array:
        """Return judgments ``(n_segments, n_judges)``."""
        return self.by_segment_and_judge(None)

    @cached_property
    def n_judgments(self) -> Floats:
        """Return judgments of each segment."""
        return self.by_segment(None)

    @cached_property
    def judge_of_segment(self) -> Codes:
        """Return code of the cell (segment, judge) of each judgment, ``(n_scores,)``."""
        key = self.segments * self.n_judges + self.judges
        return np.asarray(np.cumsum(is_new(key)) - 1, np.int64)

    @cached_property
    def judge_of_cluster(self) -> Codes:
        """Return code of the cell (cluster, judge) of each judgment, ``(n_scores,)``."""
        if self.clusters is None:
            return self.judge_of_segment
        key = self.cluster_codes * self.n_judges + self.judges
        return np.asarray(np.unique(key, return_inverse=True)[1].reshape(-1), np.int64)

    def by_segment(self, values: Floats | None) -> Floats:
        """Return sums of ``(n_scores,)`` values, or judgments, by segment."""
        return np.asarray(
            np.bincount(self.segments, self.weighted(values), self.n_segments), np.float64
        )

    def by_judge(self, values: Floats) -> Floats:
        """Return sums by judge."""
        return np.asarray(
            np.bincount(self.judges, self.weighted(values), self.n_judges), np.float64
        )

    def by_system(self, values: Floats) -> Floats:
        """Return sums by system."""
        return np.asarray(
            np.bincount(self.systems, self.weighted(values), self.n_systems), np.float64
        )

    def by_judge_and_system(self, values: Floats | None) -> Floats:
        """Return sums, or judgments, ``(n_judges, K)``."""
        cells = self.judges * self.n_systems + self.systems
        shape = (self.n_judges, self.n_systems)
        return self._by(cells, values, shape[0] * shape[1]).reshape(shape)

    def by_segment_and_system(self, values: Floats) -> csr_array:
        """Return sums ``(n_segments, K)``."""
        return self._sums(self.segments, self.systems, values, (self.n_segments, self.n_systems))

    def by_segment_and_judge(self, values: Floats | None) -> csr_array:
        """Return sums, or judgments, ``(n_segments, n_judges)``."""
        return self._sums(self.segments, self.judges, values, (self.n_segments, self.n_judges))

    def by_cluster_and_system(self, values: Floats) -> csr_array:
        """Return sums ``(n_clusters, K)``."""
        shape = (self.n_clusters, self.n_systems)
        return self._sums(self.cluster_codes, self.systems, values, shape)

    def sum_by_cluster(self, table: Floats) -> Floats:
        """Return sums of a table ``(n_segments, K)`` by cluster."""
        if self.clusters is None or not self.n_segments:
            return table
        starts = np.flatnonzero(np.diff(self.clusters, prepend=-1))
        return np.asarray(np.add.reduceat(table, starts, axis=0))

    def by_cell_and_system(self, values: Floats) -> csr_array:
        """Return sums by cell of cluster and judge, and system."""
        return self._by_cell(self.systems, values, self.n_systems)

    def by_cell_and_segment(self, values: Floats) -> csr_array:
        """Return sums by cell of cluster and judge, and segment."""
        return self._by_cell(self.segments, values, self.n_segments)

    def _by_cell(self, columns: Codes, values: Floats, n_columns: int) -> csr_array:
        cells = self.judge_of_cluster
        return self._sums(cells, columns, values, (int(cells.max(initial=-1)) + 1, n_columns))

    def by_cell(self, values: Floats) -> Floats:
        """Return sums by cell of cluster and judge."""
        return self._by(self.judge_of_cluster, values, 0)

    def _by(self, codes: Codes, values: Floats | None, n: int) -> Floats:
        return np.asarray(np.bincount(codes, self.weighted(values), n), np.float64)

    def _sums(
        self, rows: Codes, columns: Codes, values: Floats | None, shape: tuple[int, int]
    ) -> csr_array:
        from scipy.sparse import csr_array

        return csr_array((self.weighted(values), (rows, columns)), shape=shape)
