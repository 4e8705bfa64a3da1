"""What a gold label cost, and what one more judgment an item would."""

from __future__ import annotations

from typing import Any

from annot_pipeline.report.contents import Contents

AMOUNTS = ("paid", "cost_per_gold", "cost_per_judgment", "one_more_per_item")


def cost(contents: Contents) -> dict[str, Any]:
    """Return the cost by task, where exports carry what assignments were paid."""
    rows = contents.facts["cost"]
    if not rows:
        return {}
    return {
        "rows": [
            {**row, **{name: _money(row, name) for name in AMOUNTS},
             "reason": row.get("reason") or ""}
            for row in rows
        ],
        "several_currencies": any(row.get("reason") for row in rows),
    }  # fmt: skip


def _money(row: dict[str, object], name: str) -> str | None:
    value = row.get(name)
    if not isinstance(value, int | float):
        return None
    currency = f" {row['currency']}" if row.get("currency") else ""
    digits = 2 if abs(value) >= 1 or value == 0 else 4
    return f"{value:,.{digits}f}{currency}"
