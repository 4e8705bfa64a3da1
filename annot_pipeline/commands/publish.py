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
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from annot_pipeline.commands import release_manifest as manifests
from annot_pipeline.commands.prune import renew_catalog, writing
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.config.campaign_file import kept_text
from annot_pipeline.config.signature import settings_hash
from annot_pipeline.contracts import GOLD
from annot_pipeline.errors import (
    SHOWN_VALUES,
    AnnotError,
    GateError,
    Problem,
    Step,
    StoreError,
    first_of,
)
from annot_pipeline.gates import GateResult, standing_decision
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.runtime.parent import refuse_overtaken
from annot_pipeline.stages.build import STAGES, Build, Planned, StageRun, check_one_build
from annot_pipeline.stages.ingest.metrics import ExportMetrics
from annot_pipeline.stages.ingest.present_exports import exports_among
from annot_pipeline.storage import tables as stored
from annot_pipeline.storage.candidates import SHORT, Candidates, candidate_steps
from annot_pipeline.storage.catalog import is_catalog_of
from annot_pipeline.storage.exclusions import ALL_NOTE, exclusions
from annot_pipeline.storage.files import TEMPORARY, file_sha256, regular
from annot_pipeline.storage.keys import derive, refuse_other_key
from annot_pipeline.storage.manifest import written_in
from annot_pipeline.storage.manifest_changes import new_exports, source_digest
from annot_pipeline.storage.releases import Release, Releases
from annot_pipeline.storage.shortages import running
from annot_pipeline.storage.source_digests import SourceDigests

MOSTLY = 0.5
"""Share of the rows of an export above which it is named beside a gate that names their judges."""
EMPTY = "nothing_used"
"""The gate that fails where no judgment counts: there is nothing to look at."""


@dataclass(frozen=True)
class Publication:
    """The newest release after a build, or the candidate that was asked for.

    Parameters
    ----------
    release
        The release.
    published
        Whether this build published it; else nothing was new, or it is a candidate.
    checks
        How the gates of this build went, as a manifest holds them.
    is_candidate
        Whether it is a candidate.
    """

    release: Release
    published: bool
    checks: tuple[dict[str, Any], ...] = ()
    is_candidate: bool = False


@dataclass
class _Draft:
    """What a build made, and the release that it may become."""

    build: Build
    runs: Mapping[str, StageRun]
    parent: Release | None
    version: str

    def __post_init__(self) -> None:
        tables = (run.result.tables for run in self.runs.values())
        self.outputs = {name: table for of_stage in tables for name, table in of_stage.items()}
        self.exports = manifests.exports_with_fates(self.build, self.outputs, self.runs)
        key = derive(self.build.key, "fingerprint")
        self.settings = settings_hash(self.build.campaign.settings, key)
        self.checks = [gate.document() for run in self.runs.values() for gate in run.gates]

    def keep_sources(self) -> None:
        """Keep in the store what a rebuild needs: settings, and which archived bytes are meant."""
        build = self.build
        digests = {
            build.public_digest(export["source_sha256"]): export["source_sha256"]
            for export in stored.read_verified(self.outputs["exports"]).to_pylist()
        }
        build.store.keep_settings(self.settings, kept_text(build.campaign.settings))
        SourceDigests(build.store, build.campaign.settings).record(digests)

    def fill(self, folder: Path, *, candidate: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Write tables and pages into a folder; returns the manifest.

        Parameters
        ----------
        candidate
            What the manifest says of a candidate, whose gates may fail; None: a release.

        Raises
        ------
        GateError
            The release would name judges who have pseudonyms.
        """
        from annot_pipeline.commands.release_pages import write_pages

        self.build.progress(Step(f"[{len(STAGES)}/{len(STAGES)}] write the release"))
        build, parent = self.build, self.parent
        tables = _place(build, self.outputs, folder)
        document = manifests.release_manifest(
            build, self.runs, tables, self.exports, self.settings, self.version, parent
        )
        if candidate:
            document["candidate"] = candidate
        if build.decision:
            document["decision"] = build.decision.document()
        document["changes"] = manifests.changes_since(build, folder, document, parent)
        names = manifests.names_in_release(build, self.outputs, tables, document)
        may_fail = candidate is not None
        document["checks"] = [*self.checks, *manifests.name_gates(build, names, may_fail=may_fail)]
        write_pages(folder, document, build, self.outputs, parent)
        if names:
            names.add_pages(sorted(p for p in folder.iterdir() if p.suffix in manifests.PAGES))
            document["checks"] = [
                *self.checks,
                *manifests.name_gates(build, names, may_fail=may_fail),
            ]
        self.checks = document["checks"]
        document["files"] = {name: file_sha256(path) for name, path in written_in(folder).items()}
        return document


def publish(build: Build, *, candidate: bool = False, keep: bool = False) -> Publication:
    """Publish the tables of a build; where a gate fails, keep them as a candidate.

    Parameters
    ----------
    build
        Its stages have run.
    candidate
        Only make a candidate, whether gates fail or not.
    keep
        Whether the candidate stays after the next publication.

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
        failed = build.failed(list(runs.values()))
        with (
            writing(releases, build.store.root),
            running("publishing"),
            build.store.shared_lock(build.say_waiting),  # nobody cleans what is published
        ):
            if failed:  # who publishes the candidate accepts all that failed
                undecided = replace(build, decision=None)
                draft = _draft(undecided, _recorded(undecided), releases)
                accepted = None if candidate else _accepted(draft, releases)
                if accepted is None:
                    failed = undecided.failed([*draft.runs.values()]) or failed
                    raise _with_candidate(draft, failed, keep=keep)
                publication = accepted
            elif candidate:
                release = _candidate(_draft(build, runs, releases), keep=keep)
                publication = Publication(release, published=False, is_candidate=True)
            else:
                publication = _publish_in_turn(build, runs, releases, keep=keep)
    news = "published" if publication.published else "nothing new:"
    outcome = f"{news} {publication.release.version}"
    if candidate:
        outcome = f"candidate {build.run[:SHORT]}: nothing was published"
    build.store.note_outcome(build.run, outcome)
    for folder in build.store.clean(build.campaign.spill):
        build.progress(f"{folder}: not deleted, as it holds files that no query put there")
    return publication


def _publish_in_turn(
    build: Build, runs: Mapping[str, StageRun], releases: Releases, *, keep: bool
) -> Publication:
    """Publish while nobody else does."""
    with releases.publishing(lambda: build.progress("another build is publishing; waiting")):
        unfinished = releases.finish_interrupted()
        if unfinished:
            build.progress(f"not published, and left alone: {first_of(unfinished)}")
        draft = _draft(build, runs, releases)
        try:
            publication = _publish_if_new(draft, releases)
        except GateError as failed:  # of the release itself
            raise _with_candidate(draft, failed, keep=keep) from None
        if releases.log and not releases.is_logged:
            build.progress(f"{releases.log.path}: cannot be written; the next build writes it")
    return publication


def _draft(build: Build, runs: Mapping[str, StageRun], releases: Releases) -> _Draft:
    releases.feed()
    return _Draft(build, runs, releases.latest(), releases.next_version())


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
    if missing:
        raise build.failed(list(runs.values())) or missing
    return runs


def _candidate(draft: _Draft, *, keep: bool) -> Release:
    """Return the candidate of a build; one that was made of the same before stays as it is."""
    build = draft.build
    candidates = Candidates(build.store.root, build.campaign.typed)
    made_of = _made_of(build, draft.runs, draft.parent)
    if release := _candidate_of(candidates, made_of):
        if keep:
            candidates.keep(release.manifest["candidate"]["run"])
        return release
    draft.keep_sources()
    fill = partial(draft.fill, candidate={"run": build.run, "made_of": made_of})
    return candidates.add(build.run, draft.version, fill, keep=keep)


def _made_of(build: Build, runs: Mapping[str, StageRun], parent: Release | None) -> dict[str, Any]:
    """Return what tells candidates apart: the release before, and the results of the stages."""
    keys = {stage.name: runs[stage.name].result.key for stage in STAGES if stage.cached}
    results = {name: build.public_digest(key) for name, key in keys.items()}
    return {"parent": parent and parent.version, "results": results}


def _candidate_of(candidates: Candidates, made_of: Mapping[str, Any]) -> Release | None:
    """Return the undamaged candidate that was made of the same; None if there is none."""
    for run in candidates.runs():
        with suppress(StoreError):  # damaged
            release = candidates.get(run)
            if release.manifest["candidate"]["made_of"] == made_of and not release.damaged():
                return release
    return None


def last_candidate(build: Build, parent: Release | None) -> Release | None:
    """Return the candidate of the last build, by which `parent` would be followed."""
    try:
        made_of = _made_of(build, _recorded(build), parent)
    except AnnotError:  # the last build stopped half way
        return None
    return _candidate_of(Candidates(build.store.root, build.campaign.typed), made_of)


def _with_candidate(draft: _Draft, failed: GateError, *, keep: bool) -> GateError:
    """Return the error of gates that failed, with the candidate and what can be done with it."""
    build = draft.build
    if EMPTY in {check["name"] for check in failed.checks if check["level"] == "error"}:
        return failed
    try:
        candidate = _candidate(draft, keep=keep)
    except (AnnotError, OSError, pa.ArrowInvalid) as error:  # files that break their contract
        build.progress(f"no candidate is kept: {error}")
        return failed
    do = "; ".join(candidate_steps(candidate.manifest, build.campaign.typed))
    do = do or f"open {candidate.folder / 'report.html'}"
    lines, parent = exclusions_since(build.campaign, draft.parent, candidate), draft.parent
    what = "most rows are by judges whom a failed gate names"
    if parent and _new_exports(build.campaign, parent, candidate):
        what = f"new or changed since {parent.version}"
    failed.problems += (
        *(Problem(name, what, do=f"to build without it, add to its source: {line}")
          for name, line in [*lines.items()][:SHOWN_VALUES]),
        Problem("candidate", f"the tables are in {candidate.folder}", do=do),
    )  # fmt: skip
    return failed


def exclusions_since(
    campaign: LoadedCampaign, parent: Release | None, candidate: Release
) -> dict[str, str]:
    """Return by name the lines that exclude exports that may have failed a build.

    They are those that the release before does not have; without any, those mostly by judges whom
    a failed gate names: a release of other settings may have read them.
    """
    if parent is None:
        return {}
    new = _new_exports(campaign, parent, candidate)
    lines = exclusions(campaign, new or _exports_of_judges(candidate))
    n_exports = sum(source["kind"] == "judgments" for source in candidate.manifest["sources"])
    # without the latest export the one before is read
    has_others = any(source.files == "latest" for source in campaign.settings.sources)
    note = f"  {ALL_NOTE}" if len(lines) == n_exports and not has_others else ""
    return {name: f"{line}{note}" for name, line in lines.items()}


def _new_exports(campaign: LoadedCampaign, parent: Release, candidate: Release) -> dict[str, str]:
    """Return digests by name of new exports, but for those that only lost forgotten people."""
    published = {source_digest(source) for source in parent.manifest["sources"]}
    new, same = new_exports(parent.manifest, candidate.manifest), exports_among(campaign, published)
    return {name: digest for name, digest in new.items() if name not in same}


def _exports_of_judges(candidate: Release) -> dict[str, str]:
    """Return digests by name of exports that are mostly by judges whom a failed gate names."""
    facts = candidate.manifest["facts"]
    failed = {c["name"] for c in candidate.manifest["checks"] if c["level"] == "error"}
    by_test, suspected = facts["failed_judges"].values(), [facts["suspected_judges"]]
    groups_by_gate = {
        "judges_failed": by_test,
        "failed_labels": by_test,
        "careless_judges": facts["careless_judges"].values(),
        "suspected_labels": suspected,
        "doubtful_items": suspected,
    }
    groups = chain.from_iterable(groups_by_gate[gate] for gate in failed & groups_by_gate.keys())
    names = {*chain.from_iterable(groups)}
    lineage = candidate.table("lineage") if names else GOLD["lineage"].empty()
    are_theirs = is_in(lineage["judge"], names)
    rows = pa.table({"file": lineage["source_file"], "share": are_theirs}).group_by("file")
    shares = rows.aggregate([("share", "mean")]).to_pylist()
    files = {row["file"] for row in shares if row["share_mean"] > MOSTLY}
    sources = candidate.manifest["sources"]
    return {source["name"]: source_digest(source) for source in sources if source["name"] in files}


def _accepted(draft: _Draft, releases: Releases) -> Publication | None:
    """Return the newest release if nothing is new and all that fails was accepted for it."""
    decision = standing_decision(draft.parent.manifest if draft.parent else None)
    checks = [GateResult(**check).decided(decision).document() for check in draft.checks]
    if decision is None or any(check["level"] == "error" for check in checks):
        return None
    return _nothing_new(draft, releases, checks, f" ({decision})")


def _nothing_new(
    draft: _Draft, releases: Releases, checks: Sequence[dict[str, Any]], decided: str = ""
) -> Publication | None:
    """Return the newest release if it has all that the build made; else None."""
    build, parent = draft.build, draft.parent
    if parent is None:
        return None
    refuse_other_key(build.campaign.settings, build.campaign.store, parent.manifest)
    if _is_new(draft, parent):
        return None
    build.progress(f"nothing new: {parent.version} stands{decided}")
    if not is_catalog_of(build.campaign.store, parent):
        renew_catalog(build.campaign, releases, build.progress)
    return Publication(
        parent, published=False, checks=(*checks, *manifests.name_gates(build, None))
    )


def _publish_if_new(draft: _Draft, releases: Releases) -> Publication:
    build, parent = draft.build, draft.parent
    if standing := _nothing_new(draft, releases, draft.checks):
        return standing
    look = draft.runs["archive_exports"].result
    parent_at_start = draft.runs["archive_exports"].metrics(ExportMetrics).parent
    refuse_overtaken(parent, parent_at_start, build.public_digest(look.key))
    draft.keep_sources()
    release = releases.publish(draft.version, draft.fill)
    build.progress(f"published {release.version}")
    renew_catalog(build.campaign, releases, build.progress)
    Candidates(build.store.root).clear()
    return Publication(release, published=True, checks=tuple(draft.checks))


def _is_new(draft: _Draft, parent: Release) -> bool:
    """Return whether exports, by name and content, settings or any table differ from the parent's.

    A copy or another name of an export moves lineage alone, which is published as well.
    """
    before, now = _names_and_digests(parent.manifest["sources"]), _names_and_digests(draft.exports)
    if before != now or draft.settings != parent.manifest["settings_hash"]:
        return True
    files = {table["name"]: table["sha256"] for table in parent.manifest["tables"]}
    published_outputs = {
        n: sha256 for run in parent.manifest["runs"] for n, sha256 in run["outputs"].items()
    }
    tables = {
        name: table
        for name, table in draft.outputs.items()
        if name in GOLD
        if table.sha256 not in (files.get(name), published_outputs.get(name))
    }
    if not tables or any(len(table.files) == 1 for table in tables.values()):
        return bool(tables)
    with _temporary_folder(draft.build) as folder:  # did partitions end elsewhere?
        planned = {
            name: stored.as_published(table, Path(folder, name)) for name, table in tables.items()
        }
        written = draft.build.write_tables(planned)
        return any(table.sha256 != files.get(name) for name, table in written.items())


def _names_and_digests(sources: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return names and published digests of exports, each as often as it was read."""
    return sorted((source["name"], source_digest(source)) for source in sources)


def _place(
    build: Build, outputs: Mapping[str, stored.StoredTable], folder: Path
) -> dict[str, stored.StoredTable]:
    """Write the gold tables into the release's folder; those that no stage makes are empty.

    Files are written where every machine of the engine can, in the store, and copied.
    """
    with _temporary_folder(build) as temporary:
        planned: dict[str, Planned] = {}
        for name in GOLD:
            path = Path(temporary, f"{name}.parquet")
            if name in outputs:
                planned[name] = stored.as_published(outputs[name], path)
            else:
                write = partial(stored.write_table, rows=GOLD[name].empty())
                planned[name] = [(path, partial(stored.placed, path, write))]
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
        name: stored.StoredTable(
            tuple(stored.TableFile(path, file.sha256, file.rows) for path, file in files)
        )
        for name, files in targets.items()
    }


def _temporary_folder(build: Build) -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder in the store; slow machines may still write when it is removed."""
    return tempfile.TemporaryDirectory(
        prefix=TEMPORARY, dir=build.store.root, ignore_cleanup_errors=True
    )


def _copy(target: Path, file: stored.TableFile) -> None:
    target.parent.mkdir(exist_ok=True)
    shutil.copyfile(regular(file.path), target)
    if file_sha256(target) != file.sha256:
        raise stored.damaged(file)
