"""The manifest of a release: exports, tables, runs, metrics, checks, changes since the parent."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from annot_pipeline.bounded_json import parse_bounded_json
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.config.signature import digest, settings_hash, signature
from annot_pipeline.contracts import FATES, GOLD, SCHEMA_VERSION, model_note
from annot_pipeline.contracts.table import Column
from annot_pipeline.errors import StoreError, first_of
from annot_pipeline.gates import RELEASE, run_gates
from annot_pipeline.runtime.job_sizes import JobSizes
from annot_pipeline.stages.build import MAKER, Build, StageRun
from annot_pipeline.stages.gold.metrics import ReleaseMetrics
from annot_pipeline.stages.gold.published_names import PublishedNames
from annot_pipeline.stages.ingest.metrics import ExportMetrics, JudgmentMetrics
from annot_pipeline.stages.ingest.raw_names import raw_names
from annot_pipeline.stages.judges.metrics import ControlMetrics
from annot_pipeline.storage.keys import derive, present_key, pseudonym, same_names
from annot_pipeline.storage.manifest import stored_table
from annot_pipeline.storage.manifest_changes import export_changes, release_figures, setting_changes
from annot_pipeline.storage.published_settings import published_settings
from annot_pipeline.storage.queries import Queries, Tasks, sql_digest
from annot_pipeline.storage.releases import Release
from annot_pipeline.storage.tables import StoredTable, read_table, read_verified, tasks_in
from annot_pipeline.version import __version__, numeric_packages

PUBLISHED = {
    "settle_judgments": "records rejections kinds used_judges guessed_tasks",
    "control_judges": "fates verdicts label_verdicts careless_judges suspected_judges",
    "describe_judges": "failed_judges removed_judges",
    "read_records": "families",
    "break_into_comparisons": "comparisons",
    "rank_segments": "segment_graphs adequacy",
    "rank_systems": "systems_compared",
    "measure_agreement": "preferences",
    "infer_labels": "certain_share misnamed_classes judges_below_chance adjudications "
    "anonymous_votes certainty certificates",
    "add_up_costs": "cost model_cost",
}
"""Metrics that manifests publish under their own names, by stage."""


def exports_with_fates(
    build: Build, tables: Mapping[str, StoredTable], runs: Mapping[str, StageRun]
) -> list[dict[str, Any]]:
    """Return the exports of this build, with the fates of their records."""
    order, controlled = itemgetter("source_order", "file_order"), runs["control_judges"]
    accounts = {order(row): row for row in controlled.metrics(ControlMetrics).files}
    files = read_verified(tables["record_files"]).to_pylist()
    ignored = {order(row): parse_bounded_json(row["ignored"]) for row in files}
    rows = []
    for export in read_verified(tables["exports"]).to_pylist():
        row = {
            "kind": export["kind"], "source": export["source_order"],
            "name": export["source_file"], "bytes": export["bytes"],
            "source_digest": build.public_digest(export["source_sha256"]),
        }  # fmt: skip
        if export["kind"] == "judgments":
            account = accounts[order(export)]
            row["rows"] = account["rows_read"]
            row["records"] = {fate: account[fate] for fate in FATES}
            row["ignored"] = ignored[order(export)]
        rows.append(row)
    return rows


COMPARED = ("lineage", "labels", "judgments")
"""Tables of which a release says how many rows have changed."""
NO_NAMES = ReleaseMetrics(places=[], names=0, unchecked=0)
"""Metrics where nothing is published, or judges have no pseudonyms."""
PAGES = (".html", ".md", ".json")
MOST_BEFORE = 9
"""Releases before it whose figures a manifest holds."""


def release_manifest(
    build: Build,
    runs: Mapping[str, StageRun],
    tables: Mapping[str, StoredTable],
    exports: Sequence[Mapping[str, Any]],
    settings: str,
    version_: str,
    parent: Release | None,
) -> dict[str, Any]:
    """Return the manifest of a release in the making, without ``changes`` and ``files``.

    Parameters
    ----------
    build, runs
        The build, and what its stages made.
    tables
        Gold tables, in the release's folder.
    exports
        As `exports_with_fates` gives them.
    settings
        Hash of the settings.
    version_, parent
        Of the release, and the release before.
    """
    campaign = build.campaign.settings
    used_judges = runs["settle_judgments"].metrics(JudgmentMetrics).used_judges
    note = {"note": text} if (text := model_note(used_judges)) else {}
    read = {export["source_digest"] for export in exports}
    before = parent.manifest.get("dropped", {}) if parent else {}
    again = " ".join(runs["compare_releases"].result.document["dropped_exports"])
    dropped = {d: name for d, name in before.items() if d not in read and d[:16] not in again}
    fits = read_verified(runs["infer_labels"].result.tables["label_fits"]).drop(["trace"])
    return {
        "campaign": campaign.campaign,
        "version": version_,
        "parent": parent and {"version": parent.version, "manifest_sha256": parent.manifest_sha256},
        "trend": trend_to(parent),
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "schema_version": SCHEMA_VERSION,
        "content_sha256": digest(
            {name: table.sha256 for name, table in tables.items() if name != "lineage"}
        ),
        "code": {"annot-pipeline": __version__, "sql": sql_digest()},
        "packages": numeric_packages() | {"python": platform.python_version()},
        "settings": published_settings(campaign, build.key),
        "settings_hash": settings,
        "signature": signature(campaign),
        "sources": list(exports),
        "tables": [
            {
                "name": name,
                "file": f"{name}.parquet",
                "row": GOLD[name].row,
                **note,
                "key": list(GOLD[name].key),
                "sha256": table.sha256,
                "bytes": table.bytes,
                "rows": table.rows,
                **_files_of(table),
                "columns": [_column(column) for column in GOLD[name].columns],
            }
            for name, table in tables.items()
        ],
        "checks": [gate.document() for run in runs.values() for gate in run.gates],
        "convergence": fits.to_pylist(),
        "runs": [
            {
                "stage": run.result.stage,
                "run": run.result.run,
                "code_version": run.result.fingerprint.code_version,
                "key": build.public_digest(run.result.key),
                "inputs": _versions(build, run.result.fingerprint.inputs),
                "outputs": _versions(build, {n: t.sha256 for n, t in run.result.tables.items()}),
            }
            for run in runs.values()
        ],
        "facts": published_metrics(runs),
        **({"dropped": dropped} if dropped else {}),
    }


def _column(column: Column) -> dict[str, Any]:
    names = {"name": column.name, "type": str(column.type)}
    return names | {"nullable": column.nullable, "description": column.description}


def _versions(build: Build, tables: Mapping[str, str]) -> dict[str, str]:
    return {name: build.published_version(name, sha256) for name, sha256 in tables.items()}


def changed_settings(
    campaign: LoadedCampaign, manifest: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """Return the settings that are others now than in a manifest; without it or the key, none."""
    key = present_key(campaign.settings, campaign.store)
    if manifest is None or key is None:
        return []
    hashed = settings_hash(campaign.settings, derive(key, "fingerprint"))
    if hashed == manifest["settings_hash"]:
        return []
    published = json.loads(json.dumps(published_settings(campaign.settings, key)))  # noqa: TID251
    return setting_changes(manifest, {"settings": published, "settings_hash": hashed})


def trend_to(parent: Release | None) -> list[dict[str, Any]]:
    """Return figures of the releases before, the oldest first, at most `MOST_BEFORE`."""
    if parent is None:
        return []
    return [*parent.manifest["trend"], release_figures(parent.manifest)][-MOST_BEFORE:]


def published_metrics(runs: Mapping[str, StageRun]) -> dict[str, Any]:
    """Return the metrics of stages that manifests publish as ``facts``."""
    facts: dict[str, Any] = {}
    for stage, names in PUBLISHED.items():
        facts |= {name: runs[stage].result.document[name] for name in names.split()}
    inconsistent = runs["control_judges"].metrics(ControlMetrics).inconsistent_judges
    return facts | {
        "excluded_exports": runs["archive_exports"].metrics(ExportMetrics).excluded,
        "changed_items": len(runs["settle_judgments"].metrics(JudgmentMetrics).changed_items),
        "inconsistent_judges": [row["judge"] for row in inconsistent],
    }


def _files_of(table: StoredTable) -> dict[str, Any]:
    """Return the files of a table that has several."""
    files = [
        {"file": "/".join(file.path.parts[-2:]), "sha256": file.sha256,
         "bytes": file.path.stat().st_size, "rows": file.rows}
        for file in table.files
    ]  # fmt: skip
    return {"files": files} if len(files) > 1 else {}


def changes_since(
    build: Build, folder: Path, document: Mapping[str, Any], parent: Release | None
) -> dict[str, Any] | None:
    """Return changes since the parent: counts (null if judgments cannot be matched) and flags."""
    if parent is None:
        return None
    inputs: dict[str, pa.Table | StoredTable] = {}
    new = {table["name"]: stored_table(folder, table) for table in document["tables"]}
    for table in COMPARED:
        is_present = table in parent.tables
        inputs[f"old_{table}"] = parent.stored(table) if is_present else GOLD[table].empty()
        inputs[f"new_{table}"] = new[table]
    named_alike = same_names(parent.manifest["settings"], document["settings"])
    queries = Queries(build.campaign.settings.resources, build.campaign.spill)
    counts: dict[str, int | None] = {}
    sizes = _task_sizes(parent.stored("lineage"), new["lineage"])
    most = build.sizes.compared_rows
    unchanged = _unchanged_tasks(build, document, parent.manifest)
    task_groups = [
        names
        for are_unchanged, tasks in groupby(sorted(sizes), unchanged.__contains__)
        if not are_unchanged
        for names in JobSizes(most, most).chunk_tasks({task: sizes[task] for task in tasks})
    ] or [[]]
    for position, names in enumerate(task_groups, start=1):  # ids name their task: counts add up
        tasks = Tasks.from_names(names, none=position == len(task_groups))
        parameters = {"same_names": named_alike}
        with queries.run("audit/changes", inputs, parameters, tasks=tasks, filtered=inputs) as rows:
            for name, n in rows.read_all().to_pylist()[0].items():
                counts[name] = None if n is None else n + (counts.get(name) or 0)
    exports = export_changes(parent.manifest, document)
    return {
        **counts,
        **{f"{how}_exports": len(rows) for how, rows in exports.items()},
        "settings_changed": document["settings_hash"] != parent.manifest["settings_hash"],
        "judges_have_other_names": not named_alike,
    }


def _unchanged_tasks(
    build: Build, document: Mapping[str, Any], parent: Mapping[str, Any]
) -> set[str]:
    """Return tasks all of whose rows lie in files that both releases were made of.

    None if one of the files in the store has been removed or damaged since.
    """
    changed, unchanged = set[str](), set[str]()
    files_of = build.store.files_of_release
    for name in COMPARED:
        now, before = (files_of(MAKER[name].name, name, made) for made in (document, parent))
        if not (now and before):
            return set()
        for sha256, file in (now | before).items():
            is_in_both = sha256 in now and sha256 in before
            try:
                (unchanged if is_in_both else changed).update(tasks_in(file))
            except StoreError:
                return set()
    return unchanged - changed


def _task_sizes(*tables: StoredTable) -> Counter[str]:
    """Return the number of rows by task, over all tables."""
    sizes: Counter[str] = Counter()
    for table in tables:
        counts = read_table(table, ["task"])["task"].value_counts().to_pylist()
        sizes.update({row["values"]: row["counts"] for row in counts if row["values"] is not None})
    return sizes


def names_in_release(
    build: Build,
    outputs: Mapping[str, StoredTable],
    tables: Mapping[str, StoredTable],
    document: Mapping[str, Any],
) -> PublishedNames | None:
    """Return the raw names of judges in tables and manifest; None without pseudonyms."""
    if not build.campaign.settings.privacy.pseudonymize:
        return None
    files = dict.fromkeys(read_verified(outputs["record_files"])["filename"].to_pylist())
    declared = build.campaign.settings.judges.declared
    names = raw_names((build.store.records / name for name in files), declared)
    return PublishedNames(sorted(names), tables, document)


def name_gates(
    build: Build, names: PublishedNames | None, *, may_fail: bool = False
) -> list[dict[str, Any]]:
    """Return how the gate on raw names of judges goes; in a candidate it may fail.

    Raises
    ------
    GateError
        The release would name judges who have pseudonyms.
    """
    metrics = names.metrics() if names else NO_NAMES
    named: set[str] = set().union(*names.by_place.values()) if names else set()
    if judges := sorted(pseudonym(build.key, name) for name in named):
        metrics.places.insert(0, f"judges {first_of(judges)}")
    gates = run_gates(RELEASE, (), metrics.document(), build.campaign.settings.gates)
    if not may_fail and (cause := build.failed_gates(gates)):
        raise cause
    return [gate.document() for gate in gates]
