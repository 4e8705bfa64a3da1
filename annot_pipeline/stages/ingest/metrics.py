"""Metrics of the stages that read exports and resolve judgments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from typing_extensions import TypedDict

from annot_pipeline.contracts.stage_metrics import StageMetrics


class RepeatedAnswers(TypedDict):
    """Judges and items of a task with several answers that count, though it declares no repeats.

    ``columns``: unmapped columns of the first such export that tell the answers apart.
    """

    task: str
    pairs: int
    examples: list[str]
    columns: list[str]


@dataclass(frozen=True)
class ExportMetrics(StageMetrics):
    """Metrics of ``archive_exports``.

    Parameters
    ----------
    files, bytes
        Number and size of the exports.
    parent
        Version of the newest release, if there is one.
    exposed_secrets
        Ways in which others can read or guess the key of the judges' names.
    excluded
        Exports that the campaign excludes, and why.
    """

    stage: ClassVar[str] = "archive_exports"
    files: int
    bytes: int
    parent: str | None
    exposed_secrets: list[str]
    excluded: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordMetrics(StageMetrics):
    """Metrics of ``read_records``.

    Parameters
    ----------
    rows, records
        Rows of all exports, and the records that they hold.
    parsed
        Exports that were parsed in this build.
    unread_items
        Rows of item tables that cannot be read, with the reason.
    unread_files
        Files beside those of a glob that look like exports and are in no source.
    judges_in_paths
        Sources whose published paths reveal who judged.
    families, unused_judge_settings
        Number of judges of each declared family; entries under ``judges`` that relate no judges.
    ambiguous_judges
        Entries that call the same judges people and models.
    swallowed_rows
        Lines within quoted cells that look like rows, by the first row of each export with some.
    cut_exports
        Last rows of exports that end within a row, or without a line end where others of their
        source have one.
    doubtful_quotes
        Exports in which quotes enclose cells, although they are to be ordinary characters.
    copied_exports
        Exports with records that have the bytes of another, which is named.
    """

    stage: ClassVar[str] = "read_records"
    rows: int
    records: int
    parsed: int
    unread_items: list[str]
    judges_in_paths: list[str]
    families: dict[str, int]
    unused_judge_settings: list[str]
    ambiguous_judges: list[str]
    swallowed_rows: dict[str, int] = field(default_factory=dict)
    cut_exports: list[str] = field(default_factory=list)
    unread_files: list[str] = field(default_factory=list)
    doubtful_quotes: list[str] = field(default_factory=list)
    copied_exports: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class JudgmentMetrics(StageMetrics):
    """Metrics of ``settle_judgments``.

    Parameters
    ----------
    records, fates
        Number of records, in all and by fate.
    files
        Rows of `account_records.whole_account`, one per export.
    kinds, used_judges
        Kind of each task, and whose judgments it uses: of all, human, or model.
    look_alikes, n_look_alikes
        Similar but different names, and their number; those of judges who have pseudonyms are
        counted in one text.
    undeclared_models
        Of judges who are named like language models and count as people, by published name: the
        family of models, and the number of records.
    changed_items
        Items with several texts, with their tasks.
    slices
        Items that end the partitions of a large task, by a digest of its name and files.
    """

    stage: ClassVar[str] = "settle_judgments"
    records: int
    fates: dict[str, int]
    files: list[dict[str, Any]]
    empty_files: list[str]
    rejections: list[dict[str, Any]]
    ambiguous_tasks: list[str]
    unused_task_settings: list[str]
    kinds: dict[str, str]
    assumed_scales: list[str]
    guessed_tasks: list[str]
    look_alikes: list[str]
    n_look_alikes: int
    judges_as_items: int
    undeclared_classes: dict[str, int]
    respelled_classes: list[dict[str, Any]]
    superseded_by_order: list[dict[str, Any]]
    experts_disagree: list[str]
    repeated_answers: list[RepeatedAnswers]
    used_judges: dict[str, str]
    undeclared_models: dict[str, tuple[str, int]]
    changed_items: list[str] = field(default_factory=list)
    slices: dict[str, list[str]] = field(default_factory=dict)
