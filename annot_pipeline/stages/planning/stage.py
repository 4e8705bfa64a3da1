"""The next HITs of all tasks that their design is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pyarrow as pa

from annot_pipeline.config import Campaign
from annot_pipeline.runtime.context import StageContext, StageOutput
from annot_pipeline.runtime.stage import Stage
from annot_pipeline.stages.model_judges.stage import ANSWER_COLUMNS
from annot_pipeline.stages.planning.metrics import PlanMetrics
from annot_pipeline.storage.tables import (
    StoredTable,
    StoredTasks,
    read_verified,
    verify_table,
)


def plan_next_hits(context: StageContext) -> StageOutput[PlanMetrics]:
    """Plan the next HITs of all tasks that their design is for."""
    [(table, metrics)] = context.run(
        [partial(_plan, dict(context.inputs), context.columns, context.campaign.settings)]
    )
    if metrics.hits:
        n = sum(metrics.hits.values())
        context.progress(f"{n:,} HIT{'s' * (n != 1)} planned: annot hits writes them")
    return StageOutput({"next_hits": table}, metrics)


def _plan(
    stored: Mapping[str, StoredTable], columns: Mapping[str, Sequence[str]], settings: Campaign
) -> tuple[pa.Table, PlanMetrics]:
    """Return plan by the tables that the design looks at."""
    from annot_pipeline.stages.planning.plan_hits import (
        BY_TASK,
        NEEDED,
        PROBABILITIES,
        VOTES,
        plan_hits,
    )

    required_tables = NEEDED[settings.next_hits.design]
    table_names = {"tasks", "item_rows", "item_texts"} | (
        {VOTES, PROBABILITIES} & {*required_tables}
    )
    read = {name: read_verified(stored[name], columns[name]) for name in table_names}
    by_task = {
        name: StoredTasks(verify_table(stored[name]), columns[name])
        for name in BY_TASK
        if name in required_tables
    }
    return plan_hits(
        by_task.get("scores"),
        read["tasks"],
        read["item_rows"],
        settings=settings,
        comparisons=by_task.get("comparisons"),
        votes=read.get(VOTES),
        judgments=by_task.get("controlled"),
        probabilities=read.get(PROBABILITIES),
        item_texts=read["item_texts"],
    )


PLAN_HITS = Stage(
    "plan_hits",
    "Selects the items of the next HITs by the setting next_hits.",
    inputs={
        "scores": (
            "task", "item", "segment", "system", "n_judgments", "easl_alpha", "easl_beta",
        ),
        "tasks": (), "item_rows": (), "comparisons": (),
        "item_texts": ("task", "item", "item_version"),
        "label_distributions": ("task", "item", "label", "votes"),
        "controlled": ANSWER_COLUMNS, "item_probabilities": (),
    },
    outputs=("next_hits",),
    settings=(
        "campaign", "tasks", "easl", "next_hits.design", "next_hits.within",
        "next_hits.segments", "next_hits.hit_size", "next_hits.items", "judges",
        "controlled_hits", "seed",
    ),
    code_version="6",  # nothing is asked of earlier texts
    work=plan_next_hits,
    kinds=frozenset({"parquet", "numpy"}),
)  # fmt: skip
