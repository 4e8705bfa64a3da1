"""Rankings of systems in the data card: what the headline of each task tells apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa

from annot_pipeline.errors import first_of
from annot_pipeline.report.markdown import Marked, escape
from annot_pipeline.report.release_figures import (
    COMPONENTS,
    best_systems,
    detectable_differences,
    most_frequent_reason,
)


def rankings(gold: Mapping[str, pa.Table]) -> dict[str, Any]:
    """Return what the headline of each task tells apart; no rows without ranked systems."""
    ordered = sorted(
        gold["system_rankings"].filter(gold["system_rankings"]["headline"]).to_pylist(),
        key=lambda row: (row["task"], row["component"] or 0, row["rank"] or 0, row["system"]),
    )
    has_components = any((row["component"] or 1) > 1 for row in ordered)
    return {
        "rankings": [*_rows(ordered, gold["variance"], has_components=has_components)],
        "has_components": has_components,
        "components": COMPONENTS,
    }


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
