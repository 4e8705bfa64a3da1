"""Rankings of systems in the data card: what the headline of each task tells apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import pyarrow as pa

from annot_pipeline.errors import first_of
from annot_pipeline.report.markdown import Marked, escape, table
from annot_pipeline.report.release_figures import most_frequent_reason

WORDS = (
    "By the headline of each task. Wins are pairs of systems that a one-sided test tells apart, "
    "after Holm's correction; it counts judges and segments as drawn. Each system of the first "
    "cluster beats each of the others; within it some pairs may be told apart. A difference of "
    "`found in 80%` is found by one test, before the correction, in 80 of 100 evaluations."
)


def rankings(gold: Mapping[str, pa.Table]) -> list[str]:
    """Return the lines of the section; none without ranked systems."""
    rows = [*_rows(gold["system_rankings"], gold["variance"])]
    if not rows:
        return []
    head = ("task", "method", "systems", "wins", "first cluster", "found in 80%",
            "note")  # fmt: skip
    return [WORDS, "", *table(head, rows, "`system_rankings.parquet`")]


def _rows(rankings_table: pa.Table, variance: pa.Table) -> Iterator[tuple[Any, ...]]:
    detectable = {
        row["task"]: row["value"]
        for row in variance.to_pylist()
        if row["statistic"] == "detectable_difference" and row["value"] is not None
    }
    ordered = sorted(
        rankings_table.filter(rankings_table["headline"]).to_pylist(),
        key=lambda row: (row["task"], row["component"] or 0, row["rank"] or 0, row["system"]),
    )
    for (task, _), group in groupby(ordered, lambda row: (row["task"], row["component"])):
        ranked = list(group)
        first = [row["system"] for row in ranked if row["cluster"] == 1]
        gap = detectable.get(task)
        yield (
            task, ranked[0]["method"], len(ranked), sum(row["wins"] or 0 for row in ranked),
            Marked(escape(first_of(first))) if first else None,
            None if gap is None else f"{gap:.3g} points",
            Marked(escape(most_frequent_reason(ranked) or "")),
        )  # fmt: skip
