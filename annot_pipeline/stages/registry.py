"""All stages, in an order in which each finds its inputs; each is declared beside its code."""

from __future__ import annotations

from collections.abc import Iterable

from annot_pipeline.contracts import GOLD
from annot_pipeline.runtime.stage import Stage
from annot_pipeline.stages.agreement.stage import MEASURE_AGREEMENT
from annot_pipeline.stages.gold.compare import COMPARE_RELEASES
from annot_pipeline.stages.gold.stage import (
    ADD_UP_COSTS,
    DESCRIBE_ITEMS,
    DESCRIBE_JUDGES,
    LIST_JUDGMENTS,
    SET_JUDGMENTS_ASIDE,
    TRACE_LINEAGE,
)
from annot_pipeline.stages.ingest.exports import ARCHIVE_EXPORTS, READ_RECORDS
from annot_pipeline.stages.ingest.judgments import SETTLE_JUDGMENTS
from annot_pipeline.stages.judges.stage import CONTROL_JUDGES, PAIR_CONTROLS
from annot_pipeline.stages.labels.stage import CHECK_CALIBRATION, INFER_LABELS
from annot_pipeline.stages.model_judges.stage import MEASURE_MODEL_JUDGES
from annot_pipeline.stages.planning.stage import PLAN_HITS
from annot_pipeline.stages.rankings.stage import (
    BREAK_INTO_COMPARISONS,
    DESCRIBE_COMPARISONS,
    RANK_SEGMENTS,
    RANK_SYSTEMS,
)
from annot_pipeline.stages.scores.stage import SCORE_ITEMS, STANDARDIZE_SCORES

STAGES: tuple[Stage, ...] = (
    ARCHIVE_EXPORTS,
    READ_RECORDS,
    SETTLE_JUDGMENTS,
    PAIR_CONTROLS,
    CONTROL_JUDGES,
    STANDARDIZE_SCORES,
    SCORE_ITEMS,
    BREAK_INTO_COMPARISONS,
    DESCRIBE_ITEMS,
    INFER_LABELS,
    RANK_SEGMENTS,
    PLAN_HITS,
    RANK_SYSTEMS,
    MEASURE_AGREEMENT,
    DESCRIBE_COMPARISONS,
    DESCRIBE_JUDGES,
    CHECK_CALIBRATION,
    MEASURE_MODEL_JUDGES,
    LIST_JUDGMENTS,
    SET_JUDGMENTS_ASIDE,
    ADD_UP_COSTS,
    TRACE_LINEAGE,
    COMPARE_RELEASES,
)

MAKER = {table: stage for stage in STAGES for table in stage.outputs}
"""Which stage makes a table."""


def stages_for(tables: Iterable[str]) -> tuple[Stage, ...]:
    """Return the stages that make some tables, and all upstream ones, in order."""
    stage_names = {MAKER[table].name for table in tables}
    for stage in reversed(STAGES):
        if stage.name in stage_names:
            stage_names |= {MAKER[table].name for table in stage.inputs}
    return tuple(stage for stage in STAGES if stage.name in stage_names)


GOLD_MADE = tuple(name for name in GOLD if name in MAKER)
"""Gold tables that a stage makes; the others are released empty."""
