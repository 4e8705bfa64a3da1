"""Who is a person and who a model, and whose judgments each task uses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal

import pyarrow as pa

from annot_pipeline.config.judges import Judges, entry_for, plain_name, prompt_hash, versioned_name
from annot_pipeline.contracts import REAL, TEXT

UsedJudges = Literal["all", "human", "model"]
RECORDED = ("version", "prompt_hash", "temperature")
"""What records may say of a model, as a part of its name."""
ANSWERS = ("labels", "scores", "preferences", "ranks")

JUDGE_KINDS = pa.schema(
    [
        ("judge", TEXT), ("judge_id", TEXT), ("kind", TEXT), ("model", TEXT), ("family", TEXT),
        ("version", TEXT), ("prompt_hash", TEXT), ("temperature", REAL),
    ]
)  # fmt: skip


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
