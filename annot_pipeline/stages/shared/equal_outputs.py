"""Outputs that are equal but for case: ties that nobody is asked about.

Source: Pighin, Formiga & Marquez 2012, section 3.1. Outputs of one task and segment are equal if
their texts are, after blanks around them are taken away and case is folded (`str.casefold`: also
"Strasse" and "Straße"). A blank text, or none, equals nothing, not even another one.
"""

from __future__ import annotations

import pyarrow as pa

from annot_pipeline.contracts import INT, TEXT

EQUAL_OUTPUTS = pa.schema(
    [
        pa.field("task", TEXT),  # null: of any task, for the item table names none
        pa.field("segment", TEXT),  # null: none is mapped
        pa.field("item", TEXT, nullable=False),
        pa.field("system", TEXT),
        pa.field("group", INT, nullable=False),  # from 0; of two outputs or more
    ]
)
"""Sorted by group, then item; groups by their task (null first), segment (null first) and text."""


def equal_outputs(items: pa.Table) -> pa.Table:
    """Return groups of outputs whose texts are equal but for case.

    Parameters
    ----------
    items
        ``task``, ``segment``, ``item``, ``system``, ``text`` of the item tables, in order of
        precedence: the first row of a task and item wins.

    Returns
    -------
    pyarrow.Table
        `EQUAL_OUTPUTS`. Rows without a task speak of every task that knows their item.
    """
    keys: set[tuple[str | None, str]] = set()
    alike: dict[tuple[str, ...], list[dict[str, str | None]]] = {}
    columns = (items[name].to_pylist() for name in ("task", "segment", "item", "system", "text"))
    for task, segment, item, system, text in zip(*columns, strict=True):
        if (task, item) in keys:
            continue
        keys.add((task, item))
        appearance = (text or "").strip().casefold()
        if appearance:
            row = {"task": task, "segment": segment, "item": item, "system": system}
            alike.setdefault((task or "", segment or "", appearance), []).append(row)
    groups = [alike[key] for key in sorted(alike) if len(alike[key]) > 1]
    rows = [
        row | {"group": number}
        for number, group in enumerate(groups)
        for row in sorted(group, key=lambda row: str(row["item"]))
    ]
    return pa.Table.from_pylist(rows, EQUAL_OUTPUTS)
