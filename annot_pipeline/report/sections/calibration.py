"""How far the probabilities of labels hold: by held-out labels, agreement, and the truth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from annot_pipeline.report.contents import Contents
from annot_pipeline.report.markup import (
    Column,
    figures,
    interval,
    join,
    left_out,
    number,
    paragraph,
    table,
)
from annot_pipeline.report.release_figures import reliability_figures

MOST_TASKS = 200

TEMPERED = {"dependence": "dependence of judges", "temper": "power that was given"}

Figures = dict[tuple[str, str], dict[str, Any]]
"""Rows of ``label_calibration`` of a task, by model and statistic."""


def calibration(contents: Contents) -> str:
    """Return the section: tables by task; empty where nothing was labelled."""
    by_task: dict[str, Figures] = {}
    for row in contents.tables["label_calibration"].to_pylist():
        by_task.setdefault(row["task"], {})[row["model"], row["statistic"]] = row
    if not by_task:
        return ""
    shown = dict(list(by_task.items())[:MOST_TASKS])
    return join([
        paragraph(
            "A quarter of each item's labels in turn is predicted from the others. The higher the "
            "log likelihood, the truer the probabilities; where Dawid-Skene is too sure of itself, "
            "calibrated figures are above its own."
        ),
        table("Held-out labels, mean log likelihood in nats", [
            Column("task"), Column("labels", "count"), Column("Dawid-Skene", "real"),
            Column("pooled", "real"), Column("calibrated", "real"), Column("votes", "real"),
            Column("labels borrowed", "real"), Column(TEMPERED[_tempered(shown)], "real"),
            Column("chosen by labels", "count", says="0: given, or the usual"),
        ], _held_out(shown), sortable=True),
        paragraph(
            "If judges agree more often than the model expects, above all on every label of an "
            "item, they err together."
        ),
        table("Agreement between judges, and what the model expects", [
            Column("task"), Column("pairs that agree", "share"), Column("expected"),
            Column("items without dissent", "share"), Column("expected"),
        ], _agreement(shown), sortable=True),
        figures(
            reliability_figures(contents.tables["known_labels"]),
            len({task for task, rows in by_task.items() if ("raw", "log_loss") in rows}),
        ),
        _against_truth(shown),
        left_out(len(by_task), MOST_TASKS, "label_calibration.parquet"),
    ])  # fmt: skip


def _tempered(tasks: dict[str, Figures]) -> str:
    """Return the statistic that tempers posteriors; one setting decides it for all tasks."""
    return next(
        s for rows in tasks.values() for m, s in rows if m == "calibrated" and s in TEMPERED
    )


def _held_out(tasks: dict[str, Figures]) -> Iterator[list[object]]:
    for task, rows in tasks.items():
        statistic = "held_out_log_likelihood"
        yield [
            task, rows["raw", statistic]["n"],
            *(rows[m, statistic]["value"] for m in ("raw", "pooled", "calibrated", "votes")),
            rows["pooled", "pooling"]["value"], rows["calibrated", _tempered(tasks)]["value"],
            max(rows["pooled", "pooling"]["n"], rows["calibrated", _tempered(tasks)]["n"]),
        ]  # fmt: skip


def _agreement(tasks: dict[str, Figures]) -> Iterator[list[object]]:
    for task, rows in tasks.items():
        cells: list[object] = [task]
        for statistic in ("pairwise_agreement", "unanimous_share"):
            expected = rows["pooled", statistic]
            cells += [
                rows["observed", statistic]["value"],
                interval(expected["ci_low"], expected["ci_high"], "share"),
            ]
        yield cells


def _against_truth(tasks: dict[str, Figures]) -> str:
    cells = []
    for task, statistics in tasks.items():
        for model in ("raw", "calibrated", "votes"):
            if (model, "log_loss") not in statistics:
                continue
            row = {s: statistics[model, s] for s in (
                "log_loss", "accuracy", "expected_calibration_error", "certain_share",
                "certain_accuracy",
            )}  # fmt: skip
            right = row["certain_accuracy"]
            cells.append([
                task, model, row["log_loss"]["n"], row["log_loss"]["value"],
                row["accuracy"]["value"], row["expected_calibration_error"]["value"],
                row["certain_share"]["value"],
                f"{number(right['value'], 'share')} "
                f"({interval(right['ci_low'], right['ci_high'], 'share')})"
                if right["n"] else None,
            ])  # fmt: skip
    if not cells:
        return ""
    return table("Against the truth of item tables", [
        Column("task"), Column("probabilities", choose=True), Column("items", "count"),
        Column("log loss", "real"), Column("accuracy", "share"),
        Column("calibration error", "share"), Column("certain", "share"),
        Column("of these right (95%)"),
    ], cells, sortable=True)  # fmt: skip
