"""Answers that are lists in a cell: one element, or a yes/no task for each option."""

from __future__ import annotations

from dataclasses import replace

from annot_pipeline.init.columns import Sheet
from annot_pipeline.init.fields import Mapping
from annot_pipeline.init.presets.facts import answer_lines, parsed

CELLS_LOOKED_AT = 5_000


def as_sets(sheet: Sheet, mapping: Mapping) -> Mapping:
    """Return the mapping, with lists taken apart if the label's cells are JSON lists."""
    column = mapping.column(sheet, "label")
    if column is None or not isinstance(column.expression, str) or mapping.each:
        return mapping
    cells = [parsed(cell) for cell in column.filled[:CELLS_LOOKED_AT].to_pylist()]
    if not cells or not all(isinstance(cell, list) for cell in cells) or mapping.has("task"):
        return mapping
    if any(isinstance(one, dict | list) for cell in cells for one in cell):
        return mapping
    each, lines = answer_lines(column.name, column.expression, cells)
    labels = {"yes": 0, "no": 0} if each else {}
    answer = replace(mapping.answer, fields=lines[-1:], labels=labels)
    tasks = [f"{column.name}:{option}" for option in each.get("option", [])]
    native = {"native_id", "seconds"} if each else set()
    kept_lines = [line for line in mapping.lines if line[0] not in native]
    changed = replace(mapping, lines=kept_lines, each=each, answer=answer, tasks=tasks)
    return changed.with_lines(*lines)
