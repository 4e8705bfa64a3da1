"""Agreement of judges on labels (Passonneau & Carpenter 2013, section 2).

Written once over blocks of judgments: one table in memory, or files of one large task.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.methods.agreement.label_agreement import NominalAgreement, label_agreement
from annot_pipeline.methods.agreement.label_block import LabelBlock
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.runtime.coded_task import CodedTask
from annot_pipeline.runtime.indexing import class_order, is_in
from annot_pipeline.stages.agreement.ratings import UNFILTERED, Row, agreement_row

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
