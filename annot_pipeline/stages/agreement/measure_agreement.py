"""Agreement of judges in a task: on labels, on scores and their categories, on preferences.

Written once over blocks of judgments: one table in memory, or files of one large task.

Sources: Passonneau & Carpenter 2013, section 2; Graham et al. 2013, section 4 and Tables 1 to
3; Sakaguchi & Van Durme 2018, footnotes 17 and 20. Judgments of judges who do not count are left
out; where there are any, the same statistics of all judges stand beside, with ``_unfiltered``
behind their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import AGREEMENT
from annot_pipeline.methods.agreement.label_agreement import NominalAgreement, label_agreement
from annot_pipeline.methods.agreement.label_block import LabelBlock
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.numerics.blocks import Blocks, InMemoryBlocks
from annot_pipeline.methods.numerics.bootstrap import BootstrapRounds
from annot_pipeline.runtime.coded_task import CodedTask
from annot_pipeline.runtime.indexing import class_order, is_in
from annot_pipeline.runtime.task_partitions import TaskData, TaskResult
from annot_pipeline.stages.agreement import score_sums
from annot_pipeline.stages.agreement.measure_preference_agreement import (
    measure_preference_agreement,
)
from annot_pipeline.stages.agreement.measure_score_agreement import score_rows
from annot_pipeline.stages.agreement.ratings import UNFILTERED, Row, agreement_row
from annot_pipeline.stages.agreement.score_sums import RepeatedScores
from annot_pipeline.stages.shared.columns import without_nan

COLUMNS = ("task", "item", "judge", "label", "control", "fate")
"""Columns that agreement on labels reads."""
STATISTICS = (
    "percent_agreement", "pooled_percent_agreement", "cohen_kappa", "fleiss_kappa", "gwet_ac1",
    "alpha_nominal",
)  # fmt: skip
ORDINAL_STATISTICS = ("alpha_ordinal", "gwet_ac2")
VOTES_ALONE = "votes are counts: no judge is named"


def label_rows(judgments: Blocks[pa.Table], task: Row) -> Iterator[Row]:
    """Yield the rows of a categorical task.

    Parameters
    ----------
    judgments
        Tables with `COLUMNS`; the judgments of an item lie in one block.
    task
        ``task``, ``by_votes``, ``labels``, ``ordinal``.
    """
    names, labels, failed = zip(*judgments.map(_scan), strict=True)
    judges = sorted(set().union(*names))
    classes = list(task["labels"] or class_order(sorted(set().union(*labels))))
    for suffix in ("", UNFILTERED) if any(failed) else ("",):
        agreement = label_agreement(
            judgments.keep(_label_block, judges, classes, suffix),
            n_judges=len(judges),
            n_labels=max(len(classes), 1),
            ordinal=bool(task["ordinal"]),
        )
        yield from _agreement_rows(agreement, task, suffix)


def _scan(judgments: pa.Table) -> tuple[set[str], set[str], bool]:
    """Return the judges and labels of a block, and whether some judges failed."""
    rows = CodedTask("", _ratings(judgments, UNFILTERED))
    has_failed = bool(rows.is_in("fate", "judge_failed").any())
    return {*rows["judge"].names}, {*rows["label"].names}, has_failed


def _ratings(judgments: pa.Table, suffix: str) -> pa.Table:
    """Return the judgments that the statistics with a suffix use; votes have no judge."""
    fates = ["used", "judge_failed"] if suffix else ["used"]
    is_rating = pc.and_(
        is_in(judgments["control"], ["none", "ask_again"]), is_in(judgments["fate"], fates)
    )
    return judgments.filter(pc.and_(is_rating, judgments["judge"].is_valid()))


def _label_block(
    judgments: pa.Table, judges: Sequence[str], classes: Sequence[str], suffix: str
) -> LabelBlock:
    """Return the labels of a block, counted."""
    rows = CodedTask("", _ratings(judgments, suffix))
    return LabelBlock.from_codes(
        LabelCodes(
            rows["item"].codes, rows.codes_among("judge", judges),
            rows.codes_among("label", classes), rows.n("item"), len(judges), max(len(classes), 1),
        )
    )  # fmt: skip


def _agreement_rows(agreement: NominalAgreement, task: Row, suffix: str) -> Iterator[Row]:
    """Yield the rows of the table `agreement`."""
    for name in (*STATISTICS, *(ORDINAL_STATISTICS if task["ordinal"] else ())):
        statistic = getattr(agreement, name)
        reason = VOTES_ALONE if task["by_votes"] and not statistic.n_judges else statistic.reason
        yield agreement_row(
            task, name + suffix, statistic, statistic.n_items, statistic.n_judges, reason
        )


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
        rows += label_rows(task.blocks("controlled", COLUMNS), declared)
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
    left_out = {row["statistic"]: n for row in rows if (n := row.pop("judge_pairs_left_out", 0))}
    metrics: dict[str, Any] = {"judge_pairs_left_out": left_out} if left_out else {}
    compared = CodedTask(task.name, task["comparisons"])
    if len(compared):
        preferences, metrics["preferences"] = measure_preference_agreement(
            compared, rounds=rounds, seed=seed
        )
        rows += preferences
    if by_chance := _by_chance(rows):
        metrics["agreement_by_chance"] = by_chance
    return {"agreement": AGREEMENT.from_rows([without_nan(row) for row in rows])}, metrics


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
