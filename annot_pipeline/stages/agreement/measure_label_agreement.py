"""Agreement of judges on labels (Passonneau & Carpenter 2013, section 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.methods.agreement.agreement import NominalAgreement, nominal_agreement
from annot_pipeline.runtime.indexing import class_order, index, is_in
from annot_pipeline.stages.agreement.ratings import UNFILTERED, Ratings, Row, agreement_row
from annot_pipeline.stages.comparisons.bootstrap_rounds import BootstrapRounds


def label_rows(judgments: pa.Table, task: Row, bootstrap: BootstrapRounds) -> Iterator[Row]:
    """Yield the rows of a categorical task; parameters are those of `measure_agreement`."""
    for suffix, ratings in _labels(judgments, task):
        yield from _label_rows(ratings, task, suffix, bootstrap)


def _labels(judgments: pa.Table, task: Row) -> Iterator[tuple[str, Ratings]]:
    for suffix in suffixes(judgments):
        rows = rated(judgments, suffix)
        classes = list(task["labels"] or class_order(label_names(rows)))
        yield suffix, ratings_of_labels(rows, classes)


def suffixes(judgments: pa.Table) -> list[str]:
    """Return suffixes of statistics: of kept judges, and of all judges if some are not kept."""
    failed = pc.any(is_in(rated(judgments, UNFILTERED)["fate"], ["judge_failed"])).as_py()
    return ["", UNFILTERED] if failed else [""]


def rated(judgments: pa.Table, suffix: str) -> pa.Table:
    """Return the judgments that the statistics with a suffix use."""
    fates = ["used", "judge_failed"] if suffix else ["used"]
    is_rating = pc.and_(
        is_in(judgments["control"], ["none", "ask_again"]), is_in(judgments["fate"], fates)
    )
    return judgments.filter(is_rating)


def label_names(rows: pa.Table, column: str = "label") -> list[str]:
    """Return distinct labels, or judges, in code point order."""
    return index(rows[column]).names


def ratings_of_labels(
    rows: pa.Table, classes: Sequence[str], judges: Mapping[str, int] | None = None
) -> Ratings:
    """Return labels and judges as codes; judges are coded among those named, if any are."""
    labels, who = index(rows["label"]), index(rows["judge"])
    place = np.array([classes.index(name) for name in labels.names], np.int64)
    codes = who.codes
    if judges is not None:
        codes = np.array([judges[name] for name in who.names], np.int64)[codes]
    return Ratings(index(rows["item"]).codes, codes, place[labels.codes], tuple(classes))


def _label_rows(
    ratings: Ratings, task: Row, suffix: str, bootstrap: BootstrapRounds
) -> Iterator[Row]:
    agreement = nominal_agreement(
        ratings.items,
        ratings.judges,
        ratings.values,
        n_labels=max(len(ratings.names), 1),
        ordinal=bool(task["ordinal"]),
        **ratings.sizes,
        **bootstrap.arguments(f"labels{suffix}"),
    )
    yield from agreement_rows(agreement, task, suffix)


def agreement_rows(agreement: NominalAgreement, task: Row, suffix: str) -> Iterator[Row]:
    """Yield the rows of the table `agreement`."""
    statistics = ["percent_agreement", "pooled_percent_agreement", "cohen_kappa", "fleiss_kappa",
                  "alpha_nominal"]  # fmt: skip
    if task["ordinal"]:
        statistics.append("alpha_ordinal")
    for name in statistics:
        statistic = getattr(agreement, name)
        yield agreement_row(task, name + suffix, statistic, statistic.n_items, statistic.n_judges)
