"""Exports on disk held against those of a release: new, changed, and gone since it was made."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.stages.ingest.present_exports import present_exports
from annot_pipeline.storage.keys import no_key, present_key, published_digest, refuse_other_key
from annot_pipeline.storage.manifest_changes import source_digest
from annot_pipeline.storage.source_digests import SourceDigests
from annot_pipeline.storage.store import Store


@dataclass(frozen=True)
class ArrivedExports:
    """Names of exports, sorted.

    Parameters
    ----------
    new, changed, gone
        Exports that differ from those of a release.
    not_compared
        Exports whose digests in the release need a key that is not at hand.
    """

    new: list[str]
    changed: list[str]
    gone: list[str]
    not_compared: list[str]


def arrived_exports(
    campaign: LoadedCampaign, manifest: Mapping[str, Any] | None, *, has_key: bool
) -> ArrivedExports:
    """Return how the exports on disk differ from those of a release; without one, all are new.

    Parameters
    ----------
    manifest
        That of the release.
    has_key
        Whether the key of the release's digests is at hand.

    Raises
    ------
    AnnotError
        An export cannot be read.
    """
    now = {(name, sha256) for _, name, sha256 in present_exports(campaign, missing_ok=True)}
    before, uncompared = set[tuple[str, str]](), set[str]()
    if manifest:
        before, uncompared = _released_exports(campaign, manifest, now, has_key=has_key)
    names_before, names_now = {n for n, _ in before}, {n for n, _ in now}
    uncompared &= names_now
    return ArrivedExports(
        sorted(names_now - names_before),
        sorted(({n for n, _ in now - before} & names_before) - uncompared),
        sorted(names_before - names_now), sorted(uncompared),
    )  # fmt: skip


def weak_key(campaign: LoadedCampaign) -> Problem | None:
    """Return what is wrong with the secret at hand, where it can be guessed or is damaged."""
    try:
        present_key(campaign.settings, campaign.store)
    except StoreError as error:
        problem = error.problems[0]
        where = f"{problem.where}: " if problem.where else ""
        return replace(problem, where="", what=f"{error.title}: {where}{problem.what}")
    return None


def other_key(campaign: LoadedCampaign, manifest: Mapping[str, Any] | None) -> Problem | None:
    """Return what to say where the key of the release's names is not at hand; else None."""
    privacy = campaign.settings.privacy
    if manifest is None:
        return None
    try:
        if present_key(campaign.settings, campaign.store) is None:
            return no_key(privacy)
        refuse_other_key(campaign.settings, campaign.store, manifest)
    except StoreError as error:
        return error.problems[0]
    return None


def _released_exports(
    campaign: LoadedCampaign,
    manifest: Mapping[str, Any],
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
    settings = campaign.settings
    digests = SourceDigests(Store(campaign.store), settings)
    is_keyed = manifest["settings"].get("privacy", {}).get("pseudonymize", False)
    key = present_key(settings, campaign.store) if has_key and is_keyed else None
    keyed = {(n, published_digest(settings, key, s)): s for n, s in present} if key else {}
    exports, uncompared = set(), set()
    for source in manifest["sources"]:
        name, digest = source["name"], source_digest(source)
        sha256 = digests.sha256(digest) or keyed.get((name, digest))
        if sha256 is None and is_keyed and key is None:
            uncompared.add(name)
        exports.add((name, sha256 or digest))
    return exports, uncompared
