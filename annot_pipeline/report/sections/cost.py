"""What a gold label cost, and what one more judgment an item would."""

from __future__ import annotations

from typing import Any

from annot_pipeline.report.contents import Contents
from annot_pipeline.report.markup import Column, Markup, join, paragraph, table, text

COLUMNS = [
    Column("task"), Column("assignments", "count"), Column("of them paid", "count"),
    Column("paid"), Column("judgments that count", "count"), Column("gold rows", "count"),
    Column("cost of a gold row"), Column("cost of a judgment"),
    Column("one more judgment an item"), Column("why there is no ratio"),
]  # fmt: skip


def cost(contents: Contents) -> str:
    """Return the cost by task, where exports carry what assignments were paid."""
    rows = contents.facts.get("cost") or []
    cells = [
        [
            row["task"], row["n_assignments"], row["n_paid_assignments"],
            *(_money(row, name) for name in ("paid",)), row["n_judgments"], row["n_gold"],
            *(_money(row, name) for name in (
                "cost_per_gold", "cost_per_judgment", "one_more_per_item"
            )),
            text(row.get("reason") or "", 300),
        ]
        for row in rows
    ]  # fmt: skip
    if not cells:
        return ""
    words = (
        "As the exports say what assignments were paid; fees of platforms are not in it. One more "
        "judgment for every item would cost what the last column says, at the same price."
    )
    if any(row.get("reason") for row in rows):
        words += " Paid in several currencies, a task has no ratio: amounts are not converted."
    columns, cells = _without_empty(COLUMNS, cells)
    return join([paragraph(words), table("Cost by task", columns, cells, sortable=len(cells) > 1)])


def _without_empty(
    columns: list[Column], cells: list[list[Any]]
) -> tuple[list[Column], list[list[Any]]]:
    """Leave out columns without any value."""
    filled = [n for n in range(len(columns)) if any(row[n] for row in cells)]
    return [columns[n] for n in filled], [[row[n] for n in filled] for row in cells]


def _money(row: dict[str, object], name: str) -> Markup | str | None:
    value = row.get(name)
    if not isinstance(value, int | float):
        return None
    currency = f" {row['currency']}" if row.get("currency") else ""
    digits = 2 if abs(value) >= 1 or value == 0 else 4
    return f"{value:,.{digits}f}{currency}"
