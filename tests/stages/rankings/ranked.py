"""Small tables of comparisons, ranked: what its tests share."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.config import Easl, Ranking
from annot_pipeline.contracts import SYSTEM_COMPARISONS, SYSTEM_RANKINGS
from annot_pipeline.runtime.coded_task import CodedTask
from annot_pipeline.runtime.indexing import ByTask
from annot_pipeline.stages.rankings.rank_systems import rank_by_comparisons
from annot_pipeline.stages.rankings.ranking_rows import MOST_SYSTEMS, RankingContext
from annot_pipeline.stages.shared.comparisons import COMPARISONS

METHODS = ["bounded_ra", "bradley_terry", "trueskill", "wins", "wins_ties_half"]
DESCRIPTIVE = [method for method in METHODS if method != "bradley_terry"]


def table(*rows: tuple[Any, ...], **columns: list[Any]) -> pa.Table:
    """Rows of (system a, system b, outcome), each a ranking, segment and judge of its own."""
    n = len(rows)
    a, b, outcome = zip(*rows, strict=True) if rows else ((), (), ())
    each = [str(i) for i in range(n)]
    given = {
        "task": ["t"] * n, "judge": each, "kept": [True] * n, "segment": each, "item_a": a,
        "item_b": b, "system_a": a, "system_b": b, "outcome": outcome,
        "same_output": [False] * n, "ranking": list(range(n)), "judgment_id": each,
    } | columns  # fmt: skip
    arrays = [
        pa.nulls(n, f.type) if f.name not in given else
        pa.array(given[f.name], pa.string()).cast(f.type) if pa.types.is_dictionary(f.type) else
        pa.array(given[f.name], f.type)
        for f in COMPARISONS
    ]  # fmt: skip
    return pa.Table.from_arrays(arrays, schema=COMPARISONS)


def by_comparisons(comparisons, context, segment_ranks=None, **how):
    """Return rankings of all tasks, and metrics by name and task."""
    by_task, graphs = ByTask(comparisons), None if segment_ranks is None else ByTask(segment_ranks)
    tables = {"system_rankings": [SYSTEM_RANKINGS.empty()],
              "system_comparisons": [SYSTEM_COMPARISONS.empty()]}  # fmt: skip
    facts = {"systems_compared": {}}
    for task in by_task.names:
        own, metrics = rank_by_comparisons(
            CodedTask(task, by_task[task]), context,
            segment_ranks=graphs and graphs[task], **how,
        )  # fmt: skip
        for name in own:
            tables[name].append(own[name])
        for name, value in metrics.items():
            facts.setdefault(name, {})[task] = value
    return {name: pa.concat_tables(parts) for name, parts in tables.items()}, facts


def run(
    comparisons: pa.Table,
    *,
    segment_ranks=None,
    item_rows=None,
    seed: int = 1,
    judges=(),
    most_systems: int = MOST_SYSTEMS,
    **settings: Any,
):
    ranking = Ranking(**({"bootstrap": 200} | settings))
    context = RankingContext(ranking, Easl(), seed, most_systems=most_systems)
    tables, facts = by_comparisons(
        comparisons, context, segment_ranks, item_rows=item_rows, judges=judges
    )
    json.dumps(facts, allow_nan=False)
    assert tables["system_rankings"].schema == SYSTEM_RANKINGS.schema
    assert tables["system_comparisons"].schema == SYSTEM_COMPARISONS.schema
    for declared in (SYSTEM_RANKINGS, SYSTEM_COMPARISONS):
        rows = tables[declared.name].to_pylist()
        keys = [tuple(row[k] for k in declared.key) for row in rows]
        assert keys == sorted(set(keys))
    rankings: dict[str, dict[str, dict[str, Any]]] = {}
    for row in tables["system_rankings"].to_pylist():
        rankings.setdefault(row["method"], {})[row["system"]] = row
    return rankings, tables["system_comparisons"].to_pylist(), facts


def column(actual, method: str, name: str) -> list[Any]:
    return [row[name] for row in actual[method].values()]


def rows_of(**counts: int) -> list[tuple[str, str, int]]:
    """``ab=3`` wins of a, ``ba=1`` of b, ``ab_=2`` ties; mixed, for some methods look at order."""
    rows = []
    for name, n in counts.items():
        a, b = sorted(name[:2])
        rows += [(a, b, 0 if name.endswith("_") else 1 if name[0] == a else -1)] * n
    return [rows[i] for i in np.random.default_rng(5).permutation(len(rows))]


CLEAR = rows_of(ab=12, ba=3, bc=12, cb=3, ac=14, ac_=2, ca=1)


def dominances(*rows: tuple[str, str, int], task: str = "t") -> pa.Table:
    segment, system, dominance = zip(*rows, strict=True)
    return pa.table(
        {"task": [task] * len(rows), "segment": segment, "system": system, "dominance": dominance}
    )
