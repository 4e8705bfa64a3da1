"""What is known of each task: kind, classes, scale."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence

import pyarrow as pa

from annot_pipeline.config import TaskSettings
from annot_pipeline.contracts.task_table import TASKS

ASSUMED_SCALES = ((0.0, 1.0), (0.0, 100.0))
"""Scales that scores can tell where none is declared; for EASL alone, and said by a gate."""


def _assumed(lowest: float, highest: float) -> tuple[float, float] | None:
    """Return the scale that scores suggest: 0 to 1, or 0 to 100 if one is above 10."""
    for low, high in ASSUMED_SCALES:
        if low <= lowest and high / 10 < highest <= high:
            return low, high
    return None


def unused_settings(tasks: pa.Table, settings: Sequence[TaskSettings]) -> list[str]:
    """Return patterns that are the first match of no task."""
    names = tasks["task"].to_pylist()
    used = {
        next((n for n, s in enumerate(settings) if fnmatch.fnmatchcase(task, s.name)), None)
        for task in names
    }
    return [s.name for n, s in enumerate(settings) if n not in used]


def resolve_tasks(
    names: pa.Table, settings: Sequence[TaskSettings], used_judges: Mapping[str, str]
) -> tuple[pa.Table, list[str]]:
    """Resolve each task by the first pattern that matches, else by its answers.

    Parameters
    ----------
    names
        By task and judge, how many answers of each sort records hold.
    settings
        Of tasks.
    used_judges
        By task, whose judgments are used: of all, of people (human), or of models (model).

    Returns
    -------
    tasks, ambiguous
        `TASKS`, and the tasks whose kind was guessed between several.
    """
    answers: dict[str, dict[str, int]] = {}
    ends: dict[str, list[float]] = {}
    for row in names.to_pylist():
        if row["task"] is not None:
            sums = answers.setdefault(row["task"], {})
            for kind in ("labels", "scores", "preferences", "rankings", "ranks", "votes"):
                sums[kind] = sums.get(kind, 0) + row[kind]
            ends.setdefault(row["task"], []).extend(
                row[end] for end in ("lowest", "highest") if row[end] is not None
            )
    rows, ambiguous = [], []
    for task in sorted(answers):
        declared = next((s for s in settings if fnmatch.fnmatchcase(task, s.name)), None)
        kinds = _kinds_by_answers(answers[task])
        declared_kind = declared.kind if declared else None
        if declared_kind is None and len(kinds) > 1:
            ambiguous.append(f"{task} ({' or '.join(kinds)})")
        kind = declared_kind or (kinds[0] if kinds else "categorical")
        scale = declared.scale if declared else None
        assumed = None
        if kind == "scalar" and not scale and ends[task]:
            assumed = _assumed(min(ends[task]), max(ends[task]))
        rows.append(
            {
                "task": task,
                "kind": kind,
                "guessed": declared_kind is None,
                "by_votes": kind == "categorical" and answers[task]["votes"] > 0,
                "labels": list(declared.labels) if declared and declared.labels else None,
                "ordinal": bool(declared and declared.ordinal),
                "scale_low": scale[0] if scale else None,
                "scale_high": scale[1] if scale else None,
                "assumed_low": assumed[0] if assumed else None,
                "assumed_high": assumed[1] if assumed else None,
                "criteria": [
                    {"criterion": name, "reverse": criterion.reverse, "quality": criterion.quality}
                    for name, criterion in (declared.criteria if declared else {}).items()
                ],
                "references": list(declared.references) if declared else [],
                "adequacy_task": declared.adequacy.task if declared and declared.adequacy else None,
                "adequate": list(declared.adequacy.adequate)
                if declared and declared.adequacy
                else [],
                "repeats": declared.repeats if declared else None,
                "reconcile": declared.reconcile if declared else None,
                "used_judges": used_judges[task],
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
