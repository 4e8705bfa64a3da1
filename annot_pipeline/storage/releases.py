"""Releases on disk: immutable folders, one pointer, published in one step.

A reader sees the old release or the new one, never a mixture: a release is written under a
temporary name, synced, renamed, and only then named by ``latest.json``. A build that was
killed between rename and pointer left a whole release; the next build points to it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import Problem, StoreError, first_of
from annot_pipeline.storage.files import (
    TEMPORARY,
    appearing,
    canonical_json,
    file_sha256,
    remove_unfinished,
)
from annot_pipeline.storage.manifest import MANIFEST, read_manifest
from annot_pipeline.storage.pointer import (
    POINTER,
    VERSION,
    Pointer,
    number,
    read_pointer,
    write_pointer,
)
from annot_pipeline.storage.release import Release

__all__ = ["Release", "Releases"]


class Releases:
    """The releases of one campaign.

    Parameters
    ----------
    gold
        Folder of the releases.
    campaign
        Whose releases they must be; None: anybody's.
    typed
        The campaign as commands take it, for messages.
    """

    def __init__(self, gold: Path, campaign: str | None = None, typed: str = "CAMPAIGN") -> None:
        self.gold = gold
        self.campaign = campaign
        self.typed = typed

    @classmethod
    def of(cls, campaign: LoadedCampaign) -> Releases:
        """The releases of a campaign; those of another one are refused."""
        return cls(campaign.gold, campaign.settings.campaign, campaign.typed)

    def versions(self) -> list[str]:
        """Published versions, oldest first; one that nothing points to yet is not listed."""
        return self._listed(read_pointer(self.gold))

    def get(self, version: str = "latest") -> Release:
        """A release by version.

        Raises
        ------
        StoreError
            There is none, with those that there are; or it is not as it was published, of a
            newer schema, or of another campaign.
        """
        pointer = read_pointer(self.gold)
        wanted = pointer.version if version == "latest" and pointer else version
        if pointer is None or wanted not in self._listed(pointer):
            raise self._missing(wanted, pointer)
        return self._read(wanted, pointer)

    def latest(self) -> Release | None:
        """The newest release that is there, if any; a build goes on from it."""
        pointer = read_pointer(self.gold)
        versions = self._listed(pointer)
        return self._read(versions[-1], pointer) if pointer and versions else None

    def refuse_another(self) -> None:
        """Make sure that gold is a folder, and that its releases are this campaign's.

        What is damaged says nothing here: `annot verify` names it.

        Raises
        ------
        StoreError
            It holds releases of another campaign, or is a file.
        """
        if self.gold.exists() and not self.gold.is_dir():
            raise self._missing("latest", None)
        pointer: Pointer | None = None
        with suppress(StoreError):
            pointer = read_pointer(self.gold)
        for version in reversed(self.folders()):
            sha256 = pointer.manifests.get(version) if pointer else None
            try:
                manifest = read_manifest(self.gold / version, sha256)
            except StoreError:
                continue
            self._check_campaign(manifest)
            break

    @contextmanager
    def publishing(self, waiting: Callable[[], None]) -> Iterator[None]:
        """Hold the right to publish; ``waiting`` is called if another build has it.

        The kernel gives the right back when a process dies, so there are no stale locks.

        Raises
        ------
        StoreError
            Gold is a file, or holds releases of another campaign: nothing is written.
        """
        self.refuse_another()
        self.gold.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.gold, os.O_RDONLY)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            self.refuse_another()  # the other build may have been the first
            remove_unfinished(self.gold)
            yield
        finally:
            os.close(descriptor)

    def finish_interrupted(self) -> list[str]:
        """Point to what a killed build published whole; the right to publish is held.

        Returns
        -------
        list of str
            Folders that lie there as newer releases, but are none: a copy that is not finished, or
            not the child of the newest release. The pointer stays where it is.
        """
        pointer = read_pointer(self.gold)
        lost, left = pointer is None, []
        for version in self.folders():
            if number(version) <= (number(pointer.version) if pointer else 0):
                continue
            try:
                manifest = read_manifest(self.gold / version, None)
            except StoreError:
                left.append(version)
                continue
            parent = (manifest["parent"] or {}).get("version")
            release = Release(version, self.gold / version, manifest, self.typed)
            follows = lost or (pointer is not None and parent == pointer.version)
            if manifest["version"] != version or not follows or release.damaged():
                left.append(version)
                continue
            self._point_to(version)
            pointer = read_pointer(self.gold)
        return left

    def next_version(self) -> str:
        """The version that the next release gets; a deleted one is not used again."""
        pointer = read_pointer(self.gold)
        used = [*self.folders(), *(pointer.manifests if pointer else ())]
        return f"v{max(map(number, used), default=0) + 1:04d}"

    def publish(self, version: str, fill: Callable[[Path], dict[str, Any]]) -> Release:
        """Let ``fill`` write the files and return the manifest; then publish in one step."""
        target = self.gold / version
        with appearing(target) as folder:
            manifest = fill(folder)
            (folder / MANIFEST).write_bytes(canonical_json(manifest))
        self._point_to(version)
        return Release(version, target, manifest, self.typed)

    def remove(self, versions: Sequence[str]) -> None:
        """Remove releases while the right to publish is held; the pointer goes on knowing them.

        Killed half way, this leaves each release whole or gone.
        """
        pointer = read_pointer(self.gold)
        if pointer is None or not versions:
            return
        known = {v: file_sha256(self.gold / v / MANIFEST) for v in versions} | self._known(pointer)
        pruned = tuple({*pointer.pruned, *versions})
        write_pointer(self.gold, replace(pointer, manifests=known, pruned=pruned))
        for version in versions:
            gone = self.gold / f"{TEMPORARY}{version}-{os.getpid()}"
            os.rename(self.gold / version, gone)
            shutil.rmtree(gone)

    def folders(self) -> list[str]:
        """Versions of the folders that there are, oldest first, also what is not published."""
        names = [p.name for p in self.gold.iterdir()] if self.gold.is_dir() else []
        return sorted((n for n in names if VERSION.fullmatch(n)), key=number)

    def _listed(self, pointer: Pointer | None) -> list[str]:
        newest = number(pointer.version) if pointer else 0
        return [v for v in self.folders() if number(v) <= newest]

    def _read(self, version: str, pointer: Pointer) -> Release:
        folder = self.gold / version
        manifest = read_manifest(folder, pointer.manifests.get(version))
        release = Release(version, folder, manifest, self.typed)
        self._check_campaign(release.manifest)
        return release

    def _check_campaign(self, manifest: dict[str, Any]) -> None:
        if self.campaign is None or manifest["campaign"] == self.campaign:
            return
        what = f"they are those of {manifest['campaign']!r}; this campaign is {self.campaign!r}"
        do = (
            "give each campaign a gold folder of its own (gold in campaign.yaml, or --set "
            "gold=FOLDER); a campaign that goes on under another name is another one"
        )
        title = f"{self.gold}: holds releases of another campaign"
        raise StoreError(title, [Problem("", what, do=do)])

    def _point_to(self, version: str) -> None:
        before = read_pointer(self.gold)
        known = self._known(before) | {version: file_sha256(self.gold / version / MANIFEST)}
        after = Pointer(version, known)
        if before:
            after = replace(before, version=version, manifests=known, complete=True)
        write_pointer(self.gold, after)

    def _known(self, pointer: Pointer | None) -> dict[str, str]:
        """Digests of all manifests; where the pointer is old or lost, of those that are there."""
        known = dict(pointer.manifests) if pointer else {}
        if pointer is None or not pointer.complete:
            for version in self.folders():
                path = self.gold / version / MANIFEST
                if version not in known and path.is_file():
                    known[version] = file_sha256(path)
        return known

    def _missing(self, version: str, pointer: Pointer | None) -> StoreError:
        """The error of a release that is not there: what is, and what to do."""
        there = self._listed(pointer)
        title = f"{self.gold}: no release {version}"
        if self.gold.exists() and not self.gold.is_dir():
            title, do = f"{self.gold}: is a file", "name a folder with gold or --set gold=FOLDER"
            what = "this is a file, not a folder of releases"
            above = (self.gold.parent.parent, self.gold.parent)
            do = next((f"releases lie in {f}" for f in above if (f / POINTER).exists()), do)
        elif pointer and version in pointer.pruned:
            what, do = "annot prune removed it", f"there are {first_of(there[::-1])}"
        elif pointer and version in pointer.manifests:
            what = "it was published, but its folder is gone"
            do = "restore it from a backup; older releases can be named, and builds go on"
        elif there:
            what, do = f"there are {', '.join(there[-5:])}", "name one of these"
        elif self.folders():
            what = f"{first_of(self.folders())} lie there, but {POINTER} does not"
            build = f"annot build {self.typed}"
            do = f"copy {POINTER} too; where a build was killed, {build} writes it"
        else:
            title = f"{self.gold}: no release yet"
            what, do = "nothing was published here", f"annot build {self.typed} publishes one"
            near = (self.gold.parent, self.gold / "gold")
            do = next((f"releases lie in {f}" for f in near if (f / POINTER).exists()), do)
        return StoreError(title, [Problem("", what, do=do)])
