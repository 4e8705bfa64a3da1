"""Tables of small campaigns of comparisons, and judges who answer what was planned."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from annot_pipeline.config import Campaign
from annot_pipeline.contracts import LABEL_DISTRIBUTIONS
from annot_pipeline.contracts.task_table import TASKS
from annot_pipeline.runtime.indexing import ByTask
from annot_pipeline.stages.ingest.present_exports import ITEM_ROWS
from annot_pipeline.stages.planning.designs import plan_hits
from annot_pipeline.stages.planning.planning_inputs import PlanningTables
from annot_pipeline.stages.shared.comparisons import COMPARISONS

Row = dict[str, Any]
VOTES = pa.schema(
    [LABEL_DISTRIBUTIONS.schema.field(name) for name in ("task", "item", "label", "votes")]
)
PAIRWISE: Row = {"name": "mt", "kind": "pairwise"}


def settings(design: str, tasks: Sequence[Row] = (PAIRWISE,), **next_hits: Any) -> Campaign:
    return Campaign.model_validate_json(json.dumps(
        {
            "campaign": "mt",
            "sources": [
                {
                    "path": "x.csv",
                    "format": "csv",
                    "fields": {
                        "judge": "j", "item_a": "a", "item_b": "b", "preference": "p",
                    },
                }
            ],
            "tasks": list(tasks),
            "next_hits": {"design": design, "segments": 10**6} | next_hits,
        }
    ))  # fmt: skip


def listed(sizes: Iterable[int], **more: Any) -> list[Row]:
    """Segments s0, s1, ... of so many outputs each, all with a text of their own."""
    return [
        {
            "item": f"s{segment:04}/x{system:04}",
            "segment": f"s{segment:04}",
            "system": f"x{system:04}",
            "text": f"text {system} of {segment}",
            "source": f"source {segment}",
        }
        | more
        for segment, size in enumerate(sizes)
        for system in range(size)
    ]


def comparison(a: Row, b: Row, outcome: int, **more: Any) -> Row:
    """Of two rows of an item table; a judge holds a against b."""
    if a["item"] > b["item"]:
        a, b, outcome = b, a, -outcome
    return {
        "task": "mt", "judge": "j", "kept": True, "segment": a["segment"], "item_a": a["item"],
        "item_b": b["item"], "system_a": a["system"], "system_b": b["system"],
        "outcome": outcome, "same_output": False, "ranking": 0, "judgment_id": "0" * 32,
    } | more  # fmt: skip


def tasks_table(*rows: Row) -> pa.Table:
    defaults = {"guessed": False, "ordinal": False, "criteria": []}
    return pa.Table.from_pylist([defaults | row for row in rows], TASKS)


def votes_table(rows: Sequence[Row]) -> pa.Table:
    """A vote a row, unless it says how many."""
    return pa.Table.from_pylist([{"votes": 1} | row for row in rows], VOTES)


def planned(
    items: Sequence[Row],
    comparisons: Sequence[Row] = (),
    votes: Sequence[Row] = (),
    *,
    campaign: Campaign,
    tasks: Sequence[Row] | None = None,
) -> tuple[list[Row], dict[str, Any]]:
    """The plan, a row a slot, and its metrics."""
    if tasks is None:
        tasks = [{"task": "mt", "kind": "pairwise"}] if comparisons else []
    rows = [{"place": place} | row for place, row in enumerate(items)]
    table, metrics = plan_hits(
        PlanningTables(
            tasks_table(*tasks),
            pa.Table.from_pylist(rows, ITEM_ROWS),
            comparisons=ByTask(pa.Table.from_pylist(list(comparisons), COMPARISONS)),
            votes=votes_table(votes),
        ),
        campaign,
    )
    return table.to_pylist(), metrics


def answered(plan: Sequence[Row], items: Sequence[Row], worth: Callable[[Row], float]) -> list[Row]:
    """What a judge says who always sees which output is worth more."""
    known = {row["item"]: row for row in items}
    actual = []
    for slot in plan:
        a, b = known[slot["item"]], known[slot["item_b"]]
        apart = worth(a) - worth(b)
        actual.append(comparison(a, b, (apart > 0) - (apart < 0)))
    return actual
