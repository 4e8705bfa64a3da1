"""Rankings of systems in the data card: what the headline of each task tells apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa

from annot_pipeline.errors import first_of
from annot_pipeline.report.markdown import Marked, escape, table
from annot_pipeline.report.release_figures import (
    COMPONENTS,
    best_systems,
    detectable_differences,
    most_frequent_reason,
)

WORDS = (
    "By the headline of each task. Wins are pairs of systems that a one-sided test distinguishes, "
    "after Holm's correction; it counts judges and segments as drawn (documents instead of "
    "segments if they are mapped). `best` are the systems not shown to be worse than any "
    "other; without tests, the first. Each system of the first cluster beats each of the others; "
    "within it some pairs may differ significantly. A difference of `found in 80%` is found by "
    "one test, before the correction, in 80 of 100 evaluations."
)


def rankings(gold: Mapping[str, pa.Table]) -> list[str]:
    """Return the lines of the section; none without ranked systems."""
    ordered = sorted(
        gold["system_rankings"].filter(gold["system_rankings"]["headline"]).to_pylist(),
        key=lambda row: (row["task"], row["component"] or 0, row["rank"] or 0, row["system"]),
    )
    if not ordered:
        return []
    has_components = any((row["component"] or 1) > 1 for row in ordered)
    rows = _rows(ordered, gold["variance"], has_components=has_components)
    head = ["task", "method", "systems", "wins", "best", "first cluster", "found in 80%", "note"]
    words = WORDS
    if has_components:
        head.append("component")
        words += f" {COMPONENTS}"
    return [words, "", *table(head, rows, "`system_rankings.parquet`")]


def _rows(
    ordered: Sequence[Mapping[str, Any]], variance: pa.Table, *, has_components: bool
) -> Iterator[tuple[Any, ...]]:
    """Yield the cells of each task and component."""
    detectable = detectable_differences(variance)
    for (task, component), group in groupby(ordered, lambda row: (row["task"], row["component"])):
        members = [dict(row) for row in group]
        ranked = [row for row in members if row["rank"] is not None]
        best = best_systems(ranked)[0] if ranked else []
        first = [row["system"] for row in members if row["cluster"] == 1]
        gap, limit = detectable.get(task, (None, ""))
        difference = (
            None if gap is None else " ".join([f"{gap:.3g} points", *[limit] * bool(limit)])
        )
        yield (
            task, members[0]["method"], len(members), sum(row["wins"] or 0 for row in members),
            *(Marked(escape(first_of(names))) if names else None for names in (best, first)),
            difference, Marked(escape(most_frequent_reason(members) or "")),
            *[component] * has_components,
        )  # fmt: skip
