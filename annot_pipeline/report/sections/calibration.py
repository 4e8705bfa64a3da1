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
"""Tasks that are shown."""

MODELS = {"published": "published", "dawid_skene": "Dawid-Skene", "votes": "votes"}
"""Models, as people call them."""

Figures = dict[tuple[str, str], dict[str, Any]]
"""Rows of ``label_calibration`` of a task, by model and statistic."""


def calibration(contents: Contents, *, most_tasks: int = MOST_TASKS) -> str:
    """Return the section: tables by task; empty where nothing was labelled."""
    by_task: dict[str, Figures] = {}
    for row in contents.tables["label_calibration"].to_pylist():
        by_task.setdefault(row["task"], {})[row["model"], row["statistic"]] = row
    if not by_task:
        return ""
    tasks = dict(list(by_task.items())[:most_tasks])
    return join([
        paragraph(
            "Each label is predicted from the labels that other judges gave the item. The higher "
            "the log likelihood, the truer the probabilities. How far judges repeat each other, "
            "and how much votes weigh, is what these predictions bear out, and a margin for what "
            "they cannot show."
        ),
        table("Held-out labels, mean log likelihood in nats", [
            Column("task"), Column("labels", "count"),
            *(Column(name, "real") for name in MODELS.values()),
            Column("dependence of judges", "real"), Column("weight of votes", "share"),
        ], _held_out(tasks), sortable=True),
        paragraph(
            "How many labels are right follows from their probabilities. Where 50 items or more "
            "are known, their errors correct it; without them, mistakes that judges share cannot "
            "be seen, and there is no interval."
        ),
        table("Accuracy to expect", [
            Column("task"), Column("accuracy", "share"), Column("95% interval"),
            Column("known items", "count"), Column("temperature", "real"),
        ], _expected(tasks), sortable=True),
        figures(
            reliability_figures(contents.tables["known_labels"]),
            len({task for task, rows in by_task.items() if ("published", "log_loss") in rows}),
        ),
        _against_truth(tasks),
        left_out(len(by_task), most_tasks, "label_calibration.parquet"),
    ])  # fmt: skip


def _held_out(tasks: dict[str, Figures]) -> Iterator[list[object]]:
    for task, rows in tasks.items():
        statistic = "held_out_log_likelihood"
        yield [
            task, rows["published", statistic]["n"],
            *(rows[model, statistic]["value"] for model in MODELS),
            *(
                rows.get(("published", name), {}).get("value")
                for name in ("dependence", "weight_of_votes")
            ),
        ]  # fmt: skip


def _expected(tasks: dict[str, Figures]) -> Iterator[list[object]]:
    for task, rows in tasks.items():
        expected = rows["published", "expected_accuracy"]
        yield [
            task,
            expected["value"],
            interval(expected["ci_low"], expected["ci_high"], "share"),
            expected["n"],
            rows.get(("published", "temperature"), {}).get("value"),
        ]


def _against_truth(tasks: dict[str, Figures]) -> str:
    cells = []
    for task, statistics in tasks.items():
        for model, model_name in MODELS.items():
            if (model, "log_loss") not in statistics:
                continue
            row = {s: statistics[model, s] for s in (
                "log_loss", "accuracy", "expected_calibration_error", "certain_share",
                "certain_accuracy",
            )}  # fmt: skip
            right = row["certain_accuracy"]
            cells.append([
                task, model_name, row["log_loss"]["n"], row["log_loss"]["value"],
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
