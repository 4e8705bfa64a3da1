"""`annot prune` and `annot pin`: which releases stay, and what they need to be verified.

What a release needs is its folder, the archived bytes of its exports, its settings and the key;
the last two always stay. Of its parent it needs the digest alone, which latest.json keeps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, Problem, StoreError, counted, first_of
from annot_pipeline.stages.build import Progress
from annot_pipeline.stages.ingest.present_exports import present_exports
from annot_pipeline.storage import absent_gold
from annot_pipeline.storage.candidates import Candidates
from annot_pipeline.storage.catalog import write_catalog
from annot_pipeline.storage.manifest_changes import source_digest
from annot_pipeline.storage.pins import pin, read_pins, unpin
from annot_pipeline.storage.pointer import SHA256
from annot_pipeline.storage.release import Release
from annot_pipeline.storage.releases import Releases
from annot_pipeline.storage.shortages import cannot_write
from annot_pipeline.storage.source_digests import SourceDigests
from annot_pipeline.storage.store import Store
from annot_pipeline.storage.tables import read_verified

WAITING = "a build publishes; waiting"


def prune(
    campaign: LoadedCampaign,
    keep: int | None,
    *,
    gone: bool | Sequence[str] = False,
    dry_run: bool = False,
    progress: Progress,
) -> dict[str, Any]:
    """Remove releases but the newest and the pinned, and archived bytes that nothing needs.

    Parameters
    ----------
    campaign
        Whose releases.
    keep
        How many of the newest releases stay, at least 1. Retracted ones do not count, nor one whose
        content a rollback published again, if others are there; they stay where they are newer than
        the oldest of these.
    gone
        What will not come back, and is struck off: versions whose folders are gone, and other gold
        that the store feeds, by folder or URL. True: all such versions, and no other gold.
    dry_run
        Only say what would be removed.
    progress
        Called with messages about the progress.

    Returns
    -------
    dict
        ``kept``, ``removed`` and ``struck_off`` releases, ``gone_gold``, ``archive``, and ``bytes``
        freed; see docs/reference/cli.md.

    Raises
    ------
    ConfigError
        ``keep`` is less than 1, ``gone`` names what is there, or the store holds files that no
        build wrote.
    StoreError
        A release that stays cannot be read, or is away, so that nobody knows what it needs; or gold
        or the store cannot be written.
    """
    if keep is None or keep < 1:
        what = "is missing" if keep is None else f"is {keep}"
        do = f"annot prune {campaign.typed} --keep N keeps the N newest releases, 1 or more"
        raise ConfigError("no release would stay", [Problem("--keep", what, do=do)])
    store = Store(campaign.store)
    store.refuse_foreign(campaign.folder)
    releases = Releases.for_campaign(campaign)
    releases.get()  # there is something to keep
    abandoned = absent_gold.abandoned_gold(campaign, releases, gone)
    if dry_run:
        document, _ = _plan(campaign, releases, keep, abandoned, progress)
        return document | {"dry_run": True}
    with (
        writing(releases),
        store.exclusive_lock(
            lambda: progress(f"a build or a check uses the store; waiting{store.users()}")
        ),
        releases.publishing(lambda: progress(WAITING)),
    ):
        document, unneeded = _plan(campaign, releases, keep, abandoned, progress)
        versions = [row["version"] for row in document["removed"]]
        n_exports = counted(len(unneeded), "archived export")
        progress(f"removes {', '.join([*versions, n_exports])}: {document['bytes']:,} bytes")
        releases.strike_off(abandoned.versions)
        releases.remove(versions)
        releases.abandon(abandoned.names(campaign.store))
        for path in unneeded:
            path.unlink(missing_ok=True)
        if versions and store.root.is_dir():
            renew_catalog(campaign, releases, progress)
    return document | {"dry_run": False}


@contextmanager
def writing(releases: Releases, store: Path | None = None) -> Iterator[None]:
    """Say of an error that gold, or the store, cannot be written, and what to do."""
    try:
        yield
    except OSError as error:
        path = error.filename2 or error.filename  # of a copy, the source and the target
        if store and isinstance(path, str) and Path(path).is_relative_to(store):
            raise cannot_write(store, error, "store") from error
        raise cannot_write(releases.gold.folder, error, releases.gold.setting) from error


def set_pin(
    campaign: LoadedCampaign, version: str, *, remove: bool, why: str, progress: Progress
) -> str:
    """Pin a release, or take its pin away; returns its version.

    Raises
    ------
    StoreError
        There is no such release, or no such pin; or gold cannot be written.
    """
    releases = Releases.for_campaign(campaign)
    releases.get()
    with writing(releases), releases.publishing(lambda: progress(WAITING)):
        return unpin(releases, version) if remove else pin(releases, version, why)


def list_pins(campaign: LoadedCampaign) -> list[dict[str, Any]]:
    """Return the pins, oldest release first."""
    releases = Releases.for_campaign(campaign)
    releases.refuse_another()
    return [{"version": version} | asdict(pin) for version, pin in read_pins(releases).items()]


def _plan(
    campaign: LoadedCampaign,
    releases: Releases,
    keep: int,
    abandoned: absent_gold.AbandonedGold,
    progress: Progress,
) -> tuple[dict[str, Any], list[Path]]:
    """Return what stays and what goes, and the archived files that go."""
    versions, pins, retracted = releases.versions(), read_pins(releases), releases.retracted()
    usable = [version for version in versions if version not in retracted]
    decisions = [releases.get(v).manifest.get("decision") or {} for v in usable[-keep:]]
    restored = {decision.get("restored") for decision in decisions}
    if len(others := [version for version in usable if version not in restored]) >= keep:
        usable = others  # a release and the one whose content it has are one to go back to
    newest = {*versions[versions.index(usable[-keep]) if len(usable) >= keep else 0 :]}
    stay = [v for v in versions if v in newest or v in pins]
    go = [v for v in versions if v not in stay]
    progress("looking at what the releases that stay, and the exports, need")
    digests = SourceDigests(Store(campaign.store), campaign.settings)
    absent_gold.refuse_absent(campaign, releases, abandoned)
    candidates = Candidates(campaign.store, campaign.typed)
    needing = [*map(releases.get, stay), *map(candidates.get, candidates.runs())]
    needing += _of_others(campaign, abandoned)
    retained_digests = {sha256 for release in needing for sha256 in _exports_of(release, digests)}
    retained_digests |= {sha256 for _, _, sha256 in present_exports(campaign, missing_ok=True)}
    retained_digests |= _of_last_build(Store(campaign.store))
    archive = Store(campaign.store).archive
    sizes = {path: path.stat().st_size for path in sorted(archive.glob("??/*")) if _is_kept(path)}
    unneeded = [path for path in sizes if path.name not in retained_digests]
    removed: list[dict[str, Any]] = [{"version": v, "bytes": releases.gold.size(v)} for v in go]
    n_bytes = sum(sizes[path] for path in unneeded)
    document = {
        "campaign": campaign.settings.campaign,
        "kept": [
            {"version": v, "newest": v in newest, "pinned": v in pins,
             "why": pins[v].why if v in pins else ""}
            for v in stay
        ],
        "removed": removed,
        "struck_off": list(abandoned.versions),
        "gone_gold": list(abandoned.places),
        "archive": {
            "kept": len(sizes) - len(unneeded), "removed": len(unneeded), "bytes": n_bytes,
        },
        "bytes": n_bytes + sum(row["bytes"] for row in removed),
    }  # fmt: skip
    return document, unneeded


def _exports_of(release: Release, digests: SourceDigests) -> set[str]:
    """Return the SHA-256 of the exports of a release.

    Raises
    ------
    StoreError
        Nobody knows which archived bytes a published digest stands for.
    """
    sources = release.manifest["sources"]
    sha256_by_name = {source["name"]: digests.sha256(source_digest(source)) for source in sources}
    unknown = [name for name, sha256 in sha256_by_name.items() if sha256 is None]
    if unknown:
        what = f"it is unknown which archived bytes {first_of(unknown)} of {release.version} are"
        do = "restore store/digests, or set the key of then; no archived file was deleted"
        raise StoreError("the archive cannot be pruned", [Problem("", what, do=do)])
    return {sha256 for sha256 in sha256_by_name.values() if sha256}


def _of_others(campaign: LoadedCampaign, abandoned: absent_gold.AbandonedGold) -> list[Release]:
    """Return releases elsewhere that this store feeds: their exports all stay."""
    golds = [
        Releases.at(location, campaign.store, store=campaign.store)
        for location in absent_gold.other_gold(campaign, abandoned)
    ]
    return [other.get(version) for other in golds for version in other.versions()]


def _of_last_build(store: Store) -> set[str]:
    """Return exports of the last build, also of one that has not published yet."""
    try:
        tables = store.recorded("latest", "archive_exports").tables
    except StoreError:
        return set()
    return set(read_verified(tables["exports"], ["source_sha256"])["source_sha256"].to_pylist())


def _is_kept(path: Path) -> bool:
    return bool(SHA256.fullmatch(path.name)) and path.parent.name == path.name[:2]


def renew_catalog(campaign: LoadedCampaign, releases: Releases, progress: Progress) -> None:
    """Write the catalog again; releases do not need it."""
    try:
        write_catalog(campaign.store, releases)
    except StoreError as error:
        progress(f"the catalog is not written: {error}")
