"""Agreement of judges, task by task: on labels, scores and preferences.

Steps and their methods load in the work that needs them.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from annot_pipeline.config import Campaign
from annot_pipeline.contracts import AGREEMENT
from annot_pipeline.signature import digest
from annot_pipeline.stages.context import Made, StageContext
from annot_pipeline.stages.large_tasks import BLOCKS, has_blocks
from annot_pipeline.stages.parts import Facts, InputPart, Part, is_known, made_before, write_part
from annot_pipeline.stages.task_parts import (
    MADE_OF,
    OF_TASKS,
    Given,
    Progress,
    TaskRows,
    now_and_then,
    of_tasks,
)
from annot_pipeline.storage.tables import StoredTable, TableFile, read_unharmed


def measure_agreement_of_tasks(context: StageContext) -> Made:
    """Agreement of the judges of all tasks."""
    made = of_tasks(
        context, _measure_agreement, "controlled", "standardized", "judge_scores", "control_pairs",
        "comparisons", kinds={"controlled": ("categorical",)}, large=partial(_in_blocks, context),
    )  # fmt: skip
    shutil.rmtree(context.folder / BLOCKS, ignore_errors=True)
    return made


def _in_blocks(
    context: StageContext,
    of: InputPart,
    small: Mapping[str, pa.Table],
    _: Given,
    made_of: Sequence[Any],
) -> list[Part]:
    """The part of a task that is too large to be done whole."""
    is_scored = len(of.files["standardized"].files) > 1
    is_labelled = has_blocks(context, of, "controlled", "categorical", small["tasks"], ("used",))
    if not (is_scored or is_labelled):
        return []
    if is_known(context, made_of):
        return [Part(made_of, made_before)]
    folder = context.folder / BLOCKS / digest(made_of)[:32]
    if is_labelled:
        from annot_pipeline.stages.agreement_blocks import label_agreement_in_blocks

        rows, left_out = label_agreement_in_blocks(context, folder, of, small["tasks"])
    else:
        from annot_pipeline.stages.score_agreement_blocks import score_agreement_in_blocks

        rows, left_out = score_agreement_in_blocks(context, folder, of, small)
    facts = {"judge_pairs_left_out": {of.tasks[0]: left_out} if left_out else {}}
    make = partial(_with_preferences, rows, facts, of.files["comparisons"])
    return [Part(made_of, partial(make, context.campaign.settings))]


def _with_preferences(
    rows: pa.Table,
    facts: Facts,
    comparisons: StoredTable,
    settings: Campaign,
    folder: Path,
    key: str,
) -> tuple[Mapping[str, TableFile], Facts]:
    """Beside the agreement of a task on labels or scores that on comparisons, if it has any."""
    whole, preferences = _beside(rows, read_unharmed(comparisons), settings)
    files = {AGREEMENT.name: write_part(folder, AGREEMENT.name, key, partial(iter, [whole]))}
    return files, {MADE_OF: {}, OF_TASKS: facts | preferences}


def _measure_agreement(of: TaskRows) -> tuple[Mapping[str, pa.Table], Facts]:
    from annot_pipeline.steps.measure_agreement import measure_agreement

    settings = of.settings
    names = (
        "controlled", "standardized", "control_pairs", "judge_tests", "judge_scores", "tasks",
    )  # fmt: skip
    table, facts = measure_agreement(
        *map(of.__getitem__, names),
        arithmetic=settings.standardize.arithmetic,
        rounds=settings.agreement.bootstrap,
        seed=settings.seed,
        workers=of.workers,
        progress=now_and_then(of.progress),
    )
    whole, preferences = _beside(table, of["comparisons"], settings, now_and_then(of.progress))
    return {"agreement": whole}, facts | preferences


def _beside(
    rows: pa.Table,
    comparisons: pa.Table,
    settings: Campaign,
    progress: Progress = lambda _: None,
) -> tuple[pa.Table, Facts]:
    """Rows of agreement with those on comparisons, by the table's key."""
    from annot_pipeline.steps.comparing.measure_preference_agreement import (
        measure_preference_agreement,
    )

    found, facts = measure_preference_agreement(
        comparisons,
        rounds=settings.agreement.bootstrap,
        seed=settings.seed,
        progress=progress,
    )
    of_preferences = AGREEMENT.of({n: [row[n] for row in found] for n in AGREEMENT.schema.names})
    whole = pa.concat_tables([rows, of_preferences])
    return whole.sort_by([(name, "ascending") for name in AGREEMENT.key]), facts
