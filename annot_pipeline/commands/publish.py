"""The last stage: gates once more, then a release, if there is anything new to publish.

A release is gated by itself, not only by the checks of the run that made its tables: a
partial run, or one in another process, cannot slip a failed table into gold.
"""

from __future__ import annotations

import json
import platform
import shutil
import tempfile
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from annot_pipeline.config.campaign_file import kept_text
from annot_pipeline.config.signature import digest, settings_hash, signature
from annot_pipeline.contracts import FATES, GOLD, SCHEMA_VERSION
from annot_pipeline.errors import StoreError, first_of
from annot_pipeline.gates import RELEASE, run_gates
from annot_pipeline.runtime.parent import refuse_overtaken
from annot_pipeline.runtime.partitions import cut
from annot_pipeline.stages.build import (
    STAGES,
    Build,
    Planned,
    StageRun,
    check_one_build,
)
from annot_pipeline.stages.gold.published_names import PublishedNames
from annot_pipeline.stages.ingest.raw_names import raw_names
from annot_pipeline.storage.catalog import is_catalog_of, write_catalog
from annot_pipeline.storage.fed_gold import note_gold
from annot_pipeline.storage.files import TEMPORARY, file_sha256, regular
from annot_pipeline.storage.keys import derive, key_derivation, refuse_other_key, same_names
from annot_pipeline.storage.manifest import stored_table, written_in
from annot_pipeline.storage.manifest_changes import export_changes, source_digest
from annot_pipeline.storage.pointer import POINTER
from annot_pipeline.storage.published_settings import published_settings
from annot_pipeline.storage.queries import Queries, Tasks, sql_digest
from annot_pipeline.storage.releases import Release, Releases
from annot_pipeline.storage.shortages import cannot_write, running
from annot_pipeline.storage.source_digests import SourceDigests
from annot_pipeline.storage.tables import (
    StoredTable,
    TableFile,
    as_published,
    damaged,
    placed,
    read_table,
    read_unharmed,
    write_table,
)
from annot_pipeline.version import __version__, numeric_packages

COMPARED_ROWS = 4_000_000
"""Of lineage, before and now, that are compared at once; 10 million would need 4 GB."""


@dataclass(frozen=True)
class Publication:
    """The newest release after a build.

    Parameters
    ----------
    release
        The release.
    published
        Whether this build published it; else nothing was new.
    checks
        How the gates of this build went, as a manifest holds them.
    """

    release: Release
    published: bool
    checks: tuple[dict[str, Any], ...] = ()


def publish(build: Build) -> Publication:
    """Publish the tables of a build.

    Raises
    ------
    GateError
        A gate failed: nothing is published.
    StoreError
        Gold cannot be written, or a table in the store is damaged.
    """
    with build.noting():
        runs = _recorded(build)
        check_one_build(build, runs)
        releases = Releases.of(build.campaign)
        try:
            with (
                running("publishing"),
                build.store.in_use(build.say_waiting),  # nobody cleans what is published
                releases.publishing(lambda: build.progress("another build publishes; waiting")),
            ):
                for problem in (*releases.damaged_copies(), releases.lost_number()):
                    if problem:
                        build.progress(f"{problem.where or POINTER}: {problem.what}")
                left = releases.finish_interrupted()
                if left:
                    build.progress(f"not published, and left alone: {first_of(left)}")
                publication = _publish_if_new(build, runs, releases)
                if not releases.copied:
                    build.progress(f"{releases.kept}: cannot be written; the next build writes it")
        except OSError as cause:
            if _is_within(cause, build.store.root):
                raise cannot_write(build.store.root, cause, "store") from cause
            raise cannot_write(releases.gold.folder, cause, releases.gold.setting) from cause
    news = "published" if publication.published else "nothing new:"
    build.store.note_outcome(build.run, f"{news} {publication.release.version}")
    build.store.clean(build.campaign.spill)
    return publication


def _is_within(error: OSError, folder: Path) -> bool:
    """Return whether a file that could not be written lies in a folder."""
    path = error.filename2 or error.filename  # of a copy, the source and the target
    return isinstance(path, str) and Path(path).is_relative_to(folder)


def _recorded(build: Build) -> dict[str, StageRun]:
    """The results of all stages; a gate that failed is told before a stage that is missing."""
    runs: dict[str, StageRun] = {}
    missing: StoreError | None = None
    for stage in STAGES:
        try:
            runs[stage.name] = build.recorded(stage)
        except StoreError as error:
            missing = missing or error
    cause = build.failed(list(runs.values())) or missing
    if cause:
        raise cause
    return runs


def _publish_if_new(build: Build, runs: Mapping[str, StageRun], releases: Releases) -> Publication:
    made = {name: table for run in runs.values() for name, table in run.result.tables.items()}
    exports = _sources(build, made, runs)
    parent = releases.latest()
    version_ = releases.next_version()
    settings = settings_hash(build.campaign.settings, derive(build.key, "fingerprint"))
    digests = {
        build.published(export["source_sha256"]): export["source_sha256"]
        for export in read_unharmed(made["exports"]).to_pylist()
    }
    checks = [gate.document() for run in runs.values() for gate in run.gates]

    def fill(folder: Path) -> dict[str, Any]:
        from annot_pipeline.commands.release_pages import write_pages
        from annot_pipeline.stages.ingest.archived_lines import MOST_BYTES, released_lines

        tables = _place(build, made, folder)
        document = _manifest(build, runs, tables, exports, settings, version_, parent)
        document["changes"] = _changes(build, folder, document, parent)
        queries = Queries(build.campaign.settings.resources, build.campaign.spill)
        lines = released_lines(build.campaign, document, MOST_BYTES)
        names = _names(build, made, tables, document)
        found = _check_names(build, names)
        document["checks"] = [*checks, *found]
        write_pages(folder, document, made, parent, queries, lines)
        if names:
            names.add_pages(sorted(p for p in folder.iterdir() if p.suffix in PAGES))
            found = _check_names(build, names)
            document["checks"] = [*checks, *found]
        checks.extend(found)
        document["files"] = {name: file_sha256(path) for name, path in written_in(folder).items()}
        return document

    if parent:
        refuse_other_key(build.campaign.settings, build.campaign.store, parent.manifest)
    if parent and not _is_new(build, parent, made, settings, exports):
        build.progress(f"nothing new: {parent.version} stands")
        if not is_catalog_of(build.campaign.store, parent):
            _write_catalog(build, releases)
        checks += _gates_of_release(build, NO_NAMES)
        return Publication(parent, published=False, checks=tuple(checks))
    look = runs["archive_exports"].result
    refuse_overtaken(parent, look, build.published(look.key))
    try:
        build.store.keep_settings(settings, kept_text(build.campaign.settings))
        SourceDigests(build.store, build.campaign.settings).record(digests)
        note_gold(build.campaign.store, build.campaign.gold_url or build.campaign.gold)
    except OSError as error:
        raise cannot_write(build.store.root, error, "store") from error
    release = releases.publish(version_, fill)
    build.progress(f"published {release.version}")
    _write_catalog(build, releases)
    return Publication(release, published=True, checks=tuple(checks))


NO_NAMES = {"places": [], "names": 0, "unchecked": 0}
"""What is found of names where nothing is published, or judges have no pseudonyms."""
PAGES = (".html", ".md", ".json")


def _names(
    build: Build,
    made: Mapping[str, StoredTable],
    tables: Mapping[str, StoredTable],
    document: Mapping[str, Any],
) -> PublishedNames | None:
    """Return the raw names of judges in tables and manifest; None without pseudonyms."""
    if not build.campaign.settings.privacy.pseudonymize:
        return None
    files = dict.fromkeys(read_unharmed(made["record_files"])["filename"].to_pylist())
    names = raw_names(build.store.records / name for name in files)
    return PublishedNames(sorted(names), tables, document)


def _check_names(build: Build, names: PublishedNames | None) -> list[dict[str, Any]]:
    """Return how the gate on raw names of judges goes.

    Raises
    ------
    GateError
        The release would name judges who have pseudonyms.
    """
    return _gates_of_release(build, names.document() if names else NO_NAMES)


def _gates_of_release(build: Build, names: Mapping[str, Any]) -> list[dict[str, Any]]:
    gates = run_gates(RELEASE, (), {"published_names": names}, build.campaign.settings.gates)
    if cause := build.failed_gates(gates):
        raise cause
    return [gate.document() for gate in gates]


def _write_catalog(build: Build, releases: Releases) -> None:
    try:
        write_catalog(build.campaign.store, releases)
    except StoreError as error:
        build.progress(f"the catalog is not written: {error}")


def _is_new(
    build: Build,
    parent: Release,
    made: Mapping[str, StoredTable],
    settings: str,
    exports: Sequence[Mapping[str, Any]],
) -> bool:
    before = {source_digest(source) for source in parent.manifest["sources"]}
    if (
        before != {source_digest(source) for source in exports}
        or settings != parent.manifest["settings_hash"]
    ):
        return True
    files = {table["name"]: table["sha256"] for table in parent.manifest["tables"]}
    outputs = {n: sha256 for run in parent.manifest["runs"] for n, sha256 in run["outputs"].items()}
    others = {
        name: table
        for name, table in made.items()
        if name in GOLD and name != "lineage"
        if table.sha256 not in (files.get(name), outputs.get(name))
    }
    if not others or any(len(table.files) == 1 for table in others.values()):
        return bool(others)
    with _apart(build) as folder:  # parts ended elsewhere?
        planned = {name: as_published(table, Path(folder, name)) for name, table in others.items()}
        written = build.written(planned)
        return any(table.sha256 != files.get(name) for name, table in written.items())


def _place(build: Build, made: Mapping[str, StoredTable], folder: Path) -> dict[str, StoredTable]:
    """The gold tables in the release's folder; one that no stage makes is there, empty.

    Files are written where every machine of the engine can, in the store, and copied.
    """
    with _apart(build) as apart:
        planned: dict[str, Planned] = {}
        for name in GOLD:
            path = Path(apart, f"{name}.parquet")
            if name in made:
                planned[name] = as_published(made[name], path)
            else:
                write = partial(write_table, rows=GOLD[name].empty())
                planned[name] = [(path, partial(placed, path, write))]
        written = build.written(planned)
        targets = {
            name: [
                (folder / path.relative_to(apart), file)
                for (path, _), file in zip(files, written[name].files, strict=True)
            ]
            for name, files in planned.items()
        }
        with ThreadPoolExecutor(build.campaign.settings.resources.workers) as pool:
            for files in targets.values():
                deque(pool.map(_copy, *zip(*files, strict=True)), 0)
    return {
        name: StoredTable(tuple(TableFile(path, of.sha256, of.rows) for path, of in files))
        for name, files in targets.items()
    }


def _apart(build: Build) -> tempfile.TemporaryDirectory[str]:
    """A folder that every machine of the engine can write; a straggler may do so yet at the end."""
    return tempfile.TemporaryDirectory(
        prefix=TEMPORARY, dir=build.store.root, ignore_cleanup_errors=True
    )


def _copy(target: Path, file: TableFile) -> None:
    target.parent.mkdir(exist_ok=True)
    shutil.copyfile(regular(file.path), target)
    if file_sha256(target) != file.sha256:
        raise damaged(file)


def _sources(
    build: Build, made: Mapping[str, StoredTable], runs: Mapping[str, StageRun]
) -> list[dict[str, Any]]:
    """Return the exports of this build, with the fates of their records."""
    facts = {
        (row["source_order"], row["file_order"]): row
        for row in runs["control_judges"].result.facts["files"]
    }
    ignored = {
        (row["source_order"], row["file_order"]): json.loads(row["ignored"])
        for row in read_unharmed(made["record_files"]).to_pylist()
    }
    rows = []
    for export in read_unharmed(made["exports"]).to_pylist():
        row = {
            "kind": export["kind"],
            "source": export["source_order"],
            "name": export["source_file"],
            "source_digest": build.published(export["source_sha256"]),
            "bytes": export["bytes"],
        }
        if export["kind"] == "judgments":
            place = (export["source_order"], export["file_order"])
            found = facts[place]
            row["rows"] = found["rows_read"]
            row["records"] = {fate: found[fate] for fate in FATES}
            row["ignored"] = ignored[place]
        rows.append(row)
    return rows


def _manifest(
    build: Build,
    runs: Mapping[str, StageRun],
    tables: Mapping[str, StoredTable],
    exports: Sequence[Mapping[str, Any]],
    settings: str,
    version_: str,
    parent: Release | None,
) -> dict[str, Any]:
    campaign = build.campaign.settings
    fits = read_unharmed(runs["infer_labels"].result.tables["label_fits"]).drop(["trace"])
    return {
        "campaign": campaign.campaign,
        "version": version_,
        "parent": parent and {"version": parent.version, "manifest_sha256": parent.manifest_sha256},
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "schema_version": SCHEMA_VERSION,
        "content_sha256": digest(
            {name: table.sha256 for name, table in tables.items() if name != "lineage"}
        ),
        "code": {"annot-pipeline": __version__, "sql": sql_digest()},
        "packages": numeric_packages() | {"python": platform.python_version()},
        "settings": published_settings(campaign, build.key, key_derivation(build.store.root)),
        "settings_hash": settings,
        "signature": signature(campaign),
        "sources": list(exports),
        "tables": [
            {
                "name": name,
                "file": f"{name}.parquet",
                "row": GOLD[name].row,
                "key": list(GOLD[name].key),
                "sha256": table.sha256,
                "bytes": table.bytes,
                "rows": table.rows,
                **_in_files(table),
                "columns": [
                    {
                        "name": column.name,
                        "type": str(column.type),
                        "nullable": column.nullable,
                        "description": column.description,
                    }
                    for column in GOLD[name].columns
                ],
            }
            for name, table in tables.items()
        ],
        "checks": [gate.document() for run in runs.values() for gate in run.gates],
        "convergence": fits.to_pylist(),
        "runs": [
            {
                "stage": run.result.stage,
                "run": run.result.run,
                "code_version": run.result.basis.code_version,
                "key": build.published(run.result.key),
                "inputs": {
                    n: build.published_version(n, v) for n, v in run.result.basis.inputs.items()
                },
                "outputs": {
                    n: build.published_version(n, t.sha256) for n, t in run.result.tables.items()
                },
            }
            for run in runs.values()
        ],
        "facts": {
            key: runs[stage].result.facts[key]
            for stage, key in (
                ("settle_judgments", "records"),
                ("control_judges", "fates"),
                ("control_judges", "verdicts"),
                ("settle_judgments", "rejections"),
                ("settle_judgments", "kinds"),
                ("settle_judgments", "guessed_tasks"),
                ("break_into_comparisons", "comparisons"),
                ("rank_segments", "segment_graphs"),
                ("rank_segments", "adequacy"),
                ("rank_systems", "systems_compared"),
                ("measure_agreement", "preferences"),
                ("infer_labels", "certain_share"),
                ("infer_labels", "misnamed_classes"),
                ("infer_labels", "judges_below_chance"),
                ("infer_labels", "adjudications"),
                ("infer_labels", "calibrations"),
                ("add_up_costs", "cost"),
            )
        },
    }


def _in_files(table: StoredTable) -> dict[str, Any]:
    """The files of a table that lies in several."""
    if len(table.files) == 1:
        return {}
    files = [
        {
            "file": "/".join(file.path.parts[-2:]),
            "sha256": file.sha256,
            "bytes": file.path.stat().st_size,
            "rows": file.rows,
        }
        for file in table.files
    ]
    return {"files": files}


def _changes(
    build: Build, folder: Path, document: Mapping[str, Any], parent: Release | None
) -> dict[str, Any] | None:
    """What is new since the parent: counts (null where judgments cannot be matched) and flags."""
    if parent is None:
        return None
    inputs: dict[str, pa.Table | StoredTable] = {}
    new = {table["name"]: stored_table(folder, table) for table in document["tables"]}
    for table in ("lineage", "labels", "judgments"):
        there = table in parent.tables
        inputs[f"old_{table}"] = parent.stored(table) if there else GOLD[table].empty()
        inputs[f"new_{table}"] = new[table]
    named_alike = same_names(parent.manifest["settings"], document["settings"])
    queries = Queries(build.campaign.settings.resources, build.campaign.spill)
    counts: dict[str, int | None] = {}
    sizes = _task_sizes(parent.stored("lineage"), new["lineage"])
    parts = cut(sizes, most=COMPARED_ROWS, least=COMPARED_ROWS)
    for place, names in enumerate(parts, start=1):  # ids name their task: counts add up
        tasks = Tasks.of(names, none=place == len(parts))
        told = {"same_names": named_alike}
        with queries.run("audit/changes", inputs, told, tasks=tasks, of=inputs) as rows:
            for name, n in rows.read_all().to_pylist()[0].items():
                counts[name] = None if n is None else n + (counts.get(name) or 0)
    exports = export_changes(parent.manifest, document)
    return {
        **counts,
        **{f"{how}_exports": len(rows) for how, rows in exports.items()},
        "settings_changed": document["settings_hash"] != parent.manifest["settings_hash"],
        "judges_have_other_names": not named_alike,
    }


def _task_sizes(*tables: StoredTable) -> Counter[str]:
    """Rows by task, of all tables."""
    sizes: Counter[str] = Counter()
    for table in tables:
        counts = read_table(table, ["task"])["task"].value_counts().to_pylist()
        sizes.update({row["values"]: row["counts"] for row in counts if row["values"] is not None})
    return sizes
