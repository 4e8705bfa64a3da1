"""What lies there now, before any build: exports to read, item tables, and files nobody reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from annot_pipeline.config import ItemSource, Limits, LoadedCampaign, Source
from annot_pipeline.config.sources import ExcludedExport
from annot_pipeline.contracts import INT, TEXT
from annot_pipeline.errors import ConfigError, InputError, row_and_line
from annot_pipeline.exports.raw_rows import TextLines
from annot_pipeline.stages.ingest.archived_lines import MOST_BYTES, export_lines
from annot_pipeline.stages.ingest.forgotten_rows import (
    refuse_forgotten_item,
    text_digest,
    without_forgotten,
)
from annot_pipeline.stages.ingest.opened_exports import check_columns, open_export
from annot_pipeline.stages.ingest.read_records import read_items
from annot_pipeline.storage.archive import (
    Stamp,
    export_sha256,
    find_exports,
    glob_exports,
    is_glob,
    natural_key,
    readable,
    stamp,
)
from annot_pipeline.storage.checked_export import MatchedExport, OwnFolders
from annot_pipeline.storage.forgotten import Forgotten, read_forgotten
from annot_pipeline.storage.keys import present_key, published_digest

ENDINGS = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".json", ".parquet", ".xml")
"""Of names of files that look like exports, also with .gz."""
MOST_FOLDERS = 10_000
"""As many folders of a glob are searched for files that nobody reads."""

ITEM_ROWS = pa.schema(
    [
        *((name, TEXT) for name in (
            "task", "item", "segment", "document", "system", "text", "source", "reference", "truth"
        )),
        ("place", INT),
    ]
)  # fmt: skip


def listed_items(campaign: LoadedCampaign) -> tuple[pa.Table, list[str]]:
    """Return the current rows of the item tables, by precedence, and unreadable ones.

    Raises
    ------
    AnnotError
        A table is missing or cannot be read, or a mapping names a column that it lacks.
    """
    rows: list[dict[str, Any]] = []
    unread: list[str] = []
    for number, source in enumerate(campaign.settings.items):
        where = f"items.{number}"
        for export in exports_of(campaign, source, f"{where}.path"):
            fields, limits = f"{where}.fields", campaign.settings.limits
            read = read_item_table(source, export.real, export.relative, fields, limits).rows
            if source.describes_items:
                rows += [row for row in read if not row["reason"]]
            unread += unread_rows(source, export.real, export.relative, read, limits)
    return item_rows(rows), unread


def item_rows(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows of item tables with their places."""
    return pa.Table.from_pylist([{**row, "place": n} for n, row in enumerate(rows)], ITEM_ROWS)


def present_exports(
    campaign: LoadedCampaign,
    *,
    missing_ok: bool = False,
    sha256: Callable[[Path], str] = export_sha256,
) -> list[tuple[int, str, str]]:
    """Return what a build would read now: (number of the source, export, SHA-256).

    Raises
    ------
    AnnotError
        An export is missing or cannot be read.
    """
    return [
        (number, export.relative, sha256(export.real))
        for number, export in _matched_exports(campaign, missing_ok=missing_ok)
    ]


def export_stats(campaign: LoadedCampaign) -> list[tuple[int, str, Stamp]]:
    """Return source number, export, size, times and inode of the current exports.

    Cheap, and told apart from `present_exports` for that: equal figures are a hint that the
    bytes are equal, other figures that they may not be.

    Raises
    ------
    AnnotError
        An export is missing or cannot be read.
    """
    stats = []
    for number, export in _matched_exports(campaign, missing_ok=False):
        with readable(export.real):
            stats.append((number, export.relative, stamp(export.real)))
    return stats


def exports_of(
    campaign: LoadedCampaign, source: Source | ItemSource, where: str, *more: Forgotten
) -> list[MatchedExport]:
    """Return the exports of a source, or the files of an item table; see `find_exports`.

    Exports lack the rows of those whom the store has forgotten, and of some ``more``; an item
    table that names one of them is refused.
    """
    exports = find_exports(campaign.folder, source.path, where=where, own=campaign.own_folders)
    people = [*read_forgotten(campaign.store), *more]
    if isinstance(source, ItemSource):
        return _item_tables(campaign, source, exports, people) if people else exports
    excluded = _excluded(campaign, source, exports)
    exports = [export for export in exports if export.relative not in excluded]
    exports = exports[-1:] if source.files == "latest" else exports
    return [without_forgotten(campaign, source, export, people) for export in exports]


def _item_tables(
    campaign: LoadedCampaign, source: ItemSource, tables: list[MatchedExport],
    people: Sequence[Forgotten],
) -> list[MatchedExport]:  # fmt: skip
    """Return item tables that name no forgotten person; of exports, rows are removed."""
    for judged in campaign.settings.sources:
        paths = glob_exports(campaign.folder, judged.path)[1]
        tables = [
            without_forgotten(campaign, judged, table, people) if table.path in paths else table
            for table in tables
        ]
    for table in tables:
        refuse_forgotten_item(campaign, source, table, people)
    return tables


def excluded_exports(
    campaign: LoadedCampaign, manifest: Mapping[str, Any] | None = None
) -> tuple[dict[str, str], list[str]]:
    """Return the exports that are there and excluded with the reason, and digests of no export.

    A digest of no export comes with its file where a manifest names it.
    """
    excluded = {export.relative: x for _, export, x in _matched_sources(campaign) if x}
    used = [exclusion for exclusions in excluded.values() for exclusion in exclusions]
    unused = [x for s in campaign.settings.sources for x in s.exclude if x not in used]
    because = {name: exclusions[0].because for name, exclusions in excluded.items()}
    return because, [
        f"{x.digest}{_file_of(x, manifest, excluded) if manifest else ''}" for x in unused
    ]


def _file_of(
    exclusion: ExcludedExport, manifest: Mapping[str, Any], excluded: Container[str]
) -> str:
    """Return the name, in brackets, of the one file that an exclusion can be for; else nothing."""
    reasons = manifest["facts"].get("excluded_exports", {}).items()
    names = [
        name for digest, name in manifest.get("dropped", {}).items() if exclusion.matches(digest)
    ]
    names += [n for n, because in reasons if because == exclusion.because and n not in excluded]
    return f" ({names[0]})" if len({*names}) == 1 else ""


def exports_among(campaign: LoadedCampaign, published: Container[str]) -> dict[str, str]:
    """Return the exports that a build would read and that have one of some published digests.

    A copy without the rows of forgotten people counts as the file. Sources without files have none.
    """
    names = {}
    for source, export, excluded in _matched_sources(campaign):
        # an excluded one may hold rows of forgotten people that cannot be removed
        digests = () if excluded else chain.from_iterable(_digests(campaign, source, export))
        if matching := next((d for d in digests if d in published), None):
            names[export.relative] = matching
    return names


def excluded_copies(campaign: LoadedCampaign, person: Forgotten) -> Iterator[dict[str, Any]]:
    """Yield each excluded export as it will be once a person's rows are removed by hand.

    ``name``, new ``digest``, ``because``, why it is excluded, digest of the ``text`` (see
    `text_digest`), and ``digests`` that mean it. Left out are those whose rows cannot be removed.
    """
    people = [*read_forgotten(campaign.store), person]
    for source, export, excluded in _matched_sources(campaign):
        with suppress(InputError):
            copy = without_forgotten(campaign, source, export, people if excluded else ())
            if copy is not export:
                published = [d for ds in _digests(campaign, source, export) for d in ds[1:]]
                new, typed = export_sha256(copy.real), [exclusion.digest for exclusion in excluded]
                yield {
                    "name": export.relative, "because": excluded[0].because, "digest": new,
                    "text": text_digest(copy), "digests": [*published, *typed, new],
                }  # fmt: skip


def _matched_sources(
    campaign: LoadedCampaign,
) -> Iterator[tuple[Source, MatchedExport, list[ExcludedExport]]]:
    """Yield the exports of all sources, each with what excludes it."""
    for source in campaign.settings.sources:
        with suppress(ConfigError):  # none matches
            exports = find_exports(campaign.folder, source.path, where="", own=campaign.own_folders)
            excluded = _excluded(campaign, source, exports)
            yield from ((source, export, excluded.get(export.relative, [])) for export in exports)


def _excluded(
    campaign: LoadedCampaign, source: Source, exports: Sequence[MatchedExport]
) -> dict[str, list[ExcludedExport]]:
    """Return what excludes exports of a source, by name; bytes are read only where it does any."""
    excluded: dict[str, list[ExcludedExport]] = {}
    for export in exports if source.exclude else ():
        for digests in _digests(campaign, source, export):
            if matching := [x for x in source.exclude if any(x.matches(d) for d in digests)]:
                excluded[export.relative] = matching
                break
    return excluded


def _digests(
    campaign: LoadedCampaign, source: Source, export: MatchedExport
) -> Iterator[tuple[str, ...]]:
    """Yield the digests of an export, and of its copy without forgotten people if it has any.

    The SHA-256 and, where there is a key, the digest that a release publishes; also those of the
    file before somebody removed rows of forgotten people by hand.
    """
    key, people = present_key(campaign.settings, campaign.store), read_forgotten(campaign.store)
    for is_copy in (False, True)[: 1 + bool(people)]:
        read = without_forgotten(campaign, source, export, people) if is_copy else export
        sha256, edited = export_sha256(read.real), [p.exports for p in people]
        text = text_digest(read) if any(edited) else ""
        before = chain.from_iterable(exports.get(text, ()) for exports in edited)
        published = [published_digest(campaign.settings, key, sha256)] if key else []
        yield (sha256, *published, *before)


def unread_files(campaign: LoadedCampaign) -> list[str]:
    """Return the files beside those of a source or item table that nobody reads.

    Beside the matches of a glob, and in folders below the one that it starts with, they look like
    exports, as those of the next month may; beside a file that is named they end as it does.
    """
    settings, folder = campaign.settings, campaign.folder
    paths = [*(s.path for s in settings.sources), *(s.path for s in settings.items)]
    matched = {pattern: glob_exports(folder, pattern) for pattern in paths}
    read = {path.resolve() for _, matches in matched.values() for path in matches}
    own = OwnFolders(campaign.own_folders)
    endings: dict[Path, set[str]] = {}
    for pattern, (start, matches) in matched.items():
        parents = {path.parent: _ending(path) for path in filter(Path.is_file, matches)}
        # batches of HITs and notebooks lie below the folder of the campaign
        if is_glob(pattern) and not folder.resolve().is_relative_to(start.resolve()):
            parents |= dict.fromkeys(_folders_below(start, own), "")
        for parent, ending in parents.items():
            likely = ENDINGS if is_glob(pattern) else (ending,)
            endings.setdefault(parent, set()).update(likely)
    names = {
        _relative(campaign, path)
        for parent, likely_endings in endings.items()
        for path in parent.iterdir()
        if _ending(path) in likely_endings
        and not path.name.startswith(".")
        and path.is_file()
        and path.resolve() not in read
        and own.holder(path.resolve(), path.stat()) is None
    }
    return sorted(names, key=natural_key)


def _folders_below(start: Path, own: OwnFolders) -> Iterator[Path]:
    """Yield a folder and those below it, without hidden ones and those that builds write."""
    for folder, names, _ in islice(os.walk(start), MOST_FOLDERS):
        yield Path(folder)
        paths = {name: Path(folder, name).resolve() for name in sorted(names) if name[0] != "."}
        names[:] = [name for name, path in paths.items() if path not in own.folders.values()]


def check_exports(campaign: LoadedCampaign) -> None:
    """Make sure that all that a campaign names as input may be read; opens nothing.

    Raises
    ------
    AnnotError
        An export is missing, no regular file, or lies where no export may lie.
    """
    for number, source in enumerate(campaign.settings.sources):
        exports_of(campaign, source, f"sources.{number}.path")
    for number, items in enumerate(campaign.settings.items):
        exports_of(campaign, items, f"items.{number}.path")


def _matched_exports(
    campaign: LoadedCampaign, *, missing_ok: bool
) -> Iterator[tuple[int, MatchedExport]]:
    settings = campaign.settings
    sources: list[Source | ItemSource] = [*settings.sources, *settings.items]
    for number, source in enumerate(sources):
        with suppress(ConfigError) if missing_ok else nullcontext():
            yield from ((number, export) for export in exports_of(campaign, source, source.path))


@dataclass(frozen=True)
class ItemTable:
    """Holds the rows of an item table in their order, with the reason where one cannot be read.

    Parameters
    ----------
    rows
        As `read_items` gives them.
    lines, ignored
        As `exports.Export` has them: what of the file is in no row.
    """

    rows: list[dict[str, Any]]
    lines: TextLines | None
    ignored: dict[str, int]


def read_item_table(
    source: ItemSource, archive_path: Path, name: str, where: str, limits: Limits
) -> ItemTable:
    """Return an item table.

    Raises
    ------
    AnnotError
        It cannot be read, or lacks a column that its mapping (at ``where``) names.
    """
    export = open_export(source, archive_path, name, limits=limits)
    if export.has_header:
        check_columns(source, export.columns, name, where)
    tables = [read_items(chunk, source, path=name) for chunk in export.chunks]
    check_columns(source, export.columns, name, where)
    rows = [row for table in tables for row in table.to_pylist()]
    in_order = sorted(rows, key=lambda row: row["row"])
    return ItemTable(in_order, export.lines, export.ignored)


def unread_rows(
    source: ItemSource, archive_path: Path, name: str, rows: list[dict[str, Any]], limits: Limits
) -> list[str]:
    """Return the place and the reason of each row of an item table that cannot be read."""
    unread = [row for row in rows if row["reason"]]
    numbers = [row["row"] for row in unread]
    lines = export_lines(archive_path, name, source, limits, numbers, MOST_BYTES)
    return [
        f"{name} {row_and_line(row['row'], lines.get(row['row']))}: {row['reason']}"
        for row in unread
    ]


def _relative(campaign: LoadedCampaign, path: Path) -> str:
    return Path(os.path.relpath(path, campaign.folder)).as_posix()


def _ending(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix
