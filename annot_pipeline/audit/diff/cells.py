"""Cells that differ between two releases, and what moved them on the way from one to the other.

What does not belong here: which states lie on the way, and how they are built (states).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Flags, Floats
from annot_pipeline.contracts import ESTIMATES, JUDGE_VALIDATION, REAL, TEXT
from annot_pipeline.storage.queries import Queries

NEW, CORRECTED, WITHDRAWN = "new judgments", "corrected judgments", "withdrawn judgments"
ADJUDICATIONS = "adjudications"
JUDGMENT_CHANGES = (NEW, CORRECTED, WITHDRAWN, ADJUDICATIONS)
"""Kinds of changes to judgments, in the order in which they are made."""

ITEM_TABLES, OTHER_RECORDS = "item tables", "other records"
VERDICTS, SETTINGS, CODE = "verdicts", "settings", "code"
CAUSES = (*JUDGMENT_CHANGES, OTHER_RECORDS, ITEM_TABLES, VERDICTS, SETTINGS, CODE)
"""In the order in which changes are applied; code is the remainder."""
NOT_USED = "the task uses judgments of other judges: judges.use"
"""Why gold/judges.sql has no verdict on a judge who is only measured."""
KEYS = (
    "task", "item", "segment", "system", "method", "judge", "criterion", "quantity", "label",
    "reference",
)  # fmt: skip


@dataclass(frozen=True)
class Compared:
    """A gold table whose cells are compared.

    Parameters
    ----------
    table
        Its name.
    key, columns
        Columns that identify a row, and columns that are compared.
    made_of
        The table that recomputed states hold in its place, if another.
    flag
        A boolean column: only rows in which it is true are compared.
    unless
        A column and a value: rows that have this value are not compared.
    """

    table: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    made_of: str = ""
    flag: str = ""
    unless: tuple[str, str] | None = None

    @property
    def source(self) -> str:
        """Return the table that counterfactual builds make."""
        return self.made_of or self.table


MODEL_COLUMNS = (
    "label", "model_label", "probability", "certain",
    "dawid_skene_label", "dawid_skene_probability", "dawid_skene_certain",
)  # fmt: skip
EXPERT_COLUMNS = ("adjudicated", "adjudicator", "adjudicated_at", "adjudication_reason")

SCORE_COLUMNS = ("raw_mean", "z_mean", "easl_score", "ra_score", "trueskill_mean")
SYSTEM_KEY = ("task", "method", "system")
VALIDATION_COLUMNS = (
    "agreement", "kappa", "bias", "error", "correlation", "pairwise_accuracy", "winning_rate",
    "advantage_probability",
)  # fmt: skip
VERDICT_COLUMNS = ("verdict", "dropped")
COMPARED: Mapping[str, tuple[Compared, ...]] = {
    "labels": (Compared("labels", ("task", "item"), (*MODEL_COLUMNS, *EXPERT_COLUMNS)),),
    "scores": (Compared("scores", ("task", "item"), SCORE_COLUMNS),),
    "ranks": (
        Compared("system_rankings", SYSTEM_KEY, ("rank", "cluster", "score"), flag="headline"),
        Compared("segment_ranks", ("task", "segment", "item"), ("rank", "harmonized_rank")),
    ),
    # as tested: where verdicts are held for attribution, judge_tests still says what tests find
    "verdicts": (
        Compared("judges", ("task", "judge"), VERDICT_COLUMNS, "judge_tests",
                 unless=("verdict_reason", NOT_USED)),
    ),
    "model_judges": (
        Compared("judge_validation", JUDGE_VALIDATION.key, VALIDATION_COLUMNS),
        Compared("estimates", ESTIMATES.key, ("value", "ci_low", "ci_high")),
    ),
}  # fmt: skip
"""By what ``annot diff --table`` calls them."""


def column_of(what: str, cause: str) -> str:
    """Return the name of a column of `DIFF` that is about a cause."""
    return f"{what}_{cause.replace(' ', '_')}"


DIFF = pa.schema(
    [("table", TEXT), *((name, TEXT) for name in KEYS), ("column", TEXT), ("change", TEXT)]
    + [("old", TEXT), ("new", TEXT), ("old_number", REAL), ("new_number", REAL)]
    + [("causes", pa.list_(TEXT)), ("delta", REAL)]
    + [(column_of("delta", cause), REAL) for cause in CAUSES]
    + [("old_recomputed", TEXT)]
    + [(column_of("after", cause), TEXT) for cause in CAUSES if cause != CODE]
)
"""One row is a cell that differs. ``delta_`` says how much each cause moved a number; ``after_``
what the cell held when the changes up to that cause were made; ``old_recomputed`` what it held
before them, by the code at hand.
"""


ROUNDING = 1e-6
"""Share of the change of a number up to which a step is no cause: iterative fits end at slightly
other digits."""


@dataclass(frozen=True)
class Values:
    """What a state holds in some cells: ``(n_cells,)`` each; NaN and None are null."""

    is_there: Flags
    text: npt.NDArray[np.object_]
    number: Floats

    def differs(self, other: Values) -> Flags:
        """Return cells in which two states differ."""
        both_null = np.isnan(self.number) & np.isnan(other.number)
        return np.asarray(
            (self.is_there != other.is_there)
            | (self.text != other.text)
            | ((self.number != other.number) & ~both_null),
            np.bool_,
        )

    def texts(self, *, is_integer: Flags) -> list[str | None]:
        """Return the values as text, numbers with all their digits; ``is_integer`` by cell."""
        numbers = (
            None if np.isnan(x) else str(int(x)) if is_whole else repr(float(x))
            for x, is_whole in zip(self.number, is_integer, strict=True)
        )
        return [t if t is not None else n for t, n in zip(self.text, numbers, strict=True)]


Step = tuple[str, Values]
"""One step from release to release: what is changed, and the state that it leads to."""


def long_form(rows: pa.Table, compared: Compared) -> pa.Table:
    """Return one row per cell: its key, and its text or its number."""
    if compared.flag:
        rows = rows.filter(rows[compared.flag])
    if compared.unless:
        name, value = compared.unless
        rows = rows.filter(pc.fill_null(pc.not_equal(rows[name], value), True))
    n = rows.num_rows
    keys = {
        name: rows[name].cast(TEXT) if name in compared.key else pa.nulls(n, TEXT) for name in KEYS
    }
    parts = []
    for column in compared.columns:
        type_ = rows.schema.field(column).type
        is_number = pa.types.is_integer(type_) or pa.types.is_floating(type_)
        number = rows[column].cast(REAL) if is_number else pa.nulls(n, REAL)
        text = pa.nulls(n, TEXT) if is_number else rows[column].cast(TEXT)
        values = {"column": pa.repeat(column, n), "text": text, "number": number}
        parts.append(pa.table(keys | values))
    return pa.concat_tables(parts)


def differing(queries: Queries, compared: Compared, old: pa.Table, new: pa.Table) -> pa.Table:
    """Return the cells that differ between two tables in long form, numbered in ``cell``.

    They stand column by column in the order of ``compared``, those that moved most first.
    """
    inputs = {"old": old, "new": new}
    return queries.table("diff/cells", inputs, {"columns": list(compared.columns)})


def values_of(queries: Queries, cells: pa.Table, state: pa.Table) -> Values:
    """Return the values of the cells in a state, a table in long form."""
    rows = queries.table("diff/values", {"cells": cells, "state": state})
    return Values(
        rows["is_there"].to_numpy(),
        np.array(rows["text"].to_pylist(), np.object_),
        rows["number"].to_numpy().astype(np.float64),
    )


def attributed(
    compared: Compared,
    schema: pa.Schema,
    cells: pa.Table,
    start: Values,
    steps: Sequence[Step],
    end: Values,
) -> pa.Table:
    """Return the cells with what moved them, as `DIFF` says.

    Parameters
    ----------
    compared, schema
        The table, and its schema.
    cells
        As `differing` gives them.
    start, end
        The two releases.
    steps
        From one to the other, in order; the first and the last are of code. Without any, causes
        are null.
    """
    n = cells.num_rows
    names = cells["column"].to_pylist()
    is_integer_column = {f.name: pa.types.is_integer(f.type) for f in schema}
    is_integer = np.array([is_integer_column[name] for name in names], np.bool_)
    states = (start, *(values for _, values in steps), end)
    is_numeric = np.all([~np.isnan(state.number) for state in states], axis=0)
    columns: dict[str, object] = {
        "table": pa.repeat(compared.table, n),
        **{name: cells[name] for name in (*KEYS, "column", "change")},
        "old": start.texts(is_integer=is_integer),
        "new": end.texts(is_integer=is_integer),
        "old_number": pa.array(start.number, REAL, mask=np.isnan(start.number)),
        "new_number": pa.array(end.number, REAL, mask=np.isnan(end.number)),
        "delta": pa.array(end.number - start.number, REAL, mask=~is_numeric),
    }
    if steps:
        columns |= _moves(start, steps, is_numeric=is_numeric, is_integer=is_integer)
    nulls = {f.name: pa.nulls(n, f.type) for f in DIFF}
    return pa.table(nulls | columns, schema=DIFF)


def _moves(
    start: Values, steps: Sequence[Step], *, is_numeric: Flags, is_integer: Flags
) -> dict[str, object]:
    """Return what each step moved, and what the cells held after it."""
    n = start.number.size
    moved = {cause: np.zeros(n, np.bool_) for cause in CAUSES}
    deltas = {cause: np.zeros(n) for cause in CAUSES}
    before, rounding = start, ROUNDING * np.abs(steps[-1][1].number - start.number)
    for cause, values in steps:
        delta = values.number - before.number
        moved[cause] |= before.differs(values) & ~(np.abs(delta) <= rounding)
        deltas[cause] += delta
        before = values
    causes = [[cause for cause in CAUSES if moved[cause][row]] for row in range(n)]
    columns: dict[str, object] = {"causes": causes}
    after = dict(steps[:-1])  # without the last, which is of code
    before = after[CODE]
    columns["old_recomputed"] = before.texts(is_integer=is_integer)
    for cause in CAUSES:
        columns[column_of("delta", cause)] = pa.array(deltas[cause], REAL, mask=~is_numeric)
        if cause != CODE:
            before = after.get(cause, before)
            columns[column_of("after", cause)] = before.texts(is_integer=is_integer)
    return columns
