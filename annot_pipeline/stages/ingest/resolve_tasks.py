"""Resolves the kind, classes and scale of each task, and the kind of each judge."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa

from annot_pipeline.config import TaskSettings
from annot_pipeline.config.judges import Judges, entry_for, plain_name, prompt_hash, versioned_name
from annot_pipeline.contracts import REAL, TEXT
from annot_pipeline.contracts.task_table import TASKS

UsedJudges = Literal["all", "human", "model"]
RECORDED = ("version", "prompt_hash", "temperature")
"""What records may say of a model, as a part of its name."""
ANSWERS = ("labels", "scores", "preferences", "ranks")

JUDGE_KINDS = pa.schema(
    [(name, TEXT) for name in ("judge", "judge_id", "kind", "model", "family", "version")]
    + [("prompt_hash", TEXT), ("temperature", REAL)]
)


def judge_kinds(names: pa.Table, judges: Judges, pseudonym_of: Callable[[str], str]) -> pa.Table:
    """Return one row per judge: the published name, and what campaign and exports say of it.

    Names of models are published as they are, with version, prompt and temperature.

    Parameters
    ----------
    names
        ``task``, ``judge``, ``version``, ``prompt_hash`` and ``temperature``, as records have
        them; a judge has one of each.
    judges
        What the campaign declares; ``kind`` is null where it declares no judge.
    pseudonym_of
        Returns the published name of a person.
    """
    rows_by_judge = {row["judge"]: row for row in names.to_pylist() if row["judge"] is not None}
    rows = []
    taken = set(rows_by_judge)
    for name in sorted(rows_by_judge):
        entry = entry_for(name, judges.declared)
        kind = None if not judges.declared else "human" if entry is None else entry.kind
        row = {"judge": name, "judge_id": pseudonym_of(name), "kind": kind}
        if kind == "model" and entry is not None:
            row |= _model(name, rows_by_judge[name], entry.model_dump(), taken)
            taken.add(row["judge_id"])
        elif entry is not None:
            row["family"] = entry.family
        rows.append(row)
    return pa.Table.from_pylist(rows, JUDGE_KINDS)


def _model(
    name: str, recorded: Mapping[str, Any], declared: Mapping[str, Any], taken: Collection[str]
) -> dict[str, Any]:
    """Return what is known of a model; what its records say wins over what is declared."""
    version = recorded["version"] or declared["version"]
    prompt = recorded["prompt_hash"] or prompt_hash(declared["prompt"])
    temperature = recorded["temperature"]
    if temperature is None:
        temperature = declared["temperature"]
    is_versioned = any(recorded[part] is not None for part in RECORDED)
    plain = plain_name(name) if is_versioned else name
    text = None if temperature is None else f"{temperature:g}"
    public = versioned_name(plain, version, prompt, text)
    return {
        "judge_id": name if public in taken else public,
        "model": plain_name(plain), "family": declared["family"], "version": version,
        "prompt_hash": prompt, "temperature": temperature,
    }  # fmt: skip


def used_judges(names: pa.Table, kinds: pa.Table, judges: Judges) -> dict[str, UsedJudges]:
    """Return by task whose judgments are used.

    Parameters
    ----------
    names
        By task and judge, how many answers of each sort records hold.
    kinds
        As `judge_kinds` gives them.
    judges
        The campaign's ``use``; by default people's in tasks that people judged, else models'.
    """
    if judges.use == "all" or not judges.has_models:
        return dict.fromkeys(filter(None, names["task"].to_pylist()), "all")
    if judges.use is not None:
        used: UsedJudges = "human" if judges.use == "humans" else "model"
        return dict.fromkeys(filter(None, names["task"].to_pylist()), used)
    kind_of = dict(zip(kinds["judge"].to_pylist(), kinds["kind"].to_pylist(), strict=True))
    has_people: dict[str, bool] = {}
    for row in names.to_pylist():
        if row["task"] is not None:
            is_human = kind_of.get(row["judge"]) == "human" and any(row[name] for name in ANSWERS)
            has_people[row["task"]] = has_people.get(row["task"], False) or is_human
    return {task: "human" if people else "model" for task, people in has_people.items()}


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
        matching = (s for s in settings if fnmatch.fnmatchcase(task, s.name))
        declared = next(matching, TaskSettings(name=task))
        kinds, adequacy = _kinds_by_answers(answers[task]), declared.adequacy
        if declared.kind is None and len(kinds) > 1:
            ambiguous.append(f"{task} ({' or '.join(kinds)})")
        kind = declared.kind or (kinds[0] if kinds else "categorical")
        scale, assumed = declared.scale, None
        if kind == "scalar" and not scale and ends[task]:
            assumed = _assumed(min(ends[task]), max(ends[task]))
        rows.append(
            {
                "task": task,
                "kind": kind,
                "guessed": declared.kind is None,
                "by_votes": kind == "categorical" and answers[task]["votes"] > 0,
                "labels": list(declared.labels) if declared.labels else None,
                "ordinal": declared.ordinal,
                "scale_low": scale[0] if scale else None,
                "scale_high": scale[1] if scale else None,
                "assumed_low": assumed[0] if assumed else None,
                "assumed_high": assumed[1] if assumed else None,
                "criteria": [
                    {"criterion": name, "reverse": criterion.reverse, "quality": criterion.quality}
                    for name, criterion in declared.criteria.items()
                ],
                "references": list(declared.references),
                "adequacy_task": adequacy.task if adequacy else None,
                "adequate": list(adequacy.adequate) if adequacy else [],
                "repeats": declared.repeats,
                "reconcile": declared.reconcile,
                "used_judges": used_judges[task],
            }
        )
    return pa.Table.from_pylist(rows, TASKS), ambiguous


def _kinds_by_answers(answers: Mapping[str, int]) -> list[str]:
    n_by_kind = {
        "categorical": answers["labels"],
        "pairwise": answers["preferences"],
        "ranking": answers["rankings"] and answers["ranks"],
        "scalar": answers["scores"],
    }
    return [kind for kind, n in n_by_kind.items() if n]
