"""Exports: found, archived, and parsed into records, each only once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from annot_pipeline.config import (
    CANONICAL_FIELDS,
    CaptureExpression,
    Expression,
    ItemSource,
    JoinExpression,
    LoadedCampaign,
    Source,
)
from annot_pipeline.contracts import INT, TEXT
from annot_pipeline.errors import ConfigError, counted, first_of
from annot_pipeline.exports import CODE_VERSION as READERS_VERSION
from annot_pipeline.exports import Opening
from annot_pipeline.published_settings import names_in_path
from annot_pipeline.signature import digest
from annot_pipeline.stages.context import Made, StageContext
from annot_pipeline.stages.opened_exports import check_columns, open_export
from annot_pipeline.stages.parent import check_parent
from annot_pipeline.steps.read_records import CODE_VERSION as RECORDS_VERSION
from annot_pipeline.steps.read_records import (
    FIELD_TYPES,
    read_items,
    read_records,
)
from annot_pipeline.storage.archive import (
    FoundExport,
    archive_file,
    archived,
    export_sha256,
    find_exports,
    matching_folders,
    readable,
    stamp,
)
from annot_pipeline.storage.files import read_json, replacing, write_json
from annot_pipeline.storage.tables import read_table, write_table

EXPORTS = pa.schema(
    [
        ("kind", TEXT),
        ("source_order", INT),
        ("file_order", INT),
        ("source_file", TEXT),
        ("source_sha256", TEXT),
        ("bytes", INT),
    ]
)
RECORD_FILES = pa.schema(
    [
        *(EXPORTS.field(name) for name in EXPORTS.names[1:]),
        ("filename", TEXT),
        ("rows", INT),
        ("records", INT),
        ("ignored", TEXT),
    ]
)
ITEM_ROWS = pa.schema(
    [
        *((name, TEXT) for name in (
            "task", "item", "segment", "system", "text", "source", "reference", "truth"
        )),
        ("place", INT),
    ]
)  # fmt: skip

ANY_RECORD = pa.schema(
    [("record", INT), ("row", INT), ("cell", TEXT), ("reason", TEXT)]
    + [(name, FIELD_TYPES.get(name, TEXT)) for name in CANONICAL_FIELDS]
    + [("filename", TEXT)]
)
"""A record with every canonical field; parsed files hold those that are mapped."""


CODE_VERSION = f"{READERS_VERSION}.{RECORDS_VERSION}"
"""Of reading: the readers', then that of making records."""


def archive_exports(context: StageContext) -> Made:
    """Find the inputs of this build and keep their bytes."""
    waiting = partial(context.progress, "another build publishes; waiting")
    parent = check_parent(context.campaign, waiting)  # before any work
    settings, folder = context.campaign.settings, context.campaign.folder
    rows = []
    listed: list[tuple[str, Sequence[Source | ItemSource]]] = [
        ("judgments", settings.sources),
        ("items", settings.items),
    ]
    for kind, sources in listed:
        for source_order, source in enumerate(sources):
            where = f"{'sources' if kind == 'judgments' else 'items'}.{source_order}.path"
            latest = isinstance(source, Source) and source.files == "latest"
            found = find_exports(folder, source.path, latest=latest, where=where)
            folders = matching_folders(folder, source.path)
            if folders:
                context.progress(f"folders are not read: {first_of(folders)}")
            for file_order, export in enumerate(found):
                sha256, size = archive_file(export.path, context.store.archive, _whole(export))
                rows.append((kind, source_order, file_order, export.relative, sha256, size))
    table = pa.Table.from_pylist([dict(zip(EXPORTS.names, r, strict=True)) for r in rows], EXPORTS)
    total = sum(row[5] for row in rows)
    context.progress(
        f"{counted(len(rows), 'export')}, {counted(total, 'byte')}, archived by SHA-256"
    )
    return Made({"exports": table}, {"files": len(rows), "bytes": total, "parent": parent})


def _whole(export: FoundExport) -> Callable[[Path], None]:
    """Refuses a gzip that is cut short: later, the bytes could not be fetched again."""
    return lambda copied: Opening(copied, export.relative).check_whole()


def read_exports(context: StageContext) -> Made:
    """Parse the exports that were not parsed before with the same mapping."""
    settings, campaign = context.campaign.settings, context.campaign.settings.campaign
    files: list[dict[str, Any]] = []
    items: list[dict[str, Any]] = []
    unread: list[str] = []
    seen: dict[int, dict[str, None]] = {}
    parsed = 0
    for export in context.read("exports").to_pylist():
        place = export["source_order"]
        kept = archived(context.store.archive, export["source_sha256"])
        if export["kind"] == "items":
            where = f"items.{place}.fields"
            table = settings.items[place]
            rows = _item_rows(table, kept, export["source_file"], where)
            name = export["source_file"]
            unread += [f"{name} row {r['row']}: {r['reason']}" for r in rows if r["reason"]]
            items += [row for row in rows if not row["reason"]]
            continue
        source = settings.sources[place]
        key = digest(
            {
                "code": CODE_VERSION,
                "sha256": export["source_sha256"],
                "mapping": source.model_dump(mode="json", exclude={"path", "files"}),
                "campaign": campaign,
                "path": export["source_file"] if _reads_path(source) else None,
                "gzipped": export["source_file"].lower().endswith(".gz"),
            }
        )[:32]
        target = context.store.records / f"{key}.parquet"
        note = context.store.records / f"{key}.json"
        noted = _noted(target, note)
        if noted is None:
            where = f"sources.{place}.fields"
            noted = _parse(source, kept, export["source_file"], where, campaign, target, note)
            parsed += 1
            if parsed % 10 == 0:
                context.progress(f"read {export['source_file']}")
        counts, columns = noted
        if columns is not None:  # a row may leave out what is null, a source may not
            seen.setdefault(place, {}).update(dict.fromkeys(columns))
        files.append(
            {name: export[name] for name in EXPORTS.names if name != "kind"}
            | {"filename": target.name, **counts}
            | {"ignored": json.dumps(counts["ignored"], sort_keys=True)}
        )
    for place, met in seen.items():
        source = settings.sources[place]
        check_columns(source, list(met), source.path, f"sources.{place}.fields")
    n_rows, n_records = sum(f["rows"] for f in files), sum(f["records"] for f in files)
    context.progress(
        f"{counted(n_rows, 'row')}, {counted(n_records, 'record')}; "
        f"{parsed:,} of {counted(len(files), 'export')} new"
    )
    tables = {
        "record_files": pa.Table.from_pylist(files, RECORD_FILES),
        "item_rows": pa.Table.from_pylist(
            [{**row, "place": place} for place, row in enumerate(items)], ITEM_ROWS
        ),
    }
    facts = {
        "rows": n_rows,
        "records": n_records,
        "parsed": parsed,
        "unread_items": unread,
        "judges_in_paths": _judges_in_paths(context, files),
    }
    return Made(tables, facts)


def _judges_in_paths(context: StageContext, files: Sequence[Mapping[str, Any]]) -> list[str]:
    """Sources whose paths, which are published, tell who judged."""
    settings = context.campaign.settings
    if not settings.privacy.pseudonymize:
        return []
    telling = {n for n, s in enumerate(settings.sources) if _captures(s.fields["judge"])}
    for file in files:
        if file["source_order"] not in telling:
            judges = read_table(context.store.records / file["filename"], ["judge"])["judge"]
            if any(names_in_path(file["source_file"], j) for j in judges.unique().to_pylist() if j):
                telling.add(file["source_order"])
    return [settings.sources[n].path for n in sorted(telling)]


def _captures(expression: Expression) -> bool:
    if isinstance(expression, JoinExpression):
        return any(map(_captures, expression.join))
    return isinstance(expression, CaptureExpression)


def listed_items(campaign: LoadedCampaign) -> tuple[pa.Table, list[str]]:
    """Rows of the item tables as they lie there now, in order of precedence, and those unread.

    Raises
    ------
    AnnotError
        A table is missing or cannot be read, or a mapping names a column that it lacks.
    """
    rows: list[dict[str, Any]] = []
    unread: list[str] = []
    for number, source in enumerate(campaign.settings.items):
        where = f"items.{number}"
        for found in find_exports(
            campaign.folder, source.path, latest=False, where=f"{where}.path"
        ):
            read = _item_rows(source, found.path, found.relative, f"{where}.fields")
            rows += [row for row in read if not row["reason"]]
            unread += [
                f"{found.relative} row {r['row']}: {r['reason']}" for r in read if r["reason"]
            ]
    table = pa.Table.from_pylist(
        [{**row, "place": place} for place, row in enumerate(rows)], ITEM_ROWS
    )
    return table, unread


def present_exports(
    campaign: LoadedCampaign,
    *,
    missing_ok: bool = False,
    sha256: Callable[[Path], str] = export_sha256,
) -> list[tuple[int, str, str]]:
    """What a build would read now: (number of the source, export, SHA-256).

    Raises
    ------
    AnnotError
        An export is missing or cannot be read.
    """
    return [
        (number, export.relative, sha256(export.path))
        for number, export in _found(campaign, missing_ok=missing_ok)
    ]


def export_stats(campaign: LoadedCampaign) -> list[tuple[int, str, int, int, int]]:
    """What the file system says of them: number of the source, export, size, mtime, inode.

    Cheap, and told apart from `present_exports` for that: equal figures are a hint that the
    bytes are equal, other figures that they may not be.

    Raises
    ------
    AnnotError
        An export is missing or cannot be read.
    """
    stats = []
    for number, export in _found(campaign, missing_ok=False):
        with readable(export.path):
            stats.append((number, export.relative, *stamp(export.path)))
    return stats


def _found(campaign: LoadedCampaign, *, missing_ok: bool) -> Iterator[tuple[int, FoundExport]]:
    settings = campaign.settings
    sources: list[Source | ItemSource] = [*settings.sources, *settings.items]
    for number, source in enumerate(sources):
        latest = isinstance(source, Source) and source.files == "latest"
        try:
            exports = find_exports(campaign.folder, source.path, latest=latest, where=source.path)
        except ConfigError:
            if not missing_ok:
                raise
            exports = []
        yield from ((number, export) for export in exports)


def _reads_path(source: Source) -> bool:
    return '"capture"' in source.model_dump_json()


Noted: TypeAlias = tuple[dict[str, Any], list[str] | None]
"""What was counted in an export, and its columns where it has no header."""


def _noted(target: Path, note: Path) -> Noted | None:
    """What is known of an export that is parsed; None: not parsed, damaged, or of other code."""
    try:
        document = read_json(note)
        counts, columns = document["counted"], document["columns"]
        known = {"rows", "records", "ignored"} == set(counts)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return (counts, columns) if known and target.exists() else None


def _parse(
    source: Source, kept: Path, name: str, where: str, campaign: str, target: Path, note: Path
) -> Noted:
    """Write the records of one export; the note beside it is written last."""
    export = open_export(source, kept, name)
    if export.has_header:
        check_columns(source, export.columns, name, where)
    tables = [read_records(chunk, source, path=name, campaign=campaign) for chunk in export.chunks]
    whole = _no_records()
    if tables:
        whole = pa.concat_tables(tables, promote_options="permissive")
        whole = whole.add_column(0, "record", pa.array(range(whole.num_rows), INT))
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as temporary:
        write_table(temporary, whole)
    counted = {"rows": export.n_rows, "records": whole.num_rows, "ignored": export.ignored}
    seen = None if export.has_header else export.columns
    write_json(note, {"counted": counted, "columns": seen})
    return counted, seen


def _no_records() -> pa.Table:
    return ANY_RECORD.remove(ANY_RECORD.get_field_index("filename")).empty_table()


def _item_rows(source: ItemSource, kept: Path, name: str, where: str) -> list[dict[str, Any]]:
    """Rows of an item table in their order, with the reason where one cannot be read."""
    export = open_export(source, kept, name)
    if export.has_header:
        check_columns(source, export.columns, name, where)
    tables = [read_items(chunk, source, path=name) for chunk in export.chunks]
    check_columns(source, export.columns, name, where)
    rows = [row for table in tables for row in table.to_pylist()]
    return sorted(rows, key=lambda row: row["row"])
