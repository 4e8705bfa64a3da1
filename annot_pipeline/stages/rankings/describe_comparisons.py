"""What comparisons say of those who made them: contradictions by judge and segment, and time.

Sources: Pighin, Formiga & Marquez 2012, sections 4.1 and 4.4. What does not belong here: graphs
(output_comparisons), agreement between judges
(measure_preference_agreement).

Seconds are by ranking, comparison and segment, by the length of the source text (section 4.4.2,
Figure 3), of judges that count only. A unit is

- ``ranking``: what was judged at once;
- ``comparison``: the same, by comparison that was asked (a ranking of five outputs asks ten);
- ``segment``: all that one judge said of a segment, which alone compares a full ranking with
  the several preferences that take its place; unknown if one of the times is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.contracts import INT, REAL, TEXT
from annot_pipeline.methods.comparisons.comparison_times import (
    ComparisonTimes,
    comparison_times,
)
from annot_pipeline.methods.numerics.moments import sums
from annot_pipeline.methods.planning.degradation import cut, word_places
from annot_pipeline.runtime.coded_task import CodedTask
from annot_pipeline.runtime.indexing import index_pairs
from annot_pipeline.runtime.task_partitions import TaskData, TaskResult
from annot_pipeline.stages.shared.columns import without_nan
from annot_pipeline.stages.shared.output_comparisons import UNKNOWN, JudgeGraphs, OutputComparisons

COMPARISON_TIMES = pa.schema(
    [
        pa.field("task", TEXT, nullable=False),
        pa.field("unit", TEXT, nullable=False),  # ranking, comparison, segment
        pa.field("lengths", TEXT, nullable=False),  # all, cumulative, disjoint
        pa.field("longer_than", INT),  # words of the source text; null: no limit
        pa.field("words", INT),  # at most so many
        pa.field("n", INT, nullable=False),
        pa.field("n_breaks", INT, nullable=False),
        pa.field("mean", REAL),  # seconds
        pa.field("median", REAL),
        pa.field("mean_without_breaks", REAL),
        pa.field("mean_per_word", REAL),  # seconds by word of the source text
        pa.field("median_per_word", REAL),
        pa.field("mean_per_word_without_breaks", REAL),
    ]
)


def time_comparisons(
    compared: OutputComparisons,
    item_rows: pa.Table,
) -> tuple[pa.Table, dict[str, int]]:
    """Time one task.

    Parameters
    ----------
    compared
        Comparisons of judges that count.
    item_rows
        ``item``, ``task``, ``segment``, ``source``, ``place``: the first source text of an item,
        else of its segment, is what was read.
    Returns
    -------
    times
        As `COMPARISON_TIMES`; no rows for a task without any time. Bins without a time are left
        out.
    metrics
        ``rankings_without_seconds``, ``rankings_without_source``.
    """
    rankings, first, positions = np.unique(
        compared.rankings, return_index=True, return_inverse=True
    )
    length = np.full(rankings.size, UNKNOWN, np.int64)
    np.maximum.at(length, positions, _words(compared, item_rows))
    asked_rankings = compared.merge_shared_outputs().rankings
    n_asked = np.bincount(np.searchsorted(rankings, asked_rankings), minlength=rankings.size)
    seconds, put = compared.seconds[first], n_asked > 0
    metrics = {
        "rankings_without_seconds": int(np.isnan(seconds[put]).sum()),
        "rankings_without_source": int((length[put] == UNKNOWN).sum()),
    }
    units: dict[str, tuple[Floats, Codes]] = {
        "ranking": (seconds[put], length[put]),
        "comparison": (seconds[put] / n_asked[put], length[put]),
        "segment": _by_segment(compared, first[put], seconds[put], length[put]),
    }
    rows = [
        row
        for unit, (unit_seconds, words) in units.items()
        for row in _rows(compared.names.task, unit, comparison_times(unit_seconds, words))
    ]
    return pa.Table.from_pylist(rows, COMPARISON_TIMES), metrics


def _words(compared: OutputComparisons, item_rows: pa.Table) -> Codes:
    """Return the words of the source text of each comparison, ``(n_comparisons,)``; -1: unknown."""
    by_item: dict[str, str] = {}
    by_segment: dict[str, str] = {}
    for row in sorted(item_rows.to_pylist(), key=lambda row: row["place"]):
        if row["source"] is not None and row["task"] in (None, compared.names.task):
            by_item.setdefault(row["item"], row["source"])
            if row["segment"] is not None:
                by_segment.setdefault(row["segment"], row["source"])
    of_item = _counts(compared.names.items, by_item)
    of_segment = _counts([*compared.names.segments], by_segment)
    words = np.maximum(of_item[compared.first], of_item[compared.second])
    of_segment = np.append(of_segment, UNKNOWN)[compared.segments]  # the last has no segment
    return np.asarray(np.where(words == UNKNOWN, of_segment, words))


def _counts(names: list[str], sources: dict[str, str]) -> Codes:
    counted: dict[str, int] = {}
    for source in sources.values():
        if source not in counted:
            counted[source] = len(word_places(cut(source)))
    return np.array(
        [counted[sources[name]] if name in sources else UNKNOWN for name in names], np.int64
    )


def _by_segment(
    compared: OutputComparisons, rows: Codes, seconds: Floats, length: Codes
) -> tuple[Floats, Codes]:
    """Return the seconds that a judge took per segment, and its words; one row per ranking."""
    mapped = compared.segments[rows] < len(compared.names.segments)
    rows, seconds, length = rows[mapped], seconds[mapped], length[mapped]
    group = index_pairs(compared.segments[rows], compared.judges[rows]).codes
    n_groups = int(group.max(initial=-1)) + 1
    words = np.full(n_groups, UNKNOWN, np.int64)
    np.maximum.at(words, group, length)
    is_timed = ~np.isnan(seconds)
    whole = np.bincount(group[~is_timed], minlength=n_groups) == 0
    total = sums(group[is_timed], seconds[is_timed], n_groups=n_groups)
    return np.where(whole, total, np.nan), words


def _rows(task: str, unit: str, times_by_length: ComparisonTimes) -> list[dict[str, Any]]:
    kinds = {
        "all": (times_by_length.overall,),
        "cumulative": times_by_length.cumulative,
        "disjoint": times_by_length.disjoint,
    }
    return [
        without_nan({"task": task, "unit": unit, "lengths": kind} | asdict(times))
        for kind, bins in kinds.items()
        for times in bins
        if times.n
    ]


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
