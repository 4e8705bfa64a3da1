"""Agreement of judges on labels (Passonneau & Carpenter 2013, section 2)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.methods.agreement import nominal_agreement
from annot_pipeline.steps.bootstrap_rounds import BootstrapRounds
from annot_pipeline.steps.indexing import class_order, index, is_any
from annot_pipeline.steps.ratings import UNFILTERED, Ratings, Row, agreement_row


def label_rows(judgments: pa.Table, task: Row, bootstrap: BootstrapRounds) -> Iterator[Row]:
    """Rows of a categorical task; parameters as `measure_agreement`'s, of the task alone."""
    for suffix, ratings in _labels(judgments, task):
        yield from _label_rows(ratings, task, suffix, bootstrap)


def _labels(judgments: pa.Table, task: Row) -> Iterator[tuple[str, Ratings]]:
    """Labels of judges kept; and of all judges, if some are not."""
    rows = judgments.filter(is_any(judgments["control"], ["none", "ask_again"]))
    yield "", _ratings_of_labels(rows.filter(is_any(rows["fate"], ["used"])), task)
    if pc.any(is_any(rows["fate"], ["judge_failed"])).as_py():
        everyone = rows.filter(is_any(rows["fate"], ["used", "judge_failed"]))
        yield UNFILTERED, _ratings_of_labels(everyone, task)


def _ratings_of_labels(rows: pa.Table, task: Row) -> Ratings:
    given = index(rows["label"])
    names = list(task["labels"] or class_order(given.names))
    place = np.array([names.index(name) for name in given.names], np.int64)
    items, judges = index(rows["item"]).codes, index(rows["judge"]).codes
    return Ratings(items, judges, place[given.codes], tuple(names))


def _label_rows(
    ratings: Ratings, task: Row, suffix: str, bootstrap: BootstrapRounds
) -> Iterator[Row]:
    found = nominal_agreement(
        ratings.items,
        ratings.judges,
        ratings.values,
        n_labels=max(len(ratings.names), 1),
        ordinal=bool(task["ordinal"]),
        **ratings.sizes,
        **bootstrap.of(f"labels{suffix}"),
    )
    names = ["percent_agreement", "pooled_percent_agreement", "cohen_kappa", "fleiss_kappa",
             "alpha_nominal"]  # fmt: skip
    if task["ordinal"]:
        names.append("alpha_ordinal")
    for name in names:
        statistic = getattr(found, name)
        yield agreement_row(task, name + suffix, statistic, statistic.n_items, statistic.n_judges)
