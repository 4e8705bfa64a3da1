"""Items, judgments set aside, and every record with its fate."""

from __future__ import annotations

from annot_pipeline.contracts.table import (
    ITEM,
    JUDGE,
    SEGMENT,
    SYSTEM,
    TASK,
    Column,
    Table,
    text,
)
from annot_pipeline.contracts.values import FATES, INT, LEFT_OUT_OF, TEXT

ITEMS = Table(
    "items",
    "one item",
    ("item",),
    (
        ITEM,
        SEGMENT,
        SYSTEM,
        text("text", "What the judges saw", nullable=True),
        text("source", "Input of the system", nullable=True),
        text("reference", "Reference output", nullable=True),
        text("truth", "Known answer, for evaluation only; null if tasks differ", nullable=True),
    ),
)

SET_ASIDE = Table(
    "set_aside",
    "one judgment and what it was left out of",
    ("task", "item", "judge", "judgment_id", "left_out_of"),
    (
        TASK,
        ITEM,
        JUDGE,
        text("judgment_id", "Id of the judgment, as in lineage"),
        Column("left_out_of", TEXT, "Calculation that could not take it", allowed=LEFT_OUT_OF),
        text("reason", "Why"),
    ),
)

LINEAGE = Table(
    "lineage",
    "one record: a judgment cell of a raw row",
    ("task", "item", "judge", "judgment_id", "source_sha256", "source_row", "cell"),
    (
        text("judgment_id", "Id of the judgment; null if rejected", nullable=True),
        text("task", "What was asked; null if the row does not tell", nullable=True),
        text("item", "What was judged; null if the row does not tell", nullable=True),
        text("judge", "Who judged; null if the row does not tell", nullable=True),
        Column("fate", TEXT, "What became of the record", allowed=FATES),
        text("reason", "Why, unless the judgment is used", nullable=True),
        text("source_sha256", "SHA-256 of the export's bytes, as archived"),
        text("source_file", "Path of the export relative to campaign.yaml"),
        Column("source_row", INT, "Row in the export, from 1, header not counted", minimum=1),
        text("cell", "Cell of the row, where a row holds several", nullable=True),
    ),
    unique=False,  # one file under two names or two sources gives equal keys
)
