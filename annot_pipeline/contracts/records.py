"""Items, judgments set aside, and every record with its fate."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, get_args

from annot_pipeline.contracts.table import (
    Bounds,
    Calculation,
    Control,
    Count,
    Fate,
    JudgeKind,
    Preference,
    Share,
    Table,
    columns_of,
)

DESCRIBING = (
    "task", "item", "segment", "document", "system", "criterion", "judge", "judge_id", "control",
    "ranking", "hit", "submitted_at", "judgment_id", "position", "seconds", "hit_seconds",
)  # fmt: skip
"""Columns of a judgment of any kind, except its answer."""

CountedFate = Literal["measured", "judge_failed", "control", "adjudication", "used"]
COUNTED_FATES: tuple[str, ...] = get_args(CountedFate)
"""Fates of records that are judgments: not unreadable, filtered or replaced by another."""


class Items:
    """Segment, system, text and truth of an item.

    Parameters
    ----------
    text
        Text of the item, as judges saw it
    item_version
        First 8 digits of the SHA-256 of the text that the judgments carry. Each other text of an
        item is an item of its own, named item#item_version. Null if judgments carry no text, or if
        tasks differ in it
    source
        Input of the system that produced the item
    reference
        Reference output for the item
    truth
        Known answer. Labels are compared with it, and 50 known answers can correct a task's
        probabilities; null if unknown, or if exports or tasks contradict each other
    """

    item: str
    segment: str | None
    system: str | None
    text: str | None
    item_version: str | None
    source: str | None
    reference: str | None
    truth: str | None


ITEMS = Table("items", "item", ("item",), columns_of(Items))


class Judgments:
    """A judgment that counts or was measured.

    Parameters
    ----------
    judgment_id
        Id of the judgment, as in lineage, which has its file and row
    fate
        How the judgment was used
    control
        Kind of control item, or none
    criterion
        Criterion that a score rates; null unless the task has several
    label
        Label that the judge gave; null for other kinds of answers
    score
        Score that the judge gave, in points of the scale; null for other kinds of answers
    z
        Z-score: score, reversed where lower is better, in standard deviations from the judge's mean
    item_a
        First of the two items compared; null unless the answer is a comparison
    item_b
        Second of the two items compared; null unless the answer is a comparison
    system_a
        System that produced item_a; null if unknown
    system_b
        System that produced item_b; null if unknown
    preference
        Which of the two items the judge prefers; null unless the answer is a comparison
    strength
        Strength of the preference, from 0 (item_b) to 1 (item_a); null if not given
    rank
        Rank that the judge gave the item; 1 is best
    rank_a
        Rank that the judge gave item_a; 1 is best
    rank_b
        Rank that the judge gave item_b; 1 is best
    ranking
        Hashed id of the ranking; ranks with the same id were given together
    hit
        Hashed id of the HIT; judgments with the same id were requested together
    position
        Position of the judgment within the HIT
    submitted_at
        Time at which the judgment was submitted, UTC; null if unknown
    seconds
        Duration of the judgment in seconds; null if unknown
    """

    task: str
    item: str
    judge: str
    kind: JudgeKind | None
    judgment_id: str
    fate: CountedFate
    control: Control
    segment: str | None
    document: str | None
    system: str | None
    criterion: str | None
    label: str | None
    score: float | None
    z: float | None
    item_a: str | None
    item_b: str | None
    system_a: str | None
    system_b: str | None
    preference: Preference | None
    strength: Share | None
    rank: Count | None
    rank_a: Count | None
    rank_b: Count | None
    ranking: str | None
    hit: str | None
    position: str | None
    submitted_at: datetime | None
    seconds: Annotated[float, Bounds(doubtful_below=0)] | None


JUDGMENTS = Table(
    "judgments",
    "judgment (one answer of a judge)",
    ("task", "item", "judge", "judgment_id"),
    columns_of(Judgments),
)


class SetAside:
    """A judgment that a calculation left out, with the reason.

    Parameters
    ----------
    judgment_id
        Id of the judgment, as in lineage
    left_out_of
        Calculation that did not use the judgment
    reason
        Why the calculation did not use the judgment
    """

    task: str
    item: str
    judge: str
    judgment_id: str
    left_out_of: Calculation
    reason: str


SET_ASIDE = Table(
    "set_aside",
    "judgment and calculation that left it out",
    ("task", "item", "judge", "judgment_id", "left_out_of"),
    columns_of(SetAside),
)


class Lineage:
    """The fate and the source of a record.

    Parameters
    ----------
    judgment_id
        Id of the judgment; null if the record is no judgment, as one that was rejected
    task
        Task (the question that judges answer); null if the row does not state it
    item
        Item that was judged; null if the row does not state it
    judge
        Judge who gave the judgment; null if the row does not state one
    fate
        How the record was used, or why it was not
    reason
        Why the record has this fate; null for most judgments that are used
    source_digest
        Digest of the export: a keyed hash if judges are pseudonyms, otherwise SHA-256
    source_file
        Path of the export, relative to campaign.yaml
    source_row
        Number of the row in the export, from 1, not counting the header
    cell
        Cell of the row; null unless the row holds several records
    """

    judgment_id: str | None
    task: str | None
    item: str | None
    judge: str | None
    fate: Fate
    reason: str | None
    source_digest: str
    source_file: str
    source_row: Annotated[int, Bounds(minimum=1)]
    cell: str | None


LINEAGE = Table(
    "lineage",
    "record (one judgment cell of a raw row)",
    ("task", "item", "judge", "judgment_id", "source_digest", "source_row", "cell"),
    columns_of(Lineage),
    unique=False,  # one file under two names or two sources gives equal keys
)
