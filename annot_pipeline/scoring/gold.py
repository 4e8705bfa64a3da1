"""What predictions are held against: gold's distribution of every item, task by task.

`_distribution` alone decides what that is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.contracts import CERTAINTY_BOUNDS, TEXT
from annot_pipeline.contracts.certainty import probability_column
from annot_pipeline.errors import Problem, StoreError

GROUPS = ("below 0.5", "0.5 to 0.8", "0.8 to 0.95", "0.95 to 0.99", "0.99 and above", "adjudicated")
"""Items by how certain gold is of its label; each range without its end."""


@dataclass(frozen=True)
class GoldTask:
    """Gold of a task, or of some of its items.

    Parameters
    ----------
    name
        Of the task.
    classes
        In class order.
    items
        ``(n_items,)`` names.
    distribution
        ``(n_items, n_classes)`` probability of each class.
    labels
        ``(n_items,)`` code of gold's label.
    majority
        ``(n_items,)`` code of the label with most votes; -1 where nobody voted.
    adjudicated
        ``(n_items,)`` whether an expert decided.
    true_classes
        ``(n_items,)`` code of the item's class, by an expert or the truth of item tables; -1
        where it is not known.
    column
        Of ``label_distributions`` that the distribution is of.
    """

    name: str
    classes: tuple[str, ...]
    items: pa.Array
    distribution: Floats
    labels: Codes
    majority: Codes
    adjudicated: Flags
    true_classes: Codes
    column: str

    @property
    def groups(self) -> Codes:
        """Return ``(n_items,)`` place in `GROUPS`."""
        sure = self.distribution[np.arange(len(self.labels)), self.labels]
        groups: Codes = np.digitize(sure, CERTAINTY_BOUNDS).astype(np.int64)
        return np.where(self.adjudicated, len(GROUPS) - 1, groups)

    def take(self, items: Codes) -> GoldTask:
        """Return some of the items, by place."""
        return GoldTask(
            self.name,
            self.classes,
            self.items.take(pa.array(items)),
            self.distribution[items],
            self.labels[items],
            self.majority[items],
            self.adjudicated[items],
            self.true_classes[items],
            self.column,
        )


class GoldTables(Protocol):
    """Gold tables by name, of a release or of a frame; ``version`` names them in messages."""

    @property
    def version(self) -> str:
        """Return what messages call them."""

    def table(self, name: str) -> pa.Table:
        """Return a table."""


def read_gold(release: GoldTables, *, raw: bool = False) -> dict[str, GoldTask]:
    """Read the gold of every task that has labels with probabilities.

    Parameters
    ----------
    release
        Whose gold.
    raw
        Take Dawid-Skene's probabilities, not the published ones.

    Raises
    ------
    StoreError
        The release has no labels, or its bytes are not those that were published.
    """
    labels = release.table("labels")
    if not labels.num_rows:
        what = "no item has a label: the tasks of this campaign are not categorical"
        do = "predictions of scores can be joined with the gold table scores"
        raise StoreError(f"{release.version} has nothing to score", [Problem("", what, do=do)])
    whole = release.table("label_distributions")
    column = probability_column(whole.schema.names, dawid_skene=raw)
    distributions = dict(_by_task(whole))
    prevalence = dict(_by_task(release.table("prevalence")))
    truths = release.table("items").select(["item", "truth"])
    truths = truths.filter(truths["truth"].is_valid())
    gold = {}
    for task, rows in _by_task(labels):
        shares, order = distributions.get(task), prevalence.get(task)
        if shares is not None and shares[column].null_count:
            continue  # labelled by votes alone: there are no probabilities to score against
        classes = _classes(rows, shares, order)
        gold[task] = _task(task, rows, shares, classes, column, truths)
    if not gold:
        what = "no task has probabilities: all were too large for the label model"
        do = "raise dawid_skene.max_parameters, or join predictions with labels by item"
        raise StoreError(f"{release.version} has nothing to score", [Problem("", what, do=do)])
    return gold


def _by_task(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Yield tables are sorted by task: the rows of each are one piece."""
    column = table["task"].cast(TEXT).combine_chunks().dictionary_encode()
    codes = column.indices.to_numpy()
    starts = np.flatnonzero(np.diff(codes, prepend=-1)).tolist()
    for start, end in zip(starts, [*starts[1:], table.num_rows], strict=True):
        yield column.dictionary[codes[start]].as_py(), table.slice(start, end - start)


def _classes(labels: pa.Table, shares: pa.Table | None, order: pa.Table | None) -> tuple[str, ...]:
    """Return the classes in order; those that only an expert named come last, by code point."""
    ordered: dict[str, None] = {}
    if order is not None:
        ordered |= dict.fromkeys(order.sort_by("label_order")["label"].cast(TEXT).to_pylist())
    more = [labels["label"]] + ([] if shares is None else [shares["label"]])
    named = {name for column in more for name in pc.unique(column.cast(TEXT)).to_pylist()}
    return (*ordered, *sorted(named - ordered.keys()))


def _task(
    task: str,
    labels: pa.Table,
    shares: pa.Table | None,
    classes: tuple[str, ...],
    column: str,
    truths: pa.Table,
) -> GoldTask:
    items = labels["item"].cast(TEXT).combine_chunks()
    codes = _codes(labels["label"], classes)
    adjudicated = labels["adjudicated"].to_numpy()
    return GoldTask(
        task,
        classes,
        items,
        _distribution(items, codes, adjudicated, shares, classes, column),
        codes,
        _codes(labels["majority_label"], classes),
        adjudicated,
        np.where(adjudicated, codes, _true_classes(items, classes, truths)),
        column,
    )


def _true_classes(items: pa.Array, classes: tuple[str, ...], truths: pa.Table) -> Codes:
    """Return the code of each item's truth; -1 where it is not known, or no class."""
    places = _places(pa.chunked_array([items]), truths["item"].cast(TEXT).combine_chunks())
    codes = np.append(_codes(truths["truth"], classes), -1)
    return np.asarray(codes[places], np.int64)


def _distribution(
    items: pa.Array,
    labels: Codes,
    adjudicated: Flags,
    shares: pa.Table | None,
    classes: tuple[str, ...],
    column: str,
) -> Floats:
    """Return the model's posterior distribution; an expert's decision gets probability 1."""
    distribution = np.zeros((len(items), len(classes)))
    if shares is not None:
        at = _places(shares["item"], items)
        distribution[at, _codes(shares["label"], classes)] = shares[column].to_numpy()
    decided = np.flatnonzero(adjudicated)
    distribution[decided] = 0.0
    distribution[decided, labels[decided]] = 1.0
    total: Floats = distribution.sum(axis=1, keepdims=True)  # 1, but for the last digit
    if not (total > 0).all():
        names = items.filter(pa.array(total[:, 0] == 0)).to_pylist()
        problem = Problem("label_distributions", "items without a row", values=tuple(names))
        raise StoreError("the release is not whole", [problem])
    return distribution / total


def _codes(column: pa.ChunkedArray, classes: tuple[str, ...]) -> Codes:
    """Return places among the classes; -1 for null."""
    return _places(column, pa.array(classes, TEXT))


def _places(column: pa.ChunkedArray, names: pa.Array) -> Codes:
    places = pc.index_in(column.cast(TEXT), names)
    filled: Codes = pc.fill_null(places, -1).to_numpy().astype(np.int64)
    return filled
