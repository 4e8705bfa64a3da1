"""Columns by the roles that they name: those that a function uses, and those that it refuses.

A column that is named as a field of campaign.yaml means something. If a function cannot take it
into account, it says so: a ranking that ignores documents has intervals that are too short.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from annot_pipeline.api import frames
from annot_pipeline.config.sources import CANONICAL_FIELDS, NOT_OF_ONE_TEXT
from annot_pipeline.errors import ConfigError, Problem

ANSWERS = NOT_OF_ONE_TEXT | {"label", "score", "votes"}
"""Fields that are answers, or of one kind of answer only."""
PAIRS = ("item_a", "item_b", "system_a", "system_b")
UNUSED: Mapping[str, str] = {
    "votes": "counts answers of judges without names, which builds of a campaign read",
    "reward": "costs are the business of builds",
    "selection_probability": "it weighs estimates of how good models are, which builds make",
}
"""Fields that no function uses, with the reason."""
SEVERAL_CRITERIA = "on several criteria would count as one"
"""The reason of a column that would do as the column of tasks."""
ITEM_BY_ITEM: Mapping[str, str] = {
    "document": "items are taken to be independent, also those of one document",
    "criterion": f"answers {SEVERAL_CRITERIA}",
}
"""Fields that functions of labels do not use, with the reason."""

SYNONYMS: Mapping[str, Collection[str]] = {
    "item": ("task", "question", "example", "instance", "unit", "text"),
    "judge": ("worker", "annotator", "rater", "user", "performer", "coder", "labeler"),
    "label": ("answer", "response", "category", "class", "annotation"),
    "score": ("rating", "points", "value", "grade"),
    "system": ("model", "engine"),
    "segment": ("document", "prompt", "question", "task", "source"),
    "system_a": ("left", "model_a", "a"),
    "system_b": ("right", "model_b", "b"),
    "preference": ("winner", "label", "vote", "choice"),
}
"""Names that other tools have for a role, such as crowd-kit's task and worker."""


def read_roles(
    function: str,
    data: frames.AnyFrame,
    columns: Mapping[str, str],
    unused: Mapping[str, str],
    named: Mapping[str, str | None] | None = None,
) -> frames.Frame:
    """Return the column of each role that is used, those that are optional where the frame has it.

    Parameters
    ----------
    function
        Its name, as ``infer_labels``.
    data
        What `materialize` returned.
    columns
        Column of each role that is required.
    unused
        Roles that are not used, with the reason; besides `UNUSED`, and answers not required.
    named
        Columns that the caller names for some optional roles; None: the role's own name.

    Raises
    ------
    ConfigError
        A required column is missing, or the frame has a column of a role that is not used.
    InputError
        As of `Frame.read`.
    """
    _check_columns(function, data, columns)
    chosen = {role: name for role, name in (named or {}).items() if name is not None}
    columns_used = dict(columns) | chosen
    names = frames.column_names(data)
    rest = [
        role for role in CANONICAL_FIELDS
        if role in names and role not in columns_used and role not in columns_used.values()
        and frames.has_values(data, role)
    ]  # fmt: skip
    reasons = dict.fromkeys(ANSWERS, "is another kind of answer") | dict(UNUSED) | dict(unused)
    refuse_columns(data, {role: reasons[role] for role in rest if role in reasons})
    return frames.Frame.read(data, columns_used | {role: role for role in rest})


def item_columns(data: frames.AnyFrame, item: str) -> dict[str, str]:
    """Return the column of items; none where segment and system say which item it is."""
    names = frames.column_names(data)
    return {"item": item} if item in names or not {"segment", "system"} <= {*names} else {}


def refuse_columns(data: frames.AnyFrame, reasons: Mapping[str, str]) -> None:
    """Refuse columns that are not used, each with its reason.

    Raises
    ------
    ConfigError
        There is one.
    """
    problems = []
    for name, why in reasons.items():
        do = "drop it, if the result shall not depend on it"
        if why.endswith(SEVERAL_CRITERIA) and "task" not in frames.column_names(data):
            do = f"rename it to task, which makes each criterion a task; or {do}"
        problems.append(Problem(f'column "{name}"', f"is not used: {why}", do=do))
    if problems:
        raise ConfigError("the frame has columns that would be ignored", problems)


def _check_columns(function: str, data: frames.AnyFrame, columns: Mapping[str, str]) -> None:
    """Make sure that columns are there, or say how the frame becomes what the function takes.

    Raises
    ------
    ConfigError
        A column is missing.
    """
    names = [name for name in frames.column_names(data) if isinstance(name, str)]
    missing = [role for role, name in columns.items() if name not in names]
    if not missing or not all(isinstance(name, str) for name in columns.values()):
        return  # `Frame.read` says what is wrong with the rest
    advice = call_for(function, data, columns)
    problems = []
    for role in missing:
        likely = _likely(role, columns[role], [n for n in names if n not in columns.values()])
        do = advice if role == missing[0] else f'did you mean "{likely}"?' if likely else ""
        problems.append(frames.column_problem(frames.column_names(data), role, columns[role], do))
    raise ConfigError("the frame cannot be read", list(filter(None, problems)))


def has_likely(data: frames.AnyFrame, columns: Mapping[str, str]) -> bool:
    """Return whether the frame has a column for each role, by its name or a likely one."""
    return len({*_column_by_role(data, columns).values()}) == len(columns)


def call_for(function: str, data: frames.AnyFrame, columns: Mapping[str, str]) -> str:
    """Return the call that reads a frame whose columns have other names, or are one role's cells.

    Empty where neither is likely. Columns named as roles stay beside the cells of a wide frame.
    """
    column_by_role = _column_by_role(data, columns)
    missing = {role for role in columns if role not in column_by_role}
    if not missing:
        return f"annot.{function}(frame{_arguments(column_by_role)})"
    names = frames.column_names(data)
    levels = [name for name in data.index.names if name] if frames.kind_of(data) == "pandas" else []
    roles_named = (name for name in names if name in CANONICAL_FIELDS)
    keep = list(dict.fromkeys((*column_by_role.values(), *levels, *roles_named)))
    answer = next((role for role in ("label", "score") if role in missing), None)
    if answer is None or len(missing) != 2 or len(names) - len(keep) < 2:
        return ""
    [role] = missing - {answer}
    if role == "item" and "segment" in keep:
        role = "system"  # an item is a system's output for a segment
    if frames.kind_of(data) == "polars":
        cells = f'variable_name="{role}", value_name="{answer}"'
        reshaped = f"frame.unpivot(index={json.dumps(keep, ensure_ascii=False)}, {cells})"
    else:
        frame = "frame.to_pandas()" if frames.kind_of(data) == "arrow" else "frame"
        frame += ".reset_index()" if levels else ""
        cells = f'var_name="{role}", value_name="{answer}"'
        reshaped = f"{frame}.melt(id_vars={json.dumps(keep, ensure_ascii=False)}, {cells})"
    return f"annot.{function}({reshaped}{_arguments(column_by_role)})"


def _column_by_role(data: frames.AnyFrame, columns: Mapping[str, str]) -> dict[str, str]:
    """Return the column of each role, or the one that is likely meant; no column twice."""
    names = [name for name in frames.column_names(data) if isinstance(name, str)]
    column_by_role = {role: name for role, name in columns.items() if name in names}
    for role, name in columns.items():
        free = [one for one in names if one not in column_by_role.values()]
        if role not in column_by_role and (likely := _likely(role, name, free)):
            column_by_role[role] = likely
    return column_by_role


def _arguments(columns: Mapping[str, str]) -> str:
    return "".join(f', {role}="{name}"' for role, name in columns.items() if role != name)


def _likely(role: str, name: Any, names: Iterable[str]) -> str | None:
    """Return the column that is likely meant: by another tool's name for it, or a misspelt one."""
    plain = {one.casefold().removesuffix("id").rstrip("_ "): one for one in reversed([*names])}
    for synonym in (role, *SYNONYMS.get(role, ())):
        if synonym in plain:
            return plain[synonym]
    return next(iter(difflib.get_close_matches(str(name), plain.values(), 1)), None)
