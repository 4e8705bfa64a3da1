"""Records become judgments: tasks and judges resolved, ids and fates given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import FATES, INT, TEXT, fates_text
from annot_pipeline.errors import counted, first_of, shorten
from annot_pipeline.stages.context import Made, StageContext
from annot_pipeline.stages.parsed_exports import ANY_RECORD
from annot_pipeline.stages.parts import PARTS, Facts, Part, cut, in_parts, placed_part
from annot_pipeline.steps.indexing import is_any
from annot_pipeline.steps.look_alikes import look_alikes
from annot_pipeline.steps.resolve_tasks import resolve_tasks, unused_settings
from annot_pipeline.storage.keys import pseudonym
from annot_pipeline.storage.queries import Queries, Tasks
from annot_pipeline.storage.tables import StoredTable, TableFile, read_table, write_table


def settle_judgments(context: StageContext) -> Made:
    """Resolve tasks and judges, then give ids and fates."""
    settings, queries = context.campaign.settings, context.queries
    record_files = context.read("record_files")
    inputs: dict[str, Any] = {
        "records": sorted(
            {context.store.records / name for name in record_files["filename"].to_pylist()}
        ),
        "any_record": ANY_RECORD.empty_table(),
    }
    names = queries.table("ingest/names", inputs)
    tasks, ambiguous = resolve_tasks(names, settings.tasks)
    judges = _judges(context, names)
    parameters = {
        "drop_rejected": settings.quality.rejected_assignments == "drop",
        "pseudonymize": settings.privacy.pseudonymize,
        "salt": context.salt,
    }
    parts = [
        Part(
            [asdict(of_part), files.to_pylist(), tasks_of.to_pylist()],
            partial(
                _settle, context.part_queries,
                [context.store.records / name for name in _filenames(files)],
                {"record_files": files, "tasks": tasks_of, "judges": judges}, parameters, of_part,
            ),
        )
        for of_part, files, tasks_of in _parts(queries, inputs, record_files, names, tasks)
    ]  # fmt: skip
    # a query works on all cores; two write one part while they sort another, in twice the memory
    at_once = 1 if settings.resources.memory_limit else 2
    tables, by_part = in_parts(context, parts, at_once=at_once)
    settled = tables["settled"]
    accounting = queries.table(
        "audit/accounting", {"judgments": settled, "record_files": record_files}
    ).to_pylist()
    fates = {fate: sum(row[fate] for row in accounting) for fate in FATES}
    n_records = settled.rows
    context.progress(f"{counted(n_records, 'record')}: {fates_text(fates)}")
    facts = {
        PARTS: by_part,
        "records": n_records,
        "fates": fates,
        "files": accounting,
        "empty_files": [row["source_file"] for row in accounting if not row["rows_read"]],
        "rejections": _rejections(queries, settled, record_files),
        "ambiguous_tasks": ambiguous,
        "unused_task_settings": unused_settings(tasks, settings.tasks),
        "kinds": {row["task"]: row["kind"] for row in tasks.to_pylist()},
        "assumed_scales": [
            "{task}: {assumed_low:g} to {assumed_high:g}".format(**row)
            for row in tasks.to_pylist()
            if row["assumed_low"] is not None
        ],
        "guessed_tasks": [row["task"] for row in tasks.to_pylist() if row["guessed"]],
        "look_alikes": _all_look_alikes(queries, settled),
        "superseded_by_order": queries.table(
            "audit/superseded_by_order", {"judgments": settled}
        ).to_pylist()
        if fates["superseded"]
        else [],
        "experts_disagree": [
            f"{row['task']} {row['item']} ({first_of(list(map(shorten, row['labels'])))})"
            for row in queries.table(
                "audit/expert_disagreements", {"judgments": settled, "record_files": record_files}
            ).to_pylist()
        ],
    }
    return Made({**tables, "tasks": tasks}, facts)


def _parts(
    queries: Queries,
    inputs: Mapping[str, Any],
    record_files: pa.Table,
    names: pa.Table,
    tasks: pa.Table,
) -> Iterator[tuple[Tasks, pa.Table, pa.Table]]:
    """Tasks that are settled together, the files that hold records of them, and what they are.

    Ids name their task: no two parts share one. Files stand in their order of precedence, without
    the number, which moves when another file comes between.
    """
    rows = names.group_by("task").aggregate([("records", "sum")]).to_pylist()
    parts = cut({row["task"]: row["records_sum"] for row in rows if row["task"] is not None})
    held = queries.table("ingest/files_of_tasks", inputs)
    ordered = record_files.sort_by([(name, "ascending") for name in ("source_order", "file_order")])
    ordered = ordered.select(["source_order", "source_file", "source_sha256", "filename"])
    for place, of_part in enumerate(parts, start=1):
        none = place == len(parts)
        named = is_any(held["task"], of_part)
        if none:
            named = pc.or_(named, held["task"].is_null())
        files = ordered.filter(is_any(ordered["filename"], held.filter(named)["filename"]))
        told = tasks.filter(is_any(tasks["task"], of_part))
        read = files if files.num_rows else ordered  # no record at all: any file tells the columns
        yield Tasks.of(of_part, none=none), read, told


def _settle(
    queries: Queries,
    records: Sequence[Path],
    inputs: Mapping[str, Any],
    parameters: Mapping[str, Any],
    tasks: Tasks,
    folder: Path,
    key: str,
) -> tuple[Mapping[str, TableFile], Facts]:
    """Settle the records of some tasks; files take precedence in their order, the last the most."""
    files = inputs["record_files"]
    ordered = files.append_column("file_order", pa.array(range(files.num_rows), INT))
    with queries.run(
        "ingest/settle_judgments",
        {"records": records, "any_record": ANY_RECORD.empty_table(), **inputs}
        | {"record_files": ordered},
        parameters,
        made={"keyed": "ingest/key_records"},
        tasks=tasks,
        of=("records",),
    ) as rows:
        settled = placed_part(folder, "settled", key, lambda path: write_table(path, rows))
    return {"settled": settled}, {}


def _filenames(files: pa.Table) -> list[str]:
    return sorted(set(files["filename"].to_pylist()))


def _judges(context: StageContext, names: pa.Table) -> pa.Table:
    judges = sorted({j for j in names["judge"].to_pylist() if j is not None})
    public = judges
    if context.campaign.settings.privacy.pseudonymize:
        key = context.judge_key()
        public = [pseudonym(key, judge) for judge in judges]
    return pa.table({"judge": pa.array(judges, TEXT), "judge_id": pa.array(public, TEXT)})


def _rejections(
    queries: Queries, judgments: StoredTable, record_files: pa.Table
) -> list[dict[str, Any]]:
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


def _all_look_alikes(queries: Queries, judgments: StoredTable) -> list[str]:
    """Look-alike names, by what they name; a judge's own name is not told."""
    names: dict[str, list[str]] = {}
    for row in queries.table("audit/distinct_names", {"judgments": judgments}).to_pylist():
        names.setdefault(row["what"], []).append(row["name"])
    return [
        f"{what} {'names' if what == 'judge' else group}"
        for what, found in names.items()
        for group in look_alikes(found)
    ]
