"""Figures of tables, as Dagster shows them on the page of an asset."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import dagster as dg
import pyarrow as pa

from annot_pipeline.pipeline import StageRun
from annot_pipeline.report.comparison_figures import effort_figures, time_figures
from annot_pipeline.report.figures import convergence_svg
from annot_pipeline.report.markdown import escape
from annot_pipeline.report.release_figures import (
    Drawn,
    comparison_figures,
    confusion_figures,
    difference_figures,
    judge_figures,
    prevalence_figures,
    ranking_figures,
    score_figures,
)
from annot_pipeline.storage.tables import read_table


def figures_of(run: StageRun, table: str) -> dict[str, Any]:
    """The figures of one table of a stage, by title: Markdown with the image inside."""
    images = {}
    for figure in FIGURES[table](run) if table in FIGURES else ():
        image = base64.b64encode(figure.svg.encode()).decode()
        images[figure.title] = dg.MetadataValue.md(
            f"![{escape(figure.title)}](data:image/svg+xml;base64,{image})"
        )
    return images


def _read(run: StageRun, table: str) -> pa.Table:
    return read_table(run.result.tables[table])


FIGURES: dict[str, Callable[[StageRun], list[Drawn]]] = {
    "label_fits": lambda run: [
        Drawn("convergence", convergence_svg(fits))
        for fits in [_read(run, "label_fits").to_pylist()]
        if fits
    ],
    "judges": lambda run: judge_figures(_read(run, "judges"), run.result.facts["alpha"]),
    "control_pairs": lambda run: difference_figures(
        _read(run, "judge_tests"), _read(run, "control_pairs")
    ),
    "judge_confusion": lambda run: confusion_figures(
        _read(run, "judge_confusion"), _read(run, "judge_figures"), _read(run, "prevalence")
    ),
    "prevalence": lambda run: prevalence_figures(_read(run, "prevalence")),
    "scores": lambda run: score_figures(_read(run, "scores")),
    "segment_ranks": lambda run: effort_figures(run.result.facts["adequacy"]),
    "comparison_times": lambda run: time_figures(_read(run, "comparison_times")),
    "system_rankings": lambda run: ranking_figures(_read(run, "system_rankings")),
    "system_comparisons": lambda run: comparison_figures(
        _read(run, "system_comparisons"),
        run.result.facts["alpha"],
        _read(run, "system_rankings"),
    ),
}
"""What is drawn of a table, from its stage's results alone."""
