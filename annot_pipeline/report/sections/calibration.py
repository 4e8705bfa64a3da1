"""How far the probabilities of labels hold: by held-out labels, agreement, and the truth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from annot_pipeline.report.contents import Contents
from annot_pipeline.report.release_figures import reliability_figures
from annot_pipeline.report.render import interval, number

MOST_TASKS = 200
"""Tasks that are shown."""

MODELS = {"published": "published", "dawid_skene": "Dawid-Skene", "votes": "votes"}
"""Models, as people call them."""

Statistics = dict[tuple[str, str], dict[str, Any]]
"""Rows of ``label_calibration`` of a task, by model and statistic."""


def calibration(contents: Contents, *, most_tasks: int = MOST_TASKS) -> dict[str, Any]:
    """Return rows by task; nothing where nothing was labelled."""
    by_task: dict[str, Statistics] = {}
    for row in contents.tables["label_calibration"].to_pylist():
        by_task.setdefault(row["task"], {})[row["model"], row["statistic"]] = row
    if not by_task:
        return {}
    tasks = dict(list(by_task.items())[:most_tasks])
    return {
        "held_out": [_held_out(task, rows) for task, rows in tasks.items()],
        "expected": [_expected(task, rows) for task, rows in tasks.items()],
        "against_truth": [*_against_truth(tasks)],
        "drawings": reliability_figures(contents.tables["known_labels"]),
        "n_tasks_with_truth": sum(("published", "log_loss") in rows for rows in by_task.values()),
        "n_tasks": len(by_task),
        "most_tasks": most_tasks,
    }


def _value(rows: Statistics, statistic: str) -> float | None:
    value: float | None = rows.get(("published", statistic), {}).get("value")
    return value


def _held_out(task: str, rows: Statistics) -> list[object]:
    statistic = "held_out_log_likelihood"
    values = [rows[model, statistic]["value"] for model in MODELS]
    weights = [_value(rows, name) for name in ("dependence", "weight_of_votes")]
    return [task, rows["published", statistic]["n"], *values, *weights]


def _expected(task: str, rows: Statistics) -> list[object]:
    expected = rows["published", "expected_accuracy"]
    ends = interval(expected["ci_low"], expected["ci_high"], "share")
    temperature = _value(rows, "temperature")
    return [task, expected["value"], ends, expected["n"], temperature, expected["reason"]]


def _against_truth(tasks: dict[str, Statistics]) -> Iterator[list[object]]:
    names = ("log_loss", "accuracy", "expected_calibration_error", "certain_share")
    for task, rows in tasks.items():
        for model, model_name in MODELS.items():
            if (model, "log_loss") not in rows:
                continue
            right = rows[model, "certain_accuracy"]
            ends = interval(right["ci_low"], right["ci_high"], "share")
            yield [
                task, model_name, rows[model, "log_loss"]["n"],
                *(rows[model, name]["value"] for name in names),
                f"{number(right['value'], 'share')} ({ends})" if right["n"] else None,
            ]  # fmt: skip
