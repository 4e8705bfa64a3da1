"""Holds a build against the newest release: agreement, classes, labels, judges, judgments.

The gates look at what has changed since the newest release more than chance allows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from annot_pipeline.arrays import Flags, Floats
from annot_pipeline.contracts import GOLD, TEXT
from annot_pipeline.contracts.table import NO_ROUNDS
from annot_pipeline.methods.numerics.intervals import Changes, change_intervals
from annot_pipeline.methods.numerics.shares import Z, wilson_interval
from annot_pipeline.runtime.context import StageContext, StageOutput
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.runtime.job_sizes import JobSizes
from annot_pipeline.runtime.partitions import InputPartition, input_partitions
from annot_pipeline.runtime.stage import Stage
from annot_pipeline.stages.gold.metrics import (
    Change,
    DoubtfulItems,
    ReleaseChangeMetrics,
)
from annot_pipeline.stages.ingest.present_exports import exports_among
from annot_pipeline.storage.forgotten import forgotten_among, read_forgotten
from annot_pipeline.storage.keys import fingerprint, same_names
from annot_pipeline.storage.manifest_changes import source_digest
from annot_pipeline.storage.queries import Tasks
from annot_pipeline.storage.releases import Release, Releases
from annot_pipeline.storage.source_digests import SourceDigests
from annot_pipeline.storage.tables import (
    StoredTable,
    read_verified,
    read_verified_groups,
    verify_table,
)

CHANCE_CORRECTED = re.compile("kappa|alpha|spearman")
"""Statistics of agreement that do not rise with the number of items of one class."""

Estimates = tuple[Floats, tuple[Floats, Floats]]
"""Values, and the ends of their intervals."""


def agreement_changes(rows: pa.Table) -> tuple[pa.Table, list[Change]]:
    """Return changes of agreement with intervals, and significant falls, largest first.

    A statistic without an interval has no significant fall: nothing says how far it moves by
    chance. But full agreement counts as exact, and with `agreement.bootstrap: 0` every change of a
    statistic that would be bootstrapped counts.

    Parameters
    ----------
    rows
        Statistics with ``released``, ``now``, the ends of their intervals, ``reason`` why there is
        none now, and ``items``.
    """
    (before, before_ends), (after, after_ends) = sides = [
        _ends(rows, name) for name in ("released", "now")
    ]
    table, changes = _with_changes(rows, sides)
    is_known = is_in(rows["reason"], (NO_ROUNDS,)).to_numpy()
    is_known |= _has_ends(before, before_ends) & _has_ends(after, after_ends)
    names = rows["statistic"].to_pylist()
    is_corrected = np.array([bool(CHANCE_CORRECTED.search(name)) for name in names], np.bool_)
    is_fall = changes.beyond & (changes.change < 0) & is_known & is_corrected
    return table, _clear_changes(table, is_fall, "statistic", ("items",))


def prevalence_changes(rows: pa.Table) -> tuple[pa.Table, list[Change]]:
    """Return changes of class shares with intervals, and significant ones, largest first.

    Parameters
    ----------
    rows
        Classes with their shares ``released`` and ``now`` and the numbers of items.
    """
    sides = []
    for name in ("released", "now"):
        share, items = (_floats(rows, column) for column in (name, f"{name}_items"))
        sides.append((share, wilson_interval(np.clip(share, 0, 1) * items, items)))
    table, changes = _with_changes(rows, sides)
    counts = ("released_items", "now_items")
    return table, _clear_changes(table, changes.beyond, "label", counts)


def mean_changes(rows: pa.Table, what: str) -> tuple[pa.Table, list[Change]]:
    """Return changes of mean agreement, and significant falls, largest first.

    Answers that the newest release has, or those of other exports, are compared with new ones.

    Parameters
    ----------
    rows
        By task and what gave the answers: of both kinds of answers the number of items, and over
        these the sum and the sum of squares of their agreement.
    what
        Column of that.
    """
    sides = []
    for name in ("released", "new"):
        n, total, squares = (
            _floats(rows, f"{name}_{what}") for what in ("items", "sum", "squares")
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total / n
            variance = np.maximum(squares - n * mean**2, 0) / (n - 1)
            half = Z * np.sqrt(variance / n)
        sides.append((mean, (mean - half, mean + half)))
    table, changes = _with_changes(rows, sides)
    is_known = ~np.isnan([low for _, (low, _) in sides]).any(axis=0)
    is_fall = changes.beyond & (changes.change < 0) & is_known
    return table, _clear_changes(table, is_fall, what, ("released_items", "new_items"))


def _clear_changes(
    table: pa.Table, is_clear: Flags, what: str, counts: Sequence[str]
) -> list[Change]:
    """Return some of the changes, largest first; their items are the fewer of ``counts``."""
    changes = [
        Change(
            name=f"{row['task']} {row[what]}",
            change=row["change"],
            low=row["change_low"],
            high=row["change_high"],
            items=min(row[count] for count in counts),
        )
        for row in table.filter(pa.array(is_clear)).to_pylist()
    ]
    return sorted(changes, key=lambda row: (-round(abs(row["change"]), 9), row["name"]))


def _ends(rows: pa.Table, name: str) -> Estimates:
    value, low, high = (_floats(rows, f"{name}{end}") for end in ("", "_low", "_high"))
    return value, (low, high)


def _has_ends(value: Floats, ends: tuple[Floats, Floats]) -> npt.NDArray[np.bool_]:
    """Return whether an estimate has an interval, or is exact: full agreement."""
    return np.asarray(~np.isnan(ends[0]) | (value == 1))


def _floats(rows: pa.Table, name: str) -> Floats:
    """Return a column as floats; null is NaN."""
    values: Floats = rows[name].cast(pa.float64()).to_numpy()
    return values


def _with_changes(rows: pa.Table, sides: Sequence[Estimates]) -> tuple[pa.Table, Changes]:
    """Return rows with the change from the first side to the second, and its interval."""
    (before, before_ends), (after, after_ends) = sides
    changes = change_intervals(before, before_ends, after, after_ends)
    ends = ("change", changes.change), ("change_low", changes.low), ("change_high", changes.high)
    for name, values in ends:
        rows = rows.append_column(name, pa.array(values))
    return rows, changes


COMPARED = {
    "agreement_changes": "agreement",
    "prevalence_changes": "prevalence",
    "label_changes": "labels",
    "judge_changes": "judges",
    "model_versions": "judges",
    "model_drift": "judgments",
}
"""Queries, with the table that each compares with that of the newest release."""

VANISHED = "vanished_judgments"
BETWEEN_EXPORTS = ("shifted_exports", "unlike_exports")
"""Queries of groups of tasks that changed, where there is a release or several exports."""
SINCE_RELEASE = (VANISHED, "vanished_by_export", "corrected_judgments", "changed_audits")
"""The same, where there is a release."""
RELEASED = ("released", "released_labels", "released_lineage")
NOTHING = pa.table({"task": pa.array([], TEXT)})
"""What has changed since no release."""


def compare_releases(context: StageContext) -> StageOutput[ReleaseChangeMetrics]:
    """Compare each table with the newest release."""
    release = Releases.for_campaign(context.campaign).latest()
    kinds = read_verified(context.inputs["judges"], ["kind"])["kind"].unique().to_pylist()

    def compare(query: str, table: str) -> pa.Table:
        if release is None or (query == "model_drift" and "model" not in kinds):
            return NOTHING  # the least query takes 10 ms, and drift asks for ids of all judgments
        inputs = {**_inputs(context, table), "released": _released(release, table)}
        return context.queries.table(f"audit/{query}", inputs)

    changes = {changed: compare(changed, table) for changed, table in COMPARED.items()}
    by_export = _query_task_groups(context, release)
    changes[VANISHED] = by_export.get(VANISHED, NOTHING)
    rows = {query: table.to_pylist() for query, table in by_export.items()}
    one_sided = context.queries.table("audit/one_sided_judges", _inputs(context, "judgments"))
    measures = {"agreement_changes": agreement_changes, "prevalence_changes": prevalence_changes}
    measures["model_drift"] = partial(mean_changes, what="judge")
    clear: dict[str, list[Change]] = {query: [] for query in measures}
    for query, measure in measures.items():
        if changes[query].num_columns > 1:
            changes[query], clear[query] = measure(changes[query])
    quality = context.campaign.settings.quality.model_dump(mode="json")
    is_same_test = release is not None and release.manifest["settings"].get("quality") == quality
    reinstated = compare("reinstated_judges", "judges") if is_same_test else NOTHING
    unlike = by_export.get("unlike_exports")
    falls = mean_changes(unlike, "source_file")[1] if unlike else []
    metrics = ReleaseChangeMetrics(
        released_version=release.version if release else None,
        judges_have_other_names=release is not None and not _same_names(context, release),
        agreement_falls=clear["agreement_changes"],
        prevalence_shifts=clear["prevalence_changes"],
        new_classes=compare("new_classes", "prevalence").to_pylist(),
        label_changes=changes["label_changes"].to_pylist(),
        judge_changes=changes["judge_changes"].to_pylist(),
        model_versions=changes["model_versions"].to_pylist(),
        model_falls=clear["model_drift"],
        reinstated_judges=[row["name"] for row in reinstated.to_pylist()],
        doubtful_items=_doubtful(context, release) if release else [],
        vanished_judgments=changes[VANISHED].to_pylist(),
        vanished_by_export=rows.get("vanished_by_export", []),
        shifted_exports=sorted(
            rows.get("shifted_exports", []), key=lambda row: (row["kind"], -abs(row["change"]))
        ),
        copied_answers=rows.get("copied_answers", []),
        one_sided_judges=one_sided["name"].to_pylist(),
        changed_audits=[row["name"] for row in rows.get("changed_audits", [])],
        dropped_exports=_dropped_exports(context, release) if release else [],
        corrected_judgments=rows.get("corrected_judgments", []),
        # falls of twice their intervals: one of hundreds of exports falls below one by chance
        unlike_exports=[fall for fall in falls if fall["low"] > 1.5 * fall["change"]],
    )
    return StageOutput(changes, metrics)


def _doubtful(context: StageContext, release: Release) -> list[DoubtfulItems]:
    from annot_pipeline.stages.gold.unlike_judges import doubtful_items

    inputs = {
        **_inputs(context, "judgments", "judges", "labels"),
        "released": _released(release, "judges"), "released_labels": _released(release, "labels"),
    }  # fmt: skip
    return doubtful_items(context.queries.table("audit/unlike_judges", inputs))


def _inputs(context: StageContext, *names: str) -> dict[str, StoredTable]:
    return {name: verify_table(context.inputs[name]) for name in names}


def _among(tasks: Iterable[str]) -> Tasks:
    names = sorted(tasks)
    return replace(Tasks.from_names(names, none=False), among=names)


def _query_task_groups(context: StageContext, release: Release | None) -> dict[str, pa.Table]:
    """Run the queries that compare single tasks, some of the tasks that changed at a time.

    All tasks at once would hold every judgment, which takes 3 GB of ten million.

    Returns
    -------
        Rows by query, in the order of their first column.
    """
    read: dict[str, set[str]] = {"source_file": set(), "source_digest": set()}
    for group in read_verified_groups(context.inputs["lineage"], [*read]):
        for column, values in read.items():
            values.update(group[column].unique().to_pylist())
    between = BETWEEN_EXPORTS if release or len(read["source_file"]) > 1 else ()
    answers: dict[str, list[pa.Table]] = {
        query: [] for query in ("copied_answers", *between, *(SINCE_RELEASE if release else ()))
    }
    votes = {
        "released": _released(release, "judgments"), "released_labels": _released(release, "labels")
    }  # fmt: skip
    released = context.queries.table("audit/released_tasks", votes) if release else NOTHING
    n_released = {row["task"]: row["judgments"] for row in released.to_pylist()}
    parts, gone = _changed_partitions(context, release, n_released)
    tasks = {first: part.tasks for first, part in parts.items()} | {task: [task] for task in gone}
    sizes = {first: sum(n_released.get(task, 0) for task in own) for first, own in tasks.items()}
    for first, part in parts.items():
        sizes[first] += part.files["lineage"].rows
    exports = _released_exports(context, release, _among(chain(*tasks.values())))
    digests = pa.array(sorted(read["source_digest"]), TEXT)
    exports["read_exports"] = pa.table({"source_digest": digests})
    most = context.sizes.compared_rows
    ask = partial(context.queries.table, filtered=RELEASED)
    for group in JobSizes(most, most).chunk_tasks(sizes):
        some = [parts[first] for first in group if first in parts]
        inputs = {**exports, **votes, "released_lineage": _released(release, "lineage")}
        for name in ("judgments", "lineage"):
            own = tuple(file for part in some for file in part.files[name].files)
            inputs[name] = verify_table(StoredTable(own)) if own else GOLD[name].empty()
        among = _among(chain(*(tasks[first] for first in group)))
        for query, tables in answers.items():
            tables.append(ask(f"audit/{query}", inputs, tasks=among))
    whole = {query: pa.concat_tables(tables) for query, tables in answers.items()}
    return {query: table.sort_by(table.column_names[0]) for query, table in whole.items()}


def _changed_partitions(
    context: StageContext, release: Release | None, released: Collection[str]
) -> tuple[dict[str, InputPartition], list[str]]:
    """Return partitions that the newest release was not made of, and its tasks that are in none.

    Parameters
    ----------
    released
        Tasks of the newest release.

    Returns
    -------
        Partitions by their first task, and tasks.
    """
    manifest = release.manifest if release else {"runs": []}
    files = {
        file
        for stage, name in (("list_judgments", "judgments"), ("trace_lineage", "lineage"))
        for file in context.store.files_of_release(stage, name, manifest)
    }
    parts = input_partitions(context, "judgments", "lineage")
    changed = {
        part.tasks[0]: part for part in parts
        if part.tasks
        and any(file.sha256 not in files for table in part.files.values() for file in table.files)
    }  # fmt: skip
    return changed, sorted({*released}.difference(*(part.tasks for part in parts)))


def _dropped_exports(context: StageContext, release: Release) -> list[str]:
    """Return exports of this build that a rollback dropped, and no release has read since."""
    dropped: Mapping[str, str] = release.manifest.get("dropped", {})
    if not dropped:
        return []
    lineage = read_verified(context.inputs["lineage"], ["source_digest"])
    read = set(lineage["source_digest"].unique().to_pylist())
    digest_by_name = {name: digest for digest, name in dropped.items() if digest in read}
    if read_forgotten(context.store.root):  # copies are read, which have other digests
        digest_by_name |= exports_among(context.campaign, dropped)
    return [f"{name} (digest {digest[:16]})" for name, digest in digest_by_name.items()]


def forgotten_judges(release: Release | None, store: Path, key: bytes) -> list[str]:
    """Return the names that people whom a store has forgotten have, or would have, in a release."""
    people = read_forgotten(store)
    if release is None or not people:
        return []
    names = release.table("judges")["judge"].unique().to_pylist()
    return sorted({person.digest for person in people} | forgotten_among(names, people, key))


def _released_exports(
    context: StageContext, release: Release | None, tasks: Tasks
) -> dict[str, pa.Table]:
    """Return the exports of the newest release, and its judgments of tasks that may be gone.

    They are those of exports that are excluded now, of rows that a changed ``where`` leaves out,
    and of people who are forgotten.
    """
    sources = {source_digest(source) for source in release.manifest["sources"]} if release else ()
    exports = {"released_exports": pa.table({"source_digest": pa.array(sorted(sources), TEXT)})}
    if release is None:
        return exports
    settings = context.campaign.settings
    forgotten = forgotten_judges(release, context.store.root, context.judge_key())
    exclusions = [exclusion.digest for source in settings.sources for exclusion in source.exclude]
    digests = SourceDigests(context.store, settings)
    excluded = [
        name
        for name in sources
        if any(d.startswith(e) for d in (name, digests.sha256(name) or "") for e in exclusions)
    ]
    inputs = {
        "lineage": verify_table(context.inputs["lineage"]),
        "released": release.stored("lineage"),
        "excluded": pa.table({"source_digest": pa.array(excluded, pa.string())}),
        "forgotten": pa.table({"judge": pa.array(forgotten, pa.string())}),
    }
    excused = context.queries.table("audit/not_missed", inputs, tasks=tasks, filtered=("released",))
    return {**exports, "excluded": excused}


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
    inputs=dict.fromkeys([*COMPARED.values(), "lineage"], ()),
    outputs=(*COMPARED, VANISHED),
    settings=(),
    code_version="17",  # a first release is compared with nothing
    work=compare_releases,
    cached=False,  # the newest release is looked at anew each time
)  # fmt: skip
