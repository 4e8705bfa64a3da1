"""campaign.yaml: what it may say. Strict and frozen; an unknown key is an error.

Reading the file, `--set` and error messages live in `annot_pipeline.config.campaign_file`.
"""

from annot_pipeline.config.campaign import Campaign, LoadedCampaign
from annot_pipeline.config.expressions import (
    CaptureExpression,
    ColumnExpression,
    Condition,
    ConstantExpression,
    EachBestWorst,
    EachColumn,
    EachElement,
    EachOfCells,
    Expression,
    JoinExpression,
    RowExpression,
)
from annot_pipeline.config.sections import (
    ControlledHits,
    Criterion,
    Easl,
    Engine,
    Limits,
    NextHits,
    Privacy,
    Quality,
    Ranking,
    Resources,
    Standardize,
    TaskSettings,
    Threshold,
)
from annot_pipeline.config.sources import (
    CANONICAL_FIELDS,
    FieldName,
    ItemFieldName,
    ItemSource,
    ReadOptions,
    Source,
)
from annot_pipeline.config.strict_section import TAG
