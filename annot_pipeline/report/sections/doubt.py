"""Items to doubt: all of them as data that the page's script lists, opens and decides on."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from annot_pipeline.report.contents import Contents, Document
from annot_pipeline.report.render import in_words, json_script
from annot_pipeline.report.sections.judges import judge_anchors
from annot_pipeline.report.sections.records import without_shared_folder

MOST_LABELS, MOST_OTHERS = 1_000, 100
"""Labels that are read; items of each other kind."""
MOST_BYTES = 60_000
"""Of the items in the page; the others are in the tables, and in annot items."""
MOST_ROWS = 25
"""Rows that stand in the page without its script."""
MOST_TEXT, MOST_ANSWERS = 300, 50
"""Characters of an item's text, and answers to it."""
NAMES = {"label": "", "score": "scores", "preference": "preferences", "rank": "ranks"}


def doubt(contents: Contents) -> dict[str, Any]:
    """Return the items as compact JSON, the first as rows, and how many there are."""
    rows = contents.tables["doubtful_items"].to_pylist()
    if not rows:
        return {}
    data, n = _data(contents, _in_turn(rows))
    labels = contents.labelled_in_all
    return {
        "campaign": contents.campaign,
        "rows": [
            (item[1], data["tasks"][item[0]], item[2] or "", item[3], item[5])
            for item in data["items"][:MOST_ROWS]
        ],
        "data": json_script(data),
        "n_uncertain": labels.n - labels.certain - labels.decided,
        "n_labels": labels.n,
        "n_listed": n,
        "kinds": sorted({NAMES[row["kind"]] for row in rows} - {""}),
    }


def _in_turn(rows: Iterable[Document]) -> Iterator[Document]:
    """Yield all labels, then other items, the most doubtful of each kind in turn."""
    by_kind: dict[str, list[Document]] = defaultdict(list)
    for row in rows:
        by_kind[row["kind"]].append(row)
    yield from by_kind.pop("label", [])
    for rank in range(max(map(len, by_kind.values()), default=0)):
        yield from (own[rank] for own in by_kind.values() if rank < len(own))


def _data(contents: Contents, rows: Iterable[Document]) -> tuple[dict[str, Any], int]:
    """Return lists of names, and items whose answers refer to them, within `MOST_BYTES`.

    Of answers stand judges, texts, evidence, files, rows, and what line numbers are beyond these: a
    list each, or one value that is that of all; then the fates of the last, which do not count.
    """
    answers: dict[tuple[str, str], list[Document]] = defaultdict(list)
    for answer in contents.tables["doubtful_answers"].to_pylist():
        answers[answer["task"], answer["item"]].append(answer)
    tasks, judges, files, texts = _Numbers(), _Numbers(), _Numbers(), _Numbers()
    items, size = [], 0
    for row in rows:
        own = answers[row["task"], row["item"]]
        shown = own[:MOST_ANSWERS]
        lines = [a["line"] - a["source_row"] if a.get("line") else None for a in shown]
        entry = [
            tasks[row["task"]], row["item"], row["label"], _short(row["probability"], 3),
            row["runner_up"], row["reasons"], (row["text"] or "")[:MOST_TEXT],
            [judges[a["judge"]] for a in shown], [texts[a["answer"][:MOST_TEXT]] for a in shown],
            _once([_short(a["evidence"], 1) for a in shown]),
            _once([files[a["source_file"]] for a in shown]), [a["source_row"] for a in shown],
            _once(lines), [in_words(a["fate"]) for a in shown if a["fate"] != "used"],
            *([] if len(own) <= MOST_ANSWERS else [len(own)]),
        ]  # fmt: skip
        size += len(json.dumps(entry, separators=(",", ":")))
        if size > MOST_BYTES:
            break
        items.append(entry)
    classes: dict[str, list[str]] = defaultdict(list)
    for row in sorted(contents.tables["prevalence"].to_pylist(), key=lambda r: r["label_order"]):
        classes[row["task"]].append(row["label"])
    anchors = judge_anchors(contents)
    return {
        "tasks": [*tasks],
        "judges": [[judge, anchors[judge]] if judge in anchors else judge for judge in judges],
        "files": without_shared_folder([*files]), "answers": [*texts],
        "classes": [classes[task] for task in tasks], "items": items,
    }, len(items)  # fmt: skip


class _Numbers(dict[str, int]):
    """Numbers names in the order in which they are asked for."""

    def __missing__(self, name: str) -> int:
        return self.setdefault(name, len(self))


def _once(values: Sequence[Any]) -> Any:
    """Return what all values are, else the values."""
    return values[0] if values and all(value == values[0] for value in values) else values


def _short(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
