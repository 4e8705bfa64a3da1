"""Values inside JSON cells (MTurk's taskAnswers, nested JSON lines) as columns of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from annot_pipeline.config import ColumnExpression
from annot_pipeline.guess.columns import Sheet
from annot_pipeline.stages.ingest.expressions import evaluate

CELLS_LOOKED_AT = 20
VALUES_OFFERED = 40
"""Of one column; a cell with more is a document, not an answer."""


def unfold(sheet: Sheet) -> Sheet:
    """The same rows, with a column for each value of a cell in place of JSON objects."""
    expressions: dict[str, Any] = {}
    for name in sheet.names:
        cells = sheet[name].filled.slice(0, CELLS_LOOKED_AT).to_pylist()
        objects = [_object(cell) for cell in cells]
        if not objects or None in objects:
            continue
        paths = dict.fromkeys(path for found in objects for path in _paths(found))
        if len(paths) <= VALUES_OFFERED:
            expressions |= {f"{name}.{path}": {"column": name, "json": path} for path in paths}
    expressions = {n: e for n, e in expressions.items() if n not in sheet.names}
    if not expressions:
        return sheet
    return Sheet([_with_values(part, expressions) for part in sheet.parts], expressions)


def _object(cell: str) -> Any:
    """A JSON object, or a list that starts with one; else None."""
    if cell.lstrip()[:1] not in ("{", "["):
        return None
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    first = found[0] if isinstance(found, list) and found else found
    return found if isinstance(first, dict) else None


def _paths(found: Any, path: str = "") -> Iterator[str]:
    """Dotted paths of the plain values in an object."""
    if isinstance(found, list):
        found = {"0": found[0]} if found and isinstance(found[0], dict) else {}
    for key, value in found.items():
        if not key or "." in key:
            continue  # a path cannot name it
        if isinstance(value, dict | list):
            yield from _paths(value, f"{path}{key}.")
        else:
            yield f"{path}{key}"


def _with_values(part: pa.Table, expressions: dict[str, Any]) -> pa.Table:
    for name, expression in expressions.items():
        column = part.column(expression["column"]).combine_chunks()
        values = evaluate(
            ColumnExpression.model_validate(expression),
            {expression["column"]: column},
            len(column),
            bindings={},
            path="",
            field=name,
        )
        part = part.append_column(name, values.array)
    return part.drop_columns(sorted({e["column"] for e in expressions.values()}))
