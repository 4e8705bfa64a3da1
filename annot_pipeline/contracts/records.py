"""Items, judgments set aside, and every record with its fate."""

from __future__ import annotations

from annot_pipeline.contracts.table import (
    DOCUMENT,
    ITEM,
    JUDGE,
    KIND,
    SEGMENT,
    SYSTEM,
    TASK,
    Column,
    Table,
    count,
    real,
    share,
    text,
)
from annot_pipeline.contracts.values import (
    CONTROLS,
    FATES,
    INT,
    LEFT_OUT_OF,
    PREFERENCES,
    REAL,
    TEXT,
    TIME,
)

DESCRIBING = (
    "task", "item", "segment", "document", "system", "criterion", "judge", "judge_id", "control",
    "ranking", "hit", "submitted_at", "judgment_id", "position", "seconds", "hit_seconds",
)  # fmt: skip
"""Columns of a judgment, of whatever kind, beside its answer."""

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
        text(
            "truth",
            "Known answer: labels are compared with it, and 50 of them can correct a task's "
            "probabilities; null where exports or tasks contradict each other",
            nullable=True,
        ),
    ),
)

COUNTED_FATES = ("measured", "judge_failed", "control", "adjudication", "used")
"""Fates of judgments, as opposed to records that are none or stand for another."""

JUDGMENTS = Table(
    "judgments",
    "one judgment: what a judge answered, once",
    ("task", "item", "judge", "judgment_id"),
    (
        TASK,
        ITEM,
        JUDGE,
        KIND,
        text("judgment_id", "Id of the judgment, as in lineage, which says where it stands"),
        Column("fate", TEXT, "What became of it", allowed=COUNTED_FATES),
        Column("control", TEXT, "Kind of control, or none", allowed=CONTROLS),
        SEGMENT,
        DOCUMENT,
        SYSTEM,
        text("criterion", "What a score is about, where a task has several", nullable=True),
        text("label", "Label given", nullable=True),
        real("score", "Score given, points of the scale"),
        real("z", "The score, turned so that more is better, in sds from the judge's mean"),
        text("item_a", "First of two items", nullable=True),
        text("item_b", "Second of two items", nullable=True),
        text("system_a", "System of item_a", nullable=True),
        text("system_b", "System of item_b", nullable=True),
        Column("preference", TEXT, "Which of two is better", True, allowed=PREFERENCES),
        share(
            "strength", "How strongly item_a is preferred, 0 (item_b) to 1 (item_a)", nullable=True
        ),
        count("rank", "Rank given, 1 is best", nullable=True),
        count("rank_a", "Rank given to item_a", nullable=True),
        count("rank_b", "Rank given to item_b", nullable=True),
        text("ranking", "Ranks of one value were given together; hashed", nullable=True),
        text("hit", "Judgments of one value were asked together; hashed", nullable=True),
        text("position", "Place within the HIT", nullable=True),
        Column("submitted_at", TIME, "When it was given, UTC", True),
        Column("seconds", REAL, "Seconds that it took", True, doubtful_below=0),
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
    ("task", "item", "judge", "judgment_id", "source_digest", "source_row", "cell"),
    (
        text("judgment_id", "Id of the judgment; null if rejected", nullable=True),
        text("task", "What was asked; null if the row does not tell", nullable=True),
        text("item", "What was judged; null if the row does not tell", nullable=True),
        text("judge", "Who judged; null if the row does not tell", nullable=True),
        Column("fate", TEXT, "What became of the record", allowed=FATES),
        text("reason", "Why, unless the judgment is used", nullable=True),
        text(
            "source_digest", "Digest of the export: keyed where judges are pseudonyms, else SHA-256"
        ),
        text("source_file", "Path of the export relative to campaign.yaml"),
        Column("source_row", INT, "Row in the export, from 1, header not counted", minimum=1),
        text("cell", "Cell of the row, where a row holds several", nullable=True),
    ),
    unique=False,  # one file under two names or two sources gives equal keys
)
