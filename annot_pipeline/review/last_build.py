"""The last build: its tables if they are those of today's exports and settings, and its batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from annot_pipeline.config import ColumnExpression, LoadedCampaign, Source
from annot_pipeline.errors import ConfigError, Problem, StoreError, first_of
from annot_pipeline.exports import Opening
from annot_pipeline.pipeline import MAKER, STAGES, Build
from annot_pipeline.stages.exports import present_exports
from annot_pipeline.steps.read_records import columns_by_field
from annot_pipeline.storage.archive import archived
from annot_pipeline.storage.files import file_sha256
from annot_pipeline.storage.keys import no_key, present_key
from annot_pipeline.storage.store import StageResult
from annot_pipeline.storage.tables import TableFile, read_table


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


def last_build(build: Build) -> dict[str, TableFile]:
    """Tables of the last build, if it is one of these exports, settings and code.

    Raises
    ------
    StoreError
        There is no such build, or it stopped half way, or its key is missing.
    """
    needed = {MAKER["judges"].name}
    for stage in reversed(STAGES):
        if stage.name in needed:
            needed |= {MAKER[table].name for table in stage.inputs}
    stages = [stage for stage in STAGES if stage.name in needed]
    results: dict[str, StageResult] = {}
    for stage in stages:
        try:
            results[stage.name] = build.store.recorded(build.run, stage.name)
        except StoreError:
            what = f"the store has no result of {stage.name}"
            raise _stale("nothing is built yet", what, build) from None
    tables = {name: table for r in results.values() for name, table in r.tables.items()}
    _check_exports(build, tables["exports"])
    privacy = build.campaign.settings.privacy
    if present_key(privacy, build.store.root) is None:
        missing = no_key(privacy)
        raise _stale("the key of the judges' names is missing", missing.what, build, do=missing.do)
    for stage in stages:
        inputs = {name: tables[name].sha256 for name in stage.inputs}
        basis = results[stage.name].basis
        if dict(basis.inputs) != inputs:
            what = f"the last build did not get as far as {stage.name}"
            raise _stale("the last build is not whole", what, build)
        if basis != build.basis(stage, inputs):
            what = f"{stage.name} was made with other settings, another key or other code"
            raise _stale("the last build was another one", what, build)
    return tables


def _check_exports(build: Build, exports: TableFile) -> None:
    n_sources = len(build.campaign.settings.sources)
    before = {
        (row["source_order"] + n_sources * (row["kind"] == "items"), row["source_file"]):
            row["source_sha256"]
        for row in read_table(exports.path).to_pylist()
    }  # fmt: skip
    now = {(n, name): sha256 for n, name, sha256 in present_exports(build.campaign)}
    news = {
        "has arrived": now.keys() - before.keys(),
        "is gone": before.keys() - now.keys(),
        "has changed": {key for key in now.keys() & before.keys() if now[key] != before[key]},
    }
    told = [
        f"{what}: {first_of(sorted({name for _, name in keys}))}"
        for what, keys in news.items()
        if keys
    ]
    if told:
        raise _stale("exports are not those of the last build", "; ".join(told), build)


def _stale(title: str, what: str, build: Build, do: str = "") -> StoreError:
    outcome = (build.store.last_outcome() or {}).get("outcome", "")
    if outcome:
        what += f" (its outcome: {outcome.splitlines()[0]})"
    return StoreError(title, [Problem("", what, do=do or "annot build, then annot review")])


def batches_of(build: Build, tables: Mapping[str, TableFile]) -> list[Batch]:
    """Each batch once, though several sources may map it.

    Raises
    ------
    StoreError
        The archive has lost or damaged one.
    """
    settings = build.campaign.settings
    exports: dict[str, dict[str, Any]] = {}
    mapped: dict[str, list[Source]] = {}
    for row in read_table(tables["record_files"].path).to_pylist():
        source = settings.sources[row["source_order"]]
        if source.format == "mturk":
            exports.setdefault(row["source_file"], row)
            mapped.setdefault(row["source_file"], []).append(source)
    batches = []
    for target, (name, row) in zip(_targets(list(exports)), exports.items(), strict=True):
        kept = archived(build.store.archive, row["source_sha256"])
        if not kept.exists() or file_sha256(kept) != row["source_sha256"]:
            what = "the archive has other bytes" if kept.exists() else "the archive has lost it"
            problem = Problem(str(kept), what, do="delete that file, then annot build")
            raise StoreError(f"{name}: not as it was archived", [problem])
        options = mapped[name][0].options
        reading = options.delimiter, options.quote, options.encoding
        opening = Opening(kept, name, frozenset(), *reading)
        batches.append(Batch(opening, row["rows"], _judge_column(mapped[name]), target))
    return batches


def _judge_column(sources: Sequence[Source]) -> str | None:
    """The one column that holds judges as they are, if there is one."""
    columns = {name for source in sources for name in columns_by_field(source)["judge"]}
    for judge in (source.fields["judge"] for source in sources):
        if not isinstance(judge, ColumnExpression) or not judge.is_plain:
            return None
    return columns.pop() if len(columns) == 1 else None


def _targets(exports: Sequence[str]) -> list[str]:
    """``upload-NAME.csv`` for each export; its folders too where two have one name."""
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
