"""How sure the labels are, and how frequent the classes."""

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
from annot_pipeline.report.release_figures import Drawn, prevalence_figures
from annot_pipeline.report.render import flag, interval, render_html
from annot_pipeline.report.sections.calibration import calibration

MOST_ROWS = 200


def certainty(contents: Contents) -> dict[str, Any]:
    """Return bands of probability by task, convergence, calibration, prevalence."""
    if not contents.label_counts:
        return {}
    tasks, counts = bands_by_task(contents.label_counts)
    decided, votes = bool(counts[:, -1].any()), contents.anonymous_votes
    bands = NAMES if decided else NAMES[:-1]
    labelled = [contents.labelled[task] for task in tasks]
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
        "drawings": [Drawn("Probability of the labels", svg)],
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
        before = by_task.get(fit["task"], {"converged": True, "iterations": 0})
        by_task[fit["task"]] = {
            **fit,
            "converged": before["converged"] and fit["converged"],
            "iterations": max(before["iterations"], fit["iterations"]),
        }
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


def _class_rows(contents: Contents) -> Iterator[list[object]]:
    certain: Counter[tuple[str, str]] = Counter()
    for row in contents.label_counts:
        if row["certain"] and not row["adjudicated"]:
            certain[row["task"], row["label"]] += row["n"]
    for row in of_every_task(contents.tables["prevalence"], MOST_ROWS).to_pylist():
        yield [
            row["label"], row["task"], row["prevalence"], row["vote_share"],
            row["plurality_frequency"], row["support"], row["plurality_agreement"],
            row["n_items"], certain[row["task"], row["label"]], flag(row["named"]),
        ]  # fmt: skip
