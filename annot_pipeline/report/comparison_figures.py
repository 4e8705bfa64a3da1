"""Figures of a release that are drawn from comparisons: graphs of segments, wins, effort, time.

Used by the report and by Dagster's asset pages. What does not belong here: how a figure looks
(report/figures).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.methods.comparisons.comparison_graphs import (
    comparison_graphs,
    majority_outcomes,
)
from annot_pipeline.report import figures
from annot_pipeline.report.contents import rows_where
from annot_pipeline.report.release_figures import MOST_SYSTEMS, Drawn, first_tasks, headline_ranking
from annot_pipeline.runtime.indexing import index, index_pairs

FEWEST, MOST = 4, 10
"""Outputs of a segment whose graph is worth drawing."""
MOST_TRIED = 20
"""Segments of a task that are tried until the graph of one can be told from the tables."""

Row = Mapping[str, Any]


def segment_figures(outputs: pa.Table, comparisons: pa.Table) -> list[Drawn]:
    """Draw one segment's graph of each task: with contradictions, if any of a good size has them.

    The graph is the one pooled over judges, whose parts are ranked apart.

    Parameters
    ----------
    outputs
        Of segments that are tried in turn, as ``sql/report/drawn_segments`` gives them.
    comparisons
        Theirs, as ``sql/report/drawn_comparisons`` gives them.
    """
    drawings = []
    for task, of_task in groupby(outputs.to_pylist(), itemgetter("task")):
        for segment, rows in groupby(of_task, itemgetter("segment")):
            of_segment = rows_where(comparisons, task=task, segment=segment)
            if svg := _graph_svg(list(rows), of_segment, segment):
                drawings.append(Drawn(f"A segment's graph, {task}", svg))
                break
    return drawings


def _graph_svg(outputs: list[dict[str, Any]], rows: pa.Table, segment: str) -> str | None:
    """Return the graph as SVG; None where its components are not those of the table.

    That is so where outputs that are equal but for casing were compared each on its own: the
    table pools them, but does not say which they are.
    """
    position = {row["item"]: n for n, row in enumerate(outputs)}
    whole = np.zeros(len(outputs), np.int64)
    first, second = (
        np.array([position[item] for item in rows[side].to_pylist()], np.int64)
        for side in ("item_a", "item_b")
    )
    outcome = rows["outcome"].to_numpy().astype(np.int64)
    pooled = majority_outcomes(whole, first, second, outcome)
    every = [*zip(*(part.tolist() for part in pooled), strict=True), *_ties_of_equals(outputs)]
    edges = np.array(every, np.int64).reshape(-1, 3).T
    part = comparison_graphs(whole, *edges).part
    graphs = comparison_graphs(part, *edges)  # ranks hold within a part
    pairs_of_components = index_pairs(
        graphs.component, np.array([row["component"] for row in outputs])
    )
    if (
        not graphs.component.max(initial=-1) + 1
        == np.unique(pairs_of_components.second).size
        == pairs_of_components.first.size
    ):
        return None
    return figures.segment_graph_svg(
        [row["system"] or row["item"] for row in outputs],
        every, graphs.component, graphs.dominance, graphs.rank, segment=segment,
    )  # fmt: skip


def _ties_of_equals(outputs: list[dict[str, Any]]) -> Iterator[tuple[int, int, int]]:
    """Yield ties of outputs that differ in casing alone, which nobody was asked about."""
    for a, b in combinations(range(len(outputs)), 2):
        was_compared = outputs[a]["n_comparisons"] and outputs[b]["n_comparisons"]
        if not was_compared and outputs[a]["component"] == outputs[b]["component"]:
            yield a, b, 0


def win_figures(outcomes: pa.Table, rankings: pa.Table) -> list[Drawn]:
    """Draw how often each system was preferred to each other, in the order of the ranking.

    Parameters
    ----------
    outcomes
        As ``sql/report/wins`` counts them.
    rankings
        ``system_rankings``.
    """
    drawings = []
    for task, rows in first_tasks(outcomes.filter(outcomes["kept"])):
        named = rows.filter(pc.and_(rows["system_a"].is_valid(), rows["system_b"].is_valid()))
        ranked = [row for part in headline_ranking(rankings, task) for row in part]
        if not named.num_rows or not ranked:
            continue
        order = [row["system"] for row in ranked[:MOST_SYSTEMS]]
        position = {system: n for n, system in enumerate(order)}
        a, b = index(named["system_a"]), index(named["system_b"])
        place_of_name = np.array([position.get(name, -1) for name in (*a.names, *b.names)])
        first, second = place_of_name[a.codes], place_of_name[len(a.names) + b.codes]
        outcome, n = (named[column].to_numpy() for column in ("outcome", "n"))
        wins, ties = np.zeros((2, len(order), len(order)))
        for row, column, what in ((first, second, 1), (second, first, -1)):
            which = (outcome == what) & (row >= 0) & (column >= 0) & (row != column)
            np.add.at(wins, (row[which], column[which]), n[which])
            tied = (outcome == 0) & (row >= 0) & (column >= 0) & (row != column)
            np.add.at(ties, (row[tied], column[tied]), n[tied])
        more = f", the first {len(order)}" if len(ranked) > len(order) else ""
        drawings.append(
            Drawn(f"Share of wins, {task}{more}", figures.win_matrix_svg(order, wins, ties))
        )
    return drawings


def effort_figures(adequacy: Mapping[str, Row]) -> list[Drawn]:
    """Draw how many questions of adequacy the graph saves, by task.

    Parameters
    ----------
    adequacy
        The fact of `stages.rankings.rank_segments`.
    """
    return [
        Drawn(
            f"Questions of adequacy saved, {task}",
            figures.effort_saved_svg(
                {
                    "outputs": effort["n_outputs"],
                    "collapsed": effort["n_outputs"] - effort["n_vertices"],
                    **{k: effort[f"n_{k}"] for k in ("by_reference", "by_spread", "asked")},
                }
            ),
        )
        for task, effort in sorted(adequacy.items())
    ]


def time_figures(times: pa.Table) -> list[Drawn]:
    """Draw seconds per ranking and comparison by length of the source text, by task.

    Parameters
    ----------
    times
        As `stages.rankings.time_comparisons` has them.
    """
    drawings = []
    for task, rows in first_tasks(times):
        cumulative = [r for r in rows.to_pylist() if r["lengths"] == "cumulative" and r["words"]]
        words = sorted({row["words"] for row in cumulative})
        units = [
            unit for unit in ("comparison", "ranking") if any(r["unit"] == unit for r in cumulative)
        ]
        if len(words) < 2:
            continue
        at = {(row["unit"], row["words"]): row for row in cumulative}
        cells = [[at.get((unit, n)) for n in words] for unit in units]
        seconds = [[c["mean_per_word_without_breaks"] if c else None for c in row] for row in cells]
        counts = [[c["n"] - c["n_breaks"] if c else 0 for c in row] for row in cells]
        svg = figures.seconds_by_length_svg(
            words, [f"one {unit}" for unit in units],
            np.array(seconds, np.float64), np.array(counts),
            y_label="mean seconds per word of the source, without breaks",
        )  # fmt: skip
        drawings.append(Drawn(f"Seconds by length of the source, {task}", svg))
    return drawings
