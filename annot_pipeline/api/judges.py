"""Judges, and how far they agree, as releases publish it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annot_pipeline.api.frame_build import build_frame
from annot_pipeline.api.frames import AnyFrame, Frame, column_names, materialize
from annot_pipeline.api.results import Result
from annot_pipeline.api.roles import ITEM_BY_ITEM, call_for, item_columns, read_roles
from annot_pipeline.errors import ConfigError, Problem

STATISTIC_COLUMNS = "statistic value ci_low ci_high n_items n_judges reason"
ANSWERS = {"label": "categorical", "score": "scalar"}


def agreement(
    frame: AnyFrame,
    *,
    item: str = "item",
    judge: str = "judge",
    label: str = "label",
    score: str = "score",
    task: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Result:
    """Measure how far judges agree on labels or scores.

    Parameters
    ----------
    frame
        One row per judgment, with a column of labels or of scores: pandas, polars or Arrow.
        Columns named as fields of campaign.yaml count, such as task and submitted_at; document is
        refused, for intervals take items to be independent.
    item, judge, label, score
        Its columns. With segment and system, the frame needs no item.
    task
        Settings of the task, as under ``tasks`` in campaign.yaml: ``{"repeats": "last"}``.
    settings
        Settings by their top-level keys in campaign.yaml, as ``{"agreement": {"bootstrap": 0}}``.

    Raises
    ------
    ConfigError
        A column is missing, there twice or of no use, or a setting is wrong.
    InputError
        No row can be used, with the reasons.
    """
    read, kind = _read("agreement", frame, item, judge, label, score)
    gold = build_frame(read, ("agreement",), kind=kind, task=task, settings=settings)
    rows = gold.table("agreement").to_pylist()
    figures = {(row["task"], row["statistic"]): row["value"] for row in rows}
    if len({row["task"] for row in rows}) == 1:
        figures |= {row["statistic"]: row["value"] for row in rows}
    statistics = gold.restore("agreement", STATISTIC_COLUMNS)
    summary = f"{len(rows):,} statistics"
    return gold.result("statistics", summary, figures=figures, statistics=statistics)


def judges(
    frame: AnyFrame,
    *,
    item: str = "item",
    judge: str = "judge",
    label: str = "label",
    score: str = "score",
    task: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Result:
    """Describe judges of labels or scores, and test them where the frame holds controls.

    The bias of scores has a 95% interval, ``bias_low`` to ``bias_high``: a t interval of the mean
    difference from the other judges on the same items, which are taken as independent. It is about
    these others, whose own bias it does not contain; intervals of judges who share items are not
    independent of each other.

    Parameters
    ----------
    frame
        One row per judgment, with a column of labels or of scores: pandas, polars or Arrow.
        Columns named as fields of campaign.yaml count, such as task, control, truth and seconds.
    item, judge, label, score
        Its columns. With segment and system, the frame needs no item.
    task
        Settings of the task, as under ``tasks`` in campaign.yaml: ``{"repeats": "last"}``.
    settings
        Settings by their top-level keys in campaign.yaml, as ``{"quality": {"test": "welch"}}``.

    Raises
    ------
    ConfigError
        A column is missing, there twice or of no use, or a setting is wrong.
    InputError
        No row can be used, with the reasons.
    """
    read, kind = _read("judges", frame, item, judge, label, score)
    names = ("judges", "judgments") if kind == "scalar" else ("judges",)
    gold = build_frame(read, names, kind=kind, task=task, settings=settings)
    table = gold.table("judges")
    columns = [
        name for name in table.schema.names
        if name not in ("task", "judge", "kind") and table[name].null_count < table.num_rows
    ]  # fmt: skip
    rows = gold.restore("judges", " ".join(["judge", *columns]), order="judge")
    return gold.result("judges", f"{table.num_rows:,} judges", judges=rows)


def _read(
    function: str, frame: AnyFrame, item: str, judge: str, label: str, score: str
) -> tuple[Frame, str]:
    """Return the columns that are used, and the kind of task."""
    frame = materialize(frame)
    columns = item_columns(frame, item) | {"judge": judge}
    answer = _answer(function, frame, columns, {"label": label, "score": score})
    columns[answer] = {"label": label, "score": score}[answer]
    unused = ITEM_BY_ITEM if answer == "label" else {"document": ITEM_BY_ITEM["document"]}
    return read_roles(function, frame, columns, unused), ANSWERS[answer]


def _answer(
    function: str, frame: AnyFrame, columns: Mapping[str, str], answers: Mapping[str, str]
) -> str:
    """Return whether the frame holds labels or scores.

    Raises
    ------
    ConfigError
        It holds both, or neither.
    """
    names = column_names(frame)
    present = [role for role, name in answers.items() if name in names]
    if len(present) == 1:
        return present[0]
    written = " and ".join(f'"{name}"' for name in answers.values())
    if present:
        problem = Problem("frame", f"has the columns {written}", do="select one of them")
    else:
        roles = ("score", "label") if {"segment", "system"} & {*names} else ("label", "score")
        calls = (call_for(function, frame, {**columns, role: answers[role]}) for role in roles)
        call = next(filter(None, calls), "")
        do = "name it with label= or score=" + (f", as {call}" if call else "")
        problem = Problem("frame", f"has neither of the columns {written}", do=do)
    raise ConfigError("labels or scores?", [problem])
