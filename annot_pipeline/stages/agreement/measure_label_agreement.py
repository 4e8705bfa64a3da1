"""Agreement of judges on labels (Passonneau & Carpenter 2013, section 2).

Written once over blocks of judgments: one table in memory, or files of one large task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.methods.agreement.agreement import NominalAgreement, label_agreement
from annot_pipeline.methods.agreement.label_block import LabelBlock
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.runtime.indexing import class_order, index, is_in
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
    vocabulary = _Vocabulary.from_blocks(judgments.map(_scan), task)
    for suffix in vocabulary.suffixes:
        agreement = label_agreement(
            judgments.keep(_label_block, vocabulary, suffix),
            n_judges=len(vocabulary.judges),
            n_labels=max(len(vocabulary.classes), 1),
            ordinal=bool(task["ordinal"]),
        )
        yield from _agreement_rows(agreement, task, suffix)


@dataclass(frozen=True)
class _Scan:
    """Holds the judges, labels and suffixes of statistics that occur in a block."""

    judges: Sequence[str]
    labels: Sequence[str]
    suffixes: Sequence[str]


@dataclass(frozen=True)
class _Vocabulary:
    """Holds the judges by name, the classes in order and the suffixes of a whole task."""

    judges: Mapping[str, int]
    classes: Sequence[str]
    suffixes: Sequence[str]

    @classmethod
    def from_blocks(cls, blocks: Sequence[_Scan], task: Row) -> _Vocabulary:
        """Return the names that some blocks of a task hold."""
        judges, labels, suffixes = (
            sorted({name for block in blocks for name in getattr(block, field)})
            for field in ("judges", "labels", "suffixes")
        )
        classes = task["labels"] or class_order(labels)
        return cls({name: n for n, name in enumerate(judges)}, list(classes), suffixes)


def _scan(judgments: pa.Table) -> _Scan:
    rows = _ratings(judgments, UNFILTERED)
    has_failed = pc.any(is_in(rows["fate"], ["judge_failed"])).as_py()
    return _Scan(
        index(rows["judge"]).names,
        index(rows["label"]).names,
        ["", UNFILTERED] if has_failed else [""],
    )


def _ratings(judgments: pa.Table, suffix: str) -> pa.Table:
    """Return the judgments that the statistics with a suffix use; votes have no judge."""
    fates = ["used", "judge_failed"] if suffix else ["used"]
    is_rating = pc.and_(
        is_in(judgments["control"], ["none", "ask_again"]), is_in(judgments["fate"], fates)
    )
    return judgments.filter(pc.and_(is_rating, judgments["judge"].is_valid()))


def _label_block(judgments: pa.Table, vocabulary: _Vocabulary, suffix: str) -> LabelBlock:
    """Return the labels of a block, counted."""
    rows = _ratings(judgments, suffix)
    labels, judges, items = (index(rows[name]) for name in ("label", "judge", "item"))
    classes = {name: n for n, name in enumerate(vocabulary.classes)}
    label_codes = np.array([classes[name] for name in labels.names], np.int64)
    judge_codes = np.array([vocabulary.judges[name] for name in judges.names], np.int64)
    return LabelBlock.from_codes(
        LabelCodes(
            items.codes, judge_codes[judges.codes], label_codes[labels.codes],
            len(items.names), len(vocabulary.judges), max(len(classes), 1),
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
