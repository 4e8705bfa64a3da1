"""Judge control: settled judgments get their final fates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa

from annot_pipeline.contracts import FATES, fates_text
from annot_pipeline.stages.context import Made, StageContext
from annot_pipeline.stages.parts import (
    PARTS,
    Facts,
    InputPart,
    Part,
    in_parts,
    input_parts,
    link_part,
    write_part,
)
from annot_pipeline.steps.hash_values import hash_values
from annot_pipeline.steps.indexing import is_any
from annot_pipeline.storage.tables import StoredTable, TableFile, groups_unharmed, read_table


def control_judges_of_campaign(context: StageContext) -> Made:
    """Pair controls, test judges, and set the judgments of those who fail apart."""
    from annot_pipeline.steps.control_judges import control_judges

    quality, queries = context.campaign.settings.quality, context.queries
    settled = context.inputs["settled"]
    tasks = context.read("tasks")
    inputs = {"judgments": settled, "tasks": tasks}
    listed = {"item_rows": context.read("item_rows")}
    answers = queries.table("control/known_answers", inputs | listed)
    columns = ["task", "judge_id", "control", "criterion", "score", "fate"]
    parts = input_parts(context, "settled")
    tables, facts = control_judges(
        read_table(settled, columns), _pairs(context, parts, tasks), answers, tasks, quality=quality
    )
    controlled, by_part = with_verdicts(context, parts, tables["judge_tests"])
    accounting = queries.table(
        "audit/accounting",
        {"judgments": controlled["controlled"], "record_files": context.read("record_files")},
    ).to_pylist()
    fates = {fate: sum(row[fate] for row in accounting) for fate in FATES}
    if facts["judges_in_control"]:
        found = ", ".join(f"{n} {verdict}" for verdict, n in facts["verdicts"].items() if n)
        context.progress(f"judges: {found}")
    if facts["judges_dropped"]:
        context.progress(f"after judge control: {fates_text(fates)}")
    facts |= {
        "records": settled.rows,
        "fates": fates,
        "files": accounting,
        "unaccounted": [row["source_file"] for row in accounting if not _adds_up(row)],
    }
    facts[PARTS] = by_part
    return Made({**tables, **controlled, "known_answers": answers}, facts)


def _pairs(context: StageContext, parts: Sequence[InputPart], tasks: pa.Table) -> pa.Table:
    """Controls with the judgments that they are compared with; both are of one task."""
    scalar = {*context.tasks_of("scalar")}
    inputs = [
        StoredTable((part.files["settled"],)) for part in parts if scalar.intersection(part.tasks)
    ] or [StoredTable((parts[0].files["settled"],))]
    return pa.concat_tables(
        context.queries.table("control/pairs", {"judgments": of, "tasks": tasks}) for of in inputs
    )


def with_verdicts(
    context: StageContext, settled: Sequence[InputPart], tests: pa.Table
) -> tuple[dict[str, StoredTable], dict[str, Facts]]:
    """The settled judgments as ``controlled``, with the fates that verdicts give them."""
    dropped = tests.filter(tests["dropped"])
    parts = []
    for of in settled:
        told = dropped.filter(is_any(dropped["task"], of.tasks))
        made_of = [of.hashes, hash_values([told])]
        parts.append(Part(made_of, partial(_apply, of.files["settled"], told)))
    return in_parts(context, parts)


def _apply(
    settled: TableFile, dropped: pa.Table, folder: Path, key: str
) -> tuple[Mapping[str, TableFile], Facts]:
    """Some tasks' judgments with the fates that verdicts give; the same file if none is dropped."""
    from annot_pipeline.steps.apply_verdicts import apply_verdicts

    if not dropped.num_rows:
        return {"controlled": link_part(folder, "controlled", key, settled)}, {}
    made = write_part(
        folder, "controlled", key, lambda: apply_verdicts(groups_unharmed(settled), dropped)
    )
    return {"controlled": made}, {}


def _adds_up(row: Mapping[str, int]) -> bool:
    fates = sum(row[fate] for fate in FATES)
    return row["rows"] == row["rows_read"] and row["records"] == row["records_read"] == fates
