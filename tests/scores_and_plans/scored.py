"""Small campaigns of scores: what its tests share."""

from __future__ import annotations

import csv
import io
from typing import Any

FIELDS = {
    name: name for name in ("judge", "item", "score", "hit", "segment", "system", "submitted_at")
}

SCALAR = [{"name": "*", "kind": "scalar", "scale": [0, 100]}]
NAMES = (*FIELDS, "control")


def text_of(rows: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, NAMES)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def build(build_campaign, rows, *sets, fields=(), tasks=SCALAR, **more):
    mapped = {n: n for n in ("judge", "item", "score", *fields)}
    source = {"path": "exports/*.csv", "format": "csv", "fields": mapped}
    return build_campaign({"a.csv": text_of(rows)}, *sets, sources=[source], tasks=tasks, **more)


def scores(built) -> dict[str, dict[str, Any]]:
    return {row["item"]: row for row in built.rows("scores")}


def plan(built) -> list[dict[str, Any]]:
    return built.rows("next_hits")


def row(judge, item, score, **more):
    return {"judge": judge, "item": item, "score": score} | more


def with_items(tmp_path, text):
    (tmp_path / "campaign").mkdir(exist_ok=True)
    (tmp_path / "campaign" / "items.csv").write_text(text)
    names = text.splitlines()[0].split(",")
    fields = {name: name for name in names}
    return [{"path": "items.csv", "format": "csv", "fields": fields}]
