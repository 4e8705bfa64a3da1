"""What people decide about releases: publish a candidate, go back to a release, retract one."""

from __future__ import annotations

import getpass
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from annot_pipeline.audit.arrived_exports import arrived_exports
from annot_pipeline.audit.verify.rebuild import other_code
from annot_pipeline.commands.prune import WAITING, renew_catalog, writing
from annot_pipeline.commands.publish import Publication, publish
from annot_pipeline.commands.release_list import list_releases, typed_with_settings
from annot_pipeline.commands.release_manifest import changed_settings, changes_since, trend_to
from annot_pipeline.commands.release_pages import write_restored_pages
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, Problem, StoreError, first_of
from annot_pipeline.gates import Decision, GateResult, standing_decision
from annot_pipeline.runtime.parent import refuse_overtaken
from annot_pipeline.stages.build import STAGES, Build, Progress, check_one_build
from annot_pipeline.stages.ingest.metrics import ExportMetrics
from annot_pipeline.storage.candidates import SHORT, Candidates, candidate_steps, failed_gates
from annot_pipeline.storage.files import file_sha256
from annot_pipeline.storage.keys import refuse_other_key
from annot_pipeline.storage.manifest import files_of, written_in
from annot_pipeline.storage.manifest_changes import new_exports, setting_in_words, source_digest
from annot_pipeline.storage.pointer import Retraction
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.release import Release
from annot_pipeline.storage.releases import Releases
from annot_pipeline.storage.store import Store

Document = dict[str, Any]
LONGEST = 1_000
"""Characters of a reason."""
NONE_LEFT = "no release is left to go back to: exclude the export that is wrong in its source, then"


def decision(because: str, by: str | None, accepted: tuple[str, ...] = ()) -> Decision:
    """Return the decision of whoever runs the command.

    Raises
    ------
    ConfigError
        It has no reason, or a text that is too long or cannot be printed.
    """
    for option, text in (("--because", because), ("--by", by or "")):
        if len(text) > LONGEST or not text.isprintable():
            rule = f"must be one line of at most {LONGEST:,} printable characters"
            raise ConfigError("a decision is read by everybody", [Problem(option, rule)])
    if not any(map(str.isalnum, because)):
        what, do = "gives no reason", 'write why in place of "..."'
        if not because:
            what, do = "is missing", 'add --because "..." with the reason'
        raise ConfigError("a decision needs a reason", [Problem("--because", what, do=do)])
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Decision(by or _user(), now, because, accepted)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no such user, as in some containers
        return "unknown"


def publish_candidate(
    campaign: LoadedCampaign,
    candidate: str,
    accept: Sequence[str],
    *,
    because: str,
    by: str | None,
    progress: Progress,
) -> tuple[Publication, Build]:
    """Publish the tables of a candidate.

    Parameters
    ----------
    campaign
        As it is now.
    candidate
        Run of the candidate, the first characters of it, or ``latest``.
    accept
        Gates that failed and are accepted.
    because, by
        Why, and who accepts them; None: the user of this process.
    progress
        Called with messages about the progress.

    Raises
    ------
    ConfigError
        A gate did not fail, or nobody can accept it; or the reason is missing.
    StoreError
        There is no such candidate; or settings, code, exports or the newest release are others now.
    GateError
        A gate that failed is not accepted.
    """
    release = Candidates(campaign.store, campaign.typed).get(candidate)
    failed = {gate.name: gate for gate in failed_gates(release.manifest)}
    accept = tuple(dict.fromkeys(accept))
    _check_accepted(accept, failed)
    decided = decision(because, by, accepted=tuple(accept)) if accept or because else None
    build = Build(campaign, release.manifest["candidate"]["run"], progress, decision=decided)
    _refuse_outdated(build, release)
    return publish(build), build


def _refuse_outdated(build: Build, candidate: Release) -> None:
    """Make sure that a build of now would make the same tables on the same release.

    Raises
    ------
    StoreError
        What the candidate was made of, and what is otherwise now.
    """
    campaign, manifest = build.campaign, candidate.manifest
    refuse_other_key(campaign.settings, campaign.store, manifest)
    exports = arrived_exports(campaign, manifest, has_key=True)
    problems = [
        Problem("exports", f"{what}: {first_of(names)}", do="put back the files of then")
        for what, names in (("gone", exports.gone), ("changed since", exports.changed))
        if names
    ]
    runs = {stage.name: build.recorded(stage, own=True) for stage in STAGES}
    try:
        check_one_build(build, runs)
    except StoreError as stale:
        changes = changed_settings(campaign, manifest)
        settings = [
            f"{name} was {was}, now {now}" for name, was, now in map(setting_in_words, changes)
        ]
        differing = (
            ("settings", settings, _with_settings_of(candidate, campaign)),
            ("code", other_code(candidate), "install the versions of then"),
        )
        problems += [
            Problem(where, "; ".join(texts), do=do) for where, texts, do in differing if texts
        ] or stale.problems
    newest, look = Releases.for_campaign(campaign).latest(), runs["archive_exports"]
    parent = look.metrics(ExportMetrics).parent
    try:
        refuse_overtaken(newest, parent, build.public_digest(look.result.key))
    except StoreError:
        what = f"it follows {parent or 'no release'}; the newest is {newest and newest.version}"
        problems.append(Problem("release before", what))
    if len({problem.where for problem in problems}) > 1:  # no step alone would do
        problems = [replace(problem, do="") for problem in problems]
    if problems:
        do = f"annot build {campaign.typed} --candidate makes one of what is there now"
        short = manifest["candidate"]["run"][:SHORT]
        title = f"candidate {short} is not what a build would make now: nothing was published"
        raise StoreError(title, [*problems, Problem("", "it is out of date", do=do)])


def _with_settings_of(candidate: Release, campaign: LoadedCampaign) -> str:
    """Return the command that publishes a candidate with its settings, or what to do instead."""
    if (typed := typed_with_settings(campaign, candidate.manifest)) is None:
        return "set them back in campaign.yaml"
    return "".join(candidate_steps(candidate.manifest, typed)[-1:])


def _check_accepted(accept: Sequence[str], failed: dict[str, GateResult]) -> None:
    failing = first_of([*failed]) or "no gate failed"
    problems = [
        Problem("--accept", f"{name} cannot be accepted", do=failed[name].do)
        if name in failed
        else Problem("--accept", f"{name} did not fail", failing)
        for name in accept
        if name not in failed or not failed[name].is_acceptable
    ]
    if problems:
        raise ConfigError("only gates that failed can be accepted", problems)


def roll_back(
    campaign: LoadedCampaign, version: str, *, because: str, by: str | None, progress: Progress
) -> Release:
    """Publish the content of an older release again, as the newest; builds go on from it.

    Parameters
    ----------
    campaign
        Whose releases.
    version
        The older release.
    because, by
        Why, and who says so; None: the user of this process.
    progress
        Called with messages about the progress.

    Returns
    -------
    Release
        The new one. Its decision names the exports of the release before that the older one does
        not have (``dropped``): a build that reads them again fails a gate.

    Raises
    ------
    ConfigError
        The reason is missing, or the release is the newest.
    StoreError
        The release was removed or retracted, is damaged, or its judges have names of another key;
        or gold cannot be written.
    """
    decided = decision(because, by)
    releases, store = Releases.for_campaign(campaign), Store(campaign.store)
    with _publishing(campaign, releases, progress):
        newest, retracted = releases.get(), releases.retracted()
        present = _origins(releases, newest.version)
        refused = {*present, *retracted}
        older = [v for v in releases.versions()[::-1] if refused.isdisjoint(_origins(releases, v))]
        do = f"name {first_of(older)}" if older else f"{NONE_LEFT} annot build {campaign.typed}"
        pointer = releases.gold.pointer()
        if pointer and version not in ("latest", *(pointer.manifests.keys() - pointer.pruned)):
            what = "pruned or forgotten" if version in pointer.pruned else "never published"
            title = f"{releases.gold.location()}: no release {version}"
            raise StoreError(title, [Problem("V", what, do=do)])
        old = releases.get(version)  # says where the folder of one is lost
        if old.version in present:
            what = f"{newest.version} is the newest release"
            what += f", with the content of {old.version}" * (old.version != newest.version)
            raise ConfigError("there is nothing to go back to", [Problem("V", what, do=do)])
        for origin in [each for each in _origins(releases, version) if each in retracted]:
            mark = retracted[origin]
            what = f"{mark.by} retracted {origin}" + ", whose content it has" * (origin != version)
            problem = Problem("", f"{what}: {mark.because}", do=do)
            raise StoreError(f"{version} is not to be used", [problem])
        refuse_other_key(campaign.settings, campaign.store, old.manifest)
        old.check()
        dropped = _dropped(old, newest)
        accepted = before.accepted if (before := standing_decision(old.manifest)) else ()
        decided = replace(decided, restored=version, dropped=dropped, accepted=accepted)
        next_version, build = releases.next_version(), Build(campaign, progress=progress)
        fill = partial(_restore, build, old, newest, next_version, decided)
        release = releases.publish(next_version, fill)
        renew_catalog(campaign, releases, progress)
        Candidates(store.root).clear()
    return release


def _origins(releases: Releases, version: str) -> list[str]:
    """Return a release, and those whose content it has by rollbacks."""
    origins = [version]
    with suppress(StoreError):  # there is no release "", as that of decisions which restore none
        while decided := releases.get(origins[-1]).manifest.get("decision"):
            origins.append(decided["restored"])
    return [*filter(None, origins)]


def _dropped(old: Release, newest: Release) -> dict[str, str]:
    """Return the exports that readers had, or builds were to leave out, and that ``old`` lacks."""
    before = newest.manifest.get("dropped", {})
    restored = {source_digest(source) for source in old.manifest["sources"]}
    dropped = before | {d: name for name, d in new_exports(old.manifest, newest.manifest).items()}
    return {digest: name for digest, name in dropped.items() if digest not in restored}


def _restore(
    build: Build, old: Release, newest: Release, version: str, decided: Decision, folder: Path
) -> Document:
    """Copy a release into the folder of a new one; returns the manifest."""
    for table in old.manifest["tables"]:
        for entry, file in zip(files_of(table), old.stored(table["name"]).files, strict=True):
            target = folder / entry["file"]
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(file.path, target)
    document = {name: value for name, value in old.manifest.items() if name != "files"} | {
        "version": version,
        "parent": {"version": newest.version, "manifest_sha256": newest.manifest_sha256},
        "trend": trend_to(newest),
        "created_at": decided.at,
        "decision": decided.document(),
        "dropped": dict(decided.dropped),
    }
    document["changes"] = changes_since(build, folder, document, newest)
    queries = Queries(build.campaign.settings.resources, build.campaign.spill)
    write_restored_pages(folder, document, old, queries)
    document["files"] = {name: file_sha256(path) for name, path in written_in(folder).items()}
    return document


def retract(
    campaign: LoadedCampaign, version: str, *, because: str, by: str | None, progress: Progress
) -> tuple[str, list[str]]:
    """Mark a release as not to be used: `load_gold` warns of it, the catalog leaves it out.

    Returns it, and the releases that have its content and are not marked.

    Raises
    ------
    ConfigError
        The reason is missing, the release is the newest, which readers get, or it was retracted
        before.
    StoreError
        There is no such release, or gold cannot be written.
    """
    decided = decision(because, by)
    releases = Releases.for_campaign(campaign)
    with _publishing(campaign, releases, progress):
        release = releases.get(version)
        if release.version == releases.get().version:
            do = f'annot rollback {campaign.typed} V --because "..." publishes an older one again'
            problem = Problem("V", f"{release.version} is the newest, which readers get", do=do)
            raise ConfigError("the newest release cannot be retracted", [problem])
        if before := releases.retracted().get(release.version):
            problem = Problem("V", f"retracted before, by {before.by}: {before.because}")
            raise ConfigError(f"{release.version} is not to be used already", [problem])
        releases.retract(release.version, Retraction(decided.at, decided.by, decided.because))
        renew_catalog(campaign, releases, progress)
    content = release.manifest["content_sha256"]
    others = [row for row in list_releases(campaign)["releases"] if not row["retracted"]]
    return release.version, [r["version"] for r in others if r.get("content_sha256") == content]


@contextmanager
def _publishing(campaign: LoadedCampaign, releases: Releases, progress: Progress) -> Iterator[None]:
    """Hold the right to publish, on top of what a killed build may have left."""
    lock = Store(campaign.store).shared_lock()
    with writing(releases), lock, releases.publishing(lambda: progress(WAITING)):
        releases.finish_interrupted()
        yield
