"""Holds a build against the newest release: agreement, classes, labels, judges, judgments."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from annot_pipeline.contracts import GOLD
from annot_pipeline.runtime.context import StageContext, StageOutput
from annot_pipeline.runtime.partitions import input_partitions
from annot_pipeline.runtime.stage import Stage
from annot_pipeline.stages.gold.metrics import DoubtfulItems, ReleaseChangeMetrics
from annot_pipeline.storage.keys import fingerprint, same_names
from annot_pipeline.storage.queries import Tasks
from annot_pipeline.storage.releases import Release, Releases
from annot_pipeline.storage.tables import StoredTable, verify_table

COMPARED = {
    "agreement_changes": ("agreement", "agreement"),
    "prevalence_changes": ("prevalence", "prevalence"),
    "label_changes": ("labels", "labels"),
    "judge_changes": ("judges", "judges"),
    "model_versions": ("judges", "judges"),
    "model_drift": ("judgments", "judgments"),
}
"""Queries, with the table of the build and that of the release which each compares."""

VANISHED = "vanished_judgments"
"""What is asked task by task: of all judgments at once it would hold every id."""


def compare_releases(context: StageContext) -> StageOutput[ReleaseChangeMetrics]:
    """Compare each table with the newest release."""
    from annot_pipeline.stages.gold.compare_releases import (
        agreement_changes,
        drift_changes,
        prevalence_changes,
    )

    release = Releases.for_campaign(context.campaign).latest()
    changes = {
        changed: context.queries.table(
            f"audit/{changed}",
            {table: verify_table(context.inputs[table]), "released": _released(release, released)},
        )
        for changed, (table, released) in COMPARED.items()
    }
    changes[VANISHED] = _vanished(context, release)
    new_classes = context.queries.table(
        "audit/new_classes",
        {
            "prevalence": verify_table(context.inputs["prevalence"]),
            "released": _released(release, "prevalence"),
        },
    )
    agreement, falls = agreement_changes(changes["agreement_changes"])
    prevalence, shifts = prevalence_changes(changes["prevalence_changes"])
    drift, falls_of_models = drift_changes(changes["model_drift"])
    metrics = ReleaseChangeMetrics(
        released_version=release.version if release else None,
        judges_have_other_names=release is not None and not _same_names(context, release),
        agreement_falls=falls,
        prevalence_shifts=shifts,
        new_classes=new_classes.to_pylist(),
        label_changes=changes["label_changes"].to_pylist(),
        judge_changes=changes["judge_changes"].to_pylist(),
        model_versions=changes["model_versions"].to_pylist(),
        model_falls=falls_of_models,
        doubtful_items=_doubtful(context, release) if release else [],
        vanished_judgments=changes[VANISHED].to_pylist(),
    )
    tables = changes | {"agreement_changes": agreement, "prevalence_changes": prevalence}
    tables["model_drift"] = drift
    return StageOutput(tables, metrics)


def _doubtful(context: StageContext, release: Release) -> list[DoubtfulItems]:
    from annot_pipeline.stages.gold.unlike_judges import doubtful_items

    inputs = {
        name: verify_table(context.inputs[name]) for name in ("judgments", "judges", "labels")
    }
    released = {
        "released": _released(release, "judges"), "released_labels": _released(release, "labels")
    }  # fmt: skip
    return doubtful_items(context.queries.table("audit/unlike_judges", inputs | released))


def _vanished(context: StageContext, release: Release | None) -> pa.Table:
    """Return the judgments of the newest release that no export holds any more."""
    released = {
        "released": _released(release, "judgments"),
        "released_labels": _released(release, "labels"),
    }

    def query_vanished(lineage: pa.Table | StoredTable, tasks: Sequence[str]) -> pa.Table:
        inputs = {"lineage": lineage, **released}
        selected = Tasks.from_names(tasks, none=False)
        query = f"audit/{VANISHED}"
        with context.queries.run(query, inputs, tasks=selected, filtered=tuple(released)) as rows:
            return rows.read_all()

    nothing = GOLD["lineage"].empty()
    if release is None:
        return query_vanished(nothing, ())
    partitions = [part for part in input_partitions(context, "lineage") if part.tasks]
    starts = [part.tasks[0] for part in partitions]
    tables = [query_vanished(nothing, ())]
    gone = context.queries.table("audit/released_tasks", released)
    for task in gone["task"].to_pylist():
        n = bisect.bisect_right(starts, task) - 1
        if n < 0 or task > partitions[n].tasks[-1]:  # in no part: all of it has vanished
            tables.append(query_vanished(nothing, [task]))
    tables += [
        query_vanished(verify_table(part.files["lineage"]), part.tasks) for part in partitions
    ]
    return pa.concat_tables(tables).sort_by("task")


def _released(release: Release | None, name: str) -> pa.Table | StoredTable:
    """Return a table of the newest release, or an empty one where there is none."""
    if release is None or name not in release.tables:
        return GOLD[name].empty()
    return release.stored(name)


def _same_names(context: StageContext, release: Release) -> bool:
    """Return whether judges have the names that they have in the release."""
    privacy = context.campaign.settings.privacy
    now: dict[str, Any] = privacy.model_dump()
    if privacy.pseudonymize:
        now["key_fingerprint"] = fingerprint(context.judge_key())
    return same_names(release.manifest["settings"], {"privacy": now})


COMPARE_RELEASES = Stage(
    "compare_releases",
    "Compares judgments, labels and other results with the newest release.",
    inputs={table: () for table, _ in COMPARED.values()} | {"lineage": ()},
    outputs=(*COMPARED, VANISHED),
    settings=(),
    code_version="7",  # earlier texts of items that are held have not vanished
    work=compare_releases,
    cached=False,  # the newest release is looked at anew each time
    kinds=frozenset({"parquet", "duckdb", "numpy"}),
)  # fmt: skip
