"""Systems and outputs: rankings with intervals and clusters, comparisons, scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.errors import first_of
from annot_pipeline.report import comparison_figures as graph_figures
from annot_pipeline.report import release_figures
from annot_pipeline.report.contents import Contents, count_tasks, of_every_task, plain
from annot_pipeline.report.release_figures import MOST_TASKS as DRAWN
from annot_pipeline.report.render import interval

MOST_ROWS = 200
MOST_TASKS = 300
"""Tasks whose best systems are told."""
MOST_COMPONENTS = 20
"""Components of a task whose best systems are told."""
MOST_DRAWN = 18
"""Tasks whose rankings are drawn: the first at once, the others to open."""


def rankings(contents: Contents) -> dict[str, Any]:
    """Return rankings first, then what they rest on; nothing where nothing is ranked or scored."""
    tables, internal, facts = contents.tables, contents.internal, contents.facts
    ranked, times = tables["system_rankings"], internal["comparison_times"]
    n_tasks = count_tasks(ranked)
    segments = internal["segment_contradictions"]
    segments = segments.filter(pc.greater(segments["n_graphs_with_contradictions"], 0))
    compared = release_figures.comparison_figures(
        tables["system_comparisons"], contents.settings["ranking"]["alpha"], ranked
    )
    outputs = [
        *graph_figures.segment_figures(internal["drawn_segments"], internal["drawn_comparisons"]),
        *graph_figures.effort_figures(facts["adequacy"]), *graph_figures.time_figures(times),
    ]  # fmt: skip
    result = {
        **best(ranked, tables["variance"]),
        **ranking_rows(ranked),
        "references": [s for t in sorted(facts["kinds"]) for s in contents.references(t)],
        "drawings": release_figures.ranking_figures(
            ranked, comparisons=tables["system_comparisons"]
        ),
        "other_drawings": release_figures.ranking_figures(
            ranked, DRAWN, MOST_DRAWN, tables["system_comparisons"]
        ),
        "most_drawn": min(n_tasks, MOST_DRAWN),
        "order_effects": _order_effects(facts["systems_compared"]),
        "length_effects": _length_effects(facts["systems_compared"]),
        "compared": _figures(compared, tables["system_comparisons"]),
        "wins": _figures(graph_figures.win_figures(internal["wins"], ranked), internal["wins"]),
        "outputs": _figures(outputs, tables["segment_ranks"]),
        "scores": _figures(release_figures.score_figures(tables["drawn_scores"]), tables["scores"]),
        "n_contradicted": segments.num_rows,
        "contradicted": _contradicted(segments),
        "times": of_every_task(times, MOST_ROWS).to_pylist(),
        "n_times": times.num_rows,
    }
    has_content = any(result[name] for name in ("best", "rows", "contradicted", "times")) or any(
        result[name]["drawings"] for name in ("compared", "wins", "outputs", "scores")
    )
    return result if has_content else {}


def _figures(drawings: Sequence[release_figures.Drawn], table: pa.Table) -> dict[str, Any]:
    return {"drawings": drawings, "n_tasks": count_tasks(table)}


def best(ranked: pa.Table, variance: pa.Table) -> dict[str, Any]:
    """Return the best systems of each task, by component."""
    rows: list[tuple[Any, ...]] = []
    detectable = release_figures.detectable_differences(variance)
    has_components, n_left_out = False, 0
    for task, of_task in release_figures.first_tasks(ranked, end=MOST_TASKS):
        components = release_figures.headline_ranking(of_task, task)
        has_components |= len(components) > 1
        n_left_out += max(len(components) - MOST_COMPONENTS, 0)
        for component in components[:MOST_COMPONENTS]:
            systems, which = release_figures.best_systems(component)
            difference, limit = detectable.get(task, (None, ""))
            rows.append((
                task, component[0]["component"] if len(components) > 1 else None,
                component[0]["method"], first_of(systems, 10), which, len(component), difference,
                limit, release_figures.most_frequent_reason(component),
            ))  # fmt: skip
    return {
        "best": rows,
        "components": release_figures.COMPONENTS if has_components else "",
        "n_left_out": n_left_out,
        "most_components": MOST_COMPONENTS,
        "n_tasks": count_tasks(ranked),
        "most_tasks": MOST_TASKS,
    }


def _order_effects(systems_compared: Mapping[str, Mapping[str, Any]]) -> list[Any]:
    """Return how far judges prefer what they are shown first."""
    return [
        (task, effect["judges"], effect["logits"], 1 / (1 + np.exp(-effect["logits"])))
        for task, counts in systems_compared.items()
        for effect in counts.get("bradley_terry", {}).get("order_effects", ())
    ][:MOST_TASKS]


def _length_effects(systems_compared: Mapping[str, Mapping[str, Any]]) -> list[Any]:
    """Return how far judges prefer longer texts, where a campaign asks for it."""
    return [
        (task, effect["logits"], interval(effect["ci_low"], effect["ci_high"]),
         1 / (1 + 2 ** -effect["logits"]), fit["comparisons_without_text"])
        for task, counts in systems_compared.items()
        for fit in [counts.get("bradley_terry_length", {})]
        for effect in fit.get("covariates", ())
    ][:MOST_TASKS]  # fmt: skip


def ranking_rows(ranked: pa.Table) -> dict[str, Any]:
    """Return rows of all methods by rank, each task's share of those that a page shows."""
    order = [
        ("task", "ascending"),
        ("headline", "descending"),
        ("method", "ascending"),
        ("component", "ascending"),
        ("rank", "ascending"),
        ("system", "ascending"),
    ]
    in_order = plain(ranked).sort_by(order)
    rows = [
        row | {
            "interval": interval(row["ci_low"], row["ci_high"]),
            "ranks": interval(row["rank_low"], row["rank_high"], "count"),
        }
        for row in of_every_task(in_order, MOST_ROWS).to_pylist()
    ]  # fmt: skip
    return {"rows": rows, "n_rows": ranked.num_rows}


def _contradicted(segments: pa.Table) -> list[dict[str, Any]]:
    """Return segments with contradictions, the least consistent first."""
    order = np.argsort(segments["consistency"].to_numpy(), kind="stable")[:MOST_ROWS]
    rows: list[dict[str, Any]] = segments.take(pa.array(order)).to_pylist()
    return rows
