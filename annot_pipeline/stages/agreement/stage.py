"""Agreement of judges, task by task: on labels, scores and preferences.

Steps and their methods load in the work that needs them.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from annot_pipeline.config import Campaign
from annot_pipeline.contracts import AGREEMENT
from annot_pipeline.contracts.stage_metrics import TaskMetrics
from annot_pipeline.runtime.context import Document, StageContext, StageOutput
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.runtime.large_tasks import BLOCKS, block_partitions, has_blocks
from annot_pipeline.runtime.partitions import Partition, WritePartition, write_partition
from annot_pipeline.runtime.stage import Stage
from annot_pipeline.runtime.task_partitions import (
    METRICS_BY_TASK,
    TASK_FINGERPRINTS,
    Progress,
    TaskRows,
    WholeTasks,
    run_by_task,
    throttle_progress,
)
from annot_pipeline.stages.agreement.metrics import AgreementMetrics
from annot_pipeline.storage.tables import StoredTable, TableFile, read_verified

AGAINST_CHANCE = ("alpha_interval", "alpha_ordinal", "alpha_nominal", "inter_kappa_ternary")
"""Statistics that are 0 where judges agree as by chance; of a task the first that it has."""


def measure_agreement_of_tasks(context: StageContext) -> StageOutput[AgreementMetrics]:
    """Measure the agreement of the judges of all tasks."""
    output = run_by_task(
        context, _measure_agreement, "controlled", "standardized", "judge_scores", "control_pairs",
        "comparisons", kinds={"controlled": ("categorical",)}, large=partial(_in_blocks, context),
    )  # fmt: skip
    shutil.rmtree(context.folder / BLOCKS, ignore_errors=True)
    return output.output(AgreementMetrics)


def _in_blocks(context: StageContext, whole: WholeTasks) -> list[Partition]:
    """Return the partition of a task that is too large for one job; none for other tasks."""
    inputs, tasks = whole.inputs, whole.small["tasks"]
    is_scored = len(inputs.files["standardized"].files) > 1
    if not is_scored and not has_blocks(
        context, inputs, "controlled", "categorical", tasks, ("used",)
    ):
        return []
    makes = partial(_measured_in_blocks, context, whole, is_scored=is_scored)
    return block_partitions(context, 1, whole.fingerprint, makes)


def _measured_in_blocks(
    context: StageContext, whole: WholeTasks, *, is_scored: bool
) -> list[WritePartition]:
    """Measure agreement on scores, or on labels; what makes the part."""
    from annot_pipeline.stages.agreement.agreement_blocks import (
        label_agreement_in_blocks,
        score_agreement_in_blocks,
    )
    from annot_pipeline.stages.agreement.measure_agreement import agreement_table, pairs_left_out

    inputs, folder = whole.inputs, whole.folder(context)
    if is_scored:
        rows = score_agreement_in_blocks(context, folder, inputs, whole.small)
    else:
        rows = label_agreement_in_blocks(context, folder, inputs, whole.small["tasks"])
    metrics = {"judge_pairs_left_out": pairs_left_out(rows)}
    table, comparisons = agreement_table(rows), inputs.files["comparisons"]
    make = partial(_with_preferences, table, metrics, comparisons)
    return [partial(make, context.campaign.settings)]


def _with_preferences(
    rows: pa.Table,
    metrics: TaskMetrics,
    comparisons: StoredTable,
    settings: Campaign,
    folder: Path,
    key: str,
) -> tuple[Mapping[str, TableFile], Document]:
    """Write the agreement of a task together with that on its comparisons."""
    whole, preferences = _with_preferences_of(rows, read_verified(comparisons), settings)
    files = {AGREEMENT.name: write_partition(folder, AGREEMENT.name, key, partial(iter, [whole]))}
    return files, {TASK_FINGERPRINTS: {}, METRICS_BY_TASK: metrics | preferences}


def _measure_agreement(inputs: TaskRows) -> tuple[Mapping[str, pa.Table], TaskMetrics]:
    from annot_pipeline.stages.agreement.measure_agreement import measure_agreement

    settings = inputs.settings
    names = (
        "controlled", "standardized", "control_pairs", "judge_tests", "judge_scores", "tasks",
    )  # fmt: skip
    table, metrics = measure_agreement(
        *map(inputs.__getitem__, names),
        arithmetic=settings.standardize.arithmetic,
        rounds=settings.agreement.bootstrap,
        seed=settings.seed,
        workers=inputs.workers,
        progress=throttle_progress(inputs.progress),
    )
    whole, preferences = _with_preferences_of(
        table, inputs["comparisons"], settings, throttle_progress(inputs.progress)
    )
    return {"agreement": whole}, metrics | preferences


def _with_preferences_of(
    rows: pa.Table,
    comparisons: pa.Table,
    settings: Campaign,
    progress: Progress = lambda _: None,
) -> tuple[pa.Table, TaskMetrics]:
    """Return the rows of agreement with those on comparisons, by the table's key."""
    from annot_pipeline.stages.agreement.measure_preference_agreement import (
        measure_preference_agreement,
    )

    preference_rows, metrics = measure_preference_agreement(
        comparisons,
        rounds=settings.agreement.bootstrap,
        seed=settings.seed,
        progress=progress,
    )
    of_preferences = AGREEMENT.from_columns(
        {n: [row[n] for row in preference_rows] for n in AGREEMENT.schema.names}
    )
    whole = pa.concat_tables([rows, of_preferences])
    metrics |= {"agreement_by_chance": _by_chance(whole)}
    return whole.sort_by([(name, "ascending") for name in AGREEMENT.key]), metrics


def _by_chance(agreement: pa.Table) -> dict[str, dict[str, Any]]:
    """Return the tasks whose agreement is not above chance.

    By the value, not by its interval: of large tasks that is by other resamples.
    """
    named = agreement.filter(is_in(agreement["statistic"], AGAINST_CHANCE))
    rows: dict[str, dict[str, Any]] = {}
    for row in sorted(named.to_pylist(), key=lambda r: AGAINST_CHANCE.index(r["statistic"])):
        if row["value"] is not None:
            rows.setdefault(row["task"], row)
    return {
        task: {
            "statistic": row["statistic"],
            "value": round(row["value"], 6),
            "n_items": row["n_items"],
        }
        for task, row in sorted(rows.items())
        if row["value"] <= 0
    }


MEASURE_AGREEMENT = Stage(
    "measure_agreement",
    "Measures agreement on labels, scores and preferences, between judges and within judges.",
    inputs={
        "controlled": ("task", "item", "judge", "label", "control", "fate"),
        "standardized": (
            "task", "item", "criterion", "judge", "control", "kept", "score", "z",
        ),
        "control_pairs": (), "judge_tests": ("task", "judge", "dropped"),
        "judge_scores": ("task", "judge", "mean", "sd"), "tasks": (),
        "comparisons": (),
    },
    outputs=("agreement",),
    settings=("agreement", "standardize.arithmetic", "seed"),
    code_version="10",  # votes have no judge
    work=measure_agreement_of_tasks,
    kinds=frozenset({"parquet", "numpy"}),
)  # fmt: skip
