"""Records become judgments: tasks and judges resolved, ids and fates given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config.judges import JudgeSettings
from annot_pipeline.config.signature import digest
from annot_pipeline.contracts import FATES, INT, TEXT, UNREAD_FATES, fates_text
from annot_pipeline.errors import counted, first_of, shorten
from annot_pipeline.runtime.context import Document, StageContext, StageOutput
from annot_pipeline.runtime.hash_values import hash_values
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.runtime.job_sizes import JobSizes
from annot_pipeline.runtime.partitions import (
    Partition,
    place_partition,
    run_partitions,
    write_partition,
)
from annot_pipeline.runtime.stage import Stage
from annot_pipeline.stages.ingest.declared_judges import undeclared_models
from annot_pipeline.stages.ingest.item_versions import (
    changed_items,
    item_versions,
    versions_of,
    without_split_versions,
)
from annot_pipeline.stages.ingest.judgment_audits import (
    ACCOUNT,
    CLASSES,
    all_look_alikes,
    audit_records,
    classes_by_task,
    judges_as_items,
    rejection_kinds,
    rejections_with_lines,
    repeated_answers,
    respelled_classes,
    superseded_by_order,
    undeclared_classes,
)
from annot_pipeline.stages.ingest.metrics import JudgmentMetrics
from annot_pipeline.stages.ingest.parsed_exports import ANY_RECORD
from annot_pipeline.stages.ingest.raw_names import NAME_COLUMNS, names_of, raw_names
from annot_pipeline.stages.ingest.resolve_tasks import (
    judge_kinds,
    resolve_tasks,
    unused_settings,
    used_judges,
)
from annot_pipeline.stages.shared.account_records import whole_account
from annot_pipeline.stages.shared.name_search import CellNames, reader_without_names
from annot_pipeline.storage.archive import export_sha256
from annot_pipeline.storage.files import TEMPORARY
from annot_pipeline.storage.keys import pseudonym, published_digest
from annot_pipeline.storage.queries import Items, Queries, Tasks
from annot_pipeline.storage.tables import (
    StoredTable,
    TableFile,
    read_table,
    verify_table,
    write_table,
)

AUDIT = "audit"
"""Key of a partition's document that holds what metrics are added up from."""
NATIVE_IDS = pa.schema([("filename", TEXT), ("native_id", TEXT)])
Slices: TypeAlias = dict[str, list[str]]
"""Items that end the partitions of a large task, by a digest of its name and files."""


def settle_judgments(context: StageContext) -> StageOutput[JudgmentMetrics]:
    """Resolve tasks and judges, then give ids and fates."""
    settings, queries = context.campaign.settings, context.queries
    record_files = context.read("record_files")
    inputs: dict[str, Any] = {
        "records": _parsed_exports(context, record_files).paths,
        "any_record": ANY_RECORD.empty_table(),
    }
    names = queries.table("ingest/names", inputs)
    kinds = judge_kinds(names, settings.judges, _pseudonyms(context))
    used = used_judges(names, kinds, settings.judges)
    tasks, ambiguous = resolve_tasks(names, settings.tasks, used)
    judges = context.folder / f"{TEMPORARY}judges.parquet"  # for all jobs; goes when they are done
    write_table(judges, kinds.select(["judge", "judge_id", "kind"]))
    parameters = {
        "drop_rejected": settings.quality.rejected_assignments == "drop",
        "pseudonymize": settings.privacy.pseudonymize,
        "salt": context.salt,
    }
    quoted = _quoted_names(context, inputs)
    native_ids = _native_ids(context, inputs)
    versions, item_texts = item_versions(context, inputs, record_files)
    slices: Slices = {}
    partitions = [
        Partition(
            [asdict(some), task_group.files.to_pylist(), task_group.tasks.to_pylist(),
             _native_ids_of(native_ids, task_group.files),
             *quoted, *version_hash],
            partial(
                _settle, context.partition_queries, task_group.records,
                {"record_files": task_group.files, "tasks": task_group.tasks, "judges": judges,
                 "native_ids": native_ids,
                 "versions": own_versions,
                 "several_texts": own_versions.select(["task", "item"])},
                parameters, some, quoted, settings.judges.declared,
            ),
            continues_previous=n > 0,
        )
        for task_group in _tasks_together(context, inputs, record_files, names, tasks)
        for own_versions in [versions_of(versions, task_group.tasks)]
        for version_hash in [[hash_values([own_versions])] if own_versions.num_rows else []]
        for n, some in enumerate(_slices(context, task_group, slices, own_versions))
    ]  # fmt: skip
    # a query works on all cores; two write one part while they sort another, in twice the memory
    at_once = 1 if settings.resources.memory_limit else 2
    tables, documents = run_partitions(context, partitions, at_once=at_once)
    audits = [document[AUDIT] for document in documents.values()]
    accounting = whole_account(record_files.to_pylist(), (audit[ACCOUNT] for audit in audits))
    fates = {fate: sum(row[fate] for row in accounting) for fate in FATES}
    n_records = tables["settled"].rows
    context.progress(f"{counted(n_records, 'record')}: {fates_text(fates)}")
    is_hidden = settings.privacy.pseudonymize
    [alike] = context.run([partial(all_look_alikes, tables["names"], hide_judges=is_hidden)])
    [n_swapped] = context.run([partial(judges_as_items, tables["names"])])
    metrics = JudgmentMetrics(
        records=n_records,
        fates=fates,
        files=accounting,
        empty_files=_empty_files(context, record_files),
        rejections=rejections_with_lines(
            context,
            rejection_kinds(audits, tables["settled"], accounting),
            record_files.to_pylist(),
        ),
        ambiguous_tasks=ambiguous,
        unused_task_settings=unused_settings(tasks, settings.tasks),
        kinds={row["task"]: row["kind"] for row in tasks.to_pylist()},
        assumed_scales=[
            "{task}: {assumed_low:g} to {assumed_high:g}".format(**row)
            for row in tasks.to_pylist()
            if row["assumed_low"] is not None
        ],
        guessed_tasks=[row["task"] for row in tasks.to_pylist() if row["guessed"]],
        n_look_alikes=alike[0],
        look_alikes=alike[1],
        judges_as_items=n_swapped,
        undeclared_classes=undeclared_classes(audits, tasks, tables["settled"]),
        respelled_classes=respelled_classes(audits, tables["settled"], tasks),
        superseded_by_order=superseded_by_order(audits),
        experts_disagree=[
            f"{row['task']}/{row['item']} ({first_of(list(map(shorten, row['labels'])))})"
            for audit in audits
            for row in audit["experts_disagree"]
        ],
        repeated_answers=repeated_answers(audits, context, record_files),
        changed_items=changed_items(versions),
        used_judges=dict(used),
        undeclared_models=_undeclared_models(kinds, names, settings.judges.declared),
        slices=slices,
    )
    all_tables = {**tables, "tasks": tasks, "judge_kinds": kinds, "item_texts": item_texts}
    return StageOutput(all_tables, metrics, documents)


def _empty_files(context: StageContext, record_files: pa.Table) -> list[str]:
    """Return exports without any row, but not those whose rows were all of forgotten people."""
    folder, rows = context.campaign.folder, record_files.to_pylist()
    empty = {folder / row["source_file"]: row for row in rows if not row["rows"]}
    copies = {f for f, r in empty.items() if f.is_file() and export_sha256(f) != r["source_sha256"]}
    return [row["source_file"] for file, row in empty.items() if file not in copies]


def _undeclared_models(
    kinds: pa.Table, names: pa.Table, declared: Sequence[JudgeSettings]
) -> dict[str, tuple[str, int]]:
    """Return family and records of judges named like models who count as people, by public name."""
    public = dict(zip(*(kinds[name].to_pylist() for name in ("judge", "judge_id")), strict=True))
    records = Counter[str]()
    models = undeclared_models(public, declared)
    for row in names.to_pylist() if models else ():
        records[row["judge"]] += row["records"]
    return {public[name]: (family, records[name]) for name, family in models.items()}


def _quoted_names(context: StageContext, inputs: Mapping[str, Any]) -> list[str]:
    """Return names of judges of any export that are a cell, as a whole, that a reason may quote.

    Mostly there are none; so that parts need not be made again whenever a judge is new, they follow
    from these names alone, and not from all.
    """
    if not context.campaign.settings.privacy.pseudonymize:
        return []
    cells = CellNames.from_names(
        raw_names(inputs["records"], context.campaign.settings.judges.declared)
    )
    names = pa.table({"key": pa.array(sorted(cells.keys), TEXT)})
    table = context.queries.table("ingest/cells_of_names", {**inputs, "names": names})
    quoted = set(table["key"].to_pylist())
    for reason in context.queries.table("ingest/reasons", inputs)["reason"].to_pylist():
        quoted |= cells.in_reason(reason)
    return sorted(quoted)


def _native_ids(context: StageContext, inputs: Mapping[str, Any]) -> pa.Table:
    """Return native ids of repeated answers that identify them, by parsed file."""
    if not any("native_id" in source.fields for source in context.campaign.settings.sources):
        return NATIVE_IDS.empty_table()
    return context.queries.table("ingest/repeated_native_ids", inputs).cast(NATIVE_IDS)


def _native_ids_of(native_ids: pa.Table, files: pa.Table) -> list[dict[str, str]]:
    """Return those of some files, for the fingerprint of a partition."""
    rows: list[dict[str, str]] = native_ids.filter(
        is_in(native_ids["filename"], files["filename"].cast(TEXT))
    ).to_pylist()
    return rows


def _parsed_exports(context: StageContext, record_files: pa.Table) -> StoredTable:
    """Return the files of the parsed exports, each once, in the order of their names.

    Raises
    ------
    StoreError
        The bytes of one are not those that were written.
    """
    columns = (record_files[name].to_pylist() for name in ("filename", "records_sha256", "records"))
    files = {name: (sha256, rows) for name, sha256, rows in zip(*columns, strict=True)}
    return verify_table(
        StoredTable(
            tuple(TableFile(context.store.records / name, *files[name]) for name in sorted(files))
        )
    )


@dataclass(frozen=True)
class _Together:
    """Holds the files and tasks of a partition.

    Parameters
    ----------
    named
        Which these are.
    n_records
        How many records name them.
    files, records
        The files that hold such, in their order of precedence, without the number, which moves
        when another file comes between; and where they lie.
    tasks
        What the tasks are.
    """

    named: Tasks
    n_records: int
    files: pa.Table
    records: Sequence[Path]
    tasks: pa.Table


def _tasks_together(
    context: StageContext,
    inputs: Mapping[str, Any],
    record_files: pa.Table,
    names: pa.Table,
    tasks: pa.Table,
) -> Iterator[_Together]:
    """Yield groups of tasks; ids depend on the task, so no two groups share one."""
    rows = names.group_by("task").aggregate([("records", "sum")]).to_pylist()
    sizes = {row["task"]: row["records_sum"] for row in rows if row["task"] is not None}
    task_groups = context.sizes.chunk_tasks(sizes)
    task_files = context.queries.table("ingest/files_of_tasks", inputs)
    ordered = record_files.sort_by([(name, "ascending") for name in ("source_order", "file_order")])
    published = partial(published_digest, context.campaign.settings, context.judge_key())
    digests = pa.array(map(published, ordered["source_sha256"].to_pylist()), TEXT)
    ordered = ordered.select(["source_order", "source_file", "filename"])
    ordered = ordered.append_column("source_digest", digests)
    for position, task_names in enumerate(task_groups, start=1):
        none = position == len(task_groups)
        named = is_in(task_files["task"], task_names)
        if none:
            named = pc.or_(named, task_files["task"].is_null())
        files = ordered.filter(is_in(ordered["filename"], task_files.filter(named)["filename"]))
        known_tasks = tasks.filter(is_in(tasks["task"], task_names))
        read = files if files.num_rows else ordered  # no record at all: any file tells the columns
        yield _Together(
            Tasks.from_names(task_names, none=none),
            sum(sizes[task] for task in task_names),
            read,
            [context.store.records / name for name in sorted({*read["filename"].to_pylist()})],
            known_tasks,
        )


def _slices(
    context: StageContext, task_group: _Together, ends_by_key: Slices, versions: pa.Table
) -> list[Tasks]:
    """Return the task group, or slices of the items of a task that is too large.

    Ids name their item, too. Where slices end is kept in ``ends_by_key``: all items are looked at
    for it.
    """
    if task_group.n_records <= context.sizes.partition_rows:
        return [task_group.named]
    key = digest([task_group.named.first, [path.name for path in task_group.records]])
    latest = context.latest()
    ends = latest.document.get("slices", {}).get(key) if latest else None
    if ends is None:
        context.progress(f"{shorten(task_group.named.first)} is large: it is split by item")
        queries, named = context.partition_queries, task_group.named
        [ends] = context.run([partial(_ends, queries, task_group.records, named, context.sizes)])
    ends_by_key[key] = ends
    ends = without_split_versions(ends, versions)
    return [
        replace(
            task_group.named, none=task_group.named.none and last is None, items=Items(after, last)
        )
        for after, last in pairwise([None, *ends, None])
    ]


def _ends(queries: Queries, records: Sequence[Path], task: Tasks, sizes: JobSizes) -> list[str]:
    """Return the items that end slices of a task, except the last."""
    inputs = {"records": records, "any_record": ANY_RECORD.empty_table()}
    of_task = replace(task, none=False)
    with queries.run("ingest/items_of_task", inputs, tasks=of_task, filtered=("records",)) as rows:
        items = ((row["name"], row["judgments"]) for batch in rows for row in batch.to_pylist())
        return [run[-1] for run in sizes.chunks(items)][:-1]


def _settle(
    queries: Queries,
    records: Sequence[Path],
    inputs: Mapping[str, Any],
    parameters: Mapping[str, Any],
    tasks: Tasks,
    quoted: Sequence[str],
    declared: Sequence[JudgeSettings],
    folder: Path,
    key: str,
) -> tuple[Mapping[str, TableFile], Document]:
    """Settle the records of some tasks; files take precedence in their order, the last the most."""
    files = inputs["record_files"]
    ordered = files.append_column("file_order", pa.array(range(files.num_rows), INT))
    with queries.run(
        "ingest/settle_judgments",
        {"records": records, "any_record": ANY_RECORD.empty_table(), **inputs}
        | {"record_files": ordered},
        parameters,
        temp_tables={
            "texts_of_records": "ingest/texts_of_records",
            "record_versions": "ingest/record_versions",
            "keyed": "ingest/key_records",
        },
        tasks=tasks,
        filtered=("records",),
    ) as rows:
        table = rows
        if parameters["pseudonymize"]:
            table = _reasons_masked(rows, records, quoted, declared)
        judgments_file = place_partition(
            folder, "settled", key, lambda path: write_table(path, table)
        )
    named = read_table(judgments_file.path, [*NAME_COLUMNS, "fate"])
    named = named.filter(pc.invert(is_in(named["fate"], UNREAD_FATES)))
    names = write_partition(folder, "names", key, partial(iter, [names_of(named)]))
    audit = audit_records(queries, judgments_file, ordered, inputs["tasks"])
    audit[CLASSES] = classes_by_task(named)
    return {"settled": judgments_file, "names": names}, {AUDIT: audit}


def _reasons_masked(
    rows: pa.RecordBatchReader,
    records: Sequence[Path],
    quoted: Sequence[str],
    declared: Sequence[JudgeSettings],
) -> pa.RecordBatchReader:
    """Return records whose reasons, which are published, quote no cell that may name a judge.

    Names within a cell are those of these exports alone: what other exports hold must not change
    the bytes. Names that are a cell as a whole may be of any export: ``quoted``.
    """
    return reader_without_names(rows, lambda: [*raw_names(records, declared), *quoted])


def _pseudonyms(context: StageContext) -> Callable[[str], str]:
    """Return what gives the published name of a person."""
    if not context.campaign.settings.privacy.pseudonymize:
        return str
    return partial(pseudonym, context.judge_key())


SETTLE_JUDGMENTS = Stage(
    "settle_judgments",
    "Assigns an id to every judgment and a fate to every record; lists tasks and judges.",
    inputs={"record_files": ()},
    outputs=("settled", "tasks", "names", "judge_kinds", "item_texts"),
    settings=("campaign", "tasks", "judges", "privacy", "quality.rejected_assignments"),
    code_version="23",  # times tell answers that repeat apart; look-alike systems
    work=settle_judgments,
)  # fmt: skip
