"""Labels: how sure they are, how far that holds, what experts decided, how frequent classes are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from annot_pipeline.contracts import certificates, votes_text
from annot_pipeline.report.accuracy import accuracies
from annot_pipeline.report.contents import Contents, count_tasks, of_every_task
from annot_pipeline.report.figures.certainty_bands import NAMES, certainty_svg
from annot_pipeline.report.release_figures import Drawn, prevalence_figures, reliability_figures
from annot_pipeline.report.render import flag, interval, number, render_html

MOST_ROWS = 200
"""Rows of each table, tasks, and decisions that are shown."""

MODELS = {"published": "published", "dawid_skene": "Dawid-Skene", "votes": "votes"}
"""Models, as people call them."""

Statistics = dict[tuple[str, str], dict[str, Any]]
"""Rows of ``label_calibration`` of a task, by model and statistic."""


def certainty(contents: Contents) -> dict[str, Any]:
    """Return bands of probability by task, convergence, calibration, prevalence."""
    if not contents.label_counts:
        return {}
    tasks, counts = bands_by_task(contents.label_counts)
    decided, votes = bool(counts[:, -1].any()), contents.anonymous_votes
    bands = NAMES if decided else NAMES[:-1]
    labelled = [contents.labelled[task] for task in tasks]
    n_labels = f"{contents.labelled_in_all.n:,} labels"
    svg = certainty_svg(
        tasks, counts, [own.n for own in labelled], [own.certain + own.decided for own in labelled]
    )
    fits, shares = fits_by_task(contents.manifest["convergence"]), accuracies(contents.label_counts)
    calibrated, prevalence = calibration(contents), contents.tables["prevalence"]
    return {
        "certain_at": contents.certain_at,
        "label_model": contents.settings["label_model"],
        "decided": decided,
        "votes": votes_text(votes) if votes else "",
        "certificates": certificates(contents.facts),
        "bands": bands,
        "drawings": [Drawn("Probability of the labels", svg, n_labels)],
        "rows": [
            [
                task, own.n, *bands_of_task[: len(bands)], own.usable, fit.get("n_judges"),
                fit.get("n_judgments"), flag(fit.get("converged")), fit.get("iterations"),
            ]
            for task, own, bands_of_task in zip(tasks[:MOST_ROWS], labelled, counts.tolist(),
                                                strict=False)
            for fit in [fits.get(task, {})]
        ],
        "n_tasks": len(tasks),
        "calibration": render_html("calibration.html", calibrated) if calibrated else "",
        "accuracies": [
            (own.task, own.which, own.n, own.right, own.share, interval(*own.interval, "share"))
            for own in shares[:MOST_ROWS]
        ],
        "n_accuracies": len(shares),
        "prevalence_drawings": prevalence_figures(prevalence),
        "n_tasks_with_classes": count_tasks(prevalence),
        "classes": [*_class_rows(contents)],
        "n_classes": prevalence.num_rows,
    }  # fmt: skip


def fits_by_task(fits: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return by task whether all its fits converged, and the most iterations of one."""
    by_task: dict[str, dict[str, Any]] = {}
    for fit in fits:
        before = by_task.get(fit["task"], fit)
        iterations = max(before["iterations"], fit["iterations"])
        converged = before["converged"] and fit["converged"]
        by_task[fit["task"]] = {**fit, "converged": converged, "iterations": iterations}
    return by_task


def bands_by_task(
    label_counts: Sequence[Mapping[str, Any]],
) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Return tasks by name, and how many of their labels lie in each band of ``NAMES``.

    Parameters
    ----------
    label_counts
        Rows of sql/report/label_counts.sql; what an expert decided is in the last band, and a
        label without probability in none.
    """
    tasks = sorted({row["task"] for row in label_counts})
    position = {task: n for n, task in enumerate(tasks)}
    counts = np.zeros((len(tasks), len(NAMES)), np.int64)
    for row in label_counts:
        band = len(NAMES) - 1 if row["adjudicated"] else row["band"]
        if band is not None:
            counts[position[row["task"]], band] += row["n"]
    return tasks, counts


def _class_rows(contents: Contents) -> Iterator[dict[str, Any]]:
    certain: Counter[tuple[str, str]] = Counter()
    for row in contents.label_counts:
        if row["certain"] and not row["adjudicated"]:
            certain[row["task"], row["label"]] += row["n"]
    for row in of_every_task(contents.tables["prevalence"], MOST_ROWS).to_pylist():
        n_certain = certain[row["task"], row["label"]]
        yield row | {"n_certain": n_certain, "named": flag(row["named"])}


def calibration(contents: Contents, *, most_tasks: int = MOST_ROWS) -> dict[str, Any]:
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


def adjudicated(contents: Contents) -> dict[str, Any]:
    """Return decisions, those against the model first; nothing where there are none."""
    if not contents.labelled_in_all.decided:
        return {}
    rows = [
        row
        | {
            "outcome": _outcome(row["label"], row["model_label"]),
            "reason": row["adjudication_reason"] or "",
            "at": f"{row['adjudicated_at']:%Y-%m-%d %H:%M}" if row["adjudicated_at"] else "",
        }
        for row in contents.tables["decisions"].to_pylist()
    ]
    return {"labels": contents.labelled_in_all, "rows": rows, "most_rows": MOST_ROWS}


def _outcome(label: str, model_label: str | None) -> tuple[str, str]:
    if model_label is None:
        return "undetermined", "no judgments"
    return ("passed", "as the model") if label == model_label else ("warn", "overrides")
