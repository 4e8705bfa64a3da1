"""MTurk: a csv with a row a HIT, and the form that it fills."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from annot_pipeline.exports.hit_bookkeeping import NAME
from annot_pipeline.hits.batch import Platform
from annot_pipeline.hits.mturk_layout import USED, mturk_layout
from annot_pipeline.hits.plan import PlannedHit, TaskPlan
from annot_pipeline.hits.spreadsheet_safe import html_cell, json_cell

LARGEST_QUESTION = 65_535
"""Bytes of HTML that MTurk takes for one HIT."""


def _write_task(task: TaskPlan, paths: Sequence[Path]) -> list[str]:
    csv, layout = paths
    html = mturk_layout(task.question, task.n_slots, with_sources=task.has_sources)
    layout.write_text(html, encoding="utf-8", newline="\n")
    names = _names(task)
    form = len(html.encode()) - sum(len(f"${{{name}}}") for name in names)
    too_large: list[str] = []
    with csv.open("w", encoding="utf-8", newline="") as file:
        file.write(_row([NAME, *names]))
        for planned in task.hits():
            cells = _shown(task, planned)
            file.write(_row([json_cell(planned.hit.document()).replace('"', '""'), *cells]))
            if form + sum(len(cell.encode()) for cell in cells) > LARGEST_QUESTION:
                too_large.append(planned.hit.hit)
    if not too_large:
        return []
    return [
        f"{len(too_large):,} HITs (the first is {too_large[0]}) make pages of more than "
        f"{LARGEST_QUESTION:,} bytes, which MTurk refuses; plan smaller HITs"
    ]


def _names(task: TaskPlan) -> list[str]:
    """Return columns beside the bookkeeping: of all slots that the largest HIT has."""
    places = range(1, task.n_slots + 1)
    names = [] if task.question.ask == "score" else [USED]
    names += [f"text_{n}" for n in places]
    names += [f"text_b_{n}" for n in places] if task.question.ask == "compare" else []
    return names + ([f"source_{n}" for n in places] if task.has_sources else [])


def _shown(task: TaskPlan, planned: PlannedHit) -> list[str]:
    """Return their cells; those of slots that the HIT does not have are blank."""
    n_used = len(planned.texts)
    unused = [""] * (task.n_slots - n_used)
    cells = [] if task.question.ask == "score" else [str(n_used)]
    columns = [planned.texts, planned.texts_b] if planned.texts_b else [planned.texts]
    if task.has_sources:
        columns.append(tuple(source or "" for source in planned.sources))
    for texts in columns:
        cells += [*map(html_cell, texts), *unused]
    return cells


def _row(cells: Iterable[str]) -> str:
    return ",".join(f'"{cell}"' for cell in cells) + "\n"


MTURK = Platform(
    "mturk",
    ("hits-{}.csv", "layout-{}.html"),
    _write_task,
    "make an MTurk project from layout-TASK.html, publish a batch with hits-TASK.csv, and name "
    "what MTurk gives back in campaign.yaml: {path: results/*.csv, format: hits}; see docs/hits.md",
)
