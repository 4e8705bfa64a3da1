"""Figures of a release that are drawn from comparisons: graphs of segments, wins, effort, time.

Used by the report and by Dagster's asset pages. What does not belong here: how a figure looks
(report/figures).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.comparison_graphs import comparison_graphs, majority_outcomes
from annot_pipeline.report.figures import (
    effort_saved_svg,
    seconds_by_length_svg,
    segment_graph_svg,
    win_matrix_svg,
)
from annot_pipeline.report.release_figures import MOST_SYSTEMS, Drawn, best_ranking, first_tasks
from annot_pipeline.steps.indexing import index

FEWEST, MOST = 4, 10
"""Outputs of a segment whose graph is worth drawing."""

Row = Mapping[str, Any]


def segment_figures(segment_ranks: pa.Table, comparisons: pa.Table) -> list[Drawn]:
    """One segment's graph of each task: with contradictions, if any of a good size has them.

    Parameters
    ----------
    segment_ranks
        ``task``, ``segment``, ``item``, ``system``, ``in_contradiction``, ``component``,
        ``n_comparisons``.
    comparisons
        As `steps.comparisons` has them.
    """
    drawn = []
    for task, ranks in first_tasks(segment_ranks):
        segment = _worth_drawing(ranks)
        if segment is None:
            continue
        outputs = ranks.filter(pc.equal(ranks["segment"].cast(TEXT), segment)).to_pylist()
        rows = comparisons.filter(
            pc.and_(
                pc.equal(comparisons["task"].cast(TEXT), task),
                pc.and_(
                    comparisons["kept"],
                    pc.equal(pc.coalesce(comparisons["segment"].cast(TEXT), task), segment),
                ),
            )
        )
        drawn.append(Drawn(f"A segment's graph, {task}", _graph_svg(outputs, rows, segment)))
    return drawn


def _worth_drawing(ranks: pa.Table) -> str | None:
    """A segment of a good size, best with a contradiction that does not hold all outputs."""
    counted = pa.TableGroupBy(
        ranks.select(["segment", "item", "in_contradiction"]).set_column(
            2, "contradicts", ranks["in_contradiction"].cast(pa.int64())
        ),
        "segment",
    ).aggregate([("item", "count"), ("contradicts", "sum")])
    rows = [
        (0 < row["contradicts_sum"] < row["item_count"], row["item_count"], row["segment"])
        for row in counted.to_pylist()
        if FEWEST <= row["item_count"] <= MOST
    ]
    rows.sort(key=lambda row: (not row[0], -row[1], row[2]))
    return rows[0][2] if rows else None


def _graph_svg(outputs: list[dict[str, Any]], rows: pa.Table, segment: str) -> str:
    place = {row["item"]: n for n, row in enumerate(outputs)}
    graph = np.zeros(len(outputs), np.int64)
    first, second = (
        np.array([place[item] for item in rows[side].to_pylist()], np.int64)
        for side in ("item_a", "item_b")
    )
    edges = majority_outcomes(graph, first, second, rows["outcome"].to_numpy().astype(np.int64))
    twins = [  # equal but for casing: nobody was asked
        (n, other, 0)
        for n, row in enumerate(outputs)
        if not row["n_comparisons"]
        for other in range(len(outputs))
        if other != n and outputs[other]["component"] == row["component"]
    ]
    every = [*zip(*(part.tolist() for part in edges), strict=True), *twins]
    a, b, outcome = (np.array(part, np.int64) for part in zip(*every, strict=True))
    found = comparison_graphs(graph, a, b, outcome)
    return segment_graph_svg(
        [row["system"] or row["item"] for row in outputs],
        every, found.component, found.dominance, found.rank, segment=segment,
    )  # fmt: skip


def win_figures(comparisons: pa.Table, rankings: pa.Table) -> list[Drawn]:
    """How often each system was preferred to each other, in the order of the ranking."""
    drawn = []
    for task, rows in first_tasks(comparisons.filter(comparisons["kept"])):
        named = rows.filter(pc.and_(rows["system_a"].is_valid(), rows["system_b"].is_valid()))
        ranked = best_ranking(rankings, task)
        if not named.num_rows or not ranked:
            continue
        order = [row["system"] for row in ranked[:MOST_SYSTEMS]]
        place = {system: n for n, system in enumerate(order)}
        a, b = index(named["system_a"]), index(named["system_b"])
        known = np.array([place.get(name, -1) for name in (*a.names, *b.names)])
        first, second = known[a.codes], known[len(a.names) + b.codes]
        outcome = named["outcome"].to_numpy()
        wins, ties = np.zeros((2, len(order), len(order)))
        for of, to, what in ((first, second, 1), (second, first, -1)):
            which = (outcome == what) & (of >= 0) & (to >= 0) & (of != to)
            np.add.at(wins, (of[which], to[which]), 1)
            tied = (outcome == 0) & (of >= 0) & (to >= 0) & (of != to)
            np.add.at(ties, (of[tied], to[tied]), 1)
        more = f", the first {len(order)}" if len(ranked) > len(order) else ""
        drawn.append(Drawn(f"Share of wins, {task}{more}", win_matrix_svg(order, wins, ties)))
    return drawn


def effort_figures(adequacy: Mapping[str, Row]) -> list[Drawn]:
    """What labels of adequacy cost less by the graph, by task.

    Parameters
    ----------
    adequacy
        The fact of `steps.rank_segments`.
    """
    return [
        Drawn(
            f"Questions of adequacy saved, {task}",
            effort_saved_svg(
                {
                    "outputs": found["n_outputs"],
                    "collapsed": found["n_outputs"] - found["n_vertices"],
                    "by_reference": found["n_by_reference"],
                    "by_spread": found["n_by_spread"],
                    "asked": found["n_asked"],
                }
            ),
        )
        for task, found in sorted(adequacy.items())
    ]


def time_figures(times: pa.Table) -> list[Drawn]:
    """Seconds a ranking and a comparison by length of the source text, by task.

    Parameters
    ----------
    times
        As `steps.time_comparisons` has them.
    """
    drawn = []
    for task, rows in first_tasks(times):
        of = [r for r in rows.to_pylist() if r["lengths"] == "cumulative" and r["words"]]
        words = sorted({row["words"] for row in of})
        units = [unit for unit in ("comparison", "ranking") if any(r["unit"] == unit for r in of)]
        if len(words) < 2:
            continue
        at = {(row["unit"], row["words"]): row for row in of}
        cells = [[at.get((unit, n)) for n in words] for unit in units]
        seconds = [[c["mean_per_word_without_breaks"] if c else None for c in row] for row in cells]
        counts = [[c["n"] if c else 0 for c in row] for row in cells]
        svg = seconds_by_length_svg(
            words, [f"one {unit}" for unit in units],
            np.array(seconds, np.float64), np.array(counts),
        )  # fmt: skip
        drawn.append(Drawn(f"Seconds by length of the source, {task}", svg))
    return drawn
