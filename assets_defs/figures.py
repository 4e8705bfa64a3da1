"""Figures of tables, as Dagster shows them on the page of an asset."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dagster as dg
import pyarrow as pa

from annot_pipeline.report import release_figures
from annot_pipeline.report.comparison_figures import effort_figures, time_figures
from annot_pipeline.report.markdown import escape
from annot_pipeline.stages.build import MAKER, Build, StageRun
from annot_pipeline.stages.gold.metrics import JudgeMetrics
from annot_pipeline.stages.rankings.metrics import SegmentRankMetrics, SystemRankMetrics
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.tables import StoredTable, read_table


@dataclass(frozen=True)
class Tables:
    """The tables that a build has made so far."""

    build: Build

    def __call__(self, name: str) -> pa.Table:
        """Read one."""
        return read_table(self._stored(name))

    def ask(self, query: str, *names: str, **parameters: Any) -> pa.Table:
        """Run a query of the report over some tables; one of them may have a row per judgment."""
        campaign = self.build.campaign
        queries = Queries(campaign.settings.resources, campaign.spill)
        return queries.table(f"report/{query}", {n: self._stored(n) for n in names}, parameters)

    def _stored(self, name: str) -> StoredTable:
        return self.build.store.recorded(self.build.run, MAKER[name].name).tables[name]


def figures_of(build: Build, run: StageRun, table: str) -> dict[str, Any]:
    """Return the figures of one table of a stage, by title: Markdown with the image inside."""
    images = {}
    for figure in FIGURES[table](Tables(build), run) if table in FIGURES else ():
        image = base64.b64encode(figure.svg.encode()).decode()
        images[figure.title] = dg.MetadataValue.md(
            f"![{escape(figure.title)}](data:image/svg+xml;base64,{image})"
        )
    return images


def _differences(read: Tables) -> list[release_figures.Drawn]:
    tests = read("judge_tests")
    judges = release_figures.drawn_judges(tests)
    pairs = read.ask("control_differences", "control_pairs", judges=judges)
    return release_figures.difference_figures(tests, pairs)


FIGURES: dict[str, Callable[[Tables, StageRun], list[release_figures.Drawn]]] = {
    "judges": lambda read, run: release_figures.judge_figures(
        read("judges"), run.metrics(JudgeMetrics).alpha
    ),
    "judge_tests": lambda read, _: _differences(read),
    "judge_confusion": lambda read, _: release_figures.confusion_figures(
        read("judge_confusion"), read("judge_figures"), read("prevalence"), {}
    ),
    "prevalence": lambda read, _: release_figures.prevalence_figures(read("prevalence")),
    "scores": lambda read, _: release_figures.score_figures(
        read.ask("drawn_scores", "scores", most_tasks=release_figures.MOST_TASKS)
    ),
    "segment_ranks": lambda _, run: effort_figures(run.metrics(SegmentRankMetrics).adequacy),
    "comparison_times": lambda read, _: time_figures(read("comparison_times")),
    "system_rankings": lambda read, _: release_figures.ranking_figures(read("system_rankings")),
    "system_comparisons": lambda read, run: release_figures.comparison_figures(
        read("system_comparisons"),
        run.metrics(SystemRankMetrics).alpha,
        read("system_rankings"),
    ),
}
"""Figures of a table, from the run of its stage and from tables that exist by then."""
