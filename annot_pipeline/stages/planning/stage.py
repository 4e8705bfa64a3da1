"""The next HITs of all tasks that their design is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from annot_pipeline.config import Campaign
from annot_pipeline.runtime.context import StageContext, StageOutput
from annot_pipeline.runtime.stage import Stage
from annot_pipeline.stages.model_judges.stage import ANSWER_COLUMNS
from annot_pipeline.stages.planning.metrics import PlanMetrics
from annot_pipeline.storage.tables import StoredTable, StoredTasks, read_verified, verify_table

if TYPE_CHECKING:
    from annot_pipeline.stages.planning.planning_inputs import PlanningTables


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
    from annot_pipeline.stages.planning.designs import plan_hits

    return plan_hits(planning_tables(stored, settings, columns), settings)


def needed_tables(settings: Campaign) -> tuple[str, ...]:
    """Return the names of the tables that the design of the next HITs looks at."""
    from annot_pipeline.stages.planning.designs import design_of

    return ("tasks", "item_rows", "item_texts", *design_of(settings).needs)


def planning_tables(
    stored: Mapping[str, StoredTable],
    settings: Campaign,
    columns: Mapping[str, Sequence[str]] | None = None,
) -> PlanningTables:
    """Return the tables of a build that the design looks at, their checksums verified.

    Parameters
    ----------
    stored
        At least `needed_tables`, by name.
    settings
        ``next_hits.design``.
    columns
        Of each table, those to read; None: all.
    """
    from annot_pipeline.stages.planning.planning_inputs import BY_TASK, WHOLE, PlanningTables

    names, columns = needed_tables(settings), columns or {}
    by_task = {
        field: StoredTasks(verify_table(stored[name]), columns.get(name, ()))
        for name, field in BY_TASK.items()
        if name in names
    }
    whole = {
        field: read_verified(stored[name], columns.get(name, ()))
        for name, field in WHOLE.items()
        if name in names
    }
    return PlanningTables(**whole, **by_task)


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
)  # fmt: skip
