"""Columns by the roles that they name: those that a function uses, and those that it refuses.

A column that is named as a field of campaign.yaml means something. If a function cannot take it
into account, it says so: a ranking that ignores documents has intervals that are too short.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from annot_pipeline.api.frames import (
    AnyFrame,
    Frame,
    column_names,
    column_problem,
    has_values,
    kind_of,
)
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
    data: AnyFrame,
    columns: Mapping[str, str],
    unused: Mapping[str, str],
    named: Mapping[str, str | None] | None = None,
) -> Frame:
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
    names = column_names(data)
    rest = [
        role for role in CANONICAL_FIELDS
        if role in names and role not in columns_used and role not in columns_used.values()
        and has_values(data, role)
    ]  # fmt: skip
    reasons = dict.fromkeys(ANSWERS, "is another kind of answer") | dict(UNUSED) | dict(unused)
    refuse_columns(data, {role: reasons[role] for role in rest if role in reasons})
    return Frame.read(data, columns_used | {role: role for role in rest})


def item_columns(data: AnyFrame, item: str) -> dict[str, str]:
    """Return the column of items; none where segment and system say which item it is."""
    names = column_names(data)
    return {"item": item} if item in names or not {"segment", "system"} <= {*names} else {}


def refuse_columns(data: AnyFrame, reasons: Mapping[str, str]) -> None:
    """Refuse columns that are not used, each with its reason.

    Raises
    ------
    ConfigError
        There is one.
    """
    if not reasons:
        return
    written = ", ".join(f'"{name}"' for name in reasons)
    drop = {"pandas": f"columns=[{written}]", "polars": written, "arrow": f"[{written}]"}
    verb = "drop_columns" if kind_of(data) == "arrow" else "drop"
    do = f"frame.{verb}({drop[kind_of(data)]}), if the result shall not depend on it"
    problems = []
    for name, why in reasons.items():
        advice = [do] if name == [*reasons][-1] else []
        if why.endswith(SEVERAL_CRITERIA) and "task" not in column_names(data):
            advice.insert(0, f"{_renamed(data, name, 'task')} makes each criterion a task")
        problems.append(Problem(f'column "{name}"', f"is not used: {why}", do="; or ".join(advice)))
    raise ConfigError("the frame has columns that would be ignored", problems)


def _renamed(data: AnyFrame, name: str, new: str) -> str:
    """Return the expression that renames a column of a frame."""
    if kind_of(data) == "pandas":
        return f'frame.rename(columns={{"{name}": "{new}"}})'
    verb = "rename" if kind_of(data) == "polars" else "rename_columns"
    return f'frame.{verb}({{"{name}": "{new}"}})'


def _check_columns(function: str, data: AnyFrame, columns: Mapping[str, str]) -> None:
    """Make sure that columns are there, or say how the frame becomes what the function takes.

    Raises
    ------
    ConfigError
        A column is missing.
    """
    names = [name for name in column_names(data) if isinstance(name, str)]
    missing = [role for role, name in columns.items() if name not in names]
    if not missing or not all(isinstance(name, str) for name in columns.values()):
        return  # `Frame.read` says what is wrong with the rest
    advice = call_for(function, data, columns)
    if advice and "judge" in missing and _with_one_judge(data) in advice:
        advice = f"if one judge gave all scores: {advice}"
    problems = []
    for role in missing:
        likely = _likely(role, columns[role], [n for n in names if n not in columns.values()])
        do = advice if role == missing[0] else f'did you mean "{likely}"?' if likely else ""
        problems.append(column_problem(column_names(data), role, columns[role], do))
    raise ConfigError("the frame cannot be read", list(filter(None, problems)))


def has_likely(data: AnyFrame, columns: Mapping[str, str]) -> bool:
    """Return whether the frame has a column for each role, by its name or a likely one."""
    return len({*_column_by_role(data, columns).values()}) == len(columns)


def call_for(function: str, data: AnyFrame, columns: Mapping[str, str]) -> str:
    """Return the call that reads a frame whose columns have other names or another shape.

    Empty where neither is likely. Columns named as roles stay beside the cells of a wide frame.
    """
    column_by_role = _column_by_role(data, columns)
    rest = [role for role in columns if role not in column_by_role]
    if not rest:
        return f"annot.{function}(frame{_arguments(column_by_role)})"
    names = column_names(data)
    keep = [column_by_role[role] for role in columns if role in column_by_role]
    keep += [name for name in names if name in CANONICAL_FIELDS and name not in keep]
    answer = next((role for role in ("label", "score") if role in rest), None)
    if answer is None or len([name for name in names if name not in keep]) < 2:
        return ""
    frame = "frame"
    missing = {*rest} - {answer} or _guessed(column_by_role, columns)
    column_by_role = {role: name for role, name in column_by_role.items() if role not in missing}
    if function == "rank" and missing == {"judge", "system"}:
        frame, keep = _with_one_judge(data), [*keep, "judge"]
        missing = {"system"}
    if missing == {"item", "judge"} and "segment" in keep:
        column_by_role["item"] = "segment"
        missing = {"judge"}
    if missing == {"item", "judge"} and kind_of(data) == "pandas":
        id_columns = f"id_vars={_written(keep)}, " if keep else ""
        cells = f'{id_columns}ignore_index=False, var_name="judge", value_name="{answer}"'
        reshaped = f'frame.melt({cells}).reset_index(names="item")'
    elif len(missing) == 1:
        [role] = missing
        reshaped = _melt(data, frame, keep, _variable(role, keep), answer)
    else:
        return ""
    labelled = {role: name for role, name in column_by_role.items() if name != role}
    return f"annot.{function}({reshaped}{_arguments(labelled)})"


def _guessed(column_by_role: Mapping[str, str], columns: Mapping[str, str]) -> set[str]:
    """Return roles whose likely column has a role of its own, as a task that may be an item."""
    return {
        role for role, name in column_by_role.items()
        if name in CANONICAL_FIELDS and name != columns[role]
    }  # fmt: skip


def _variable(role: str, keep: Collection[str]) -> str:
    """Return the role of a wide frame's columns; an item is a system's output for a segment."""
    if role == "item" and "segment" in keep:
        return "system"
    return "segment" if role == "item" and "system" in keep else role


def _with_one_judge(data: AnyFrame) -> str:
    """Return the frame with a column that names one judge for all rows."""
    if kind_of(data) == "polars":
        return 'frame.with_columns(judge=polars.lit("judge"))'
    to_pandas = ".to_pandas()" if kind_of(data) == "arrow" else ""
    return f'frame{to_pandas}.assign(judge="judge")'


def _column_by_role(data: AnyFrame, columns: Mapping[str, str]) -> dict[str, str]:
    """Return the column of each role, or the one that is likely meant; no column twice."""
    names = [name for name in column_names(data) if isinstance(name, str)]
    column_by_role = {role: name for role, name in columns.items() if name in names}
    for role, name in columns.items():
        free = [one for one in names if one not in column_by_role.values()]
        if role not in column_by_role and (likely := _likely(role, name, free)):
            column_by_role[role] = likely
    return column_by_role


def _melt(data: AnyFrame, frame: str, keep: list[str], variable: str, answer: str) -> str:
    """Return the expression that makes one row of each cell; ``frame`` is the wide one."""
    if kind_of(data) == "polars":
        names = f'variable_name="{variable}", value_name="{answer}"'
        return f"{frame}.unpivot(index={_written(keep)}, {names})"
    if kind_of(data) == "arrow" and frame == "frame":
        frame = "frame.to_pandas()"
    if kind_of(data) == "pandas" and {*keep} & {*data.index.names} - {*data.columns}:
        frame = f"{frame}.reset_index()"
        levels = [f"level_{n}" if name is None else name for n, name in enumerate(data.index.names)]
        keep = [*keep, *(name for name in levels if name not in keep)]
    names = f'var_name="{variable}", value_name="{answer}"'
    return f"{frame}.melt(id_vars={_written(keep)}, {names})"


def _written(names: Iterable[Any]) -> str:
    return "[" + ", ".join(f'"{n}"' if isinstance(n, str) else repr(n) for n in names) + "]"


def _arguments(columns: Mapping[str, str]) -> str:
    return "".join(f', {role}="{name}"' for role, name in columns.items() if role != name)


def _likely(role: str, name: Any, names: Iterable[str]) -> str | None:
    """Return the column that is likely meant: by another tool's name for it, or a misspelt one."""
    plain = {one.casefold().removesuffix("id").rstrip("_ "): one for one in reversed([*names])}
    for synonym in (role, *SYNONYMS.get(role, ())):
        if synonym in plain:
            return plain[synonym]
    return next(iter(difflib.get_close_matches(str(name), plain.values(), 1)), None)
