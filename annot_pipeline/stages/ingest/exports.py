"""Exports: found, archived, and parsed into records, each only once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from annot_pipeline.bounded_json import parse_bounded_json
from annot_pipeline.config import CaptureExpression, Expression, ItemSource, JoinExpression, Source
from annot_pipeline.contracts import INT, TEXT
from annot_pipeline.contracts.task_table import ITEM_PROBABILITIES
from annot_pipeline.errors import (
    ConfigError,
    Problem,
    counted,
    counted_kind,
    first_of,
    row_and_line,
)
from annot_pipeline.exports import Opening
from annot_pipeline.runtime.context import StageContext, StageOutput
from annot_pipeline.runtime.parent import check_parent
from annot_pipeline.runtime.stage import Stage
from annot_pipeline.stages.ingest.declared_judges import DeclaredJudges, declared_judges
from annot_pipeline.stages.ingest.metrics import ExportMetrics, RecordMetrics
from annot_pipeline.stages.ingest.opened_exports import check_columns
from annot_pipeline.stages.ingest.parsed_exports import CODE_VERSION, parse_all
from annot_pipeline.stages.ingest.present_exports import (
    excluded_exports,
    exports_of,
    item_rows,
    read_item_table,
    unread_files,
    unread_rows,
)
from annot_pipeline.stages.ingest.raw_names import judge_names, raw_names, system_names
from annot_pipeline.stages.shared.name_search import without_names
from annot_pipeline.storage.archive import archive_file, archived, matching_folders
from annot_pipeline.storage.checked_export import MatchedExport
from annot_pipeline.storage.keys import exposed_secrets
from annot_pipeline.storage.published_settings import names_in_path
from annot_pipeline.storage.releases import Releases
from annot_pipeline.storage.shortages import reading_export

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
        ("records_sha256", TEXT),
        ("rows", INT),
        ("records", INT),
        ("ignored", TEXT),
        ("unaccounted_lines", INT),
        ("rows_with_records", INT),
        ("row_hashes", INT),
    ]
)


EXCLUDE = (
    "if the file was edited, or the key is new, it is read again: exclude it by its digest of now "
    "(sha256sum FILE); if it is gone, remove the entry"
)
"""What to do about an exclusion that matches no export."""


def archive_exports(context: StageContext) -> StageOutput[ExportMetrics]:
    """Find the inputs of this build and keep their bytes."""
    waiting = partial(context.progress, "another build is publishing; waiting")
    parent = check_parent(context.campaign, waiting)  # before any work
    settings, folder = context.campaign.settings, context.campaign.folder
    rows, damaged = [], list[str]()
    listed: tuple[Sequence[Source | ItemSource], ...] = settings.sources, settings.items
    for kind, sources in zip(("judgments", "items"), listed, strict=True):
        for source_order, source in enumerate(sources):
            where = f"{'sources' if kind == 'judgments' else 'items'}.{source_order}.path"
            exports = exports_of(context.campaign, source, where)
            if folders := matching_folders(folder, source.path):
                context.progress(f"folders are not read: {first_of(folders)}")
            for file_order, export in enumerate(exports):
                again = partial(damaged.append, export.relative)
                whole = _whole(export, context)
                with reading_export(export.relative, context.store.root):
                    sha256, size = archive_file(export.real, context.store.archive, whole, again)
                rows.append((kind, source_order, file_order, export.relative, sha256, size))
    table = pa.Table.from_pylist([dict(zip(EXPORTS.names, r, strict=True)) for r in rows], EXPORTS)
    total = sum(row[5] for row in rows)
    size_text = f"{counted(len(rows), 'export')}, {counted(total, 'byte')}"
    context.progress(f"{size_text}, archived by SHA-256")
    if damaged:
        context.progress(f"damaged in the store, and archived again: {first_of(damaged)}")
    exposed = exposed_secrets(settings.privacy, context.store.root)
    newest = Releases.for_campaign(context.campaign).latest()
    excluded, unused = excluded_exports(context.campaign, newest.manifest if newest else None)
    for name, because in excluded.items():
        context.progress(f"excluded: {name} ({because})")
    if not any(row[0] == "judgments" for row in rows):
        what, do = "every export is excluded", "add an export, or remove an entry of exclude"
        raise ConfigError("there is nothing to read", [Problem("sources", what, do=do)])
    if unused:
        context.progress(f"warn: exclude: no export has the digest {first_of(unused)}; {EXCLUDE}")
    metrics = ExportMetrics(len(rows), total, parent, exposed, excluded)
    return StageOutput({"exports": table}, metrics)


def _whole(export: MatchedExport, context: StageContext) -> Callable[[Path], None]:
    """Refuse a gzip that is cut short (later, the bytes could not be fetched again), or a bomb."""
    limits = context.campaign.settings.limits
    return lambda copied: Opening(copied, export.relative, limits=limits).check_whole()


def read_exports(context: StageContext) -> StageOutput[RecordMetrics]:
    """Parse the exports that were not parsed before with the same mapping."""
    settings = context.campaign.settings
    exports = context.read("exports").to_pylist()
    items: list[dict[str, Any]] = []
    probabilities: list[dict[str, Any]] = []
    unread: list[str] = []
    item_files: list[dict[str, Any]] = []
    for export in exports:
        if export["kind"] == "items":
            name, position = export["source_file"], export["source_order"]
            path = archived(context.store.archive, export["source_sha256"])
            source, fields = settings.items[position], f"items.{position}.fields"
            with reading_export(name, context.store.root):
                item_table = read_item_table(source, path, name, fields, settings.limits)
            item_files.append(
                {
                    "source_file": name,
                    "source_order": f"items.{position}",
                    "lines": item_table.lines and asdict(item_table.lines),
                    "ignored": json.dumps(item_table.ignored),
                }
            )
            unread += unread_rows(source, path, name, item_table.rows, settings.limits)
            readable_rows = [row for row in item_table.rows if not row["reason"]]
            items += readable_rows if source.describes_items else []
            probabilities += [
                row for row in readable_rows if row.get("selection_probability") is not None
            ]
    judged = [export for export in exports if export["kind"] == "judgments"]
    parsed, n_new = parse_all(context, judged)
    files: list[dict[str, Any]] = []
    columns_by_source: dict[int, dict[str, None]] = {}
    for export, (parsing, came_of_it) in zip(judged, parsed, strict=True):
        if came_of_it.columns is not None:  # a row may leave out what is null, a source may not
            columns_by_source.setdefault(parsing.position, {}).update(
                dict.fromkeys(came_of_it.columns)
            )
        counts = came_of_it.counts
        files.append(
            {name: export[name] for name in EXPORTS.names if name != "kind"}
            | {"filename": parsing.target.name, "records_sha256": came_of_it.sha256, **counts}
            | {"ignored": json.dumps(counts["ignored"], sort_keys=True)}
            | {"unaccounted_lines": abs((counts["lines"] or {}).get("other", 0))}
        )
    for position, columns in columns_by_source.items():
        judged_by = settings.sources[position]
        check_columns(judged_by, list(columns), judged_by.path, f"sources.{position}.fields")
    n_rows, n_records = (sum(file[what] for file in files) for what in ("rows", "records"))
    context.progress(
        f"{counted(n_rows, 'row')}, {counted(n_records, 'record')}; "
        f"{n_new:,} of {counted(len(files), 'export')} new"
    )
    first = {file["source_sha256"]: file["source_file"] for file in reversed(files)}
    names = [(f["source_file"], first[f["source_sha256"]]) for f in files if f["records"]]
    ignored: Counter[str] = Counter()
    for file in [*files, *item_files]:
        ignored.update(parse_bounded_json(file["ignored"]))
    if ignored:
        kinds = [counted_kind(n, kind) for kind, n in sorted(ignored.items())]
        context.progress(f"not rows: {first_of(kinds)}")
    tables = {
        "record_files": pa.Table.from_pylist(files, RECORD_FILES),
        "item_rows": item_rows(items),
        "item_probabilities": pa.Table.from_pylist(probabilities, ITEM_PROBABILITIES),
    }
    declared = _declared_judges(context, files)
    metrics = RecordMetrics(
        rows=n_rows,
        records=n_records,
        parsed=n_new,
        unread_items=_masked(context, files, unread),
        unread_files=_masked(context, files, unread_files(context.campaign)),
        judges_in_paths=_judges_in_paths(context, files),
        families=declared.families,
        unused_judge_settings=declared.unused,
        ambiguous_judges=declared.ambiguous,
        copied_exports=[f"{name} as {other}" for name, other in names if name != other],
        **_odd_texts([*files, *item_files]),
    )
    return StageOutput(tables, metrics)


def _odd_texts(files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what is odd about exports of delimited text, as metrics name it."""
    texts = [(file, lines) for file in files if (lines := file["lines"])]
    ended = {file["source_order"] for file, lines in texts if not lines["unended_row"]}
    return {
        "swallowed_rows": {
            _place(file, lines["like_rows_at"], lines["like_rows_line"]): lines["like_rows"]
            for file, lines in texts
            if lines["like_rows"]
        },
        "cut_exports": [
            _place(file, lines["unended_row"], lines["unended_line"])
            for file, lines in texts
            if lines["is_cut"] or (lines["unended_row"] and file["source_order"] in ended)
        ],
        "doubtful_quotes": [
            file["source_file"]
            for file, lines in texts
            if lines["has_quoted_cells"] and not lines["has_bare_quotes"]
        ],
    }


def _place(file: Mapping[str, Any], row: int, line: int) -> str:
    return f"{file['source_file']} {row_and_line(row, line)}"


def _masked(
    context: StageContext, files: Sequence[Mapping[str, Any]], unread: list[str]
) -> list[str]:
    """Return places and reasons, without a cell that may name a judge of these parsed exports."""
    if not unread or not context.campaign.settings.privacy.pseudonymize:
        return unread
    records = {context.store.records / file["filename"] for file in files}
    return without_names(unread, raw_names(records, context.campaign.settings.judges.declared))


def _declared_judges(context: StageContext, files: Sequence[Mapping[str, Any]]) -> DeclaredJudges:
    """Return what entries of ``judges`` come to, for the judges of all exports."""
    judges = context.campaign.settings.judges.declared
    records = sorted({context.store.records / file["filename"] for file in files if judges})
    return declared_judges(sorted(judge_names(records)), judges, partial(system_names, records))


def _judges_in_paths(context: StageContext, files: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the sources whose paths, which are published, reveal judges."""
    settings = context.campaign.settings
    if not settings.privacy.pseudonymize:
        return []
    sources = enumerate(settings.sources)
    telling = {n for n, s in sources if "judge" in s.fields and _captures(s.fields["judge"])}
    for file in files:
        if file["source_order"] not in telling:
            parsed = context.store.records / file["filename"]
            names = raw_names([parsed], settings.judges.declared)
            if any(names_in_path(file["source_file"], name) for name in names):
                telling.add(file["source_order"])
    return [settings.sources[n].path for n in sorted(telling)]


def _captures(expression: Expression) -> bool:
    if isinstance(expression, JoinExpression):
        return any(map(_captures, expression.join))
    return isinstance(expression, CaptureExpression)


ARCHIVE_EXPORTS = Stage(
    "archive_exports",
    "Finds the exports and archives their raw bytes by SHA-256.",
    inputs={},
    outputs=("exports",),
    settings=("sources", "items"),
    code_version="2",
    work=archive_exports,
    cached=False,  # the folder is looked at anew each time
)  # fmt: skip

READ_RECORDS = Stage(
    "read_records",
    "Parses new exports: each row gives records, or the reason why it cannot be read.",
    inputs={"exports": ()},
    outputs=("record_files", "item_rows", "item_probabilities"),
    settings=("campaign", "sources", "items", "judges"),
    code_version=f"{CODE_VERSION}.1",  # item_probabilities
    work=read_exports,
    cached=False,  # each export is, on its own
)  # fmt: skip
