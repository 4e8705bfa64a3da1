"""The MTurk batches of the last build, and what a campaign needs to have some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from annot_pipeline.config import ColumnExpression, LoadedCampaign, Source
from annot_pipeline.errors import ConfigError, Problem, StoreError
from annot_pipeline.exports import Opening
from annot_pipeline.stages.build import Build
from annot_pipeline.stages.ingest.read_records import columns_by_field
from annot_pipeline.storage.archive import archived
from annot_pipeline.storage.files import file_sha256
from annot_pipeline.storage.tables import StoredTable, read_verified


@dataclass(frozen=True)
class Batch:
    """An MTurk batch of the last build: how it is read, its rows, and the file to write."""

    opening: Opening
    rows: int
    judge_column: str | None
    target: str


def check_sources(campaign: LoadedCampaign) -> None:
    """Refuse a campaign without an MTurk batch, or with one that lacks its header.

    Raises
    ------
    ConfigError
        Which source, and what to do.
    """
    sources = dict(enumerate(campaign.settings.sources))
    batches = {n: source for n, source in sources.items() if source.format == "mturk"}
    if not batches:
        raise ConfigError(
            "no source is an MTurk batch",
            [
                Problem(
                    "sources",
                    "none has format: mturk",
                    do="write format: mturk for batch results as MTurk's website gives them; "
                    "work from elsewhere is reviewed there",
                )
            ],
        )
    headless = [n for n, source in batches.items() if source.options.columns]
    if headless:
        where = f"sources.{headless[0]}.options.columns"
        what = "MTurk takes a batch with its header only, and this one has none"
        do = "download the batch results again"
        raise ConfigError("a batch without its header", [Problem(where, what, do=do)])


def batches_of(build: Build, tables: Mapping[str, StoredTable]) -> list[Batch]:
    """Return each batch once, although several sources may map it.

    Raises
    ------
    StoreError
        The archive has lost or damaged one.
    """
    settings = build.campaign.settings
    exports: dict[str, dict[str, Any]] = {}
    mapped: dict[str, list[Source]] = {}
    for row in read_verified(tables["record_files"]).to_pylist():
        source = settings.sources[row["source_order"]]
        if source.format == "mturk":
            exports.setdefault(row["source_file"], row)
            mapped.setdefault(row["source_file"], []).append(source)
    batches = []
    for target, (name, row) in zip(upload_names(list(exports)), exports.items(), strict=True):
        path = archived(build.store.archive, row["source_sha256"])
        if not path.exists() or file_sha256(path) != row["source_sha256"]:
            what = "the archive has other bytes" if path.exists() else "the archive has lost it"
            problem = Problem(str(path), what, do="delete that file, then annot build")
            raise StoreError(f"{name}: not as it was archived", [problem])
        opening = Opening.with_options(
            path,
            name,
            mapped[name][0].options,
            used_columns=frozenset(),
            limits=settings.limits,
        )
        batches.append(Batch(opening, row["rows"], _judge_column(mapped[name]), target))
    return batches


def _judge_column(sources: Sequence[Source]) -> str | None:
    """Return the one column that holds judges as they are, if there is one."""
    columns = {name for s in sources for name in columns_by_field(s).get("judge", ())}
    for judge in (source.fields.get("judge") for source in sources):
        if not isinstance(judge, ColumnExpression) or not judge.is_plain:
            return None
    return columns.pop() if len(columns) == 1 else None


def upload_names(exports: Sequence[str]) -> list[str]:
    """Return ``upload-NAME.csv`` for each export; its folders too where two have one name."""
    stems = [_stem(PurePosixPath(export).name) for export in exports]
    counts = Counter(stem.casefold() for stem in stems)
    taken: dict[str, str] = {}
    for export, stem in zip(exports, stems, strict=True):
        if counts[stem.casefold()] > 1:
            parts = [part for part in PurePosixPath(_stem(export)).parts if part != ".."]
            stem = "-".join(part for part in parts if part != "/")
        unique = stem
        while unique.casefold() in taken:
            unique += "-again"
        taken[unique.casefold()] = f"upload-{unique}.csv"
    return list(taken.values())


def _stem(name: str) -> str:
    for ending in (".gz", ".csv"):
        if name.lower().endswith(ending):
            name = name[: -len(ending)]
    return name
