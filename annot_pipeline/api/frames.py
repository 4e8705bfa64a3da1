"""Frames of pandas, polars and Arrow: columns in as text, tables out as the kind that came in."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import TEXT
from annot_pipeline.contracts.answer_text import answer_text
from annot_pipeline.errors import ConfigError, InputError, Problem, first_of
from annot_pipeline.stages.ingest.record_cells import is_blank

Kind = Literal["pandas", "polars", "arrow"]
AnyFrame: TypeAlias = Any
"""A DataFrame of pandas or polars, an Arrow table, or what has ``__arrow_c_stream__``."""

ALLOWED = "a DataFrame of pandas or polars, an Arrow table, or an object with __arrow_c_stream__"
LABELS = ("label", "true_label", "observed_label", "majority_label", "predicted")
SYSTEMS = ("system", "system_a", "system_b")
ROLES: Mapping[str, Sequence[str]] = {
    **{role: (role,) for role in ("task", "item", "judge")},
    **dict.fromkeys(LABELS, ("label",)),
    **dict.fromkeys(SYSTEMS, SYSTEMS[:2]),
}
"""Roles whose cells a column of results holds: the first that the frame has."""
PLAIN_TYPES = "text, numbers, booleans, dates or times"


@dataclass(frozen=True, eq=False)
class Frame:
    """Some columns of a frame, by what they hold.

    Parameters
    ----------
    kind
        What the frame was, which results will be, too.
    names
        The frame's column name for each role, as ``item``.
    values
        ``(n_rows,)`` cells for each role; null where missing.
    """

    kind: Kind
    names: Mapping[str, str]
    values: Mapping[str, pa.Array] = field(repr=False)

    @classmethod
    def read(cls, data: AnyFrame, columns: Mapping[str, str]) -> Frame:
        """Read columns.

        Parameters
        ----------
        data
            The frame. An index of pandas counts where a column is named as one of its levels.
        columns
            Column name by role.

        Raises
        ------
        ConfigError
            ``data`` is no frame, or a column is missing or there twice.
        InputError
            The frame has no rows; or a column mixes types, or holds lists or objects.
        """
        data = materialize(data)
        names = column_names(data)
        every = (column_problem(names, role, name) for role, name in columns.items())
        problems = [problem for problem in every if problem]
        if problems:
            raise ConfigError("the frame cannot be read", problems)
        values = {role: _plain(_column(data, name), name) for role, name in columns.items()}
        if values and not len(next(iter(values.values()))):
            raise InputError("the frame has no rows")
        return cls(kind_of(data), dict(columns), values)

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.values.values())))

    def texts(self) -> pa.Table:
        """Return all cells as text, one column per role."""
        return pa.table({role: cells.cast(TEXT) for role, cells in self.values.items()})

    def restore(self, table: pa.Table, order: str = "") -> AnyFrame:
        """Return a table as a frame, with the names and types of the frame that was read.

        Parameters
        ----------
        table
            Columns of text where `ROLES` names them, or where they are named as a role.
        order
            Columns of ``table`` to sort by, as the frame's types sort: 2 before 10.

        Raises
        ------
        ConfigError
            A column of the frame has the name of another column of the result.
        """
        columns: dict[str, Any] = {}
        for name in table.schema.names:
            role = next((role for role in ROLES.get(name, ()) if role in self.values), None)
            new_name = name if role is None else self.names.get(name, name)
            if new_name in columns:
                problem = Problem(new_name, "is a column of the result", do="rename yours")
                raise ConfigError("the result would have two columns of one name", [problem])
            columns[new_name] = table[name] if role is None else self._restored(table[name], role)
        restored = pa.table(columns)
        if order:
            names = [self.names.get(name, name) for name in order.split()]
            restored = restored.sort_by([(name, "ascending") for name in names])
        return to_kind(restored, self.kind)

    def _restored(self, cells: pa.ChunkedArray, role: str) -> Any:
        """Return cells as they were before `texts`; what the frame does not hold is cast."""
        values, texts = self.values[role], cells.cast(TEXT)
        unique = pc.unique(values).drop_null()
        written = unique.cast(TEXT)
        places = pc.index_in(texts, written)
        if pc.any(pc.and_(pc.is_null(places), pc.is_valid(texts))).as_py():
            answers = pa.array(map(answer_text, written.to_pylist()), TEXT)
            places = pc.coalesce(places, pc.index_in(texts, answers))
        if pc.any(pc.and_(pc.is_null(places), pc.is_valid(texts))).as_py():
            # a declared class that no row has, or what the frame holds in parts
            texts = pc.coalesce(written.take(places), texts)
            try:
                return texts.cast(values.type)
            except pa.ArrowInvalid:
                return texts  # a name that is made of several cells
        return unique.take(places)


def column_problem(names: Sequence[Any], role: str, name: Any, do: str = "") -> Problem | None:
    """Return what is wrong with the column of a role: it is missing, or there twice; else None."""
    where = f"{role}="
    if not isinstance(name, str):
        return Problem(where, f"is {name!r}", "a text", "rename columns to text")
    if names.count(name) > 1:
        what = f'there are {names.count(name)} columns "{name}"'
        return Problem(where, what, do="rename all but one")
    if name in names:
        return None
    texts = list(map(str, names))
    for likely in difflib.get_close_matches(name, texts, 1):
        do = do or f'did you mean "{likely}"?'
    return Problem(where, f'column "{name}" not found', f"columns are: {first_of(texts, 20)}", do)


def to_kind(table: pa.Table, kind: Kind) -> AnyFrame:
    """Return an Arrow table as a frame of some kind."""
    if kind == "polars":
        import polars

        return polars.from_arrow(table)
    return table.to_pandas() if kind == "pandas" else table


def with_column(data: AnyFrame, name: str, values: pa.Array) -> AnyFrame:
    """Return what `materialize` returned with one more column."""
    kind = kind_of(data)
    if kind == "pandas":
        return data.assign(**{name: values.to_pylist()})
    if kind == "polars":
        import polars

        return data.with_columns(polars.Series(name, values.to_pylist()))
    return data.append_column(name, values)


def materialize(data: AnyFrame) -> AnyFrame:
    """Return a frame that can be read column by column: a DataFrame, or an Arrow table.

    What is lazy is run once: run for each column, the rows of its columns may not belong together.

    Raises
    ------
    ConfigError
        It is no frame.
    """
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if pandas is not None and isinstance(data, pandas.DataFrame):
        return data
    if polars is not None and isinstance(data, (polars.DataFrame, polars.LazyFrame)):
        return data.lazy().collect()
    if isinstance(data, pa.Table):
        return data
    try:
        if isinstance(data, pa.RecordBatch) or hasattr(data, "__arrow_c_stream__"):
            return pa.table(data)
    except (TypeError, ValueError, pa.ArrowException):
        pass  # a stream of something else, as a column
    problem = Problem("", f"is a {type(data).__name__}", ALLOWED)
    raise ConfigError("the data cannot be read", [problem])


def kind_of(data: AnyFrame) -> Kind:
    """Return what kind of frame `materialize` returned."""
    if isinstance(data, pa.Table):
        return "arrow"
    return "polars" if type(data).__module__.startswith("polars") else "pandas"


def column_names(data: AnyFrame) -> list[Any]:
    """Return the names of columns of what `materialize` returned, and levels of a pandas index."""
    if kind_of(data) != "pandas":
        return list(data.columns if kind_of(data) == "polars" else data.schema.names)
    columns = list(data.columns)
    return columns + [name for name in data.index.names if name is not None and name not in columns]


def has_values(data: AnyFrame, name: str) -> bool:
    """Return whether a column of what `materialize` returned has a cell that is not blank."""
    cells = _plain(_column(data, name), name)
    return int(cells.null_count) < len(cells)


def read_texts(data: AnyFrame) -> pa.Table:
    """Return the columns of what `materialize` returned as text; those that are no text left out.

    Names that are no text, or that several columns have, are left out as well.
    """
    names = column_names(data)
    columns = {}
    for name in names:
        if isinstance(name, str) and names.count(name) == 1:
            try:
                columns[name] = _plain(_column(data, name), name).cast(TEXT)
            except (InputError, pa.ArrowException):
                continue
    return pa.table(columns)


def _column(data: AnyFrame, name: str) -> Any:
    kind = kind_of(data)
    try:
        if kind == "pandas":
            series = data[name] if name in data.columns else data.index.get_level_values(name)
            return pa.Array.from_pandas(series)
        return data[name].to_arrow() if kind == "polars" else data[name]
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError) as error:
        what = f"holds values of several types ({error})"
        do = f'make them one type, as frame["{name}"].astype(str)'
        problem = Problem(name, what, PLAIN_TYPES, do)
        raise InputError("the frame cannot be read", [problem]) from None


def _plain(cells: Any, name: str) -> pa.Array:
    """Return cells as one array of a plain type; NaN and blanks are null, whatever the library."""
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    type_ = cells.type
    if pa.types.is_null(type_) or pa.types.is_large_string(type_) or type_ == pa.string_view():
        cells, type_ = cells.cast(TEXT), TEXT
    if pa.types.is_string(type_):
        return pc.if_else(is_blank(cells), pa.scalar(None, TEXT), cells)
    if pa.types.is_float16(type_):
        cells, type_ = cells.cast(pa.float32()), pa.float32()
    if pa.types.is_floating(type_):
        return pc.if_else(pc.fill_null(pc.is_nan(cells), True), pa.scalar(None, type_), cells)
    is_plain = (
        pa.types.is_integer(type_) or pa.types.is_boolean(type_)
        or pa.types.is_temporal(type_) or pa.types.is_decimal(type_)
    )  # fmt: skip
    if not is_plain:
        raise InputError("the frame cannot be read", [Problem(name, f"holds {type_}", PLAIN_TYPES)])
    return cells
