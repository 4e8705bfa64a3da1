"""A small campaign that fills every gold table, with names as hostile as exports have them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

TASK = '<b>mood</b> "a": [b](http://x.org) | c\\'
LABELS = ("=cmd|' /C calc'!A0", "<script>alert(1)</script>", "ja, עם רווח ✓")
ITEM = "item #{}: 'x' | `y` *z*"
LONG = "word " * 2000
MODELS = ("=gpt<LLM>|4", "*<LLM>* `o` (mini)")
QUESTION = "Which mood?\n\n# not a heading\n- no list <img src=x onerror=alert(1)>"
ABOUT = {
    "title": 'Moods: "quoted" & {braced} \U0001f600 #1',
    "description": "First paragraph.\n\n# Second, --- with | marks\n\n1. no list",
    "license": "CC-BY-4.0",
    "citation": None,
    "url": "https://example.org/moods?a=1&b=2",
    "contact": "data@example.org",
    "creators": ["Ada <Lovelace>", "Société: Générale"],
    "keywords": ["yes", "no: really", "null"],
    "languages": ["en", "he"],
}


def write_full_campaign(folder: Path, **settings: Any) -> Path:
    """Write the campaign and its exports; all tables of a release of it have rows."""
    exports = folder / "exports"
    exports.mkdir(parents=True, exist_ok=True)
    (exports / "moods.csv").write_text(_moods(), encoding="utf-8")
    (exports / "scores.csv").write_text(_scores(), encoding="utf-8")
    (exports / "pairs.csv").write_text(_pairs(), encoding="utf-8")
    (exports / "models.csv").write_text(_models(), encoding="utf-8")
    (folder / "items.csv").write_text(_items(), encoding="utf-8")
    document = {
        "campaign": "full",
        "about": ABOUT,
        "sources": [
            _source("moods", "item", "label", "control", "why", "submitted_at", task=TASK),
            _source(
                "scores", "system", "segment", "hit", "control", "score", "seconds", task="quality"
            ),
            _source("pairs", "segment", "system_a", "system_b", "preference", task="which"),
            _source("models", "item", "label", task=TASK),
        ],
        "judges": [{"name": "*<LLM>*", "kind": "model", "family": "gpt <|>"}],
        "items": [
            {"path": "items.csv", "format": "csv", "fields": {n: n for n in ("item", "text")}}
        ],
        "tasks": [
            {"name": "quality", "kind": "scalar", "scale": [0, 100]},
            {"name": "which", "kind": "pairwise"},
            {"name": "*", "kind": "categorical", "question": QUESTION},
        ],
        "gates": {"judges_failed": {"warn": 1}},
        "ranking": {"bootstrap": 20, "online_rounds": 5},
        "agreement": {"bootstrap": 20},
    } | settings
    (folder / "campaign.yaml").write_text(json.dumps(document), encoding="utf-8")
    return folder


def _source(name: str, *columns: str, task: str) -> dict[str, Any]:
    fields = {"task": {"value": task}, "judge": "judge"} | {column: column for column in columns}
    return {"path": f"exports/{name}.csv", "format": "csv", "fields": fields}


def _moods() -> str:
    rows: list[Sequence[object]] = []
    for item in range(8):
        for judge in range(4):
            label = LABELS[(item + (judge == 3 and item % 3 == 0)) % 3]
            rows.append(
                (ITEM.format(item), f"m{judge}", label, "none", "", f"2024-05-0{judge + 1}")
            )
    decided = (ITEM.format(0), "expert", LABELS[2], "adjudication", 'said: "so"', "2024-06-01")
    return _csv(("item", "judge", "label", "control", "why", "submitted_at"), [*rows, decided])


def _scores() -> str:
    """Two systems, three judges with degraded copies, and one judge with a single score."""
    rows: list[Sequence[object]] = []
    for judge in range(3):
        for segment in range(6):
            for place, system in enumerate(("<i>A</i>", "B | b")):
                score = 40 + 20 * place + 3 * segment + judge
                where = (system, f"s{segment}", f"h{judge}")
                rows.append((f"q{judge}", *where, "none", score, 4.5))
                worse = score - 20 - segment if judge else score + 1
                rows.append((f"q{judge}", *where, "bad_reference", worse, ""))
    rows.append(("q9", "B | b", "s0", "h9", "none", 50, ""))
    return _csv(("judge", "system", "segment", "hit", "control", "score", "seconds"), rows)


def _pairs() -> str:
    rows = [
        (f"p{judge}", f"s{segment}", a, b, "tie" if judge == segment else "a")
        for judge in range(2)
        for segment in range(3)
        for a, b in (("x", "y"), ("y", "z"), ("x", "z"))
    ]
    return _csv(("judge", "segment", "system_a", "system_b", "preference"), rows)


def _models() -> str:
    rows = [
        (ITEM.format(item), judge, LABELS[(item + (item % shift == 0)) % 3])
        for judge, shift in ((MODELS[0], 3), (MODELS[1], 4))
        for item in range(12)
    ]
    return _csv(("item", "judge", "label"), rows)


def _items() -> str:
    texts = ("two\nlines", LONG, "\u202eright to left", "=1+1", "nul? \x07", "", "x", '"')
    return _csv(("item", "text"), [(ITEM.format(n), text) for n, text in enumerate(texts)])


def _csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([head, *rows])
    return text.getvalue()
