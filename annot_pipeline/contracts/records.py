"""Items, judgments set aside, and every record with its fate."""

from __future__ import annotations

from annot_pipeline.contracts.table import (
    CONTROLS,
    DOCUMENT,
    FATES,
    INT,
    ITEM,
    JUDGE,
    KIND,
    LEFT_OUT_OF,
    PREFERENCES,
    REAL,
    SEGMENT,
    SYSTEM,
    TASK,
    TEXT,
    TIME,
    Column,
    Table,
    count,
    real,
    share,
    text,
)

DESCRIBING = (
    "task", "item", "segment", "document", "system", "criterion", "judge", "judge_id", "control",
    "ranking", "hit", "submitted_at", "judgment_id", "position", "seconds", "hit_seconds",
)  # fmt: skip
"""Columns of a judgment of any kind, except its answer."""

ITEMS = Table(
    "items",
    "item",
    ("item",),
    (
        ITEM,
        SEGMENT,
        SYSTEM,
        text("text", "Text of the item, as judges saw it", nullable=True),
        text(
            "item_version",
            "First 8 digits of the SHA-256 of the text that the judgments carry. Each other text "
            "of an item is an item of its own, named item#item_version. Null if judgments carry no "
            "text, or if tasks differ in it",
            nullable=True,
        ),
        text("source", "Input of the system that produced the item", nullable=True),
        text("reference", "Reference output for the item", nullable=True),
        text(
            "truth",
            "Known answer. Labels are compared with it, and 50 known answers can correct "
            "a task's probabilities; null if unknown, or if exports or tasks contradict "
            "each other",
            nullable=True,
        ),
    ),
)

COUNTED_FATES = ("measured", "judge_failed", "control", "adjudication", "used")
"""Fates of records that are judgments: not unreadable, filtered or replaced by another."""

JUDGMENTS = Table(
    "judgments",
    "judgment (one answer of a judge)",
    ("task", "item", "judge", "judgment_id"),
    (
        TASK,
        ITEM,
        JUDGE,
        KIND,
        text("judgment_id", "Id of the judgment, as in lineage, which has its file and row"),
        Column("fate", TEXT, "How the judgment was used", allowed=COUNTED_FATES),
        Column("control", TEXT, "Kind of control item, or none", allowed=CONTROLS),
        SEGMENT,
        DOCUMENT,
        SYSTEM,
        text(
            "criterion",
            "Criterion that a score rates; null unless the task has several",
            nullable=True,
        ),
        text("label", "Label that the judge gave; null for other kinds of answers", nullable=True),
        real(
            "score",
            "Score that the judge gave, in points of the scale; null for other kinds of answers",
        ),
        real(
            "z",
            "Z-score: score, reversed where lower is better, in standard deviations from "
            "the judge's mean",
        ),
        text(
            "item_a",
            "First of the two items compared; null unless the answer is a comparison",
            nullable=True,
        ),
        text(
            "item_b",
            "Second of the two items compared; null unless the answer is a comparison",
            nullable=True,
        ),
        text("system_a", "System that produced item_a; null if unknown", nullable=True),
        text("system_b", "System that produced item_b; null if unknown", nullable=True),
        Column(
            "preference",
            TEXT,
            "Which of the two items the judge prefers; null unless the answer is a comparison",
            True,
            allowed=PREFERENCES,
        ),
        share(
            "strength",
            "Strength of the preference, from 0 (item_b) to 1 (item_a); null if not given",
            nullable=True,
        ),
        count("rank", "Rank that the judge gave the item; 1 is best", nullable=True),
        count("rank_a", "Rank that the judge gave item_a; 1 is best", nullable=True),
        count("rank_b", "Rank that the judge gave item_b; 1 is best", nullable=True),
        text(
            "ranking",
            "Hashed id of the ranking; ranks with the same id were given together",
            nullable=True,
        ),
        text(
            "hit",
            "Hashed id of the HIT; judgments with the same id were requested together",
            nullable=True,
        ),
        text("position", "Position of the judgment within the HIT", nullable=True),
        Column(
            "submitted_at",
            TIME,
            "Time at which the judgment was submitted, UTC; null if unknown",
            True,
        ),
        Column(
            "seconds",
            REAL,
            "Duration of the judgment in seconds; null if unknown",
            True,
            doubtful_below=0,
        ),
    ),
)

SET_ASIDE = Table(
    "set_aside",
    "judgment and calculation that left it out",
    ("task", "item", "judge", "judgment_id", "left_out_of"),
    (
        TASK,
        ITEM,
        JUDGE,
        text("judgment_id", "Id of the judgment, as in lineage"),
        Column(
            "left_out_of", TEXT, "Calculation that did not use the judgment", allowed=LEFT_OUT_OF
        ),
        text("reason", "Why the calculation did not use the judgment"),
    ),
)

LINEAGE = Table(
    "lineage",
    "record (one judgment cell of a raw row)",
    ("task", "item", "judge", "judgment_id", "source_digest", "source_row", "cell"),
    (
        text(
            "judgment_id",
            "Id of the judgment; null if the record is no judgment, as one that was rejected",
            nullable=True,
        ),
        text(
            "task",
            "Task (the question that judges answer); null if the row does not state it",
            nullable=True,
        ),
        text("item", "Item that was judged; null if the row does not state it", nullable=True),
        text(
            "judge",
            "Judge who gave the judgment; null if the row does not state one",
            nullable=True,
        ),
        Column("fate", TEXT, "How the record was used, or why it was not", allowed=FATES),
        text(
            "reason",
            "Why the record has this fate; null for most judgments that are used",
            nullable=True,
        ),
        text(
            "source_digest",
            "Digest of the export: a keyed hash if judges are pseudonyms, otherwise SHA-256",
        ),
        text("source_file", "Path of the export, relative to campaign.yaml"),
        Column(
            "source_row",
            INT,
            "Number of the row in the export, from 1, not counting the header",
            minimum=1,
        ),
        text("cell", "Cell of the row; null unless the row holds several records", nullable=True),
    ),
    unique=False,  # one file under two names or two sources gives equal keys
)
