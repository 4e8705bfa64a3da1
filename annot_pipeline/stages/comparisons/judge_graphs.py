"""The graph of what one judge said of one segment, for all judges and segments of a task.

Contradictions by judge and by segment are counted here, and the judge's ranks of outputs come from
here. Sources: Pighin, Formiga & Marquez 2012, section 4.1; METHODS section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Codes, Flags
from annot_pipeline.contracts import INT, REAL, TEXT
from annot_pipeline.methods.comparisons.comparison_graphs import comparison_graphs
from annot_pipeline.runtime.indexing import index_pairs
from annot_pipeline.stages.comparisons.output_comparisons import OutputComparisons


def _contradictions(unit: str, *, nullable: bool) -> pa.Schema:
    return pa.schema(
        [
            pa.field("task", TEXT, nullable=False),
            pa.field(unit, TEXT, nullable=nullable),
            pa.field("n_graphs", INT, nullable=False),
            pa.field("n_graphs_with_contradictions", INT, nullable=False),
            pa.field("consistency", REAL, nullable=False),
        ]
    )


JUDGE_CONTRADICTIONS = _contradictions("judge", nullable=False)
"""One row a task and judge (as the export names it), whether the judge counts or not."""

SEGMENT_CONTRADICTIONS = _contradictions("segment", nullable=True)
"""One row a task and segment; graphs of judges that count. Null: no segment is mapped."""


@dataclass(frozen=True)
class JudgeGraphs:
    """Holds the comparison graphs of a task, one per segment and judge.

    Parameters
    ----------
    segments, judges
        ``(n_graphs,)`` codes.
    n_outputs, n_in_contradiction
        ``(n_graphs,)`` outputs, and those of them in a contradiction.
    graph, output, rank
        ``(n_nodes,)`` of each output of each graph: code of the graph, code of the output, and
        its dense rank.
    """

    segments: Codes
    judges: Codes
    n_outputs: Codes
    n_in_contradiction: Codes
    graph: Codes
    output: Codes
    rank: Codes

    @classmethod
    def from_comparisons(cls, compared: OutputComparisons) -> JudgeGraphs:
        """Build the graphs; ties of shared outputs are edges like all ties."""
        graphs = index_pairs(compared.segments, compared.judges)
        nodes = index_pairs(
            np.tile(graphs.codes, 2), np.concatenate([compared.first, compared.second])
        )
        first, second = nodes.codes.reshape(2, -1)
        contradictions = comparison_graphs(nodes.first, first, second, compared.outcome)
        n_graphs = graphs.first.size
        return cls(
            segments=graphs.first,
            judges=graphs.second,
            n_outputs=np.bincount(nodes.first, minlength=n_graphs),
            n_in_contradiction=np.bincount(
                nodes.first[contradictions.in_contradiction], minlength=n_graphs
            ),
            graph=nodes.first,
            output=nodes.second,
            rank=contradictions.rank,
        )

    @property
    def contradicts(self) -> Flags:
        """Return whether a graph holds a contradiction, ``(n_graphs,)``."""
        return np.asarray(self.n_in_contradiction > 0)

    def by_judge(self, compared: OutputComparisons) -> pa.Table:
        """Return the contradictions of each judge, as `JUDGE_CONTRADICTIONS`."""
        names: list[str | None] = list(compared.names.judges)
        return self._counted(self.judges, names, compared.names.task, JUDGE_CONTRADICTIONS)

    def by_segment(self, compared: OutputComparisons) -> pa.Table:
        """Return the contradictions of each segment, as `SEGMENT_CONTRADICTIONS`."""
        names: list[str | None] = [*compared.names.segments, None]
        return self._counted(self.segments, names, compared.names.task, SEGMENT_CONTRADICTIONS)

    def _counted(
        self, groups: Codes, names: list[str | None], task: str, schema: pa.Schema
    ) -> pa.Table:
        n_graphs = np.bincount(groups, minlength=len(names))
        n_with, n_outputs, n_inside = (
            np.bincount(groups, weights=values, minlength=len(names)).astype(np.int64)
            for values in (self.contradicts, self.n_outputs, self.n_in_contradiction)
        )
        present = np.flatnonzero(n_graphs)
        columns = [
            [task] * present.size,
            [names[code] for code in present.tolist()],
            n_graphs[present],
            n_with[present],
            1 - n_inside[present] / n_outputs[present],
        ]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
        return pa.Table.from_arrays(arrays, schema=schema)
