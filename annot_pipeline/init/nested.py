"""Values inside JSON cells (MTurk's taskAnswers, nested JSON lines) as columns of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.bounded_json import JsonError, parse_bounded_json
from annot_pipeline.config import ColumnExpression
from annot_pipeline.exports.raw_rows import RawRows
from annot_pipeline.init.columns import Sheet
from annot_pipeline.stages.ingest.expressions import evaluate
from annot_pipeline.stages.ingest.record_cells import RecordCells

CELLS_LOOKED_AT = 20
VALUES_OFFERED = 40
"""Of one column; a cell with more is a document, not an answer."""


def unfold(sheet: Sheet) -> Sheet:
    """Return the same rows, with a column for each value of a cell in place of JSON objects."""
    expressions: dict[str, Any] = {}
    for name in sheet.names:
        cells = sheet[name].filled.slice(0, CELLS_LOOKED_AT).to_pylist()
        objects = [_object(cell) for cell in cells]
        if not objects or None in objects:
            continue
        paths = dict.fromkeys(path for value in objects for path in _paths(value))
        if len(paths) <= VALUES_OFFERED:
            expressions |= {f"{name}.{path}": {"column": name, "json": path} for path in paths}
    expressions = {n: e for n, e in expressions.items() if n not in sheet.names}
    if not expressions:
        return sheet
    return Sheet([_with_values(part, expressions) for part in sheet.parts], expressions)


def _object(cell: str) -> Any:
    """Parse a JSON object, or a list that starts with one; else return None."""
    if cell.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = parse_bounded_json(cell)
    except JsonError:
        return None
    first = value[0] if isinstance(value, list) and value else value
    return value if isinstance(first, dict) else None


def _paths(node: Any, path: str = "") -> Iterator[str]:
    """Yield the dotted paths of the plain values in an object."""
    if isinstance(node, list):
        node = {"0": node[0]} if node and isinstance(node[0], dict) else {}
    for key, value in node.items():
        if not key or "." in key:
            continue  # a path cannot name it
        if isinstance(value, dict | list):
            yield from _paths(value, f"{path}{key}.")
        else:
            yield f"{path}{key}"


def _with_values(part: pa.Table, expressions: dict[str, Any]) -> pa.Table:
    for name, expression in expressions.items():
        column = part.column(expression["column"]).combine_chunks()
        rows = RawRows(
            {expression["column"]: column}, np.arange(1, len(column) + 1), pa.nulls(len(column))
        )
        values = evaluate(
            ColumnExpression.model_validate(expression), RecordCells(rows, {}), path="", field=name
        )
        part = part.append_column(name, values.array)
    return part.drop_columns(sorted({e["column"] for e in expressions.values()}))
