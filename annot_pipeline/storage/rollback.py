"""A pointer that is older than what the store has seen: somebody, or a backup, put it back.

``latest.json`` carries a digest of itself but no signature: an older one is as valid as the
newest. The store's log has what it wrote or read; gold that knows less than the log, or something
else, was put back or replaced.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from annot_pipeline.errors import Problem, StoreError, first_of
from annot_pipeline.storage.gold_folder import GoldFolder
from annot_pipeline.storage.pointer import POINTER, Pointer, number


def rollback(pointer: Pointer, known: Pointer) -> Problem | None:
    """Return how a pointer is older than the one that the log has; None where it is not.

    Pins are not compared: whether one was added or removed last, nobody can tell.
    """
    lost = sorted(known.manifests.keys() - pointer.manifests.keys(), key=number)
    unpruned = {*known.pruned} - {*pointer.pruned}
    is_older = number(pointer.version) < number(known.version)
    if not (lost or is_older or unpruned):
        return None
    what = f"it is older than the store's log: it names {pointer.version} as the newest release"
    what += f", the log {known.version}" if is_older else ""
    what += f"; it does not know {first_of(lost)}" if lost else ""
    what += f"; it does not know that {first_of(sorted(unpruned))} was pruned" if unpruned else ""
    do = (
        f"put the newer {POINTER} back, or delete it and build again: it is written as the log "
        "has it, and no number is given twice"
    )
    return Problem("", what, do=do)


def replaced(pointer: Pointer, log: Pointer, unknown_to: int) -> list[str]:
    """Return releases of a pointer that are others than the log knows.

    Numbers rise, so one that is not above the last of the log, and not in it, was not published.

    Parameters
    ----------
    unknown_to
        Up to this number lines of the log were lost: it need not know what was published.
    """
    last, lost = number(log.last), range(1, unknown_to + 1)
    logged = log.manifests
    unknown = {v for v in pointer.manifests.keys() - logged if number(v) <= last}
    other = {v for v, sha256 in pointer.manifests.items() if logged.get(v, sha256) != sha256}
    return sorted(other.union(v for v in unknown if number(v) not in lost), key=number)


def refuse_left_behind(gold: GoldFolder) -> None:
    """Make sure, without a store, that the pointer names the newest of the releases in gold.

    A build that was killed, or is about to point, leaves one whole release that follows the one
    named. Two, each the child of the one before, cannot come from builds: the next build points to
    the first before it adds another. Any other newer release with a valid manifest is worth a
    warning, whatever its age.

    Raises
    ------
    StoreError
        Several releases in gold follow the one named.
    """
    pointer = gold.pointer()
    newer = _newer_manifests(gold, pointer) if pointer else {}
    if not pointer or not newer:
        return
    followers = _followers(gold, pointer, newer)
    what = f"it names {pointer.version} as the newest release;"
    if len(followers) > 1:
        what = f"{what} {first_of(followers)} follow it in {gold.location()}"
        do = f"put the newer {POINTER} back; annot build of its campaign points to the newest too"
        raise StoreError(f"{gold.location(POINTER)}: was put back", [Problem("", what, do=do)])
    verb = "is" if len(newer) == 1 else "are"
    text = (
        f"{gold.location(POINTER)}: {what} {first_of([*newer])} {verb} complete and newer: a build "
        f"is publishing or was killed, or {POINTER} was put back; run annot build of its campaign, "
        f"or put the newer {POINTER} back"
    )
    warnings.warn(text, stacklevel=3)


def _newer_manifests(gold: GoldFolder, pointer: Pointer) -> dict[str, dict[str, Any]]:
    """Return valid manifests of releases in gold that are newer than the pointer's, by version."""
    newer = {}
    for version in gold.versions():
        if number(version) > number(pointer.version):
            with suppress(StoreError):
                newer[version] = gold.manifest(version, pointer.manifests.get(version))
    return newer


def _followers(
    gold: GoldFolder, pointer: Pointer, newer: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """Return releases that follow a pointer's, each a child of the one before."""
    followers = []
    parent, sha256 = pointer.version, pointer.manifests[pointer.version]
    for version, manifest in newer.items():
        if manifest["parent"] == {"version": parent, "manifest_sha256": sha256}:
            followers.append(version)
            parent, sha256 = version, gold.manifest_sha256(version) or ""
    return followers
