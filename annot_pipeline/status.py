"""`annot status` and `annot releases`: what gold and the store say, without building."""

from __future__ import annotations

from typing import Any

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.pipeline import Build
from annot_pipeline.signature import settings_hash
from annot_pipeline.stages.exports import present_exports
from annot_pipeline.storage.keys import derive, no_key, present_key
from annot_pipeline.storage.releases import Release, Releases


def status(campaign: LoadedCampaign) -> dict[str, Any]:
    """The newest release, the last build, and what has arrived since; writes nothing.

    Without the key of the judges' names nobody knows whether settings have changed, since the key
    is one of them: that, and whether a build is due for it, is None then.
    """
    release = Releases.of(campaign).latest()
    before = {(s["name"], s["sha256"]) for s in release.manifest["sources"]} if release else set()
    now = {(name, sha256) for _, name, sha256 in present_exports(campaign, missing_ok=True)}
    names_before, names_now = {n for n, _ in before}, {n for n, _ in now}
    arrived = {
        "new": sorted(names_now - names_before),
        "changed": sorted({n for n, _ in now - before} & names_before),
        "gone": sorted(names_before - names_now),
    }
    build = Build(campaign)
    key = present_key(campaign.settings.privacy, campaign.store)
    missing = no_key(campaign.settings.privacy) if release and key is None else None
    changed = _settings_changed(campaign, release, key)
    return {
        "campaign": campaign.settings.campaign,
        "release": release
        and {
            "version": release.version,
            "path": str(release.folder),
            "created_at": release.manifest["created_at"],
            "checks": release.manifest["checks"],
        },
        "arrived": arrived,
        "settings_changed": changed,
        "not_compared": missing and {"what": missing.what, "do": missing.do},
        "last_build": build.store.last_outcome(),
        "build_due": release is None or any(arrived.values()) or changed,
    }


def list_releases(campaign: LoadedCampaign) -> list[dict[str, Any]]:
    """All releases, oldest first."""
    releases = Releases.of(campaign)
    rows = []
    settings: str | None = None
    for version in releases.versions():
        manifest = releases.get(version).manifest
        settings_before, settings = settings, manifest["settings_hash"]
        tables = {table["name"]: table["rows"] for table in manifest["tables"]}
        rows.append(
            {
                "version": version,
                "created_at": manifest["created_at"],
                "parent": manifest["parent"] and manifest["parent"]["version"],
                "records": manifest["facts"]["records"],
                "labels": tables["labels"],
                "scores": tables["scores"],
                "tables": tables,
                "changes": manifest["changes"] or {},
                "settings_changed": settings_before is not None and settings_before != settings,
            }
        )
    return rows


def _settings_changed(
    campaign: LoadedCampaign, release: Release | None, key: bytes | None
) -> bool | None:
    """Whether a build would publish because of settings alone; None if nobody knows."""
    if release is None:
        return False
    if key is None:
        return None
    now = settings_hash(campaign.settings, derive(key, "fingerprint"))
    changed: bool = now != release.manifest["settings_hash"]
    return changed
