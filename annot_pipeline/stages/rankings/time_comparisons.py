"""Seconds by ranking, comparison and segment, by the length of the source text.

Source: Pighin, Formiga & Marquez 2012, section 4.4.2, Figure 3. Judges that count only. A unit is

- ``ranking``: what was judged at once;
- ``comparison``: the same, by comparison that was asked (a ranking of five outputs asks ten);
- ``segment``: all that one judge said of a segment, which alone compares a full ranking with
  the several preferences that take its place; unknown if one of the times is.
"""

from __future__ import annotations

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
from annot_pipeline.methods.planning.words import cut, word_places
from annot_pipeline.runtime.indexing import index_pairs
from annot_pipeline.stages.shared.output_comparisons import UNKNOWN, OutputComparisons

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
    rows = [
        {"task": task, "unit": unit, "lengths": kind} | asdict(times)
        for kind, bins in kinds.items()
        for times in bins
        if times.n
    ]
    return [{k: None if v != v else v for k, v in row.items()} for row in rows]  # NaN is null
