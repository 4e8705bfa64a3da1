"""Agreement of judges by task: on labels, and on scores, their categories and their ranks.

Sources: Passonneau & Carpenter 2013, section 2; Graham et al. 2013, section 4 and Tables 1 to
3; Sakaguchi & Van Durme 2018, footnotes 17 and 20. Judgments of judges who do not count are left
out; where there are any, the same statistics of all judges stand beside, with ``_unfiltered``
behind their names. What does not belong here: the statistics themselves (agreement, krippendorff,
scale_agreement, score_differences, judge_correlations).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.contracts import AGREEMENT
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.methods.scores.zscores import Arithmetic
from annot_pipeline.runtime.by_task import ByTask
from annot_pipeline.stages.agreement.measure_label_agreement import label_rows
from annot_pipeline.stages.agreement.measure_score_agreement import score_rows
from annot_pipeline.stages.agreement.ratings import Row
from annot_pipeline.stages.agreement.repeated_scores import RepeatedScores
from annot_pipeline.stages.comparisons.bootstrap_rounds import BootstrapRounds


def measure_agreement(
    judgments: pa.Table,
    standardized: pa.Table,
    pairs: pa.Table,
    judge_tests: pa.Table,
    judge_scores: pa.Table,
    tasks: pa.Table,
    *,
    arithmetic: Arithmetic,
    rounds: int,
    seed: int,
    workers: int = 1,
    progress: Callable[[str], None] | None = None,
) -> tuple[pa.Table, dict[str, Any]]:
    """Measure the agreement of every categorical and scalar task.

    Parameters
    ----------
    judgments
        ``task``, ``item``, ``judge``, ``label``, ``control``, ``fate``.
    standardized, judge_scores
        As `standardize_scores` gives them.
    pairs
        ``control_pairs``, as `orient_pairs` gives them.
    judge_tests
        As `control_judges` gives it.
    tasks
        ``task``, ``kind``, ``labels``, ``ordinal``, ``scale_low``, ``scale_high``, ``criteria``.
    arithmetic
        Of z-scores, as `standardize_scores` took it.
    rounds, seed
        Of the bootstrap over items; each statistic has its own stream.
    workers
        Tasks measured side by side; the result is the same.
    progress
        Called with messages about the progress.

    Returns
    -------
    agreement, metrics
        ``judge_pairs_left_out``: by task and statistic.
    """

    def measured(task: Row) -> list[Row]:
        bootstrap = BootstrapRounds(task["task"], rounds, seed)
        if task["kind"] == "categorical":
            return list(label_rows(InMemoryBlocks([labels[task["task"]]]), task))
        if task["kind"] == "scalar":
            scores, twice, tests, own = (table[task["task"]] for table in scored)
            repeats = RepeatedScores.from_tables(twice, tests, own, arithmetic)
            blocks = InMemoryBlocks([scores]), InMemoryBlocks([repeats])
            return list(score_rows(*blocks, task, bootstrap))
        return []

    labels = ByTask(judgments)
    scored = [ByTask(table) for table in (standardized, pairs, judge_tests, judge_scores)]
    rows: list[Row] = []
    with ThreadPoolExecutor(workers) as pool:
        for number, task_rows in enumerate(pool.map(measured, tasks.to_pylist()), start=1):
            rows += task_rows
            if progress:
                progress(f"agreement: task {number} of {tasks.num_rows}")
    return agreement_table(rows), {"judge_pairs_left_out": pairs_left_out(rows)}


def pairs_left_out(rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    """Return the pairs of judges without a correlation, by task and statistic."""
    left_out: dict[str, dict[str, int]] = {}
    for row in rows:
        if n := row.get("judge_pairs_left_out"):
            left_out.setdefault(row["task"], {})[row["statistic"]] = n
    return left_out


def agreement_table(rows: Sequence[Row]) -> pa.Table:
    """Return the table of rows whose numbers are NaN where undefined."""
    columns: dict[str, list[Any]] = {
        name: [row[name] for row in rows] for name in AGREEMENT.schema.names
    }
    for name in ("value", "ci_low", "ci_high"):
        columns[name] = [None if np.isnan(value) else float(value) for value in columns[name]]
    return AGREEMENT.from_columns({**columns})
