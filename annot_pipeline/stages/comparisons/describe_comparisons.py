"""What comparisons say of those who made them: contradictions by judge and segment, and time.

Sources: Pighin, Formiga & Marquez 2012, sections 4.1 and 4.4. What does not belong here: graphs
(judge_graphs), times (time_comparisons), agreement between judges (measure_preference_agreement).
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from annot_pipeline.stages.comparisons.judge_graphs import (
    JUDGE_CONTRADICTIONS,
    SEGMENT_CONTRADICTIONS,
    JudgeGraphs,
)
from annot_pipeline.stages.comparisons.output_comparisons import OutputComparisons
from annot_pipeline.stages.comparisons.time_comparisons import COMPARISON_TIMES, time_comparisons

TABLES = {
    "judge_contradictions": JUDGE_CONTRADICTIONS,
    "segment_contradictions": SEGMENT_CONTRADICTIONS,
    "comparison_times": COMPARISON_TIMES,
}


def describe_comparisons(
    comparisons: pa.Table, item_rows: pa.Table
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Describe every task that has comparisons.

    Parameters
    ----------
    comparisons
        As `COMPARISONS`.
    item_rows
        ``item``, ``task``, ``segment``, ``source``, ``place``; may be empty.

    Returns
    -------
    tables, metrics
        ``judge_contradictions`` (of all judges), ``segment_contradictions`` and
        ``comparison_times`` (of judges that count). By task: ``comparison_times``, rankings without
        a time or a source text; ``in_contradiction``, share of outputs in their judge's graph.
    """
    parts = {name: [schema.empty_table()] for name, schema in TABLES.items()}
    metrics: dict[str, Any] = {}
    contradicting: dict[str, float] = {}
    for everyone in OutputComparisons.by_task(comparisons):
        counted = everyone.only(everyone.is_kept)
        times, metrics[everyone.names.task] = time_comparisons(counted, item_rows)
        parts["judge_contradictions"].append(
            JudgeGraphs.from_comparisons(everyone).by_judge(everyone)
        )
        graphs = JudgeGraphs.from_comparisons(counted)
        parts["segment_contradictions"].append(graphs.by_segment(counted))
        n_outputs = max(int(graphs.n_outputs.sum()), 1)
        contradicting[everyone.names.task] = int(graphs.n_in_contradiction.sum()) / n_outputs
        parts["comparison_times"].append(times)
    tables = {name: pa.concat_tables(task_tables) for name, task_tables in parts.items()}
    return tables, {"comparison_times": metrics, "in_contradiction": contradicting}
