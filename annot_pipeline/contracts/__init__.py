"""Every table, declared once: columns, types, units, key, allowed values.

The Parquet schema, the Dagster column schema, the contract gates and the documentation
all come from here. A new gold table is one entry in `GOLD`, and an output of the stage that
makes it (annot_pipeline.stages.registry). What does not belong here: how a table is made (stages,
sql) and where it lies (storage).
"""

from __future__ import annotations

from typing import Literal

from annot_pipeline.contracts.judges import AGREEMENT, JUDGES
from annot_pipeline.contracts.labels import (
    JUDGE_CONFUSION,
    LABEL_CALIBRATION,
    LABEL_DISTRIBUTIONS,
    LABELS,
    PREVALENCE,
)
from annot_pipeline.contracts.model_judges import (
    ALL_MODELS,
    ESTIMATES,
    JUDGE_BIAS,
    JUDGE_VALIDATION,
    VALIDATION_CONFUSION,
)
from annot_pipeline.contracts.rankings import (
    SEGMENT_RANKS,
    SYSTEM_COMPARISONS,
    SYSTEM_RANKINGS,
    VARIANCE,
)
from annot_pipeline.contracts.records import (
    COUNTED_FATES,
    DESCRIBING,
    ITEMS,
    JUDGMENTS,
    LINEAGE,
    SET_ASIDE,
)
from annot_pipeline.contracts.scores import SCORES
from annot_pipeline.contracts.table import (
    ADEQUACY_SOURCES,
    CERTAINTY_BOUNDS,
    CONTROLS,
    FATES,
    FLAG,
    INT,
    ORDINARY,
    PREFERENCES,
    REAL,
    SCHEMA_VERSION,
    TEXT,
    TIME,
    UNREAD_FATES,
    VERDICTS,
    Column,
    Table,
    certificates,
    families_text,
    fates_text,
    is_measured,
    model_note,
    share_text,
    votes_text,
)

GOLD: dict[str, Table] = {
    table.name: table
    for table in (
        LABELS,
        LABEL_DISTRIBUTIONS,
        PREVALENCE,
        JUDGE_CONFUSION,
        LABEL_CALIBRATION,
        JUDGES,
        SCORES,
        SEGMENT_RANKS,
        SYSTEM_RANKINGS,
        SYSTEM_COMPARISONS,
        VARIANCE,
        AGREEMENT,
        JUDGE_VALIDATION,
        VALIDATION_CONFUSION,
        JUDGE_BIAS,
        ESTIMATES,
        ITEMS,
        JUDGMENTS,
        SET_ASIDE,
        LINEAGE,
    )
}
"""The tables of a release; each is always there, possibly empty."""

TableName = Literal[
    "labels", "label_distributions", "prevalence", "judge_confusion", "label_calibration",
    "judges", "scores", "segment_ranks", "system_rankings", "system_comparisons", "variance",
    "agreement", "judge_validation", "validation_confusion", "judge_bias", "estimates", "items",
    "judgments", "set_aside", "lineage",
]  # fmt: skip
"""Their names, for type checkers: a misspelt one is an error before anything runs."""
