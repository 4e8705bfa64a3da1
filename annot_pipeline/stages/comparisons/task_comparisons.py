"""Comparisons of the systems of one task, as ranking methods take them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.comparisons.comparison_counts import ComparisonCounts, count_comparisons
from annot_pipeline.methods.comparisons.connectivity import Connectivity, connectivity


@dataclass(frozen=True, eq=False)
class TaskComparisons:
    """Comparisons of one task by judges kept, in order; arrays are ``(n_comparisons,)``.

    Parameters
    ----------
    names
        ``(K,)`` systems in code point order; some may have no comparisons.
    first, second, outcome
        Codes of systems; 1 the first is better, 0 tie, -1 the second is.
    share
        Of a graded preference that goes to the first, from 0 to 1; NaN where it is not graded.
    second_shown_first
        1 or 0; -1 where the order is not known.
    judge, ranking
        Codes of judges, and of what was judged at once.
    segment
        Codes of segments; where none is mapped, each ranking is a segment of its own.
    has_segment
        Whether a segment is mapped.
    cluster
        Codes of segments in which those of one document have one; None where no segment has a
        document.
    order_group
        Code of the judges who share an effect of the order: 0 for people, from 1 for each model.
    dominance
        Systems, segments and dominance of outputs in their segments' graphs, or None.
    seed
        Entropy of the draws.
    length_difference
        Logarithm of the length of the first output's text less that of the second; NaN where a
        text is not known. None: not asked for.
    """

    names: list[str]
    first: Codes
    second: Codes
    outcome: Codes
    share: Floats
    second_shown_first: Codes
    judge: Codes
    ranking: Codes
    segment: Codes
    has_segment: Flags
    cluster: Codes | None
    order_group: Codes
    dominance: tuple[Codes, Codes, Floats] | None
    seed: list[int]
    length_difference: Floats | None = None
    graph: Connectivity = field(init=False)
    counted: ComparisonCounts = field(init=False)
    part: Codes = field(init=False)

    def __post_init__(self) -> None:
        table, n = (self.first, self.second, self.outcome), len(self.names)
        is_partial = (self.share > 0) & (self.share < 1)  # both sides have a part of the win
        decided = np.where(is_partial, 0, self.outcome)
        graph = connectivity(self.first, self.second, decided, n_systems=n)
        object.__setattr__(self, "graph", graph)
        object.__setattr__(self, "counted", count_comparisons(*table, self.segment, n_systems=n))
        part = np.where(self.n_comparisons > 0, graph.part, -1)
        codes = np.unique(np.append(part, -1), return_inverse=True)[1].reshape(-1)[:-1]
        object.__setattr__(self, "part", codes - 1)

    @property
    def is_graded(self) -> bool:
        """Return whether preferences say how strong they are."""
        return not bool(np.isnan(self.share).all())

    @property
    def preferences(self) -> Floats:
        """Return the share of each comparison that goes to the first system; of a tie one half."""
        return np.where(np.isnan(self.share), (1 + self.outcome) / 2, self.share)

    @property
    def n_parts(self) -> int:
        """Return parts of systems that comparisons connect."""
        return int(self.part.max(initial=-1)) + 1

    @property
    def n_comparisons(self) -> Codes:
        """Return comparisons of each system, ``(K,)``."""
        return np.bincount(np.concatenate([self.first, self.second]), minlength=len(self.names))

    @property
    def n_segments(self) -> Codes:
        """Return how many mapped segments each system has, ``(K,)``."""
        width = int(self.segment.max(initial=-1)) + 1
        keys = [
            np.unique(side[self.has_segment] * width + self.segment[self.has_segment])
            for side in (self.first, self.second)
        ]
        return np.bincount(np.union1d(*keys) // max(width, 1), minlength=len(self.names))

    @property
    def judges_repeat(self) -> bool:
        """Return whether a judge judged several segments."""
        pairs = np.unique(np.stack([self.judge, self.segment]), axis=1)
        return bool(np.bincount(pairs[0]).max(initial=0) > 1)

    @property
    def shares_documents(self) -> bool:
        """Return whether several segments are of one document."""
        if self.cluster is None:
            return False
        return bool(np.unique(self.cluster).size < np.unique(self.segment).size)

    def only_ties(self, group: Codes) -> Flags:
        """Return whether each system's group, by code, has no decided comparison."""
        decided = np.zeros(len(self.names) + 1, np.bool_)
        both = group[self.first] == group[self.second]
        decided[group[self.first[both & (self.outcome != 0)]]] = True
        return np.asarray(~decided[group])
