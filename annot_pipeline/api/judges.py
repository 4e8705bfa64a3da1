"""Judges, and how far they agree, as releases publish it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annot_pipeline.api.frame_build import FrameTables, build_frame
from annot_pipeline.api.frames import AnyFrame, Frame, column_names, materialize
from annot_pipeline.api.results import Result, new_axes
from annot_pipeline.errors import ConfigError, Problem

STATISTIC_COLUMNS = (
    "statistic", "value", "ci_low", "ci_high", "n_items", "n_judges", "reason",
)  # fmt: skip
ANSWERS = {"label": "categorical", "score": "scalar"}
OPTIONAL = ("segment", "system", "control", "control_of", "truth", "hit", "seconds")
"""Fields that `judges` reads where the frame has columns of these names."""


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

    def __getitem__(self, statistic: str) -> float | None:
        """Return the value of a statistic, as ``result["alpha_nominal"]``; None if undefined."""
        values: dict[str, float | None] = {row["statistic"]: row["value"] for row in self._rows()}
        if statistic not in values:
            raise KeyError(f"{statistic}; there are {', '.join(values)}")
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
    item, judge, label, score
        Its columns.
    task
        Settings of the task, as under ``tasks`` in campaign.yaml: ``{"repeats": "last"}``.
    settings
        Settings by their top-level keys in campaign.yaml, as ``{"agreement": {"bootstrap": 0}}``.

    Raises
    ------
    ConfigError
        A column is missing or there twice, or a setting is wrong.
    InputError
        No row can be used, with the reasons.
    """
    frame = materialize(frame)
    answer = _answer(frame, label, score)
    read = Frame.read(
        frame, {"item": item, "judge": judge, answer: label if answer == "label" else score}
    )
    gold = build_frame(
        read, ("agreement",), task={"kind": ANSWERS[answer]} | dict(task or {}), settings=settings
    )
    return AgreementResult(
        gold.restore("agreement", dict.fromkeys(STATISTIC_COLUMNS)), gold.excluded, gold
    )


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
        Columns named segment, system, control, control_of, truth, hit and seconds are read, too.
    item, judge, label, score
        Its columns. With segment and system, the frame needs no item.
    task
        Settings of the task, as under ``tasks`` in campaign.yaml: ``{"repeats": "last"}``.
    settings
        Settings by their top-level keys in campaign.yaml, as ``{"quality": {"test": "welch"}}``.

    Raises
    ------
    ConfigError
        A column is missing or there twice, or a setting is wrong.
    InputError
        No row can be used, with the reasons.
    """
    frame = materialize(frame)
    answer = _answer(frame, label, score)
    names = column_names(frame)
    columns = {"judge": judge, answer: label if answer == "label" else score}
    columns |= {name: name for name in OPTIONAL if name in names}
    if item in names or not {"segment", "system"} <= columns.keys():
        columns["item"] = item
    read = Frame.read(frame, columns)
    gold = build_frame(
        read, ("judges",), task={"kind": ANSWERS[answer]} | dict(task or {}), settings=settings
    )
    table = gold.table("judges")
    mapping: dict[str, str | None] = {"judge": "judge"}
    for name in table.schema.names:
        if name not in ("task", "judge", "kind") and table[name].null_count < table.num_rows:
            mapping[name] = None
    return JudgeResult(gold.restore("judges", mapping, order=("judge",)), gold.excluded, gold)


def _answer(frame: AnyFrame, label: str, score: str) -> str:
    """Return whether the frame holds labels or scores.

    Raises
    ------
    ConfigError
        It holds both, or neither.
    """
    names = column_names(frame)
    present = [role for role, name in (("label", label), ("score", score)) if name in names]
    if len(present) == 1:
        return present[0]
    what = f'has the columns "{label}" and "{score}"' if present else "has neither"
    do = "select one of them" if present else "name it with label= or score="
    raise ConfigError("labels or scores?", [Problem("frame", what, do=do)])
