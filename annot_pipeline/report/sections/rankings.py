"""Systems and outputs: rankings with intervals and clusters, comparisons, scores."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.errors import counted, first_of
from annot_pipeline.report.comparison_figures import (
    effort_figures,
    segment_figures,
    time_figures,
    win_figures,
)
from annot_pipeline.report.contents import Contents, count_tasks, of_every_task
from annot_pipeline.report.markup import (
    Column,
    Markup,
    figures,
    interval,
    join,
    left_out,
    more,
    paragraph,
    part,
    table,
    text,
)
from annot_pipeline.report.release_figures import (
    COMPONENTS,
    best_systems,
    comparison_figures,
    detectable_differences,
    first_tasks,
    headline_ranking,
    most_frequent_reason,
    ranking_figures,
    score_figures,
)
from annot_pipeline.report.release_figures import MOST_TASKS as DRAWN

MOST_ROWS = 400
MOST_TASKS = 300
"""Tasks whose best systems are told."""
MOST_COMPONENTS = 20
"""Components of a task whose best systems are told."""
MOST_NOTE = 2000
"""Characters of a note."""
MOST_DRAWN = 60
"""Tasks whose rankings are drawn: the first at once, the others to open."""


def rankings(contents: Contents) -> str:
    """Return the section: rankings first, then what they rest on."""
    tables, internal = contents.tables, contents.internal
    alpha = contents.settings["ranking"]["alpha"]
    rankings_table = tables["system_rankings"]
    n_tasks = count_tasks(rankings_table)
    return join([
        _best(rankings_table, tables["variance"]),
        figures(ranking_figures(rankings_table)),
        more(*_others(rankings_table, n_tasks)),
        more("All methods, as a table", _table(rankings_table)),
        _order_effects(contents.facts["systems_compared"]),
        _length_effects(contents.facts["systems_compared"]),
        part("Systems compared", figures(
            comparison_figures(tables["system_comparisons"], alpha, rankings_table),
            count_tasks(tables["system_comparisons"]),
        )),
        part("Comparisons of systems", figures(
            win_figures(internal["wins"], rankings_table), count_tasks(internal["wins"])
        )),
        part("Comparisons of outputs", figures([
            *segment_figures(internal["drawn_segments"], internal["drawn_comparisons"]),
            *effort_figures(contents.facts["adequacy"]),
            *time_figures(internal["comparison_times"]),
        ], count_tasks(tables["segment_ranks"]))),
        part("Segments in which single judges contradict themselves", _contradicted(
            internal["segment_contradictions"]
        )),
        part("Seconds per ranking and comparison", _times(internal["comparison_times"])),
        part("Scores of items", figures(
            score_figures(tables["drawn_scores"]), count_tasks(tables["scores"])
        )),
    ])  # fmt: skip


def _best(rankings_table: pa.Table, variance: pa.Table) -> str:
    """Return the table of the best systems of each task, by component."""
    lines: list[tuple[Any, ...]] = []
    detectable = detectable_differences(variance)
    has_components, n_left_out = False, 0
    n_tasks = count_tasks(rankings_table)
    for task, of_task in first_tasks(rankings_table, end=MOST_TASKS):
        components = headline_ranking(of_task, task)
        has_components |= len(components) > 1
        n_left_out += max(len(components) - MOST_COMPONENTS, 0)
        for component in components[:MOST_COMPONENTS]:
            best, which = best_systems(component)
            difference, limit = detectable.get(task, (None, ""))
            lines.append((
                task, component[0]["component"], component[0]["method"], first_of(best, 10), which,
                len(component), difference, limit, _note(most_frequent_reason(component)),
            ))  # fmt: skip
    columns = [Column("task"), Column("component", "count"), Column("by"), Column("best"),
               Column("which is"), Column("systems", "count"),
               Column("difference found in 80% of evaluations, points", "real"),
               Column("which holds"), Column("note")]  # fmt: skip
    shows = [True, has_components, *[True] * 5, any(line[7] for line in lines), True]
    words = (
        "By the headline of each task, whose tests hold where judges and segments repeat "
        "(documents instead of segments if they are mapped). Best are the systems not shown to "
        "be worse than any other after Holm's correction; without tests, see the note."
    )
    if has_components:
        words += f" {COMPONENTS}"
    html: str = table(
        "Best systems by task", [*compress(columns, shows)],
        [[*compress(line, shows)] for line in lines], sortable=True, search=len(lines) > 10,
    )  # fmt: skip
    if n_left_out:
        html += paragraph(
            f"The first {MOST_COMPONENTS} components of a task; {counted(n_left_out, 'other')} in "
            "<code>system_rankings.parquet</code>."
        )
    if n_tasks > MOST_TASKS:
        html += paragraph(
            f"The first {MOST_TASKS} of {n_tasks:,} tasks; all of them are in "
            "<code>system_rankings.parquet</code>."
        )
    return paragraph(words) + html if html else ""


def _note(reason: str | None) -> Markup | None:
    """Return a reason as a cell that shows all of it."""
    return None if reason is None else text(reason, MOST_NOTE)


def _order_effects(systems_compared: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of how far judges prefer what they are shown first."""
    lines = [
        (task, effect["judges"], effect["logits"], 1 / (1 + np.exp(-effect["logits"])))
        for task, counts in systems_compared.items()
        for effect in counts.get("bradley_terry", {}).get("order_effects", ())
    ]
    columns = [Column("task"), Column("judges"), Column("logits", "real"),
               Column("preferences for the first of two equal systems", "share")]  # fmt: skip
    return str(table("Effect of being shown first", columns, lines[:MOST_TASKS]))


def _length_effects(systems_compared: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of how far judges prefer longer texts, where a campaign asks for it."""
    lines = [
        (task, effect["logits"], interval(effect["ci_low"], effect["ci_high"]),
         1 / (1 + 2 ** -effect["logits"]), fit["comparisons_without_text"])
        for task, counts in systems_compared.items()
        for fit in [counts.get("bradley_terry_length", {})]
        for effect in fit.get("covariates", ())
    ]  # fmt: skip
    columns = [Column("task"), Column("logits by unit of log length", "real"),
               Column("95% interval"), Column("preferences for a text twice as long", "share"),
               Column("comparisons without texts", "count")]  # fmt: skip
    return str(table("Effect of the length of texts", columns, lines[:MOST_TASKS]))


def _others(rankings_table: pa.Table, n_tasks: int) -> tuple[str, str]:
    """Return heading and figures of the rankings of tasks that are not among the first."""
    end = min(n_tasks, MOST_DRAWN)
    html = figures(ranking_figures(rankings_table, DRAWN, end))
    out_of = f", of {n_tasks:,}" if n_tasks > end else ""
    return f"Rankings of tasks {DRAWN + 1} to {end:,}{out_of}, as figures", html


def _table(rankings_table: pa.Table) -> str:
    columns = [
        Column("system"), Column("task", choose=True), Column("method", choose=True),
        Column("rank", "count"), Column("score", "real"), Column("95% interval"),
        Column("ranks in the interval"), Column("cluster", "count"),
        Column("systems beaten", "count"), Column("WMT cluster", "count"),
        Column("WMT wins", "count"), Column("judgments", "count"), Column("note"),
    ]  # fmt: skip
    rows = (
        (
            row["system"], row["task"], row["method"], row["rank"], row["score"],
            interval(row["ci_low"], row["ci_high"]),
            interval(row["rank_low"], row["rank_high"], "count"), row["cluster"], row["wins"],
            row["wmt_cluster"], row["wmt_wins"], row["n_judgments"], _note(row["reason"]),
        )
        for row in of_every_task(rankings_table, MOST_ROWS).to_pylist()
    )  # fmt: skip
    html = table("Rankings of systems", columns, rows, sortable=True, search=True)
    return html + left_out(
        rankings_table.num_rows,
        of_every_task(rankings_table, MOST_ROWS).num_rows,
        "system_rankings.parquet",
    )


def _contradicted(segments: pa.Table) -> str:
    """Return the table of segments with contradictions, the least consistent first."""
    contradicted = segments.filter(pc.greater(segments["n_graphs_with_contradictions"], 0))
    contradicted = contradicted.take(
        pa.array(np.argsort(contradicted["consistency"].to_numpy(), kind="stable"))
    )
    columns = [
        Column("segment"), Column("task", choose=True), Column("judges", "count"),
        Column("of them with contradictions", "count"), Column("consistency", "share"),
    ]  # fmt: skip
    rows = (
        (
            r["segment"],
            r["task"],
            r["n_graphs"],
            r["n_graphs_with_contradictions"],
            r["consistency"],
        )
        for r in contradicted.slice(0, MOST_ROWS).to_pylist()
    )
    caption = "Segments with contradictions of single judges, the least consistent first"
    html = table(caption, columns, rows, sortable=True, search=True)
    return more(f"{contradicted.num_rows:,} segments", html) if html else ""


def _times(times: pa.Table) -> str:
    columns = [
        Column("task", choose=True), Column("unit", choose=True), Column("lengths", choose=True),
        Column("words up to", "count"), Column("n", "count"), Column("mean s", "real"),
        Column("median s", "real"), Column("breaks", "count"),
        Column("mean s without breaks", "real"), Column("mean s a word", "real"),
        Column("mean s a word without breaks", "real"),
    ]  # fmt: skip
    names = ("task", "unit", "lengths", "words", "n", "mean", "median", "n_breaks",
             "mean_without_breaks", "mean_per_word", "mean_per_word_without_breaks")  # fmt: skip
    rows = ([row[name] for name in names] for row in of_every_task(times, MOST_ROWS).to_pylist())
    html = table("Seconds by length of the source", columns, rows, sortable=True)
    return more(
        "As a table",
        html + left_out(times.num_rows, of_every_task(times, MOST_ROWS).num_rows, "the store"),
    )
