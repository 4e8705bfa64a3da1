"""Records become judgments: tasks and judges resolved, ids and fates given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import FATES, TEXT, fates_text
from annot_pipeline.errors import counted, first_of, shorten
from annot_pipeline.stages.context import Made, StageContext
from annot_pipeline.stages.parsed_exports import ANY_RECORD
from annot_pipeline.steps.look_alikes import look_alikes
from annot_pipeline.steps.resolve_tasks import resolve_tasks, unused_settings
from annot_pipeline.storage.keys import pseudonym
from annot_pipeline.storage.queries import Queries, cut
from annot_pipeline.storage.tables import read_table, write_table


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
    inputs |= {"record_files": record_files, "tasks": tasks, "judges": _judges(context, names)}
    path = context.folder / "settled.parquet"
    parameters = {
        "drop_rejected": settings.quality.rejected_assignments == "drop",
        "pseudonymize": settings.privacy.pseudonymize,
        "salt": context.salt,
    }
    with queries.run_by_task(
        "ingest/settle_judgments",
        inputs,
        parameters,
        made={"keyed": "ingest/key_records"},
        parts=cut(_sizes(names)),  # ids name their task: no two parts share one
        of=("records",),
    ) as rows:
        settled = write_table(path, rows)
    accounting = queries.table(
        "audit/accounting", {"judgments": path, "record_files": record_files}
    ).to_pylist()
    fates = {fate: sum(row[fate] for row in accounting) for fate in FATES}
    n_records = settled.rows
    context.progress(f"{counted(n_records, 'record')}: {fates_text(fates)}")
    facts = {
        "records": n_records,
        "fates": fates,
        "files": accounting,
        "empty_files": [row["source_file"] for row in accounting if not row["rows_read"]],
        "rejections": _rejections(queries, path, record_files),
        "ambiguous_tasks": ambiguous,
        "unused_task_settings": unused_settings(tasks, settings.tasks),
        "kinds": {row["task"]: row["kind"] for row in tasks.to_pylist()},
        "assumed_scales": [
            "{task}: {assumed_low:g} to {assumed_high:g}".format(**row)
            for row in tasks.to_pylist()
            if row["assumed_low"] is not None
        ],
        "guessed_tasks": [row["task"] for row in tasks.to_pylist() if row["guessed"]],
        "look_alikes": _all_look_alikes(queries, path),
        "superseded_by_order": queries.table(
            "audit/superseded_by_order", {"judgments": path, "record_files": record_files}
        ).to_pylist()
        if fates["superseded"]
        else [],
        "experts_disagree": [
            f"{row['task']} {row['item']} ({first_of(list(map(shorten, row['labels'])))})"
            for row in queries.table("audit/expert_disagreements", {"judgments": path}).to_pylist()
        ],
    }
    return Made({"settled": settled, "tasks": tasks}, facts)


def _sizes(names: pa.Table) -> dict[str | None, int]:
    """Records by task."""
    rows = names.group_by("task").aggregate([("records", "sum")])
    return dict(zip(rows["task"].to_pylist(), rows["records_sum"].to_pylist(), strict=True))


def _judges(context: StageContext, names: pa.Table) -> pa.Table:
    judges = sorted({j for j in names["judge"].to_pylist() if j is not None})
    public = judges
    if context.campaign.settings.privacy.pseudonymize:
        key = context.judge_key()
        public = [pseudonym(key, judge) for judge in judges]
    return pa.table({"judge": pa.array(judges, TEXT), "judge_id": pa.array(public, TEXT)})


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
