"""`annot status` and `annot releases`: what gold and the store say, without building."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import StoreError
from annot_pipeline.pipeline import STAGES, Build, failed
from annot_pipeline.stages.exports import present_exports
from annot_pipeline.storage.releases import Releases


def status(campaign: LoadedCampaign) -> dict[str, Any]:
    """The newest release, the last build, and what has arrived since."""
    release = Releases(campaign.gold).latest()
    before = {(s["name"], s["sha256"]) for s in release.manifest["sources"]} if release else set()
    now = {(name, sha256) for _, name, sha256 in present_exports(campaign)}
    names_before, names_now = {n for n, _ in before}, {n for n, _ in now}
    arrived = {
        "new": sorted(names_now - names_before),
        "changed": sorted({n for n, _ in now - before} & names_before),
        "gone": sorted(names_before - names_now),
    }
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
        "last_build": _last_build(campaign),
        "build_due": release is None or any(arrived.values()),
    }


def list_releases(campaign: LoadedCampaign) -> list[dict[str, Any]]:
    """All releases, oldest first."""
    releases = Releases(campaign.gold)
    rows = []
    for version in releases.versions():
        manifest = releases.get(version).manifest
        tables = {table["name"]: table["rows"] for table in manifest["tables"]}
        rows.append(
            {
                "version": version,
                "created_at": manifest["created_at"],
                "parent": manifest["parent"] and manifest["parent"]["version"],
                "records": manifest["facts"]["records"],
                "labels": tables["labels"],
                "tables": tables,
                "changes": manifest["changes"] or {},
            }
        )
    return rows


def _last_build(campaign: LoadedCampaign) -> dict[str, Any] | None:
    """When the last build finished a stage, and what its gates said."""
    build = Build(campaign)
    notes = sorted((build.store.root / "runs" / "latest").glob("*.json"))
    if not notes:
        return None
    runs = []
    for stage in STAGES:
        try:
            runs.append(build.recorded(stage))
        except StoreError:
            break
    finished = datetime.fromtimestamp(max(n.stat().st_mtime for n in notes), UTC)
    error = failed(runs)
    whole = "went through" if len(runs) == len(STAGES) else "did not finish"
    return {
        "finished": finished.isoformat(timespec="seconds"),
        "outcome": str(error) if error else whole,
    }
