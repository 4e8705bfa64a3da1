"""Decisions of experts: what its tests share."""

import hmac
from pathlib import Path

ROOT = Path(__file__).parents[2]


JUDGED = {"item": "item", "judge": "judge", "label": "label"}


DECIDED = {**JUDGED, "submitted_at": "at", "why": "why", "control": {"value": "adjudication"}}


SOURCES = [
    {"path": "exports/a*.csv", "format": "csv", "fields": JUDGED},
    {"path": "exports/x*.csv", "format": "csv", "fields": DECIDED},
]


ITEMS = [f"i{n}" for n in range(8)]


KEY = hmac.digest(b"a key for tests, long enough to be one", b"annot campaign:small", "sha256")


def answers(judges="pqrs"):
    """Odd items are yes to all; of even ones, one judge in four says yes where the rest say no."""
    rows = [
        f"{item},{judge},{'yes' if n % 2 or (n // 2) % 4 == j else 'no'}\n"
        for n, item in enumerate(ITEMS)
        for j, judge in enumerate(judges)
    ]
    return "item,judge,label\n" + "".join(rows)


def decisions(*rows):
    return "item,judge,label,at,why\n" + "".join(f"{row}\n" for row in rows)


def labels(built):
    return {row["item"]: row for row in built.rows("labels")}


def fates(built, file):
    """Item, judge, fate and reason of the records of a file, in the order of its rows."""
    rows = sorted(
        (r for r in built.rows("lineage") if r["source_file"] == f"exports/{file}"),
        key=lambda r: r["source_row"],
    )
    return [(row["fate"], row["reason"]) for row in rows]
