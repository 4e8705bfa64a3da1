"""Probabilities of labels as a column per class; classes and codes of a column of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.api.frames import AnyFrame, Frame, column_names, materialize
from annot_pipeline.arrays import Codes
from annot_pipeline.contracts import TEXT
from annot_pipeline.errors import ConfigError, InputError, Problem, first_of

TASK = "task"


def soft_labels(
    distributions: AnyFrame,
    *,
    item: str = "item",
    label: str = "label",
    probability: str = "probability",
    labels: Sequence[Any] | None = None,
) -> AnyFrame:
    """Return one row per item and one column per class, from one row per item and class.

    Parameters
    ----------
    distributions
        As the gold table ``label_distributions`` of one task. A class that an item has no row of
        has probability 0 there.
    item, label, probability
        Its columns.
    labels
        All classes, in the order of columns; None: those that occur, sorted.

    Raises
    ------
    ConfigError
        A class has the name of the item column.
    InputError
        There are several tasks, an item has two rows of one class, or a cell is missing.
    """
    distributions = materialize(distributions)
    read = Frame.read(distributions, {"item": item, "label": label, "probability": probability})
    if TASK in column_names(distributions) and TASK not in (item, label, probability):
        tasks = Frame.read(distributions, {TASK: TASK}).texts()[TASK]
        if len(pc.unique(tasks)) > 1:
            names = first_of(list(map(str, pc.unique(tasks).to_pylist())), 20)
            raise InputError("select one task", [Problem(f'column "{TASK}"', f"names {names}")])
    texts = read.texts()
    holes = [role for role, cells in read.values.items() if cells.null_count]
    if holes:
        raise InputError("the frame cannot be read", [Problem(read.names[holes[0]], "has gaps")])
    items, classes = pc.unique(texts["item"]), read_classes(read, labels)
    rows, columns = codes_of(texts["item"], items), codes_of(texts["label"], classes)
    if np.unique(rows * len(classes) + columns).size < rows.size:
        do = "select one task"
        raise InputError("an item has two rows of one class", [Problem(item, "is repeated", do=do)])
    names = classes.to_pylist()
    if item in names:
        problem = Problem("item=", f'is named "{item}", as a class is', do="rename the column")
        raise ConfigError("soft labels would have two columns of one name", [problem])
    shares = np.zeros((len(items), len(classes)))
    values = read.values["probability"].cast(pa.float64())
    shares[rows, columns] = values.to_numpy(zero_copy_only=False)
    table = pa.table({"item": items} | dict(zip(names, shares.T, strict=True)))
    return read.restore(table, "item")


def read_classes(read: Frame, labels: Sequence[Any] | None) -> pa.Array:
    """Return the classes as text, in order.

    Raises
    ------
    ConfigError
        ``labels`` name a class twice, or do not fit the column's type.
    InputError
        A row has a label that is not among ``labels``.
    """
    values = read.values["label"]
    if labels is None:
        unique = pc.unique(values).drop_null()
        return unique.take(pc.sort_indices(unique)).cast(TEXT)
    classes = pa.array(_texts(read, labels), TEXT)
    if len(pc.unique(classes)) < len(classes):
        raise ConfigError("labels that cannot be", [Problem("labels=", "names a class twice")])
    distinct_values = pc.unique(values.cast(TEXT)).drop_null()
    unknown = distinct_values.filter(pc.invert(pc.is_in(distinct_values, classes))).to_pylist()
    if unknown:
        allowed = first_of(classes.to_pylist(), 20)
        problem = Problem(read.names["label"], "holds other labels", allowed, values=tuple(unknown))
        raise InputError("the frame cannot be read", [problem])
    return classes


def _texts(read: Frame, labels: Sequence[Any]) -> list[str]:
    """Return labels as text, written as the frame's cells are."""
    values = read.values["label"]
    try:
        return list(pa.array(labels, values.type).cast(TEXT).to_pylist())
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        problem = Problem("labels=", f"does not fit the column's type {values.type}: {error}")
        raise ConfigError("labels that cannot be", [problem]) from None


def codes_of(texts: pa.ChunkedArray, names: pa.Array) -> Codes:
    """Return the place of each text among names."""
    return np.asarray(pc.index_in(texts, names).to_numpy(), np.int64)
