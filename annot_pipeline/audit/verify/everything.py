"""`annot verify`: a proof for every file of a release, and of the raw bytes behind it.

What is checked is bytes: nothing here says whether a label is right. What does not belong here:
how one release, the archive and a rebuild are checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict
from typing import Any

from annot_pipeline.audit.arrived_exports import arrived_exports, other_key, weak_key
from annot_pipeline.audit.verify.checksums import RESTORE, Checked, verify_archive, verify_release
from annot_pipeline.audit.verify.rebuild import verify_rebuild
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import AnnotError, StoreError
from annot_pipeline.stages.build import Progress
from annot_pipeline.stages.ingest.present_exports import exports_among
from annot_pipeline.storage.forgotten import FORGOTTEN, forgotten_releases, unfinished
from annot_pipeline.storage.pointer import POINTER, Pointer, number, parse_pointer
from annot_pipeline.storage.releases import Releases
from annot_pipeline.storage.source_digests import SourceDigests
from annot_pipeline.storage.store import Store


def verify(
    campaign: LoadedCampaign,
    version: str | None = None,
    *,
    rebuild: bool = False,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Check releases, the pointer and the archive.

    Parameters
    ----------
    campaign
        Whose releases.
    version
        One release and what it was made from; None: all, and the whole archive.
    rebuild
        Whether to build each release again from its archived bytes, and compare.
    progress
        Called with messages about the progress.

    Returns
    -------
    dict
        ``ok``; ``files`` and ``bytes`` whose checksums were computed; ``findings`` of file, what
        and do; ``releases``, each with its own; ``exports`` that differ from those of the newest
        release checked; ``pruned`` and ``forgotten``; see docs/reference/cli.md.

    Raises
    ------
    StoreError
        There is no release, or gold holds those of another campaign.
    """
    releases = Releases.for_campaign(campaign)
    releases.refuse_another()
    store = Store(campaign.store)
    with store.shared_lock() if store.root.is_dir() else nullcontext():  # nobody prunes meanwhile
        return _verify(campaign, releases, version, rebuild, Checked(progress))


def _verify(
    campaign: LoadedCampaign,
    releases: Releases,
    version: str | None,
    rebuild: bool,
    checked: Checked,
) -> dict[str, Any]:
    pointer, forgotten = _pointer(releases, checked), forgotten_releases(campaign.store)
    gone = pointer.pruned if pointer else ()
    versions = _versions(releases, pointer, version)
    rows: list[dict[str, Any]] = []
    manifests: dict[str, dict[str, Any]] = {}
    rebuilt: list[dict[str, Any]] = []
    for name in versions:
        checked.progress(f"{name}: checksums")
        row, manifest = _one_release(releases, name, pointer, checked)
        rows.append(row)
        if manifest:
            manifests[name] = manifest
    for row in rows:  # a child may have told of its parent
        row["ok"] = not checked.is_found(releases.gold.location(row["version"]))
    if version is None:
        _verify_history(releases, pointer, checked)
    store = Store(campaign.store)
    digests = SourceDigests(store, campaign.settings)
    verify_archive(store.archive, manifests, digests, checked, whole=version is None)
    archive_ok = not checked.is_found(str(store.archive))
    for open_one in unfinished(campaign.store, campaign.typed):
        checked.find(campaign.store / FORGOTTEN, **open_one)
    for name, manifest in manifests.items() if rebuild else ():
        release = releases.gold.release(name, manifest, campaign.typed)
        rebuilt.append(verify_rebuild(campaign, release, checked))
    return {
        "campaign": campaign.settings.campaign, "gold": releases.gold.location(),
        "ok": not checked.findings, "releases": rows, "archive_ok": archive_ok,
        "exports": _differing_exports(campaign, manifests),
        "pruned": [version for version in gone if version not in forgotten],
        "forgotten": [version for version in gone if version in forgotten],
        "rebuilt": rebuilt if rebuild else None, **checked.document(),
    }  # fmt: skip


def _differing_exports(
    campaign: LoadedCampaign, manifests: Mapping[str, dict[str, Any]]
) -> dict[str, Any] | None:
    """Return the exports on disk that differ from those of the newest release that was checked.

    They are no finding: exports may change, releases may not.
    """
    if not manifests:
        return None
    version, manifest = max(manifests.items(), key=lambda named: number(named[0]))
    has_key = not (weak_key(campaign) or other_key(campaign, manifest))
    try:
        exports = asdict(arrived_exports(campaign, manifest, has_key=has_key))
        dropped = exports_among(campaign, manifest.get("dropped", {}))
    except AnnotError as error:
        return {"release": version, "error": error.title}
    exports["new"] = [name for name in exports["new"] if name not in dropped]
    return {"release": version, "error": None, "dropped": sorted(dropped), **exports}


def _one_release(
    releases: Releases, version: str, pointer: Pointer | None, checked: Checked
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    files, n_bytes = checked.files, checked.bytes
    with releases.gold.as_stored(version) as folder:
        manifest = verify_release(folder, pointer, checked)
    checked.rename(folder, releases.gold.location(version))
    checked.rename(folder.parent, releases.gold.location())
    row = {"version": version, "files": checked.files - files, "bytes": checked.bytes - n_bytes}
    return row, manifest


def _pointer(releases: Releases, checked: Checked) -> Pointer | None:
    """Return what releases are held against: the pointer, which counts as a file that is checked.

    None with a finding if it is damaged; where it was put back, that of the log, with a finding.
    """
    if damage := releases.damaged_log():
        checked.find(damage.where, damage.what, damage.do)
    data, location = releases.gold.pointer_bytes(), releases.gold.location(POINTER)
    if data is None:
        if problem := releases.vanished():
            checked.find(releases.gold.location(), problem.what, problem.do)
        return None
    try:
        pointer = parse_pointer(data, location)
    except StoreError as error:
        checked.refused(location, error)
        return None
    checked.files += 1
    checked.bytes += len(data)
    if problem := releases.contradiction():
        checked.find(location, problem.what, problem.do)
    return releases.newest_pointer(pointer)


def _versions(releases: Releases, pointer: Pointer | None, version: str | None) -> list[str]:
    """Return which releases to check: what is asked for, or every folder that is there."""
    folders = releases.gold.versions()
    if version is None and folders:
        return folders
    requested_version = pointer.version if pointer and version in (None, "latest") else version
    if requested_version in folders:
        return [str(requested_version)]
    releases.get(requested_version or "latest")  # says what is missing
    return []


def _verify_history(releases: Releases, pointer: Pointer | None, checked: Checked) -> None:
    """Check that nothing is missing, and nothing else there.

    What was published and is gone without `annot prune`, and what no build put among
    the releases.
    """
    gold = releases.gold
    if pointer is None:
        if gold.pointer_bytes() is None:
            what = "missing: nothing says which release is the newest"
            do = "copy it too; where a build was killed, annot build writes it"
            checked.find(gold.location(POINTER), what, do)
    else:
        versions = gold.versions()
        for version in sorted(pointer.manifests.keys() - {*pointer.pruned}, key=number):
            if version not in versions:
                is_ = "it is pinned, " if version in pointer.pins else "it was published, "
                what = f"{is_}but its folder does not exist; annot prune did not remove it"
                command = f"annot prune {releases.typed} --keep {max(len(versions), 1)} --gone"
                do = f"{RESTORE}; or remove it from the list: {command}"
                checked.find(gold.location(version), what, do)
    for name, what in gold.strangers(pointer).items():
        checked.find(gold.location(name), what, "move it elsewhere")
