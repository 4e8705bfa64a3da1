"""Scores of whole segments, and their sums by segment, judge, system, and pairs of these."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


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
    """

    segments: Codes
    judges: Codes
    systems: Codes
    scores: Floats
    n_segments: int
    n_judges: int
    n_systems: int

    @classmethod
    def from_rows(
        cls,
        segments: Codes,
        judges: Codes,
        systems: Codes,
        scores: Floats,
        sizes: tuple[int, int, int],
    ) -> ScoreBlock:
        """Return rows in any order as a block; ``sizes``: segments, judges, systems."""
        order = np.lexsort((scores, systems, judges, segments))
        return cls(segments[order], judges[order], systems[order], scores[order], *sizes)

    def split(self, most_segments: int) -> list[ScoreBlock]:
        """Return blocks of at most so many segments, whose tables by segment stay small."""
        if self.n_segments <= most_segments:
            return [self]
        starts = [*range(0, self.n_segments, most_segments), self.n_segments]
        ends = np.searchsorted(self.segments, starts).tolist()
        return [
            ScoreBlock(
                self.segments[start:end] - first, self.judges[start:end], self.systems[start:end],
                self.scores[start:end], after - first, self.n_judges, self.n_systems,
            )
            for first, after, start, end in zip(
                starts[:-1], starts[1:], ends[:-1], ends[1:], strict=True
            )
        ]  # fmt: skip

    @cached_property
    def segment_systems(self) -> csr_array:
        """Judgments ``(n_segments, K)``."""
        return self._sums(self.segments, self.systems, None, (self.n_segments, self.n_systems))

    @cached_property
    def segment_judges(self) -> csr_array:
        """Judgments ``(n_segments, n_judges)``."""
        return self.by_segment_and_judge(None)

    @cached_property
    def n_judgments(self) -> Floats:
        """Judgments of each segment."""
        return np.bincount(self.segments, minlength=self.n_segments).astype(np.float64)

    @cached_property
    def judge_of_segment(self) -> Codes:
        """Code of the cell (segment, judge) of each judgment, ``(n_scores,)``."""
        key = self.segments * self.n_judges + self.judges
        return np.asarray(np.cumsum(np.append(True, np.diff(key) > 0)[: key.size]) - 1, np.int64)

    def by_segment(self, values: Floats) -> Floats:
        """Return sums of ``(n_scores,)`` values by segment."""
        return np.asarray(np.bincount(self.segments, values, self.n_segments), np.float64)

    def by_judge(self, values: Floats) -> Floats:
        """Return sums by judge."""
        return np.asarray(np.bincount(self.judges, values, self.n_judges), np.float64)

    def by_system(self, values: Floats) -> Floats:
        """Return sums by system."""
        return np.asarray(np.bincount(self.systems, values, self.n_systems), np.float64)

    def by_judge_and_system(self, values: Floats | None) -> Floats:
        """Return sums, or judgments, ``(n_judges, K)``."""
        cells = self.judges * self.n_systems + self.systems
        shape = (self.n_judges, self.n_systems)
        return np.bincount(cells, values, shape[0] * shape[1]).reshape(shape).astype(np.float64)

    def by_segment_and_system(self, values: Floats) -> csr_array:
        """Return sums ``(n_segments, K)``."""
        return self._sums(self.segments, self.systems, values, (self.n_segments, self.n_systems))

    def by_segment_and_judge(self, values: Floats | None) -> csr_array:
        """Return sums, or judgments, ``(n_segments, n_judges)``."""
        return self._sums(self.segments, self.judges, values, (self.n_segments, self.n_judges))

    def by_cell_and_system(self, values: Floats) -> csr_array:
        """Return sums by cell of segment and judge, and system."""
        cells = self.judge_of_segment
        n_cells = int(cells.max(initial=-1)) + 1
        return self._sums(cells, self.systems, values, (n_cells, self.n_systems))

    @staticmethod
    def _sums(
        rows: Codes, columns: Codes, values: Floats | None, shape: tuple[int, int]
    ) -> csr_array:
        from scipy.sparse import csr_array

        data = np.ones(rows.size) if values is None else values
        return csr_array((data, (rows, columns)), shape=shape)
