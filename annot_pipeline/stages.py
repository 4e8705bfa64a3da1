"""What each stage does: fetches its inputs from the store, calls a step or a query.

The bridge between disk (storage, exports) and tables (steps), which do not know each other.
"""

from __future__ import annotations

import difflib
import fnmatch
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import (
    CANONICAL_FIELDS,
    ItemSource,
    LoadedCampaign,
    Source,
    TaskSettings,
)
from annot_pipeline.contracts import GOLD, INT, REAL, TEXT, fates_text
from annot_pipeline.errors import ConfigError, InputError, Problem, first_of, shorten
from annot_pipeline.exports import READERS, Export, Opening
from annot_pipeline.signature import digest
from annot_pipeline.steps.infer_labels import infer_labels
from annot_pipeline.steps.look_alikes import look_alikes
from annot_pipeline.steps.read_records import (
    CODE_VERSION,
    FIELD_TYPES,
    columns_by_field,
    columns_of,
    read_items,
    read_records,
)
from annot_pipeline.storage.archive import (
    archive_file,
    archived,
    find_exports,
    matching_folders,
)
from annot_pipeline.storage.files import file_sha256, read_json, replacing, write_json
from annot_pipeline.storage.keys import derive, pseudonym
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.store import Store
from annot_pipeline.storage.tables import TableFile, read_table, write_table

Rows: TypeAlias = pa.Table | pa.RecordBatchReader

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
            "item", "segment", "system", "text", "source", "reference", "truth"
        )),
        ("place", INT),
    ]
)  # fmt: skip
TASKS = pa.schema(
    [
        ("task", TEXT),
        ("kind", TEXT),
        ("guessed", pa.bool_()),
        ("labels", pa.list_(TEXT)),
        ("ordinal", pa.bool_()),
        ("scale_low", REAL),
        ("scale_high", REAL),
    ]
)
ANY_RECORD = pa.schema(
    [("row", INT), ("cell", TEXT), ("reason", TEXT)]
    + [(name, FIELD_TYPES.get(name, TEXT)) for name in CANONICAL_FIELDS]
    + [("filename", TEXT)]
)
"""A record with every canonical field; parsed files hold those that are mapped."""


@dataclass(frozen=True)
class StageContext:
    """What a stage may use; large tables can be written to ``folder`` straight away."""

    campaign: LoadedCampaign
    folder: Path
    store: Store
    judge_key: Callable[[], bytes]
    inputs: Mapping[str, TableFile]
    read: Callable[[str], pa.Table]
    progress: Callable[[str], None]

    @property
    def queries(self) -> Queries:
        """SQL with the campaign's limits."""
        return Queries(self.campaign.settings.resources, self.store.spill)


@dataclass
class Made:
    """What a stage made: tables (or queries that will give them, or files), and facts."""

    tables: Mapping[str, Rows | Callable[[], AbstractContextManager[Rows]] | TableFile]
    facts: dict[str, Any] = field(default_factory=dict)

    def write(self, name: str, path: Path) -> TableFile:
        """Write a table, with the columns of its contract if it is a gold table."""
        made = self.tables[name]
        if isinstance(made, TableFile):
            return made
        with made() if callable(made) else nullcontext(made) as rows:
            return write_table(path, _as_declared(rows, name))


def _as_declared(rows: Rows, name: str) -> Rows:
    """Rows of a gold table with the columns, types and descriptions of its contract."""
    contract = GOLD.get(name)
    if contract is None or rows.schema.equals(contract.schema, check_metadata=True):
        return rows

    def declared(batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = [
            batch.column(f.name).cast(f.type)
            if f.name in batch.schema.names
            else pa.nulls(batch.num_rows, f.type)
            for f in contract.schema
        ]
        return pa.record_batch(columns, schema=contract.schema)

    batches = rows.to_batches() if isinstance(rows, pa.Table) else rows
    return pa.RecordBatchReader.from_batches(contract.schema, map(declared, batches))


# --- exports -------------------------------------------------------------------------------


def archive_exports(context: StageContext) -> Made:
    """Find the inputs of this build and keep their bytes."""
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
                sha256, size = archive_file(export.path, context.store.archive)
                rows.append((kind, source_order, file_order, export.relative, sha256, size))
    table = pa.Table.from_pylist([dict(zip(EXPORTS.names, r, strict=True)) for r in rows], EXPORTS)
    total = sum(row[5] for row in rows)
    context.progress(f"{len(rows)} exports, {total:,} bytes, archived by SHA-256")
    return Made({"exports": table}, {"files": len(rows), "bytes": total})


def read_exports(context: StageContext) -> Made:
    """Parse the exports that were not parsed before with the same mapping."""
    settings, campaign = context.campaign.settings, context.campaign.settings.campaign
    files: list[dict[str, Any]] = []
    items: list[dict[str, Any]] = []
    parsed = 0
    for export in context.read("exports").to_pylist():
        place = export["source_order"]
        kept = archived(context.store.archive, export["source_sha256"])
        if export["kind"] == "items":
            where = f"items.{place}.fields"
            table = settings.items[place]
            items += _item_rows(table, kept, export["source_file"], where, len(items))
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
        if not (target.exists() and note.exists()):
            where = f"sources.{place}.fields"
            _parse(source, kept, export["source_file"], where, campaign, target, note)
            parsed += 1
            if parsed % 10 == 0:
                context.progress(f"read {export['source_file']}")
        counted = read_json(note)
        files.append(
            {name: export[name] for name in EXPORTS.names if name != "kind"}
            | {"filename": str(target), **counted}
            | {"ignored": json.dumps(counted["ignored"], sort_keys=True)}
        )
    n_rows, n_records = sum(f["rows"] for f in files), sum(f["records"] for f in files)
    context.progress(
        f"{n_rows:,} rows, {n_records:,} records; {parsed} of {len(files)} exports were new"
    )
    tables = {
        "record_files": pa.Table.from_pylist(files, RECORD_FILES),
        "item_rows": pa.Table.from_pylist(items, ITEM_ROWS),
    }
    return Made(tables, {"rows": n_rows, "records": n_records, "parsed": parsed})


def present_exports(campaign: LoadedCampaign) -> list[tuple[int, str, str]]:
    """What a build would read now: (number of the source, export, SHA-256).

    Raises
    ------
    AnnotError
        An export is missing or cannot be read.
    """
    found = []
    settings = campaign.settings
    sources: list[Source | ItemSource] = [*settings.sources, *settings.items]
    for number, source in enumerate(sources):
        latest = isinstance(source, Source) and source.files == "latest"
        for export in find_exports(campaign.folder, source.path, latest=latest, where=source.path):
            found.append((number, export.relative, file_sha256(export.path)))
    return found


def open_export(source: Source | ItemSource, path: Path, name: str) -> Export:
    """Open an export with the reader of its format."""
    options = source.options
    return READERS[source.format](
        Opening(
            path,
            name,
            frozenset(columns_of(source)),
            options.delimiter,
            options.quote,
            options.encoding,
            options.columns,
            options.multilabel,
        )
    )


def check_columns(
    source: Source | ItemSource, export: Export, name: str, n_rows: int, where: str
) -> None:
    """Refuse a mapping (at ``where`` in campaign.yaml) that names columns which are not there.

    Raises
    ------
    ConfigError
        With the columns that there are.
    """
    missing = [c for c in columns_of(source) if c not in export.columns]
    if not missing or (not export.columns and not n_rows):
        return
    fields = [f for f, names in columns_by_field(source).items() if set(names) & set(missing)]
    raise ConfigError(
        f"{name}: unknown column",
        [
            Problem(
                f"{where}.{fields[0]}" if len(fields) == 1 else f"{where} ({', '.join(fields)})",
                "the export has no such column",
                allowed=first_of(list(map(shorten, export.columns)), 40),
                do=_how_to_name(missing, export.columns),
                values=tuple(missing),
            )
        ],
    )


def _how_to_name(missing: Sequence[str], columns: Sequence[str]) -> str:
    repeated = [c for c in columns if any(c.startswith(f"{m}#") for m in missing)]
    likely = difflib.get_close_matches(missing[0], columns, 1)
    if repeated:
        return f"several columns have this name; name one by its place, as {repeated[0]}"
    if len(columns) == 1:
        return 'set options.delimiter to what stands between the columns ("\\t" for a tab)'
    if any("\ufffd" in column for column in columns):
        return "set options.encoding to the file's encoding"
    return f"did you mean {likely[0]}?" if likely else "name a column that the export has"


def _reads_path(source: Source) -> bool:
    return '"capture"' in source.model_dump_json()


def _parse(
    source: Source, kept: Path, name: str, where: str, campaign: str, target: Path, note: Path
) -> None:
    """Write the records of one export; the note beside it is written last."""
    export = open_export(source, kept, name)
    check_columns(source, export, name, 0, where)
    rows_seen = records = 0

    def chunks() -> Iterator[pa.Table]:
        nonlocal rows_seen, records
        last = 0
        for chunk in export.chunks:
            table = read_records(chunk, source, path=name, campaign=campaign)
            records += table.num_rows
            rows_seen += len(set(chunk.row.tolist())) - (int(chunk.row[0]) == last)
            last = int(chunk.row[-1])
            yield table

    tables = list(chunks())
    check_columns(source, export, name, rows_seen, where)
    whole = pa.concat_tables(tables, promote_options="permissive") if tables else _no_records()
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as temporary:
        write_table(temporary, whole)
    write_json(note, {"rows": rows_seen, "records": records, "ignored": export.ignored})


def _no_records() -> pa.Table:
    return ANY_RECORD.remove(ANY_RECORD.get_field_index("filename")).empty_table()


def _item_rows(
    source: ItemSource, kept: Path, name: str, where: str, start: int
) -> list[dict[str, Any]]:
    export = open_export(source, kept, name)
    tables = [read_items(chunk, source, path=name) for chunk in export.chunks]
    n_rows = sum(table.num_rows for table in tables)
    check_columns(source, export, name, n_rows, where)
    rows = [row for table in tables for row in table.to_pylist()]
    rejected = [row for row in rows if row["reason"]]
    if rejected:
        raise InputError(
            f"{name}: rows of an item table that cannot be read: {len(rejected):,}",
            [Problem(f"{name}:{r['row']}", r["reason"], do="mend the table") for r in rejected[:5]],
        )
    return [
        {column: row.get(column) for column in ITEM_ROWS.names} | {"place": start + n}
        for n, row in enumerate(sorted(rows, key=lambda row: row["row"]))
    ]


# --- judgments -----------------------------------------------------------------------------


def settle_judgments(context: StageContext) -> Made:
    """Resolve tasks and judges, then give ids and fates."""
    settings, queries = context.campaign.settings, context.queries
    record_files = context.read("record_files")
    inputs: dict[str, Any] = {
        "records": sorted({Path(f) for f in record_files["filename"].to_pylist()}),
        "any_record": ANY_RECORD.empty_table(),
    }
    names = queries.table("ingest/names", inputs)
    tasks, ambiguous = resolve_tasks(names, settings.tasks)
    inputs |= {"record_files": record_files, "tasks": tasks, "judges": _judges(context, names)}
    keyed, judgments = context.folder / "keyed.parquet", context.folder / "judgments.parquet"
    with queries.run("ingest/key_records", inputs) as rows:
        write_table(keyed, rows)
    with queries.run("ingest/settle_judgments", {"keyed": keyed}) as rows:
        settled = write_table(judgments, rows)
    keyed.unlink()
    accounting = queries.table(
        "audit/accounting", {"judgments": judgments, "record_files": record_files}
    ).to_pylist()
    fates = {
        fate: sum(row[fate] for row in accounting)
        for fate in ("rejected", "duplicate", "superseded", "control", "used")
    }
    n_records = settled.rows
    context.progress(f"{n_records:,} records: {fates_text(fates)}")
    facts = {
        "records": n_records,
        "fates": fates,
        "files": accounting,
        "unaccounted": [row["source_file"] for row in accounting if not _adds_up(row)],
        "empty_files": [row["source_file"] for row in accounting if not row["rows_read"]],
        "rejections": _rejections(queries, judgments, record_files),
        "ambiguous_tasks": ambiguous,
        "kinds": {row["task"]: row["kind"] for row in tasks.to_pylist()},
        "guessed_tasks": [row["task"] for row in tasks.to_pylist() if row["guessed"]],
        "look_alikes": _all_look_alikes(queries, judgments),
    }
    return Made({"judgments": settled, "tasks": tasks}, facts)


def resolve_tasks(names: pa.Table, settings: Sequence[TaskSettings]) -> tuple[pa.Table, list[str]]:
    """What is known of each task: from the first pattern that matches, else from its answers."""
    answers: dict[str, dict[str, int]] = {}
    for row in names.to_pylist():
        if row["task"] is not None:
            sums = answers.setdefault(row["task"], {})
            for kind in ("labels", "scores", "preferences", "rankings", "ranks"):
                sums[kind] = sums.get(kind, 0) + row[kind]
    rows, ambiguous = [], []
    for task in sorted(answers):
        found = next((s for s in settings if fnmatch.fnmatchcase(task, s.name)), None)
        kinds = _kinds_by_answers(answers[task])
        given = found.kind if found else None
        if given is None and len(kinds) > 1:
            ambiguous.append(f"{task} ({' or '.join(kinds)})")
        rows.append(
            {
                "task": task,
                "kind": given or (kinds[0] if kinds else "categorical"),
                "guessed": given is None,
                "labels": list(found.labels) if found and found.labels else None,
                "ordinal": bool(found and found.ordinal),
                "scale_low": found.scale[0] if found and found.scale else None,
                "scale_high": found.scale[1] if found and found.scale else None,
            }
        )
    return pa.Table.from_pylist(rows, TASKS), ambiguous


def _kinds_by_answers(answers: Mapping[str, int]) -> list[str]:
    kinds = []
    if answers["labels"]:
        kinds.append("categorical")
    if answers["preferences"]:
        kinds.append("pairwise")
    if answers["rankings"] and answers["ranks"]:
        kinds.append("ranking")
    if answers["scores"]:
        kinds.append("scalar")
    return kinds


def _judges(context: StageContext, names: pa.Table) -> pa.Table:
    judges = sorted({j for j in names["judge"].to_pylist() if j is not None})
    public = judges
    if context.campaign.settings.privacy.pseudonymize:
        key = context.judge_key()
        public = [pseudonym(key, judge) for judge in judges]
    return pa.table({"judge": pa.array(judges, TEXT), "judge_id": pa.array(public, TEXT)})


def _adds_up(row: Mapping[str, int]) -> bool:
    fates = sum(row[f] for f in ("rejected", "duplicate", "superseded", "control", "used"))
    return row["rows"] == row["rows_read"] and row["records"] == row["records_read"] == fates


def _rejections(queries: Queries, judgments: Path, record_files: pa.Table) -> list[dict[str, Any]]:
    """Why records were rejected, with the values that were met, the most frequent first."""
    inputs = {"judgments": judgments, "record_files": record_files}
    rows: list[dict[str, Any]] = queries.table("audit/rejections", inputs).to_pylist()
    if not rows:
        return rows
    records = read_table(judgments, ["fate", "reason"])
    reasons = records.filter(pc.equal(records["fate"], "rejected"))["reason"].cast(TEXT)
    counts = {row["values"]: row["counts"] for row in pc.value_counts(reasons).to_pylist()}
    values: dict[str, list[str]] = {}
    for reason in sorted(counts, key=lambda reason: (-counts[reason], reason)):
        kind, _, value = reason.partition(": ")
        values.setdefault(kind, []).append(value)
    return [
        row | {"reason": ": ".join(filter(None, (kind, first_of(values[kind], between="; "))))}
        for row in rows
        for kind in [row["kind"]]
    ]


def _all_look_alikes(queries: Queries, judgments: Path) -> list[str]:
    """Look-alike names, by what they name; a judge's own name is not told."""
    names: dict[str, list[str]] = {}
    for row in queries.table("audit/distinct_names", {"judgments": judgments}).to_pylist():
        names.setdefault(row["what"], []).append(row["name"])
    return [
        f"{what} {'names' if what == 'judge' else group}"
        for what, found in names.items()
        for group in look_alikes(found)
    ]


# --- tables --------------------------------------------------------------------------------


def infer_label_tables(context: StageContext) -> Made:
    """Labels of all categorical tasks."""
    tables, facts = infer_labels(
        context.read("judgments"),
        context.read("tasks"),
        params=context.campaign.settings.dawid_skene_params,
        progress=_now_and_then(context.progress),
    )
    if facts["tasks"]:
        context.progress(
            f"{facts['items']:,} items labelled in {facts['tasks']} tasks, "
            f"{max(facts['iterations'].values())} iterations at most"
        )
    return Made(tables, facts)


def _now_and_then(progress: Callable[[str], None]) -> Callable[[str], None]:
    """Passes a message on if the last one is a second ago."""
    last = time.monotonic()

    def told(message: str) -> None:
        nonlocal last
        if time.monotonic() - last >= 1:
            last = time.monotonic()
            progress(message)

    return told


def describe_judges(context: StageContext) -> Made:
    """Judges of all tasks."""
    return _by_query(context, "judges/describe_judges", "judges")


def describe_items(context: StageContext) -> Made:
    """Items judged or listed."""
    made = _by_query(context, "items/describe_items", "items")
    contents: dict[str, set[tuple[Any, ...]]] = {}
    for row in context.read("item_rows").to_pylist():
        row.pop("place")
        contents.setdefault(row["item"], set()).add(tuple(row.values()))
    made.facts["repeated_items"] = sorted(i for i, rows in contents.items() if len(rows) > 1)
    return made


def trace_lineage(context: StageContext) -> Made:
    """The fate and place of every record."""
    parameters = {
        "salt": derive(context.judge_key(), "judgment"),
        "pseudonymize": context.campaign.settings.privacy.pseudonymize,
    }
    return _by_query(context, "audit/lineage", "lineage", parameters)


def _by_query(
    context: StageContext, query: str, table: str, parameters: Mapping[str, Any] | None = None
) -> Made:
    paths = {name: file.path for name, file in context.inputs.items()}
    return Made({table: lambda: context.queries.run(query, paths, parameters)})
