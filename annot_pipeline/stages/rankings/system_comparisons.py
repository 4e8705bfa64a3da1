"""Comparisons of the systems of one task, as ranking methods take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.config.judges import JudgeSettings, is_model
from annot_pipeline.methods.comparisons.comparison_counts import ComparisonCounts, count_comparisons
from annot_pipeline.methods.comparisons.connectivity import Connectivity, connectivity
from annot_pipeline.methods.numerics.bootstrap import seed_of_name
from annot_pipeline.methods.numerics.distinct import renumbered
from annot_pipeline.methods.rankings.cluster_variance import document_clusters
from annot_pipeline.runtime.coded_task import NONE, CodedTask


@dataclass(frozen=True, eq=False)
class SystemComparisons:
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

    @classmethod
    def from_rows(
        cls,
        rows: CodedTask,
        judges: Sequence[JudgeSettings],
        segment_ranks: pa.Table | None,
        seed: int,
    ) -> SystemComparisons:
        """Return the comparisons of a task by judges kept, with all its systems.

        Parameters
        ----------
        rows
            `comparisons.COMPARISONS` of two systems, in order.
        judges
            Which judges are models.
        segment_ranks
            ``segment``, ``system``, ``dominance`` of the task, or None.
        seed
            Of the campaign.
        """
        all_names, *ends = rows.sides("system")
        systems, codes = renumbered(np.concatenate(ends))
        names = [all_names[code] for code in systems.tolist()]
        counts = rows.flags("kept")
        first, second = (side[counts] for side in np.split(codes, 2))
        # where no segment is mapped, each ranking is a segment of its own
        ranking, segment = rows.rows["ranking"].to_numpy(), rows["segment"].codes
        segments = np.where(segment == NONE, rows.n("segment") + ranking, segment)
        own, code = renumbered(rows["judge"].codes[counts])
        names_of_judges = [rows["judge"].names[judge] for judge in own.tolist()]
        are_models = np.array([is_model(name, judges) for name in names_of_judges], np.bool_)
        order = rows.rows["b_shown_first"].cast(pa.int64()).fill_null(-1).to_numpy()
        return cls(
            names=names,
            first=first,
            second=second,
            outcome=rows.rows["outcome"].to_numpy().astype(np.int64)[counts],
            share=rows.numbers("share_a")[counts],
            second_shown_first=order[counts],
            judge=code,
            ranking=ranking[counts],
            segment=segments[counts],
            has_segment=segment[counts] != NONE,
            cluster=_clusters(segments, rows["document"].codes, counts),
            order_group=np.where(are_models, np.cumsum(are_models), 0)[code],
            dominance=None if segment_ranks is None else _dominance(segment_ranks, names),
            seed=[seed, seed_of_name(rows.name)],
        )

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

    @cached_property
    def n_segments(self) -> Codes:
        """Return how many mapped segments each system has, ``(K,)``."""
        width = int(self.segment.max(initial=-1)) + 1
        keys = [
            np.unique(side[self.has_segment] * width + self.segment[self.has_segment])
            for side in (self.first, self.second)
        ]
        return np.bincount(np.union1d(*keys) // max(width, 1), minlength=len(self.names))

    @cached_property
    def judges_repeat(self) -> bool:
        """Return whether a judge judged several segments."""
        width = int(self.segment.max(initial=-1)) + 1
        pairs = np.unique(self.judge * width + self.segment)
        return bool(np.bincount(pairs // max(width, 1)).max(initial=0) > 1)

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


def _clusters(segments: Codes, documents: Codes, counts: Flags) -> Codes | None:
    """Return the cluster of each comparison by judges kept; None if no row names a document."""
    own, codes = renumbered(segments)
    clusters = document_clusters(codes, documents, own.size)
    return None if clusters is None else clusters[codes][counts]


def _dominance(segment_ranks: pa.Table, names: Sequence[str]) -> tuple[Codes, Codes, Floats] | None:
    """Return systems, segments and dominance of a task's outputs; None without any."""
    rows = CodedTask("", segment_ranks)
    systems = rows.codes_among("system", names)
    ranked = rows.only(systems != NONE)
    if not len(ranked):
        return None
    return systems[systems != NONE], ranked["segment"].codes, ranked.numbers("dominance")
