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


@dataclass(frozen=True)
class SystemAnswers:
    """Answers by system of one task, ``(n_systems,)`` each.

    Parameters
    ----------
    systems
        Names in code point order.
    n_asked, n_answered
        Answers that were asked for, and those of them that count.
    score_sums
        Of the scores that count; None where there is none, or in tasks with criteria.
    scale
        Lowest and highest declared score; None: no scale is declared.
    """

    systems: tuple[str, ...]
    n_asked: tuple[int, ...]
    n_answered: tuple[int, ...]
    score_sums: tuple[float | None, ...]
    scale: tuple[float, float] | None


def answers_of_systems(context: StageContext) -> dict[str, SystemAnswers]:
    """Return the answers that were asked for and that count, by task."""
    inputs = {name: verify_table(context.inputs[name]) for name in INPUTS}
    rows = context.queries.table("control/answers_of_systems", inputs).to_pylist()
    scales = {t["task"]: (t["scale_low"], t["scale_high"])
              for t in context.read("tasks").to_pylist() if t["scale_low"] is not None}  # fmt: skip
    by_task: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_task.setdefault(row["task"], []).append(row)
    return {
        task: SystemAnswers(
            systems=tuple(row["system"] for row in systems),
            n_asked=tuple(row["n_asked"] for row in systems),
            n_answered=tuple(row["n_answered"] for row in systems),
            score_sums=tuple(row["score_sum"] for row in systems),
            scale=scales.get(task),
        )
        for task, systems in by_task.items()
    }


def with_answers(rankings: pa.Table, answers: SystemAnswers | None) -> pa.Table:
    """Return rows of ``system_rankings`` of a task with ``n_asked`` and ``answered_share``."""
    counts: dict[str, tuple[int, float]] = {}
    if answers is not None:
        rows = zip(answers.systems, answers.n_asked, answers.n_answered, strict=True)
        counts = {system: (n_asked, n / n_asked) for system, n_asked, n in rows}
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
        shares = answered_shares(own.systems, own.n_asked, own.n_answered)
        if shares is not None:
            pair = [own.systems.index(name) for name in shares["names"]]
            shares["bounds"] = _bounds(own, pair)
            differences[task] = shares
    return differences


def _bounds(answers: SystemAnswers, pair: Sequence[int]) -> list[float] | None:
    """Return the least and the largest difference of the means of two systems, a minus b.

    Missing answers of one system are the lowest score of the scale, of the other the highest.
    """
    sums = [answers.score_sums[n] if answers.n_answered[n] else 0.0 for n in pair]
    if answers.scale is None or None in sums:
        return None
    low, high = answers.scale
    ends = []
    for fills in ((low, high), (high, low)):
        a, b = (
            (float(total or 0) + fill * (answers.n_asked[n] - answers.n_answered[n]))
            / answers.n_asked[n]
            for n, total, fill in zip(pair, sums, fills, strict=True)
        )
        ends.append(a - b)
    return ends
