"""Answers that are lists in a cell: one element, or a yes/no task for each option."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from annot_pipeline.init.questions import NoJudgmentsError, Reading
from annot_pipeline.init.table import Column
from annot_pipeline.init.views import parsed
from annot_pipeline.storage.archive import natural_key

CELLS_LOOKED_AT = 5_000
MOST_OPTIONS = 100


def set_answer(column: Column, each: Mapping[str, Any], *, lines: bool = False) -> Reading | None:
    """Return the answer of a column of lists, with ``each`` where they hold several options.

    None where cells are single answers. Lists are JSON, Label Studio's choices, or, where a preset
    says so, the ``lines`` of a cell.
    """
    if not isinstance(column.expression, str) or each:
        return None
    written = column.filled[:CELLS_LOOKED_AT].to_pylist()
    cells = [parsed(cell) for cell in written]
    are_texts = not any(isinstance(c, list | dict) for c in cells)
    for mark in ("\n",) if lines else ("|", ";", ","):
        parts = [cell.split(mark) for cell in written if are_texts]
        several = {one for part in parts if len(part) > 1 for one in part}
        if several and (lines or several <= {part[0] for part in parts if len(part) == 1}):
            label = {"column": column.name, "split": mark, "has": "{option}"}
            return _options(column, parts, label)
    if any(isinstance(cell, dict) and isinstance(cell.get("choices"), list) for cell in cells):
        chosen = [cell["choices"] if isinstance(cell, dict) else [cell] for cell in cells]
        if any(re.search(r"[^\w -]", str(one)) for cell in chosen for one in cell):
            raise NoJudgmentsError(
                f"Label Studio: {column.name} holds several answers with signs in their names; "
                "export as JSON instead"
            )
        keys = {'~(^|")({option})($|")': "yes"}
        return _options(column, chosen, {"column": column.name, "map": keys, "else": "no"})
    if not cells or not all(isinstance(cell, list) for cell in cells):
        return None
    if any(isinstance(one, dict | list) for cell in cells for one in cell):
        return None
    if all(len(cell) <= 1 for cell in cells):
        counts = Counter(str(one) for cell in cells for one in cell)
        label = {"column": column.name, "json": "0"}
        return Reading(lines=[("label", label, "")], columns=[column.name], labels=counts)
    return _options(column, cells, {"column": column.name, "has": "{option}"})


def _options(column: Column, cells: list[list[Any]], label: dict[str, Any]) -> Reading | None:
    counts: Counter[str] = Counter()
    for cell in cells:
        counts.update({str(one) for one in cell})
    options = sorted(counts, key=natural_key)
    if len(options) > MOST_OPTIONS:
        return None
    task = {"value": f"{column.name}:{{option}}"}
    fields = [
        ("task", task, "several answers in a cell: a task each"),
        ("label", label, "whether it was chosen"),
    ]
    return Reading(lines=fields, columns=[column.name], each={"option": options})
