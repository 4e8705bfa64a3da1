"""Small campaigns of preferences and rankings: what its tests share."""

from __future__ import annotations

from typing import Any

PAIR = {"judge": "judge", "segment": "segment", "system_a": "a", "system_b": "b"}
WORDS = {"column": "won", "map": {"left": "a", "right": "b", "same": "tie"}}
PREFERENCE = PAIR | {"preference": WORDS}
RANKING = {name: name for name in ("judge", "segment", "system", "ranking", "rank")}

FIGURE_1 = """judge,segment,a,b,won
w,s,LW,Google,left
w,s,Google,Systran,same
w,s,Systran,Moses,left
w,s,Google,Bing,left
w,s,Reference,Bing,left
"""

LENIENT = "gates.rejected_share.error=1"

ITEMS = {"path": "items.csv", "format": "csv",
         "fields": {"segment": "segment", "system": "system", "text": "text"}}  # fmt: skip


def source(fields: dict[str, Any], path: str = "exports/*.csv") -> list[dict[str, Any]]:
    return [{"path": path, "format": "csv", "fields": fields}]


def preferences(build_campaign, text, *sets, fields=PREFERENCE, **more):
    return build_campaign({"a.csv": text}, *sets, sources=source(fields), **more)


def rankings(build_campaign, rows, *sets, fields=RANKING, **more):
    text = "judge,segment,system,ranking,rank,extra\n" + "".join(f"{row}\n" for row in rows)
    return build_campaign({"a.csv": text}, *sets, sources=source(fields), **more)


def with_items(tmp_path, text: str) -> list[dict[str, Any]]:
    (tmp_path / "campaign").mkdir(exist_ok=True)
    (tmp_path / "campaign" / "items.csv").write_text(text)
    return [ITEMS]


def decisions(built) -> list[tuple[str, str, int]]:
    return [(r["item_a"], r["item_b"], r["outcome"]) for r in built.rows("comparisons")]


def ranks(built, name="rank") -> dict[str, Any]:
    return {row["item"]: row[name] for row in built.rows("segment_ranks")}


def rejected(built) -> dict[str, int]:
    rows = built.metrics("settle_judgments")["rejections"]
    return {row["reason"]: row["records"] for row in rows}
