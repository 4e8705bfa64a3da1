"""Figures of tables, as Dagster shows them on the page of an asset."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

import dagster as dg
import pyarrow as pa

from annot_pipeline.pipeline import MAKER, Build, StageRun
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

Read = Callable[[str], pa.Table]
"""Reads a table that the build has made so far."""


def figures_of(build: Build, run: StageRun, table: str) -> dict[str, Any]:
    """The figures of one table of a stage, by title: Markdown with the image inside."""

    def read(name: str) -> pa.Table:
        return read_table(build.store.recorded(build.run, MAKER[name].name).tables[name])

    images = {}
    for figure in FIGURES[table](read, run.result.facts) if table in FIGURES else ():
        image = base64.b64encode(figure.svg.encode()).decode()
        images[figure.title] = dg.MetadataValue.md(
            f"![{escape(figure.title)}](data:image/svg+xml;base64,{image})"
        )
    return images


FIGURES: dict[str, Callable[[Read, Mapping[str, Any]], list[Drawn]]] = {
    "label_fits": lambda read, _: [
        Drawn("convergence", convergence_svg(fits))
        for fits in [read("label_fits").to_pylist()]
        if fits
    ],
    "judges": lambda read, facts: judge_figures(read("judges"), facts["alpha"]),
    "judge_tests": lambda read, _: difference_figures(read("judge_tests"), read("control_pairs")),
    "judge_confusion": lambda read, _: confusion_figures(
        read("judge_confusion"), read("judge_figures"), read("prevalence")
    ),
    "prevalence": lambda read, _: prevalence_figures(read("prevalence")),
    "scores": lambda read, _: score_figures(read("scores")),
    "segment_ranks": lambda _, facts: effort_figures(facts["adequacy"]),
    "comparison_times": lambda read, _: time_figures(read("comparison_times")),
    "system_rankings": lambda read, _: ranking_figures(read("system_rankings")),
    "system_comparisons": lambda read, facts: comparison_figures(
        read("system_comparisons"),
        facts["alpha"],
        read("system_rankings"),
    ),
}
"""What is drawn of a table, from its stage's facts and tables that are there then."""
