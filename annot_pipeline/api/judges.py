"""Judges, and how far they agree, as releases publish it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annot_pipeline.api.frame_build import FrameTables, build_frame
from annot_pipeline.api.frames import AnyFrame, Frame, column_names, materialize
from annot_pipeline.api.results import Result, new_axes
from annot_pipeline.api.roles import (
    ITEM_BY_ITEM,
    call_for,
    check_columns,
    item_columns,
    optional_columns,
)
from annot_pipeline.errors import ConfigError, Problem

STATISTIC_COLUMNS = (
    "statistic", "value", "ci_low", "ci_high", "n_items", "n_judges", "reason",
)  # fmt: skip
ANSWERS = {"label": "categorical", "score": "scalar"}


@dataclass(frozen=True, eq=False, repr=False)
class AgreementResult(Result):
    """How far judges agree.

    Parameters
    ----------
    statistics
        One row per statistic: value, 95% interval, items and judges that it rests on; null with a
        ``reason`` where it is undefined.
    excluded
        Rows that do not count: ``row`` (from 0), ``fate``, ``reason``.
    gold
        The gold tables behind it.
    """

    statistics: AnyFrame
    excluded: AnyFrame
    gold: FrameTables

    def __getitem__(self, statistic: str | tuple[str, str]) -> float | None:
        """Return the value of a statistic, as ``result["alpha_nominal"]``; None if undefined.

        Of several tasks, ``result["task", "alpha_nominal"]``.
        """
        rows = self._rows()
        values: dict[str | tuple[str, str], float | None]
        values = {(row["task"], row["statistic"]): row["value"] for row in rows}
        if len({row["task"] for row in rows}) == 1:
            values |= {row["statistic"]: row["value"] for row in rows}
        if statistic not in values:
            names = (name if isinstance(name, str) else ", ".join(name) for name in values)
            raise KeyError(f"{statistic}; there are {'; '.join(names)}")
        return values[statistic]

    def plot(self, axes: Any = None) -> Any:
        """Draw statistics that have an interval, and return the axes of matplotlib."""
        axes = new_axes(axes)
        rows = [row for row in self._rows() if row["ci_low"] is not None]
        for y, row in enumerate(rows):
            axes.plot([row["ci_low"], row["ci_high"]], [y, y], color="0.5")
            axes.plot(row["value"], y, "o", color="C0")
        axes.set_yticks(range(len(rows)), [row["statistic"] for row in rows])
        axes.invert_yaxis()
        return axes

    def _rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.gold.table("agreement").to_pylist()
        return rows

    def _main_table(self) -> tuple[str, AnyFrame]:
        return "statistics", self.statistics

    def _summary(self) -> str:
        return f"{len(self._rows()):,} statistics"


@dataclass(frozen=True, eq=False, repr=False)
class JudgeResult(Result):
    """What each judge is like.

    Parameters
    ----------
    judges
        One row per judge: judgments, verdict of judge control, and of labels accuracy under the
        label model, of scores mean, spread and bias.
    excluded
        Rows that do not count: ``row`` (from 0), ``fate``, ``reason``.
    gold
        The gold tables behind it.
    """

    judges: AnyFrame
    excluded: AnyFrame
    gold: FrameTables

    def plot(self, axes: Any = None) -> Any:
        """Draw judgments against accuracy (labels) or bias (scores); return matplotlib's axes."""
        axes = new_axes(axes)
        table = self.gold.table("judges")
        column = "bias" if table["accuracy"].null_count == table.num_rows else "accuracy"
        axes.scatter(table["n_judgments"].to_pylist(), table[column].to_pylist())
        axes.set_xlabel("judgments")
        axes.set_ylabel(column)
        return axes

    def _main_table(self) -> tuple[str, AnyFrame]:
        return "judges", self.judges

    def _summary(self) -> str:
        return f"{self.gold.table('judges').num_rows:,} judges"


def agreement(
    frame: AnyFrame,
    *,
    item: str = "item",
    judge: str = "judge",
    label: str = "label",
    score: str = "score",
    task: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> AgreementResult:
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
    columns = read.part_of("task") | dict.fromkeys(STATISTIC_COLUMNS)
    return AgreementResult(gold.restore("agreement", columns), gold.excluded, gold)


def judges(
    frame: AnyFrame,
    *,
    item: str = "item",
    judge: str = "judge",
    label: str = "label",
    score: str = "score",
    task: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> JudgeResult:
    """Describe judges of labels or scores, and test them where the frame holds controls.

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
    gold = build_frame(read, ("judges",), kind=kind, task=task, settings=settings)
    table = gold.table("judges")
    mapping = read.part_of("task") | {"judge": "judge"}
    for name in table.schema.names:
        if name not in ("task", "judge", "kind") and table[name].null_count < table.num_rows:
            mapping[name] = None
    return JudgeResult(
        gold.restore("judges", mapping, order=(*read.part_of("task"), "judge")), gold.excluded, gold
    )


def _read(
    function: str, frame: AnyFrame, item: str, judge: str, label: str, score: str
) -> tuple[Frame, str]:
    """Return the columns that are used, and the kind of task."""
    frame = materialize(frame)
    columns = item_columns(frame, item) | {"judge": judge}
    answer = _answer(function, frame, columns, {"label": label, "score": score})
    columns[answer] = {"label": label, "score": score}[answer]
    check_columns(function, frame, columns)
    unused = ITEM_BY_ITEM if answer == "label" else {"document": ITEM_BY_ITEM["document"]}
    return Frame.read(frame, optional_columns(frame, columns, unused)), ANSWERS[answer]


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
        calls = [
            call_for(function, frame, {**columns, role: name}) for role, name in answers.items()
        ]
        if any(f'_name="{role}"' in calls[0] for role in ("segment", "system")):
            calls.reverse()  # cells of systems in columns are scores
        call = next(filter(None, calls), "")
        do = "name it with label= or score=" + (f", as {call}" if call else "")
        if ".melt(" in call or ".unpivot(" in call:
            do = f"reshape it: {call}"
        problem = Problem("frame", f"has neither of the columns {written}", do=do)
    raise ConfigError("labels or scores?", [problem])
