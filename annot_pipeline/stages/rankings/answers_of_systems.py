"""Counts the answers asked for by system and those that count, and finds where systems differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from annot_pipeline.contracts import GOLD, INT, REAL
from annot_pipeline.contracts.stage_metrics import AnsweredShares
from annot_pipeline.runtime.answered_shares import answered_shares
from annot_pipeline.runtime.context import StageContext
from annot_pipeline.storage.tables import verify_table

INPUTS = ("controlled", "tasks", "item_rows")


Row = dict[str, Any]


@dataclass(frozen=True)
class SystemAnswers:
    """Answers by system of one task.

    Parameters
    ----------
    rows
        In code point order of ``system``: ``n_asked`` answers were asked for, ``n_answered`` of
        them count; ``score_sum`` of these, None where there is none, or in tasks with criteria.
    scale
        Lowest and highest declared score; None: no scale is declared.
    """

    rows: list[Row]
    scale: tuple[float, float] | None


def answers_of_systems(context: StageContext) -> dict[str, SystemAnswers]:
    """Return the answers that were asked for and that count, by task."""
    inputs = {name: verify_table(context.inputs[name]) for name in INPUTS}
    rows = context.queries.table("control/answers_of_systems", inputs).to_pylist()
    scales = {
        task["task"]: (task["scale_low"], task["scale_high"])
        for task in context.read("tasks").to_pylist()
        if task["scale_low"] is not None
    }
    by_task: dict[str, list[Row]] = {}
    for row in rows:
        by_task.setdefault(row["task"], []).append(row)
    return {task: SystemAnswers(own, scales.get(task)) for task, own in by_task.items()}


def with_answers(rankings: pa.Table, answers: SystemAnswers | None) -> pa.Table:
    """Return rows of ``system_rankings`` of a task with ``n_asked`` and ``answered_share``."""
    counts = {
        row["system"]: (row["n_asked"], row["n_answered"] / row["n_asked"])
        for row in (answers.rows if answers else ())
    }
    pairs = [counts.get(system, (None, None)) for system in rankings["system"].to_pylist()]
    columns = {name: rankings[name] for name in rankings.column_names} | {
        "n_asked": pa.array([n for n, _ in pairs], INT),
        "answered_share": pa.array([share for _, share in pairs], REAL),
    }
    return GOLD["system_rankings"].from_columns(columns)


def missing_answers(answers: Mapping[str, SystemAnswers]) -> dict[str, AnsweredShares]:
    """Return the largest difference between systems, of tasks where answers are missing.

    Also of tasks of labels, and of systems without any answer that counts, which are not ranked.
    """
    differences = {}
    for task, own in answers.items():
        names, asked, answered = (
            [row[column] for row in own.rows] for column in ("system", "n_asked", "n_answered")
        )
        shares = answered_shares(names, asked, answered)
        if shares is not None:
            pair = [own.rows[names.index(name)] for name in shares["names"]]
            shares["bounds"] = _bounds(pair, own.scale)
            differences[task] = shares
    return differences


def _bounds(pair: Sequence[Row], scale: tuple[float, float] | None) -> list[float] | None:
    """Return the least and the largest difference of the means of two systems, a minus b.

    Missing answers of one system are the lowest score of the scale, of the other the highest.
    """
    if scale is None or any(row["n_answered"] and row["score_sum"] is None for row in pair):
        return None
    low, high = scale
    ends = []
    for fills in ((low, high), (high, low)):
        a, b = (
            (float(row["score_sum"] or 0) + fill * (row["n_asked"] - row["n_answered"]))
            / row["n_asked"]
            for row, fill in zip(pair, fills, strict=True)
        )
        ends.append(a - b)
    return ends
