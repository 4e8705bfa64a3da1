"""What predictions are held against: gold's distribution of every item, task by task.

`_distribution` alone decides what that is.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.contracts import CERTAINTY_BOUNDS, TEXT
from annot_pipeline.errors import Problem, StoreError

if TYPE_CHECKING:
    import pandas as pd

GROUPS = ("below 0.5", "0.5 to 0.8", "0.8 to 0.95", "0.95 to 0.99", "0.99 and above", "adjudicated")
"""Items by how certain gold is of its label; each range without its end."""
Record = TypeVar("Record", bound="ByItem")


@dataclass(frozen=True)
class ByItem:
    """Arrays with one entry, or one row, per item."""

    def take(self: Record, items: Codes) -> Record:
        """Return some of the items, by position."""
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}
        changes: dict[str, Any] = {
            name: array.take(pa.array(items)) if isinstance(array, pa.Array) else array[items]
            for name, array in arrays.items()
            if isinstance(array, np.ndarray | pa.Array)
        }
        return replace(self, **changes)


@dataclass(frozen=True)
class GoldTask(ByItem):
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
        """Return ``(n_items,)`` position in `GROUPS`."""
        sure = self.distribution[np.arange(len(self.labels)), self.labels]
        groups: Codes = np.digitize(sure, CERTAINTY_BOUNDS).astype(np.int64)
        return np.where(self.adjudicated, len(GROUPS) - 1, groups)


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
    labels = _frame(release.table("labels"), "task item label majority_label adjudicated")
    title = f"{release.version} has nothing to score"
    if labels.empty:
        what = "no item has a label: the tasks of this campaign are not categorical"
        do = "predictions of scores can be joined with the gold table scores"
        raise StoreError(title, [Problem("", what, do=do)])
    whole = release.table("label_distributions")
    column = "dawid_skene_probability" if raw else "probability"
    shares = _frame(whole, f"task item label {column}")
    order = _frame(release.table("prevalence"), "task label label_order")
    by_task = {n: dict(list(f.groupby("task"))) for n, f in (("shares", shares), ("order", order))}
    truths = _frame(release.table("items"), "item truth").dropna().set_index("item")["truth"]
    gold = {}
    for task, rows in labels.groupby("task", sort=False):
        of_task = by_task["shares"].get(task, shares[:0])
        if of_task[column].isna().any():
            continue  # labelled by votes alone: there are no probabilities to score against
        ordered = by_task["order"].get(task, order[:0]).sort_values("label_order")["label"]
        named = {*rows["label"], *of_task["label"]}  # those that only an expert named come last
        classes = (*ordered, *sorted(named - {*ordered}))
        codes, adjudicated = _codes(rows["label"], classes), rows["adjudicated"].to_numpy(np.bool_)
        truth = _codes(rows["item"].map(truths), classes)
        gold[str(task)] = GoldTask(
            str(task), classes, pa.array(rows["item"], TEXT),
            _distribution(rows["item"], codes, adjudicated, of_task, classes, column),
            codes, _codes(rows["majority_label"], classes), adjudicated,
            np.where(adjudicated, codes, truth), column,
        )  # fmt: skip
    if not gold:
        what = "no task has probabilities: all were too large for the label model"
        do = "raise dawid_skene.max_parameters, or join predictions with labels by item"
        raise StoreError(title, [Problem("", what, do=do)])
    return gold


def _frame(table: pa.Table, names: str) -> pd.DataFrame:
    """Return columns as pandas; dictionaries as text."""
    columns = {
        name: table[name].cast(TEXT) if pa.types.is_dictionary(table[name].type) else table[name]
        for name in names.split()
    }
    frame: pd.DataFrame = pa.table(columns).to_pandas()
    return frame


def _codes(labels: pd.Series[Any], classes: tuple[str, ...]) -> Codes:
    """Return positions among the classes; -1 for null, and for what is no class."""
    import pandas as pd

    return (
        pd.Index(classes, dtype=object).get_indexer(pd.Index(labels, dtype=object)).astype(np.int64)
    )


def _distribution(
    items: pd.Series[Any],
    labels: Codes,
    adjudicated: Flags,
    shares: pd.DataFrame,
    classes: tuple[str, ...],
    column: str,
) -> Floats:
    """Return the model's posterior distribution; an expert's decision gets probability 1."""
    distribution = np.zeros((len(items), len(classes)))
    at = _codes(shares["item"], tuple(items))
    distribution[at, _codes(shares["label"], classes)] = shares[column]
    decided = np.flatnonzero(adjudicated)
    distribution[decided] = 0.0
    distribution[decided, labels[decided]] = 1.0
    total: Floats = distribution.sum(axis=1, keepdims=True)  # 1, but for the last digit
    if not (total > 0).all():
        names = tuple(items[total[:, 0] == 0])
        problem = Problem("label_distributions", "items without a row", values=names)
        raise StoreError("the release is not whole", [problem])
    return distribution / total
