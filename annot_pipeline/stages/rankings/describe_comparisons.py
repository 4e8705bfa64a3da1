"""What comparisons say of those who made them: contradictions by judge and segment, and time.

Sources: Pighin, Formiga & Marquez 2012, sections 4.1 and 4.4. What does not belong here: graphs
(output_comparisons), times (time_comparisons), agreement between judges
(measure_preference_agreement).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Codes
from annot_pipeline.contracts import INT, REAL, TEXT
from annot_pipeline.runtime.coded_task import CodedTask
from annot_pipeline.runtime.task_partitions import TaskData, TaskResult
from annot_pipeline.stages.rankings.time_comparisons import COMPARISON_TIMES, time_comparisons
from annot_pipeline.stages.shared.output_comparisons import JudgeGraphs, OutputComparisons


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


TABLES = {
    "judge_contradictions": _contradictions("judge", nullable=False),
    "segment_contradictions": _contradictions("segment", nullable=True),
    "comparison_times": COMPARISON_TIMES,
}
"""Of judges (as the export names them, whether they count or not); of segments, null where none is
mapped, by graphs of judges that count; and times."""


def describe_comparisons(task: TaskData) -> TaskResult:
    """Describe the comparisons of a task.

    Parameters
    ----------
    task
        ``comparisons``, and ``item_rows``: ``item``, ``task``, ``segment``, ``source``, ``place``.

    Returns
    -------
    tables, metrics
        `TABLES`. ``comparison_times``: rankings without a time or a source text;
        ``in_contradiction``: share of outputs in their judge's graph.
    """
    if not task["comparisons"].num_rows:
        return {}, {}
    everyone = OutputComparisons.from_rows(CodedTask(task.name, task["comparisons"]))
    counted = everyone.only(everyone.is_kept)
    times, rankings = time_comparisons(counted, task["item_rows"])
    graphs, all_graphs = map(JudgeGraphs.from_comparisons, (counted, everyone))
    names = everyone.names
    n_outputs = max(int(graphs.n_outputs.sum()), 1)
    return {
        "judge_contradictions": _counted(
            all_graphs, all_graphs.judges, names.judges, task.name, "judge_contradictions"
        ),
        "segment_contradictions": _counted(
            graphs, graphs.segments, [*names.segments, None], task.name, "segment_contradictions"
        ),
        "comparison_times": times,
    }, {
        "comparison_times": rankings,
        "in_contradiction": int(graphs.n_in_contradiction.sum()) / n_outputs,
    }


def _counted(
    graphs: JudgeGraphs, groups: Codes, names: Sequence[str | None], task: str, table: str
) -> pa.Table:
    """Return contradictions by judge or segment; ``groups`` are codes of the graphs'."""
    n_graphs = np.bincount(groups, minlength=len(names))
    n_with, n_outputs, n_inside = (
        np.bincount(groups, weights=values, minlength=len(names)).astype(np.int64)
        for values in (graphs.contradicts, graphs.n_outputs, graphs.n_in_contradiction)
    )
    present = np.flatnonzero(n_graphs)
    columns = [
        [task] * present.size,
        [names[code] for code in present.tolist()],
        n_graphs[present],
        n_with[present],
        1 - n_inside[present] / n_outputs[present],
    ]
    schema = TABLES[table]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
