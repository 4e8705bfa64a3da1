"""Items to doubt: all of them as data that the page's script lists, opens and decides on."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from annot_pipeline.report.contents import Contents, Document
from annot_pipeline.report.render import deflated, in_words
from annot_pipeline.report.sections.judges import judge_anchors
from annot_pipeline.report.sections.records import without_shared_folder

MOST_ANSWERED = 800
"""Labels of which stand all answers in the page; of the others votes alone."""
DOUBTFUL: dict[str, dict[str, Any]] = {
    "doubtful_items": {"most_labels": 50_000, "most_others": 100, "most_classes": 4},
    "doubtful_answers": {"most_items": MOST_ANSWERED},
}
"""Queries of the items, with parameters."""
MOST_BYTES = 560_000
"""Of the items in the page, compressed; the others are in the tables, and in annot items."""
MOST_ROWS = 25
"""Rows that stand in the page without its script."""
MOST_TEXT, MOST_ANSWERS = 300, 50
"""Characters of an item's text, and answers to it."""
NAMES = {"label": "", "score": "scores", "preference": "preferences", "rank": "ranks"}


def doubt(contents: Contents) -> dict[str, Any]:
    """Return the items as compressed JSON, the first as rows, and how many there are."""
    every = contents.tables["doubtful_items"].to_pylist()
    if not every:
        return {}
    rows = [*_in_turn(every)]
    while len(packed := _packed(contents, rows)) > MOST_BYTES:
        rows = rows[: int(0.95 * len(rows) * MOST_BYTES / len(packed))]
    labels = contents.labelled_in_all
    return {
        "campaign": contents.campaign,
        "rows": [{**row, "label": row["label"] or ""} for row in rows[:MOST_ROWS]],
        "data": packed,
        "n_uncertain": labels.n_open,
        "n_labels": labels.n,
        "n_listed": sum(row["kind"] == "label" for row in rows),
        "n_answered": sum(row["kind"] == "label" and row["place"] <= MOST_ANSWERED for row in rows),
        "kinds": sorted({NAMES[row["kind"]] for row in every} - {""}),
    }  # fmt: skip


def _in_turn(rows: Iterable[Document]) -> Iterator[Document]:
    """Yield all labels, then other items, the most doubtful of each kind in turn."""
    by_kind: dict[str, list[Document]] = defaultdict(list)
    for row in rows:
        by_kind[row["kind"]].append(row)
    yield from by_kind.pop("label", [])
    for rank in range(max(map(len, by_kind.values()), default=0)):
        yield from (own[rank] for own in by_kind.values() if rank < len(own))


def _packed(contents: Contents, rows: Sequence[Document]) -> str:
    """Return lists of names, and columns of items that refer to them; compressed, as base 64.

    Of answers stand judges, texts, evidence, files, rows, and what line numbers are beyond these: a
    list each, or one value that is that of all; then the fates of the last, which do not count.
    """
    answers: dict[tuple[str, str], list[Document]] = defaultdict(list)
    for answer in contents.tables["doubtful_answers"].to_pylist():
        answers[answer["task"], answer["item"]].append(answer)
    tasks, judges, files, texts = _Numbers(), _Numbers(), _Numbers(), _Numbers()
    answered = {}
    for number, row in enumerate(rows):
        own = answers[row["task"], row["item"]]
        shown = own[:MOST_ANSWERS]
        lines = [a["line"] - a["source_row"] if a.get("line") else None for a in shown]
        answered[number] = [
            [judges[a["judge"]] for a in shown], [texts[a["answer"][:MOST_TEXT]] for a in shown],
            _once([_short(a["evidence"], 1) for a in shown]),
            _once([files[a["source_file"], a["source_digest"]] for a in shown]),
            [a["source_row"] for a in shown], _once(lines),
            [in_words(a["fate"]) for a in shown if a["fate"] != "used"], len(own),
        ]  # fmt: skip
    columns = {
        name: [row[name] for row in rows] for name in ("item", "label", "runner_up", "votes")
    }
    classes: dict[str, list[str]] = defaultdict(list)
    for row in sorted(contents.tables["prevalence"].to_pylist(), key=lambda r: r["label_order"]):
        classes[row["task"]].append(row["label"])
    anchors = judge_anchors(contents)
    names = without_shared_folder([name or "" for name, _ in files])
    data = {
        "columns": columns | {
            "task": [tasks[row["task"]] for row in rows],
            "probability": [_short(row["probability"], 3) for row in rows],
            "reasons": [row["reasons"] for row in rows],
            "text": [(row["text"] or "")[:MOST_TEXT] for row in rows],
        },
        "answered": {number: own for number, own in answered.items() if own[0]},
        "tasks": [*tasks],
        "judges": [[judge, anchors[judge]] if judge in anchors else judge for judge in judges],
        "files": [[name, *file] for name, file in zip(names, files, strict=True)],
        "answers": [*texts], "classes": [classes[task] for task in tasks],
    }  # fmt: skip
    return deflated(json.dumps(data, separators=(",", ":")))


class _Numbers(dict[Any, int]):
    """Numbers names in the order in which they are asked for."""

    def __missing__(self, name: Any) -> int:
        return self.setdefault(name, len(self))


def _once(values: Sequence[Any]) -> Any:
    """Return what all values are, else the values."""
    return values[0] if values and all(value == values[0] for value in values) else values


def _short(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
