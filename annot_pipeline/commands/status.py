"""`annot status`: what gold and the store say, without building."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.config.signature import settings_hash
from annot_pipeline.errors import ConfigError, Problem, StoreError
from annot_pipeline.gates import GATES
from annot_pipeline.stages.build import Build
from annot_pipeline.stages.ingest.present_exports import present_exports
from annot_pipeline.stages.ingest.unread_exports import unread_exports
from annot_pipeline.stages.last_build import failed_build_advice, failing_gates
from annot_pipeline.storage.keys import (
    derivation_of,
    derive,
    exposed_secrets,
    key_derivation,
    no_key,
    present_key,
    published_digest,
    refuse_other_key,
)
from annot_pipeline.storage.manifest_changes import setting_changes, source_digest
from annot_pipeline.storage.places import check_places
from annot_pipeline.storage.published_settings import published_settings
from annot_pipeline.storage.releases import Release, Releases
from annot_pipeline.storage.source_digests import SourceDigests
from annot_pipeline.storage.store import Store

EXPOSED = next(gate for gate in GATES if gate.name == "exposed_secrets")
"""Looked at anew: a build that publishes nothing leaves no warning in a release."""
DECIDED = ("decided", "overridden")


def status(campaign: LoadedCampaign) -> dict[str, Any]:
    """Return the newest release, the last build, and what has arrived since; write nothing.

    Reads every file of the newest release and every export for their checksums. Without the key of
    the judges' names nobody knows whether settings have changed, since the key is one of them:
    that, and whether a build is due for it, is None then.
    """
    releases = Releases.for_campaign(campaign)
    releases.refuse_another()
    release = releases.latest()
    rolled_back = releases.rolled_back()
    lying = [] if release else releases.gold.versions()
    now = {(name, sha256) for _, name, sha256 in present_exports(campaign, missing_ok=True)}
    missing = _weak_key(campaign) or other_key(campaign, release)
    before, uncompared = set[tuple[str, str]](), set[str]()
    if release:
        before, uncompared = _released_exports(campaign, release, now, has_key=not missing)
    names_before, names_now = {n for n, _ in before}, {n for n, _ in now}
    uncompared &= names_now
    arrived = {
        "new": sorted(names_now - names_before),
        "changed": sorted(({n for n, _ in now - before} & names_before) - uncompared),
        "gone": sorted(names_before - names_now),
    }
    build = Build(campaign)
    settings = None if missing else _changed_settings(campaign, release)
    changed = None if settings is None else bool(settings)
    return {
        "campaign": campaign.settings.campaign,
        "release": release
        and {
            "version": release.version,
            "path": release.location,
            "created_at": release.manifest["created_at"],
            "checks": [c for c in release.manifest["checks"] if c["name"] != EXPOSED.name],
            "decisions": _decisions(release),
            "anonymous_votes": release.manifest["facts"].get("anonymous_votes", {}),
            "damaged": [*release.damaged(), *release.strangers()],
        },
        "exposed_secrets": exposed_secrets(campaign.settings.privacy, campaign.store),
        "unpointed": lying,
        "rolled_back": rolled_back and {"what": rolled_back.what, "do": rolled_back.do},
        "arrived": arrived,
        "exports_not_compared": sorted(uncompared),
        "unread": [build.mask_text(text) for text in unread_exports(campaign)],
        "settings_changed": changed,
        "changed_settings": settings,
        "not_compared": missing and {"what": missing.what, "do": missing.do},
        "last_build": build.store.last_outcome(),
        "unended_build": build.store.interrupted_build(),
        "failing": [{"what": gate.what, "do": gate.do} for gate in failing_gates(build)],
        "failed_build": {"do": list(advice)} if (advice := failed_build_advice(build)) else None,
        "refused_folders": _refused_folders(campaign),
        "build_due": release is None or any(arrived.values()) or changed,
    }


def _released_exports(
    campaign: LoadedCampaign,
    release: Release,
    present: Collection[tuple[str, str]],
    *,
    has_key: bool,
) -> tuple[set[tuple[str, str]], set[str]]:
    """Return names of the exports of a release with their SHA-256, and those that nothing tells.

    A keyed digest is that of the present export of this name, if the key says so.

    Parameters
    ----------
    present
        Names and SHA-256 of the exports that are there.
    has_key
        Whether the key of the release's digests is at hand.
    """
    settings, manifest = campaign.settings, release.manifest
    digests = SourceDigests(Store(campaign.store), settings)
    is_keyed = manifest["settings"].get("privacy", {}).get("pseudonymize", False)
    derivation = derivation_of(manifest) or key_derivation(campaign.store)
    key = present_key(settings, campaign.store, derivation) if has_key and is_keyed else None
    keyed = {(n, published_digest(settings, key, s)): s for n, s in present} if key else {}
    exports, uncompared = set(), set()
    for source in manifest["sources"]:
        name, digest = source["name"], source_digest(source)
        sha256 = digests.sha256(digest) or keyed.get((name, digest))
        if sha256 is None and is_keyed and "source_digest" in source and key is None:
            uncompared.add(name)
        exports.add((name, sha256 or digest))
    return exports, uncompared


def _decisions(release: Release) -> dict[str, int]:
    """Return labels that experts decided, and those of which the model says otherwise."""
    tasks = (release.manifest["facts"].get("adjudications") or {}).values()
    return {name: sum(task[name] for task in tasks) for name in DECIDED}


def _refused_folders(campaign: LoadedCampaign) -> dict[str, str] | None:
    """Return why builds refuse the store, gold or spill folder, and what to do; else None."""
    try:
        check_places(campaign)
    except ConfigError as error:
        do = "; ".join(dict.fromkeys(problem.do for problem in error.problems))
        whats = (f"{problem.where}: {problem.what}" for problem in error.problems)
        return {"what": f"{error.title} ({'; '.join(whats)})", "do": do}
    return None


def _weak_key(campaign: LoadedCampaign) -> Problem | None:
    """Return what is wrong with the secret at hand, where it can be guessed or is damaged."""
    try:
        present_key(campaign.settings, campaign.store)
    except StoreError as error:
        problem = error.problems[0]
        where = f"{problem.where}: " if problem.where else ""
        return replace(problem, where="", what=f"{error.title}: {where}{problem.what}")
    return None


def other_key(campaign: LoadedCampaign, release: Release | None) -> Problem | None:
    """Return what to say where the key of the release's names is not at hand; else None."""
    privacy = campaign.settings.privacy
    if release is None:
        return None
    try:
        if present_key(campaign.settings, campaign.store, derivation_of(release.manifest)) is None:
            return no_key(privacy)
        refuse_other_key(campaign.settings, campaign.store, release.manifest)
    except StoreError as error:
        return error.problems[0]
    return None


def _changed_settings(campaign: LoadedCampaign, release: Release | None) -> list[str]:
    """Return settings for which a build would publish, by dotted path, without their values."""
    if release is None:
        return []
    derivation = derivation_of(release.manifest) or key_derivation(campaign.store)
    key = present_key(campaign.settings, campaign.store, derivation)
    if key is None:
        return []
    hashed = settings_hash(campaign.settings, derive(key, "fingerprint"))
    if hashed == release.manifest["settings_hash"]:
        return []
    published = json.loads(json.dumps(published_settings(campaign.settings, key, derivation)))
    now = {"settings": published, "settings_hash": hashed}
    return [change["path"] for change in setting_changes(release.manifest, now)]
