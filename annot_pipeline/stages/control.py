"""Judge control: settled judgments get their final fates."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from annot_pipeline.contracts import FATES, fates_text
from annot_pipeline.stages.context import Made, StageContext, task_sizes
from annot_pipeline.storage.queries import cut
from annot_pipeline.storage.tables import (
    TableFile,
    read_groups,
    read_table,
    streamed,
    write_table,
)


def control_judges_of_campaign(context: StageContext) -> Made:
    """Pair controls, test judges, and set the judgments of those who fail apart."""
    from annot_pipeline.steps.control_judges import control_judges

    quality, queries = context.campaign.settings.quality, context.queries
    settled = context.inputs["settled"]
    tasks = context.read("tasks")
    inputs = {"judgments": settled.path, "tasks": tasks}
    sizes, scalar = task_sizes(queries, settled.path), context.tasks_of("scalar")
    parts = cut({task: n for task, n in sizes.items() if task in scalar})
    with queries.run_by_task("control/pairs", inputs, parts=parts, of=("judgments",)) as rows:
        pairs = rows.read_all()
    listed = {"item_rows": context.read("item_rows")}
    answers = queries.table("control/known_answers", inputs | listed)
    columns = ["task", "judge_id", "control", "criterion", "score", "fate"]
    tables, facts = control_judges(
        read_table(settled.path, columns), pairs, answers, tasks, quality=quality
    )
    tests = tables["judge_tests"]
    judgments = _final(context, tests, any_dropped=facts["judges_dropped"] > 0)
    accounting = queries.table(
        "audit/accounting",
        {"judgments": judgments.path, "record_files": context.read("record_files")},
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
    return Made({**tables, "controlled": judgments, "known_answers": answers}, facts)


def _final(context: StageContext, tests: pa.Table, *, any_dropped: bool) -> TableFile:
    """The judgments with their final fates; the same file if no judge is dropped."""
    settled, path = context.inputs["settled"], context.folder / "judgments.parquet"
    if not any_dropped:
        shutil.copyfile(settled.path, path)
        return TableFile(path, settled.sha256, settled.rows)
    return with_verdicts(settled.path, tests, path)


def with_verdicts(settled: Path, tests: pa.Table, path: Path) -> TableFile:
    """Write settled judgments to ``path`` with the fates that verdicts give them."""
    from annot_pipeline.steps.apply_verdicts import apply_verdicts

    return write_table(path, streamed(apply_verdicts(read_groups(settled), tests)))


def _adds_up(row: Mapping[str, int]) -> bool:
    fates = sum(row[fate] for fate in FATES)
    return row["rows"] == row["rows_read"] and row["records"] == row["records_read"] == fates
