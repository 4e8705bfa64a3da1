"""What a gold label cost, and what one more judgment an item would."""

from __future__ import annotations

from annot_pipeline.report.contents import Contents
from annot_pipeline.report.markup import Column, Markup, join, paragraph, table

COLUMNS = [
    Column("task"), Column("assignments", "count"), Column("of them paid", "count"),
    Column("paid"), Column("judgments that count", "count"), Column("gold rows", "count"),
    Column("cost of a gold row"), Column("cost of a judgment"),
    Column("one more judgment an item"),
]  # fmt: skip


def cost(contents: Contents) -> str:
    """By task, where exports carry what assignments were paid."""
    rows = contents.facts.get("cost") or []
    cells = [
        [
            row["task"], row["n_assignments"], row["n_paid_assignments"],
            *(_money(row, name) for name in ("paid",)), row["n_judgments"], row["n_gold"],
            *(_money(row, name) for name in (
                "cost_per_gold", "cost_per_judgment", "one_more_per_item"
            )),
        ]
        for row in rows
    ]  # fmt: skip
    if not cells:
        return ""
    words = (
        "As the exports say what assignments were paid; fees of platforms are not in it. One more "
        "judgment for every item would cost what the last column says, at the same price."
    )
    return join([paragraph(words), table("Cost by task", COLUMNS, cells, sortable=len(cells) > 1)])


def _money(row: dict[str, object], name: str) -> Markup | str | None:
    value = row.get(name)
    if not isinstance(value, int | float):
        return None
    currency = f" {row['currency']}" if row.get("currency") else ""
    digits = 2 if abs(value) >= 1 or value == 0 else 4
    return f"{value:,.{digits}f}{currency}"
