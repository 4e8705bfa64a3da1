"""annot items."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from annot_pipeline.cli.common import Document, check_output, chosen, load, show, typed
from annot_pipeline.cli.render import fields, table, text
from annot_pipeline.errors import counted

SHOWN = "item label probability second=runner_up votes reasons text"
TEXTS, MOST_CHARACTERS = ("item", "label", "runner_up", "votes", "text"), 60
"""Columns of which long cells are cut, and where."""


def run_items(arguments: argparse.Namespace) -> int:
    """List items by what makes them doubtful."""
    from annot_pipeline.commands.items import list_items, write_items

    campaign, path = load(arguments), arguments.output
    if path is not None:
        check_output(campaign, "items", path, (".csv", ".parquet"), [path])
    items = list_items(campaign, **chosen(arguments, "release uncertain task label judge reason"))
    if path is not None:
        write_items(items, path)
    document: Document = {
        "campaign": campaign.settings.campaign,
        "n_items": items.num_rows,
        "items": items.slice(0, max(0, arguments.rows)).to_pylist(),
        "path": None if path is None else str(path),
    }

    def lines() -> Iterator[str]:
        rows = []
        for row in document["items"]:
            cells = {n: text(row[n], MOST_CHARACTERS) for n in TEXTS}
            second = f"{cells['runner_up']} ({text(row['runner_up_probability'], digits=2)})"
            rows.append(row | cells | {"second": second * bool(cells["runner_up"])})
        n_none = items["label"].null_count
        none = f" ({n_none:,} without a label)" * (0 < n_none < items.num_rows)
        title = f"{counted(document['n_items'], 'item')}{none}, the most doubtful first"
        shown = "task " * (len({row["task"] for row in rows}) > 1) + SHOWN
        yield from table(title, rows, shown, most=len(rows))
        yield from fields(document, {"path": "all items"})
        if not document["n_items"]:
            yield "no item fits: judges agree, or each item has one"
        elif document["path"] is None and len(rows) < document["n_items"]:
            yield "next: -o FILE.csv writes all of them, --rows N shows more"
        else:
            yield f"next: annot trace {typed(arguments)} ITEM"

    return show(arguments, document, lines)
