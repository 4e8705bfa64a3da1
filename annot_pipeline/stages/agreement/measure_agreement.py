"""Agreement of judges in a task: on labels, on scores, their categories and ranks, on preferences.

Sources: Passonneau & Carpenter 2013, section 2; Graham et al. 2013, section 4 and Tables 1 to
3; Sakaguchi & Van Durme 2018, footnotes 17 and 20. Judgments of judges who do not count are left
out; where there are any, the same statistics of all judges stand beside, with ``_unfiltered``
behind their names. What does not belong here: the statistics themselves (label_agreement,
krippendorff, scale_agreement, score_differences, judge_correlations).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from annot_pipeline.contracts import AGREEMENT
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.methods.numerics.bootstrap_rounds import BootstrapRounds
from annot_pipeline.runtime.coded_task import CodedTask
from annot_pipeline.runtime.task_partitions import TaskData, TaskResult
from annot_pipeline.stages.agreement import measure_label_agreement, score_sums
from annot_pipeline.stages.agreement.measure_label_agreement import label_rows
from annot_pipeline.stages.agreement.measure_preference_agreement import (
    measure_preference_agreement,
)
from annot_pipeline.stages.agreement.measure_score_agreement import score_rows
from annot_pipeline.stages.agreement.ratings import Row
from annot_pipeline.stages.agreement.repeated_scores import RepeatedScores

AGAINST_CHANCE = ("alpha_interval", "alpha_ordinal", "alpha_nominal", "inter_kappa_ternary")
"""Statistics that are 0 where judges agree as by chance; of a task the first that it has."""


def measure_agreement(task: TaskData) -> TaskResult:
    """Measure the agreement of the judges of a task.

    Parameters
    ----------
    task
        ``controlled`` (of labels), ``standardized``, ``control_pairs``, ``judge_scores``,
        ``judge_tests``, ``comparisons``, and its row of ``tasks``.

    Returns
    -------
    tables, metrics
        ``agreement`` by its key; ``judge_pairs_left_out`` by statistic, ``preferences``,
        ``agreement_by_chance``.
    """
    declared, settings = {**task.declared}, task.settings
    rounds, seed = settings.agreement.bootstrap, settings.seed
    rows: list[Row] = []
    if declared["kind"] == "categorical":
        rows += label_rows(task.blocks("controlled", measure_label_agreement.COLUMNS), declared)
    elif declared["kind"] == "scalar":
        repeats = RepeatedScores.from_tables(
            task["control_pairs"], task["judge_tests"], task["judge_scores"],
            settings.standardize.arithmetic,
        )  # fmt: skip
        rows += score_rows(
            task.blocks("standardized", score_sums.COLUMNS),
            InMemoryBlocks([repeats]),
            declared,
            BootstrapRounds(task.name, rounds, seed),
            task.progress,
        )
    left_out = {row["statistic"]: n for row in rows if (n := row.get("judge_pairs_left_out"))}
    metrics: dict[str, Any] = {"judge_pairs_left_out": left_out} if left_out else {}
    compared = CodedTask(task.name, task["comparisons"])
    if len(compared):
        preferences, metrics["preferences"] = measure_preference_agreement(
            compared, rounds=rounds, seed=seed
        )
        rows += preferences
    if by_chance := _by_chance(rows):
        metrics["agreement_by_chance"] = by_chance
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in AGREEMENT.schema.names}
    for name in ("value", "ci_low", "ci_high"):
        columns[name] = [None if np.isnan(value) else float(value) for value in columns[name]]
    table = AGREEMENT.from_columns(columns)
    return {"agreement": table.sort_by([(n, "ascending") for n in AGREEMENT.key])}, metrics


def _by_chance(rows: Sequence[Row]) -> dict[str, Any] | None:
    """Return the statistic of a task whose agreement is not above chance; else None.

    By the value, not by its interval: of large tasks that is by other resamples.
    """
    for name in AGAINST_CHANCE:
        for row in rows:
            if row["statistic"] == name and not np.isnan(row["value"]):
                chance = {"statistic": name, "value": round(float(row["value"]), 6)}
                return chance | {"n_items": row["n_items"]} if row["value"] <= 0 else None
    return None
