"""`annot forget`: a person leaves archive, store and releases, and later exports as well."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.audit.arrived_exports import arrived_exports
from annot_pipeline.commands.decisions import decision
from annot_pipeline.commands.prune import WAITING, writing
from annot_pipeline.commands.publish import publish
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.config.campaign_file import kept_text
from annot_pipeline.config.judges import is_model
from annot_pipeline.config.signature import settings_hash
from annot_pipeline.errors import AnnotError, ConfigError, Problem, StoreError, first_of
from annot_pipeline.gates import Decision, standing_decision
from annot_pipeline.stages.build import STAGES, Build, Progress
from annot_pipeline.stages.ingest import forgotten_rows
from annot_pipeline.stages.ingest.present_exports import excluded_copies, exports_among, exports_of
from annot_pipeline.stages.ingest.raw_names import appearance, judge_names
from annot_pipeline.stages.shared.name_search import holds_name, is_distinctive
from annot_pipeline.storage.archive import find_exports
from annot_pipeline.storage.catalog import CATALOG, write_catalog
from annot_pipeline.storage.exclusions import exclusions
from annot_pipeline.storage.forgotten import (
    LOCK,
    Forgotten,
    read_forgotten,
    unfinished,
    write_forgotten,
)
from annot_pipeline.storage.keys import derive, fingerprint, judge_key, pseudonym, refuse_other_key
from annot_pipeline.storage.locks import exclusive_lock
from annot_pipeline.storage.manifest_changes import source_digest
from annot_pipeline.storage.marked_folder import FOLDERS
from annot_pipeline.storage.pins import read_pins
from annot_pipeline.storage.release import Release
from annot_pipeline.storage.releases import Releases
from annot_pipeline.storage.source_digests import SourceDigests
from annot_pipeline.storage.store import Store

STAYS = frozenset({"archive", "digests", "settings"})
"""Folders of the store that releases which stay need: only what they do not need is removed."""
OF_ARRIVALS = (
    "copied_answers corrected_judgments dropped_exports model_judge_drift model_judge_versions "
    "new_classes unseen_judges vanished_items vanished_judgments"
)
"""Gates on what exports bring or lack since the newest release, whoever leaves."""
IN_USE = "a build uses the store; waiting"
ANOTHER = "another person is being forgotten; waiting"
NAME = re.compile(r"(?!j[0-9a-f]{20}$)\s*\S")
"""Of a person whom no export has: no pseudonym, of which nobody could tell under which key."""
TEXTS = frozenset({".html", ".json", ".jsonl", ".md"})
NOTES = (CATALOG, "export_digests.json", "last_build.json")
ELSEWHERE = (
    "exports in the folders of sources and on platforms, copies and backups of gold and store, "
    "files of annot review and annot hits, logs of Dagster"
)
"""What this command cannot reach."""


def forget(
    campaign: LoadedCampaign,
    judge: str,
    *,
    because: str,
    by: str | None,
    pinned: bool,
    dry_run: bool,
    unseen: bool = False,
    progress: Progress,
) -> dict[str, Any]:
    """Leave a person out: archive, store and releases are made again without the answers.

    A new release without the person is published first; then the releases that have the person
    are removed, as by `annot prune`: their numbers are never used again. Killed half way, the same
    command finishes.

    Parameters
    ----------
    campaign
        Whose person.
    judge
        The name, as exports have it, or as releases do.
    because, by
        Why, and who says so; None: the user of this process.
    pinned
        Whether pinned releases with the person are removed too.
    dry_run
        Only say what would be removed.
    unseen
        Whether the name may be in no export and no release: only later exports have it, as of a
        person who was forgotten under another key, and whose rows are gone since.
    progress
        Called with messages about the progress.

    Returns
    -------
    dict
        ``release``, the new one (null: the newest does not have the person); ``removed`` releases,
        also those of another key, of which nobody can tell; ``elsewhere`` and, of store and gold,
        ``still_named``: what must be removed by hand; ``exclude``, lines for excluded exports;
        ``alike``, pseudonyms of others whose names look like the name or contain it. Of a dry run
        also ``rows`` by archived export, ``pinned`` releases that stop the command, and
        ``loss``, judgments and items of a release.

    Raises
    ------
    ConfigError
        Nobody has this name, or it is that of a model; a pinned release has the person.
    GateError
        A gate failed that no answers of one person make fail, as on exports that arrived since.
    InputError
        The rows of an export cannot be removed without harm.
    StoreError
        Gold or the store cannot be read or written, or the key is another one.
    """
    decided = decision(because, by)
    releases = Releases.for_campaign(campaign)
    if newest := releases.latest():
        refuse_other_key(campaign.settings, campaign.store, newest.manifest)
    judge, entry, alike = _person(campaign, judge, decided, releases, unseen)
    removed, pins = _releases_with(releases, judge, entry), read_pins(releases)
    if (in_the_way := [v for v in removed if v in pins and not pinned]) and not dry_run:
        each = (f"annot pin {campaign.typed} {v} --remove" for v in in_the_way)
        do = f"{' and '.join(each)} releases it, or --pinned removes it"
        problem = Problem("", f"{first_of(in_the_way)} is pinned and has the person", do=do)
        raise ConfigError("a pinned release would go", [problem])
    _check_files(campaign, judge, [entry, *(replace(entry, digest=d) for d in alike)], newest)
    copies = list(excluded_copies(campaign, entry))
    entry = replace(entry, exports={copy["text"]: copy["digests"] for copy in copies})
    lines = (exclusions(campaign, {c["name"]: c["digest"]}, c["because"]) for c in copies)
    document: dict[str, Any] = {"removed": removed, "elsewhere": ELSEWHERE, "dry_run": dry_run}
    document["alike"] = alike
    document["exclude"] = {name: line for of_copy in lines for name, line in of_copy.items()}
    is_set = holds_name(kept_text(campaign.settings), [judge, entry.digest])
    if not is_distinctive(judge):
        progress("warn: only cells that name the judge are searched: elsewhere this name is chance")
    if is_set:
        progress("warn: settings name the person: they are kept, so remove the name before")
    if dry_run:
        document |= {"release": None, "pinned": in_the_way}
        document["still_named"] = ["campaign.yaml"] * is_set
        return document | _rows_of_person(releases, removed, judge, entry)
    with writing(releases), exclusive_lock(campaign.store / LOCK, lambda: progress(ANOTHER)):
        write_forgotten(campaign.store, replace(entry, releases=removed))
        with Store(campaign.store).exclusive_lock(lambda: progress(IN_USE)):
            _purge(Store(campaign.store))
        document["release"] = _build(campaign, entry, decided, progress)
        document["removed"] = _remove_releases(campaign, judge, entry, progress)
    return document | {"still_named": _still_named(campaign, judge)}


def _person(
    campaign: LoadedCampaign, judge: str, decided: Decision, releases: Releases, unseen: bool
) -> tuple[str, Forgotten, list[str]]:
    """Return the name that exports have of a person, and what the store keeps of who is forgotten.

    Last come pseudonyms of others whose names look like the name or contain it.

    Raises
    ------
    ConfigError
        Nobody has this name, it is that of a model, or the reason has it.
    """
    key = judge_key(campaign.settings, campaign.store)
    names = judge_names(sorted(Store(campaign.store).records.glob("*.parquet")))
    judge = {pseudonym(key, name): name for name in names}.get(judge, judge)
    said = (decided.at, decided.by, decided.because)
    entry = Forgotten(pseudonym(key, judge), fingerprint(key), *said)
    others = sorted(names - {judge})
    alike = [n for n in others if appearance(n) == appearance(judge) or holds_name(n, [judge])]
    alike = [pseudonym(key, name) for name in alike]
    if _is_named_in(f"{decided.because}\n{decided.by}", judge, entry):
        problem = Problem("--because", "it names the person", do="say why without the name")
        raise ConfigError("the reason is kept", [problem])
    if is_model(judge, campaign.settings.judges.declared):
        do = "judges.use, or where of its source, leaves out the answers of a model"
        raise ConfigError("a model is no person", [Problem("JUDGE", "is declared a model", do=do)])
    is_known = judge in names or entry.digest in {p.digest for p in read_forgotten(campaign.store)}
    every = map(releases.get, releases.versions())
    is_known = is_known or any(_has_person(release, judge, entry) for release in every)
    if not (is_known or (unseen and NAME.match(judge)) or _is_in_files(campaign, judge, entry)):
        do = "give the name as the exports have it; --unseen: one that only later exports have"
        do += f"; names that look like it or contain it: {first_of(alike)}" if alike else ""
        raise ConfigError("nobody has this name", [Problem("JUDGE", "in no export", do=do)])
    return judge, entry, alike


def _remove_releases(
    campaign: LoadedCampaign, judge: str, entry: Forgotten, progress: Progress
) -> list[str]:
    """Remove the releases that have a person, and what only they need; returns their versions."""
    releases, store = Releases.for_campaign(campaign), Store(campaign.store)
    lock = store.exclusive_lock(lambda: progress(IN_USE))
    with lock, releases.publishing(lambda: progress(WAITING)):
        removed = _releases_with(releases, judge, entry)
        if (newest := releases.latest()) and newest.version in removed:  # a defect: gold would end
            problem = Problem("", f"the build left {newest.version} the newest", do="report it")
            raise StoreError("the newest release has the person", [problem])
        releases.set_pins({v: p for v, p in read_pins(releases).items() if v not in removed})
        releases.remove(removed)
        releases.redact(lambda text: _is_named_in(text, judge, entry))
        _clear_archive(campaign, releases, store)
        write_catalog(campaign.store, releases)
        write_forgotten(campaign.store, replace(entry, releases=removed, finished=True))
    return removed


def _check_files(
    campaign: LoadedCampaign, judge: str, people: Sequence[Forgotten], newest: Release | None
) -> None:
    """Make sure, before anything goes, that the next build can leave the person out.

    Nor may an export name the person elsewhere. ``people`` are the person, and others of a name
    like that, whose rows may have it.
    """
    entry = people[0]
    dropped = newest.manifest.get("dropped", {}) if newest else {}
    if names := exports_among(campaign, dropped):
        problem = Problem("", first_of([*names]), do="correct or exclude them, see annot status")
        raise StoreError("exports that the last rollback dropped would be read", [problem])
    for number, source in enumerate(campaign.settings.sources):
        for export in exports_of(campaign, source, f"sources.{number}.path", entry):
            forgotten_rows.remaining_bytes(campaign, source, export, people, judge)
    for number, table in enumerate(campaign.settings.items):
        for export in exports_of(campaign, table, f"items.{number}.path", entry):
            forgotten_rows.refuse_forgotten_item(campaign, table, export, [entry], judge)


def _is_named_in(reason: str, judge: str, entry: Forgotten) -> bool:
    """Return whether a reason names a person: as elsewhere, or by a short name or the pseudonym."""
    word = rf"(?<!\w)({re.escape(judge)}|{entry.digest})(?!\w)"
    return holds_name(reason, [judge]) or re.search(word, reason, re.IGNORECASE) is not None


def _still_named(campaign: LoadedCampaign, judge: str) -> list[str]:
    """Return texts in store and gold that have the name, as reasons of rollbacks."""
    files = [path for root in (campaign.store, campaign.gold) for path in root.rglob("*")]
    archive = Store(campaign.store).archive
    texts = [p for p in files if (p.suffix in TEXTS or archive in p.parents) and p.is_file()]
    return sorted(str(p) for p in texts if holds_name(p.read_text("utf-8", "replace"), [judge]))


def _is_in_files(campaign: LoadedCampaign, judge: str, entry: Forgotten) -> bool:
    """Return whether a file of a source has a person, also one that is excluded or not built."""
    for source in campaign.settings.sources:
        own = campaign.own_folders
        for export in find_exports(campaign.folder, source.path, where="sources", own=own):
            try:
                names, *_ = forgotten_rows.rows_of_forgotten(campaign, source, export, [entry])
            except AnnotError:  # broken, as an excluded one may be, or its rows cannot be removed
                text = export.real.read_bytes().decode("utf-8", "replace")
                names = {judge} if holds_name(text, [judge]) else set()
            if names:
                return True
    return False


def _releases_with(releases: Releases, judge: str, entry: Forgotten) -> list[str]:
    """Return the releases that have a person, or may have under a name of another key."""
    every = map(releases.get, releases.versions())
    return [r.version for r in every if _has_other_key(r, entry) or _has_person(r, judge, entry)]


def _has_other_key(release: Release, entry: Forgotten) -> bool:
    privacy = release.manifest["settings"].get("privacy", {})
    return privacy.get("key_fingerprint") not in (None, entry.key)


def _has_person(release: Release, judge: str, entry: Forgotten) -> bool:
    return any(
        pc.any(_are_theirs(release, release.table(table), judge, entry)).as_py()
        for table in ("judges", "lineage")
    )


def _rows_of_person(
    releases: Releases, held: Sequence[str], judge: str, entry: Forgotten
) -> dict[str, Any]:
    """Return a person's rows by archived export, and what of the last such release is theirs."""
    document: dict[str, Any] = {"rows": {}}
    for version in held:
        release = releases.get(version)
        lineage = release.table("lineage")
        theirs = lineage.filter(_are_theirs(release, lineage, judge, entry))
        rows = theirs.group_by("source_file").aggregate([("source_row", "count_distinct")])
        document["rows"] |= dict(zip(*map(pa.ChunkedArray.to_pylist, rows.columns), strict=True))
        judged = theirs.filter(pc.is_valid(theirs["judgment_id"]))
        items = judged.group_by(["task", "item"]).aggregate([]).num_rows
        n_judgments = pc.count_distinct(judged["judgment_id"]).as_py()
        document["loss"] = {"release": version, "judgments": n_judgments, "items": items}
    return document


def _are_theirs(release: Release, rows: pa.Table, judge: str, entry: Forgotten) -> pa.ChunkedArray:
    has_pseudonyms = release.manifest["settings"]["privacy"]["pseudonymize"]
    return pc.equal(rows["judge"].cast(pa.string()), entry.digest if has_pseudonyms else judge)


def _purge(store: Store) -> None:
    """Remove what builds make of exports: the next build makes it again."""
    for name in FOLDERS.keys() - STAYS:
        shutil.rmtree(store.root / name, ignore_errors=True)
    for name in NOTES:
        (store.root / name).unlink(missing_ok=True)


def _build(
    campaign: LoadedCampaign, entry: Forgotten, decided: Decision, progress: Progress
) -> str | None:
    """Publish a release without the person; what only the person gave has not vanished by accident.

    Raises
    ------
    GateError
        A gate failed that does not compare with the release before, nor was accepted for it; or
        one that tells of arrivals; or any where exports arrived, or settings changed, since then.
    """
    build = Build(campaign, str(uuid.uuid4()), progress)
    newest = Releases.for_campaign(campaign).latest()
    manifest = newest.manifest if newest else {}
    before, settings = standing_decision(manifest), manifest.get("settings_hash")
    now_set = settings_hash(campaign.settings, derive(build.key, "fingerprint"))
    is_as_set = newest is None or _has_other_key(newest, entry) or settings == now_set
    same = exports_among(campaign, set(map(source_digest, manifest.get("sources", ()))))
    now = arrived_exports(campaign, manifest or None, has_key=True)
    arrived = {*now.new, *now.changed} - same.keys()  # which only lost the person's rows
    try:
        runs = [build.run_stage(stage) for stage in STAGES]
        failed = {gate.name for run in runs for gate in run.gates if gate.level == "error"}
        # a person decides on those of arrivals
        compared = {gate.name for gate in runs[-1].gates}.difference(OF_ARRIVALS.split())
        compared |= {*(before.accepted if before else ())}
        accepted = failed & compared if is_as_set and not arrived else set()
        build.decision = replace(decided, accepted=tuple(sorted(accepted)), forgets_person=True)
        publication = publish(build)
    except AnnotError:
        for open_one in unfinished(campaign.store, campaign.typed):
            progress(f"warn: {open_one['what']}: {open_one['do']}")
        raise
    return publication.release.version if publication.published else None


def _clear_archive(campaign: LoadedCampaign, releases: Releases, store: Store) -> None:
    """Remove archived bytes and settings that no release needs any more."""
    digests = SourceDigests(store, campaign.settings)
    manifests = [releases.get(version).manifest for version in releases.versions()]
    published = {source_digest(source) for m in manifests for source in m["sources"]}
    needed = {name: sha256 for name in published if (sha256 := digests.sha256(name))}
    digests.record(needed, only=True)
    hashes = {manifest["settings_hash"] for manifest in manifests}
    stale = [path for path in store.archive.glob("??/*") if path.name not in needed.values()]
    settings = (campaign.store / "settings").glob("*.json")
    for path in [*stale, *(path for path in settings if path.stem not in hashes)]:
        path.unlink(missing_ok=True)
