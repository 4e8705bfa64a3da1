"""What is known of each task: kind, classes, scale."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from annot_pipeline.config import TaskSettings
from annot_pipeline.contracts import REAL, TEXT

Floats = npt.NDArray[np.float64]

CRITERION = pa.struct([("criterion", TEXT), ("reverse", pa.bool_()), ("quality", pa.bool_())])

TASKS = pa.schema(
    [
        ("task", TEXT),
        ("kind", TEXT),
        ("guessed", pa.bool_()),
        ("labels", pa.list_(TEXT)),
        ("ordinal", pa.bool_()),
        ("scale_low", REAL),
        ("scale_high", REAL),
        ("criteria", pa.list_(CRITERION)),
    ]
)


def scales(names: Sequence[str], tasks: pa.Table) -> tuple[Floats, Floats]:
    """Lowest and highest score of each named task; NaN where it declares no scale."""
    known = {row["task"]: row for row in tasks.to_pylist()}
    low, high = (
        np.array([known[name][end] for name in names], dtype=np.float64)  # None is NaN
        for end in ("scale_low", "scale_high")
    )
    return low, high


def unused_settings(tasks: pa.Table, settings: Sequence[TaskSettings]) -> list[str]:
    """Patterns that are the first match of no task."""
    names = tasks["task"].to_pylist()
    used = {
        next((n for n, s in enumerate(settings) if fnmatch.fnmatchcase(task, s.name)), None)
        for task in names
    }
    return [s.name for n, s in enumerate(settings) if n not in used]


def resolve_tasks(names: pa.Table, settings: Sequence[TaskSettings]) -> tuple[pa.Table, list[str]]:
    """What is known of each task: from the first pattern that matches, else from its answers."""
    answers: dict[str, dict[str, int]] = {}
    for row in names.to_pylist():
        if row["task"] is not None:
            sums = answers.setdefault(row["task"], {})
            for kind in ("labels", "scores", "preferences", "rankings", "ranks"):
                sums[kind] = sums.get(kind, 0) + row[kind]
    rows, ambiguous = [], []
    for task in sorted(answers):
        found = next((s for s in settings if fnmatch.fnmatchcase(task, s.name)), None)
        kinds = _kinds_by_answers(answers[task])
        given = found.kind if found else None
        if given is None and len(kinds) > 1:
            ambiguous.append(f"{task} ({' or '.join(kinds)})")
        rows.append(
            {
                "task": task,
                "kind": given or (kinds[0] if kinds else "categorical"),
                "guessed": given is None,
                "labels": list(found.labels) if found and found.labels else None,
                "ordinal": bool(found and found.ordinal),
                "scale_low": found.scale[0] if found and found.scale else None,
                "scale_high": found.scale[1] if found and found.scale else None,
                "criteria": [
                    {"criterion": name, "reverse": criterion.reverse, "quality": criterion.quality}
                    for name, criterion in (found.criteria if found else {}).items()
                ],
            }
        )
    return pa.Table.from_pylist(rows, TASKS), ambiguous


def _kinds_by_answers(answers: Mapping[str, int]) -> list[str]:
    kinds = []
    if answers["labels"]:
        kinds.append("categorical")
    if answers["preferences"]:
        kinds.append("pairwise")
    if answers["rankings"] and answers["ranks"]:
        kinds.append("ranking")
    if answers["scores"]:
        kinds.append("scalar")
    return kinds
