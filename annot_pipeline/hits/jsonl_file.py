"""JSON Lines: a HIT a line, for scripts that ask a language model, and for tools of one's own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from annot_pipeline.exports.hit_bookkeeping import NAME
from annot_pipeline.hits.batch import Platform
from annot_pipeline.hits.plan import TaskPlan


def _write_task(task: TaskPlan, paths: Sequence[Path]) -> list[str]:
    [path] = paths
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for planned in task.hits():
            texts = [*zip(planned.texts, planned.texts_b, strict=True)] if planned.texts_b else None
            line: dict[str, Any] = {NAME: planned.hit.document(), "texts": texts or planned.texts}
            if task.has_sources:
                line["sources"] = planned.sources
            file.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
    return []


JSON_LINES = Platform(
    "jsonl",
    ("hits-{}.jsonl",),
    _write_task,
    "let a script write each line of hits-TASK.jsonl again with judge and scores, or answers "
    "(docs/hits.md has one), and name what it wrote in campaign.yaml: {path: results/*.jsonl, "
    "format: hits}",
)
