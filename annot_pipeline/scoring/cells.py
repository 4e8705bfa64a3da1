"""Cells of predictions become codes and probabilities, and every fault is noted with its row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.contracts import TEXT
from annot_pipeline.contracts.answer_text import answer_text
from annot_pipeline.methods.labels.prediction_scores import NO_CLASS
from annot_pipeline.scoring.faults import Faults, listed
from annot_pipeline.scoring.gold import ByItem
from annot_pipeline.scoring.predictions import Form, Predictions
from annot_pipeline.stages.ingest.record_cells import is_blank

Cells: TypeAlias = tuple[Codes, Codes, Flags, Floats]
"""Of probabilities: their rows, codes of their classes, which gold does not have, and values."""
SUM_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Rows(ByItem):
    """The rows of a task whose item gold has.

    Parameters
    ----------
    predictions, form
        Where the cells are.
    at
        ``(n_rows,)`` places in the file's columns.
    items
        ``(n_rows,)`` codes of gold's items.
    classes
        Of the task.
    """

    predictions: Predictions
    form: Form
    at: Codes
    items: Codes
    classes: tuple[str, ...]

    def column(self, name: str) -> pa.Array:
        """Return the rows' cells."""
        return self.predictions.columns[name].take(pa.array(self.at))

    def numbers(self, which: npt.NDArray[np.bool_] | Codes) -> list[int]:
        """Return the row numbers in the file of some of the rows."""
        row_numbers: list[int] = self.predictions.row[self.at[which]].tolist()
        return row_numbers


@dataclass(frozen=True)
class Predicted(ByItem):
    """What was predicted.

    Parameters
    ----------
    items
        ``(n_items,)`` codes of gold's items, ascending.
    codes
        ``(n_items,)`` class predicted, of equally probable ones the first; `NO_CLASS` if none.
    probabilities
        ``(n_items, n_classes)``, or None where classes alone were predicted.
    is_unknown
        ``(n_items,)`` whether a class was predicted that gold does not know.
    is_scaled
        ``(n_items,)`` whether probabilities were divided by their sum, since it was not 1.
    is_tied
        ``(n_items,)`` whether several classes have the highest probability.
    """

    items: Codes
    codes: Codes
    probabilities: Floats | None
    is_unknown: Flags
    is_scaled: Flags
    is_tied: Flags


def predicted(
    rows: Rows, faults: Faults, *, normalize: bool = False, unknown_wrong: bool = False
) -> Predicted:
    """Return what a task's rows predict. With faults the result is not to be used.

    Parameters
    ----------
    rows
        Of the task.
    faults
        Gets all that is wrong.
    normalize
        Divide an item's probabilities by their sum, whatever it is.
    unknown_wrong
        Classes that gold does not know are wrong answers, not faults.
    """
    if rows.form.name != "long":
        rows = _without_repeated(rows, faults)
    if rows.form.name == "labels":
        every = np.arange(len(rows.items))
        cells = rows.column(str(rows.form.label))
        codes, unknown = _codes(cells, every, rows, faults, unknown_wrong)
        never = np.zeros_like(unknown)
        return Predicted(rows.items, codes, None, unknown, never, never)
    if rows.form.name == "long":
        at, codes, unknown, values = _from_long(rows, faults, unknown_wrong)
    else:
        at, codes, unknown, values = _from_columns(rows, faults)
    items, first, inverse = np.unique(rows.items, return_index=True, return_inverse=True)
    codes = np.where(unknown, len(rows.classes), codes)  # those that gold does not have come last
    keys, is_class = inverse[at] * len(rows.classes) + codes, (codes != NO_CLASS) & ~unknown
    repeats = at[is_class][_repeats(keys[is_class])]
    names = rows.column(rows.form.item).take(pa.array(repeats)).to_pylist()
    faults.add("class_twice", rows.numbers(repeats), names)
    shares = np.zeros((len(items), len(rows.classes) + 1))
    is_share = codes != NO_CLASS
    np.add.at(shares, (inverse[at[is_share]], codes[is_share]), values[is_share])
    return _checked(rows.take(first), shares, faults, normalize)


def _without_repeated(rows: Rows, faults: Faults) -> Rows:
    repeats = _repeats(rows.items)
    names = rows.column(rows.form.item).filter(pa.array(repeats)).to_pylist()
    faults.add("twice", rows.numbers(repeats), names)
    first = np.flatnonzero(~repeats)
    return rows.take(first[np.argsort(rows.items[first])])


def _repeats(keys: Codes) -> Flags:
    """Return where a key has occurred before."""
    repeats = np.ones(keys.size, np.bool_)
    repeats[np.unique(keys, return_index=True)[1]] = False
    return repeats


def _codes(
    cells: pa.Array, at: Codes, rows: Rows, faults: Faults, unknown_wrong: bool
) -> tuple[Codes, Flags]:
    """Return the codes of classes, and which of them gold does not have; ``at``: their rows."""
    classes = pa.array(rows.classes, TEXT)
    places = pc.index_in(cells, classes)
    if places.null_count:
        answers = cells.dictionary_encode()
        texts = pa.array(map(answer_text, answers.dictionary.to_pylist()), TEXT)
        places = pc.coalesce(places, pc.index_in(texts, classes).take(answers.indices))
    codes: Codes = pc.fill_null(places, NO_CLASS).to_numpy().astype(np.int64)
    blank: Flags = np.asarray(is_blank(cells)) & (codes == NO_CLASS)
    faults.add("blank_label", rows.numbers(at[blank]))
    unknown = (codes == NO_CLASS) & ~blank
    if not unknown_wrong:
        names = cells.filter(pa.array(unknown)).to_pylist()
        faults.add("unknown_class", rows.numbers(at[unknown]), names, listed(rows.classes))
    return codes, unknown


def _from_columns(rows: Rows, faults: Faults) -> Cells:
    """Read a column per class; a class without one has no probability."""
    columns = {
        rows.classes.index(k): name for k, name in rows.form.columns.items() if k in rows.classes
    }
    numbers = [_numbers(rows.column(name), rows, faults) for name in columns.values()]
    codes = np.repeat(np.array([*columns], np.int64), len(rows.items))
    at = np.tile(np.arange(len(rows.items)), len(columns))
    return at, codes, np.zeros_like(codes, np.bool_), np.concatenate([*numbers, np.empty(0)])


def _from_long(rows: Rows, faults: Faults, unknown_wrong: bool) -> Cells:
    """Read one probability per row; a class without a row has none."""
    at = np.arange(len(rows.items))
    codes = _codes(rows.column(str(rows.form.label)), at, rows, faults, unknown_wrong)
    return at, *codes, _numbers(rows.column(str(rows.form.probability)), rows, faults)


def _numbers(column: pa.Array, rows: Rows, faults: Faults) -> Floats:
    """Return texts as numbers; NaN where they are none, as blanks."""
    try:
        values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        values = np.array([_read(text) for text in column.to_pylist()], np.float64)
    bad: Flags = ~np.isfinite(values)
    texts = column.filter(pa.array(bad)).to_pylist()
    faults.add("not_a_number", rows.numbers(bad), ["" if t is None else t for t in texts])
    return np.where(bad, np.nan, values)


def _read(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")


def _checked(rows: Rows, every: Floats, faults: Faults, normalize: bool) -> Predicted:
    """Return probabilities that are such and sum to 1; the last are of classes gold lacks."""
    whole = ~np.isnan(every).any(axis=1)  # what is no number was said already

    def fault(kind: str, where: Flags, values: Floats, allowed: str = "") -> None:
        faults.add(kind, rows.numbers(where), [f"{value:.9g}" for value in values[where]], allowed)

    lowest, highest, total = every.min(axis=1), every.max(axis=1), every.sum(axis=1)
    fault("negative", whole & (lowest < 0), lowest)
    whole &= lowest >= 0
    off = np.abs(total - 1) > SUM_TOLERANCE
    if normalize:
        fault("nothing", whole & (total == 0), total)
        fault("not_a_number", whole & ~np.isfinite(total), total)
    else:
        above = highest > 1 + SUM_TOLERANCE
        fault("above_one", whole & above, highest)
        kind = "sum_of_rows" if rows.form.name == "long" else "sum"
        fault(kind, whole & ~above & off, total, _sum_of(rows.form))
    usable = whole & (total > 0) & np.isfinite(total)
    every[~usable] = 1.0 / every.shape[1]  # faults are raised before anything is made of it
    shares = every / every.sum(axis=1, keepdims=True)
    best = shares.argmax(axis=1)
    n_classes = len(rows.classes)
    return Predicted(
        rows.items,
        np.where(best == n_classes, NO_CLASS, best),
        shares[:, :n_classes],
        shares[:, n_classes] > 0,
        off if normalize else np.zeros_like(off),
        (shares == shares.max(axis=1, keepdims=True)).sum(axis=1) > 1,
    )


def _sum_of(form: Form) -> str:
    """Return the allowed sum, with a note if columns that look like classes are not in it."""
    lost = form.like_classes
    return f"1; not in it, as no class of gold: {listed(lost)}" if lost else ""
