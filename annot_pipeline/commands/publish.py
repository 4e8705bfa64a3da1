"""The last stage: gates once more, then a release, if there is anything new to publish.

A release is gated by itself, not only by the checks of the run that made its tables: a
partial run, or one in another process, cannot slip a failed table into gold.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from annot_pipeline.commands.release_checks import PAGES, check_names, names_in_release
from annot_pipeline.commands.release_manifest import (
    changes_since,
    exports_with_fates,
    release_manifest,
)
from annot_pipeline.config.campaign_file import kept_text
from annot_pipeline.config.signature import settings_hash
from annot_pipeline.contracts import GOLD
from annot_pipeline.errors import StoreError, first_of
from annot_pipeline.runtime.parent import refuse_overtaken
from annot_pipeline.stages.build import STAGES, Build, Planned, StageRun, check_one_build
from annot_pipeline.stages.ingest.metrics import ExportMetrics
from annot_pipeline.storage.catalog import is_catalog_of, write_catalog
from annot_pipeline.storage.files import TEMPORARY, file_sha256, regular
from annot_pipeline.storage.keys import derive, refuse_other_key
from annot_pipeline.storage.manifest import written_in
from annot_pipeline.storage.manifest_changes import source_digest
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.releases import Release, Releases
from annot_pipeline.storage.shortages import cannot_write, running
from annot_pipeline.storage.source_digests import SourceDigests
from annot_pipeline.storage.store_layout import FIGURES
from annot_pipeline.storage.tables import (
    StoredTable,
    TableFile,
    as_published,
    damaged,
    placed,
    read_verified,
    write_table,
)


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
    with build.record_errors():
        runs = _recorded(build)
        check_one_build(build, runs)
        releases = Releases.for_campaign(build.campaign)
        try:
            with (
                running("publishing"),
                build.store.shared_lock(build.say_waiting),  # nobody cleans what is published
                releases.publishing(lambda: build.progress("another build is publishing; waiting")),
            ):
                unfinished = releases.finish_interrupted()
                if unfinished:
                    build.progress(f"not published, and left alone: {first_of(unfinished)}")
                publication = _publish_if_new(build, runs, releases)
                if releases.log and not releases.is_logged:
                    build.progress(
                        f"{releases.log.path}: cannot be written; the next build writes it"
                    )
        except OSError as cause:
            if _is_within(cause, build.store.root):
                raise cannot_write(build.store.root, cause, "store") from cause
            raise cannot_write(releases.gold.folder, cause, releases.gold.setting) from cause
    news = "published" if publication.published else "nothing new:"
    build.store.note_outcome(build.run, f"{news} {publication.release.version}")
    for folder in build.store.clean(build.campaign.spill):
        build.progress(f"{folder}: not deleted, as it holds files that no query put there")
    return publication


def _is_within(error: OSError, folder: Path) -> bool:
    """Return whether a file that could not be written lies in a folder."""
    path = error.filename2 or error.filename  # of a copy, the source and the target
    return isinstance(path, str) and Path(path).is_relative_to(folder)


def _recorded(build: Build) -> dict[str, StageRun]:
    """Return the results of all stages.

    A gate that failed is told before a stage that is missing.
    """
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
    outputs = {name: table for run in runs.values() for name, table in run.result.tables.items()}
    exports = exports_with_fates(build, outputs, runs)
    parent = releases.latest()
    version_ = releases.next_version()
    settings = settings_hash(build.campaign.settings, derive(build.key, "fingerprint"))
    digests = {
        build.public_digest(export["source_sha256"]): export["source_sha256"]
        for export in read_verified(outputs["exports"]).to_pylist()
    }
    checks = [gate.document() for run in runs.values() for gate in run.gates]

    def fill(folder: Path) -> dict[str, Any]:
        from annot_pipeline.commands.release_pages import write_pages
        from annot_pipeline.stages.ingest.archived_lines import MOST_BYTES, released_lines

        tables = _place(build, outputs, folder)
        document = release_manifest(build, runs, tables, exports, settings, version_, parent)
        document["changes"] = changes_since(build, folder, document, parent)
        queries = Queries(build.campaign.settings.resources, build.campaign.spill)
        lines = released_lines(build.campaign, document, MOST_BYTES)
        names = names_in_release(build, outputs, tables, document)
        gate_checks = check_names(build, names)
        document["checks"] = [*checks, *gate_checks]
        figures = build.store.root / FIGURES
        write_pages(folder, document, outputs, parent, queries, lines, figures)
        if names:
            names.add_pages(sorted(p for p in folder.iterdir() if p.suffix in PAGES))
            gate_checks = check_names(build, names)
            document["checks"] = [*checks, *gate_checks]
        checks.extend(gate_checks)
        document["files"] = {name: file_sha256(path) for name, path in written_in(folder).items()}
        return document

    if parent:
        refuse_other_key(build.campaign.settings, build.campaign.store, parent.manifest)
    if parent and not _is_new(build, parent, outputs, settings, exports):
        build.progress(f"nothing new: {parent.version} stands")
        releases.feed()
        if not is_catalog_of(build.campaign.store, parent):
            _write_catalog(build, releases)
        checks += check_names(build, None)
        return Publication(parent, published=False, checks=tuple(checks))
    look = runs["archive_exports"].result
    parent_at_start = runs["archive_exports"].metrics(ExportMetrics).parent
    refuse_overtaken(parent, parent_at_start, build.public_digest(look.key))
    try:
        releases.feed()
        build.store.keep_settings(settings, kept_text(build.campaign.settings))
        SourceDigests(build.store, build.campaign.settings).record(digests)
    except OSError as error:
        raise cannot_write(build.store.root, error, "store") from error
    release = releases.publish(version_, fill)
    build.progress(f"published {release.version}")
    _write_catalog(build, releases)
    return Publication(release, published=True, checks=tuple(checks))


def _write_catalog(build: Build, releases: Releases) -> None:
    try:
        write_catalog(build.campaign.store, releases)
    except StoreError as error:
        build.progress(f"the catalog is not written: {error}")


def _is_new(
    build: Build,
    parent: Release,
    outputs: Mapping[str, StoredTable],
    settings: str,
    exports: Sequence[Mapping[str, Any]],
) -> bool:
    """Return whether exports, by name and content, settings or any table differ from the parent's.

    A copy or another name of an export moves lineage alone, which is published as well.
    """
    before, now = _names_and_digests(parent.manifest["sources"]), _names_and_digests(exports)
    if before != now or settings != parent.manifest["settings_hash"]:
        return True
    files = {table["name"]: table["sha256"] for table in parent.manifest["tables"]}
    published_outputs = {
        n: sha256 for run in parent.manifest["runs"] for n, sha256 in run["outputs"].items()
    }
    tables = {
        name: table
        for name, table in outputs.items()
        if name in GOLD
        if table.sha256 not in (files.get(name), published_outputs.get(name))
    }
    if not tables or any(len(table.files) == 1 for table in tables.values()):
        return bool(tables)
    with _temporary_folder(build) as folder:  # did partitions end elsewhere?
        planned = {name: as_published(table, Path(folder, name)) for name, table in tables.items()}
        written = build.write_tables(planned)
        return any(table.sha256 != files.get(name) for name, table in written.items())


def _names_and_digests(sources: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return names and published digests of exports, each as often as it was read."""
    return sorted((source["name"], source_digest(source)) for source in sources)


def _place(
    build: Build, outputs: Mapping[str, StoredTable], folder: Path
) -> dict[str, StoredTable]:
    """Write the gold tables into the release's folder; those that no stage makes are empty.

    Files are written where every machine of the engine can, in the store, and copied.
    """
    with _temporary_folder(build) as temporary:
        planned: dict[str, Planned] = {}
        for name in GOLD:
            path = Path(temporary, f"{name}.parquet")
            if name in outputs:
                planned[name] = as_published(outputs[name], path)
            else:
                write = partial(write_table, rows=GOLD[name].empty())
                planned[name] = [(path, partial(placed, path, write))]
        written = build.write_tables(planned)
        targets = {
            name: [
                (folder / path.relative_to(temporary), file)
                for (path, _), file in zip(files, written[name].files, strict=True)
            ]
            for name, files in planned.items()
        }
        with ThreadPoolExecutor(build.campaign.settings.resources.workers) as pool:
            for files in targets.values():
                deque(pool.map(_copy, *zip(*files, strict=True)), 0)
    return {
        name: StoredTable(tuple(TableFile(path, file.sha256, file.rows) for path, file in files))
        for name, files in targets.items()
    }


def _temporary_folder(build: Build) -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder in the store; slow machines may still write when it is removed."""
    return tempfile.TemporaryDirectory(
        prefix=TEMPORARY, dir=build.store.root, ignore_cleanup_errors=True
    )


def _copy(target: Path, file: TableFile) -> None:
    target.parent.mkdir(exist_ok=True)
    shutil.copyfile(regular(file.path), target)
    if file_sha256(target) != file.sha256:
        raise damaged(file)
