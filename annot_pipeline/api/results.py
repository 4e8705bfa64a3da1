"""What results of the Python API have in common: how a notebook shows them."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from annot_pipeline.api.frames import AnyFrame, kind_of

SHOWN_ROWS = 10


class Result(ABC):
    """A frozen result with tables: `_repr_html_` shows the first rows of the main one."""

    @abstractmethod
    def _main_table(self) -> tuple[str, AnyFrame]:
        """Return the name of the table that people look at first, and the table."""

    @abstractmethod
    def _summary(self) -> str:
        """Return one sentence on what it rests on."""

    def __repr__(self) -> str:
        name, table = self._main_table()
        return f"{type(self).__name__}: {self._summary()}; .{name} has {_n_rows(table):,} rows"

    def _repr_html_(self) -> str:
        name, table = self._main_table()
        rows = _first_rows(table)
        columns = list(rows[0]) if rows else []
        head = "".join(f"<th>{html.escape(str(column))}</th>" for column in columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{_cell(row[column])}</td>" for column in columns) + "</tr>"
            for row in rows
        )
        more = _n_rows(table) - len(rows)
        below = f"<p>{more:,} more rows in <code>.{name}</code></p>" if more > 0 else ""
        summary = html.escape(f"{type(self).__name__}: {self._summary()}")
        return (
            f"<p>{summary}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"{below}"
        )


def new_axes(axes: Any = None) -> Any:
    """Return the axes of matplotlib to draw on; without any, those of a new figure of pyplot."""
    if axes is not None:
        return axes
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]


def rows_of(frame: AnyFrame) -> list[Mapping[str, Any]]:
    """Return a result's frame as dictionaries."""
    kind = kind_of(frame)
    if kind == "pandas":
        return [dict(row) for row in frame.to_dict("records")]
    return list(frame.to_dicts() if kind == "polars" else frame.to_pylist())


def _first_rows(frame: AnyFrame) -> list[Mapping[str, Any]]:
    return rows_of(frame[:SHOWN_ROWS])


def _n_rows(frame: AnyFrame) -> int:
    return int(frame.num_rows if kind_of(frame) == "arrow" else len(frame))


def _cell(value: Any) -> str:
    if value is None or value != value:  # NaN
        return ""
    return html.escape(f"{value:.4g}" if isinstance(value, float) else str(value))
