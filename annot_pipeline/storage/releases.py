"""Releases: which follows which, and the one step in which a release is published.

A reader sees the old release or the new one, never a mixture: a release is written under a
temporary name, synced, renamed, and only then named by ``latest.json``. A build that was
killed between rename and pointer left a whole release; the next build points to it. How releases
lie in a folder, or in an object store, is not told here (gold_folder, gold_bucket).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.config.gold_url import copy_folder, is_url, plain_url
from annot_pipeline.errors import ConfigError, Problem, StoreError, first_of
from annot_pipeline.storage.candidates import CANDIDATE, Candidates
from annot_pipeline.storage.gold_bucket import GoldBucket
from annot_pipeline.storage.gold_folder import Fill, GoldFolder
from annot_pipeline.storage.pointer import POINTER, Pin, Pointer, Retraction, number
from annot_pipeline.storage.release import Release
from annot_pipeline.storage.release_log import LogContent, ReleaseLog, pointer_without
from annot_pipeline.storage.rollback import refuse_left_behind, replaced, rollback

__all__ = ["Release", "Releases"]


class Releases:
    """The releases of one campaign.

    Parameters
    ----------
    gold
        Folder of the releases, or how they lie in an object store.
    campaign
        Whose releases they must be; None: anybody's.
    typed
        The campaign as commands take it, for messages.
    store
        Whose log of releases the pointer is compared with; None: no log is kept.
    """

    def __init__(
        self,
        gold: Path | GoldFolder,
        campaign: str | None = None,
        typed: str = "CAMPAIGN",
        store: Path | None = None,
    ) -> None:
        self.gold = gold if isinstance(gold, GoldFolder) else GoldFolder(gold)
        self.campaign = campaign
        self.typed = typed
        location = self.gold.location()
        lies = location if is_url(location) else Path(location)
        self.log = ReleaseLog(store, lies, campaign or "") if store else None
        self.candidates = Candidates(store, typed) if store else None
        self.is_logged = True  # unless the last pointer could not be noted in the log

    @classmethod
    def for_campaign(cls, campaign: LoadedCampaign) -> Releases:
        """Return the releases of a campaign; those of another one are refused."""
        url = campaign.gold_url
        gold = GoldBucket(url, campaign.gold) if url else campaign.gold
        return cls(gold, campaign.settings.campaign, campaign.typed, campaign.store)

    @classmethod
    def at(cls, location: str, copies: Path, *, store: Path | None = None) -> Releases:
        """Return the releases in a folder or below a URL, of any campaign.

        Parameters
        ----------
        copies
            Folder for copies of a URL's files.
        store
            Whose log it is compared with.

        Raises
        ------
        ConfigError
            The URL is none that releases can be at.
        """
        if not is_url(location):
            return cls(Path(location), store=store)
        try:
            url = plain_url(location)
        except ValueError as error:
            raise ConfigError("gold cannot be there", [Problem("gold", str(error))]) from None
        return cls(GoldBucket(url, copy_folder(copies, url)), store=store)

    def versions(self) -> list[str]:
        """Return published versions, oldest first; one that nothing points to yet is not listed."""
        return self.gold.published(self.gold.pointer())

    def unpointed(self) -> bool:
        """Return whether something newer lies there as a release, that nothing points to yet."""
        newest = number(pointer.version) if (pointer := self.gold.pointer()) else 0
        return any(number(version) > newest for version in self.gold.versions())

    def get(self, version: str = "latest") -> Release:
        """Return a release by version.

        Raises
        ------
        StoreError
            There is none, with those that there are; or it is not as it was published, by the
            pointer and by the store's log, of a newer schema, or of another campaign; or the
            newest, or one that the pointer does not know, is asked for, and the pointer is older
            than the log.
        """
        pointer = self.gold.pointer()
        if version == "latest":
            self._refuse(self.contradiction())
        resolved_version = pointer.version if version == "latest" and pointer else version
        if pointer is None or resolved_version not in self.gold.published(pointer):
            self.refuse_rollback()  # else it may be one that an older pointer does not know
            raise self._missing(resolved_version, pointer)
        return self._read(resolved_version, pointer)

    def get_or_candidate(self, version: str = "latest") -> Release:
        """Return a release by version, or a candidate by its run, for people who look at it.

        ``candidate`` is the newest one.

        Raises
        ------
        StoreError
            As `get` does; or there is no candidate, or several runs begin so.
        """
        candidates = self.candidates
        if candidates and version == CANDIDATE:
            return candidates.get()
        if candidates and version and any(run.startswith(version) for run in candidates.runs()):
            return replace(candidates.get(version), version=version)
        return self.get(version)

    def read(self, version: str = "latest") -> Release:
        """Return a release for readers who have gold, and perhaps no store.

        Warns of a damaged log in the store, of a complete release newer than the newest, and of one
        that was retracted.

        Raises
        ------
        StoreError
            As `get` does; or the newest is asked for, and several releases in gold follow it.
        """
        release = self.get(version)
        if version == "latest":
            refuse_left_behind(self.gold)
        if mark := self.retracted().get(release.version):
            why = f"{mark.because} ({mark.by}, {mark.at[:10]})"
            warnings.warn(f"{release.version} is not to be used: {why}", stacklevel=3)
        if problem := self.damaged_log():
            warnings.warn(f"{problem.where}: {problem.what}; {problem.do}", stacklevel=3)
        return release

    def latest(self) -> Release | None:
        """Return the newest release that is there, if any; a build goes on from it."""
        pointer = self.gold.pointer()
        versions = self.gold.published(pointer)
        return self._read(versions[-1], pointer) if pointer and versions else None

    def refuse_another(self) -> None:
        """Make sure that gold is a folder, and that its releases are this campaign's.

        What is damaged says nothing here: `annot verify` names it.

        Raises
        ------
        StoreError
            It holds releases of another campaign, or is a file.
        """
        if self.gold.is_file():
            raise self._missing("latest", None)
        pointer: Pointer | None = None
        with suppress(StoreError):
            pointer = self.gold.pointer()
        for version in reversed(self.gold.versions()):
            sha256 = pointer.manifests.get(version) if pointer else None
            try:
                manifest = self.gold.manifest(version, sha256)
            except StoreError:
                continue
            self._check_campaign(manifest)
            break

    def rolled_back(self) -> Problem | None:
        """Return why gold may be older than the store; None where nothing says so.

        All of gold is gone, the pointer contradicts what the store knows, or that is damaged;
        ``where`` is the file.
        """
        if problem := self.vanished() or self.contradiction():
            return replace(problem, where=POINTER)
        return self.damaged_log()

    def vanished(self) -> Problem | None:
        """Return that nothing is left of gold; None where anything is, or nothing was published."""
        known = self.log.own() if self.log else None
        released = [v for v in known.manifests if v not in known.pruned] if known else []
        is_there = self.gold.is_file() or self.gold.versions()
        if not released or is_there or self.gold.pointer_bytes() is not None:
            return None
        newest = sorted(released, key=number)[::-1]
        verb = "was" if len(newest) == 1 else "were"
        do = (
            "mount the disk, or restore gold from a backup; where it is lost for good, annot build "
            f"{self.typed} --gone publishes a new release"
        )
        what = f"{first_of(newest)} {verb} published here, and nothing lies there now"
        return Problem("", what, do=do)

    def refuse_vanished(self) -> None:
        """Make sure that gold is not away.

        Raises
        ------
        StoreError
            Releases were published there, and nothing lies there now.
        """
        if problem := self.vanished():
            raise StoreError(f"{self.gold.location()}: gold is away", [problem])

    def give_up(self) -> list[str]:
        """Accept that what the log knows of gold is lost for good; returns the versions.

        These are all releases where nothing is left of gold, or those in whose place others lie.
        The next release gets a number above theirs.
        """
        if self.log is None:
            return []
        known = self.log.own()
        if known and self.vanished():
            with self.publishing(lambda: None):
                pruned = tuple(sorted(known.manifests, key=number))
                self.point(replace(known, pruned=pruned, pins={}))
            return [v for v in pruned if v not in known.pruned]
        pointer = self.gold.pointer()
        if pointer and known and (versions := replaced(pointer, known, self._log().highest)):
            self.log.abandon([self.log.gold])
            return versions
        return []

    def damaged_log(self) -> Problem | None:
        """Return what is wrong with the store's log of releases; None where it is whole."""
        return self._log().damage

    def contradiction(self) -> Problem | None:
        """Return how the pointer contradicts what the store knows; None where it does not."""
        return self._contradicts_log() or self.lost_number()

    def lost_number(self) -> Problem | None:
        """Return that a newer number was given, where the log is damaged and only notes tell."""
        pointer, log = self.gold.pointer(), self._log()
        if pointer is None or self.log is None or log.damage is None:
            return None
        others = [seen.highest for name, seen in log.golds.items() if name != self.log.gold]
        if log.highest <= max(number(pointer.last), *others, 0):
            return None
        what = (
            f"it names {pointer.version} as the newest release; this store saw "
            f"v{log.highest:04d} published, and {log.damage.where} is damaged"
        )
        do = (
            f"put the newer {POINTER} back; where it is lost, name a version to read, or annot "
            f"build {self.typed}: the next release gets a number above v{log.highest:04d}"
        )
        return Problem("", what, do=do)

    def newest_pointer(self, pointer: Pointer | None) -> Pointer | None:
        """Return the log's pointer where one was put back to an older state; else itself.

        A pointer that knows another release than the log does is returned as it is.
        """
        if pointer is None or self.log is None or self._contradicts_log() is None:
            return pointer
        known = self.log.newest(pointer, {}) or pointer
        agrees = all(known.manifests.get(v) == sha256 for v, sha256 in pointer.manifests.items())
        return known if agrees else pointer

    def refuse_rollback(self) -> None:
        """Make sure that the pointer is as new as the store's log.

        Raises
        ------
        StoreError
            It is older, or knows other releases.
        """
        self._refuse(self._contradicts_log())

    def _log(self) -> LogContent:
        return self.log.read() if self.log else LogContent()

    def _contradicts_log(self) -> Problem | None:
        pointer = self.gold.pointer()
        if self.log is None or pointer is None:
            return None
        known = self.log.newest(pointer, {})
        if known is None:
            return None
        versions = replaced(pointer, known, self._log().highest)
        return self._replaced(versions) if versions else rollback(pointer, known)

    def _replaced(self, versions: Sequence[str]) -> Problem:
        what = f"{first_of(versions)}: another release than the one that this store saw published"
        do = (
            "restore gold from a backup; if gold is right, as after a move to another store, "
            f"annot build {self.typed} --gone accepts it as it is"
        )
        return Problem("", what, do=do)

    def _refuse(self, problem: Problem | None) -> None:
        if problem:
            title = f"{self.gold.location(POINTER)}: contradicts what this store saw published"
            raise StoreError(title, [problem])

    @contextmanager
    def publishing(self, waiting: Callable[[], None]) -> Iterator[None]:
        """Hold the right to publish; ``waiting`` is called if another build has it.

        The kernel gives the right back when a process dies, so there are no stale locks. Who needs
        the store too (`Store.shared_lock`, `Store.exclusive_lock`) takes it first: a stage that
        runs may come here, and two who take them the other way round would wait for ever.

        Raises
        ------
        StoreError
            Gold is a file, holds releases of another campaign, or was put back to an older state:
            nothing is written.
        """
        self.refuse_another()
        with self.gold.write_lock(waiting):
            self.refuse_another()  # the other build may have been the first
            self.refuse_rollback()
            self.gold.tidy()
            yield

    def finish_interrupted(self) -> list[str]:
        """Return point to what a killed build published whole; the right to publish is held.

        Returns
        -------
        list of str
            Folders that lie there as newer releases, but are none: a copy that is not finished, or
            not the child of the newest release. The pointer stays where it is.
        """
        self._restore_pointer()
        pointer = self.gold.pointer()
        if pointer:
            self._note(pointer)  # an earlier build could not, or another machine published
        lost, unfinished = pointer is None, []
        for version in self.gold.versions():
            if number(version) <= (number(pointer.version) if pointer else 0):
                continue
            try:
                sha256 = pointer.manifests.get(version) if pointer else None
                manifest = self.gold.manifest(version, sha256)
            except StoreError:
                unfinished.append(version)
                continue
            parent = (manifest["parent"] or {}).get("version")
            release = self.gold.release(version, manifest, self.typed)
            follows = lost or (pointer is not None and parent in (pointer.version, pointer.last))
            if manifest["version"] != version or not follows or release.damaged():
                unfinished.append(version)
                continue
            self._point_to(version)
            pointer = self.gold.pointer()
        return unfinished

    def next_version(self) -> str:
        """Return the version that the next release gets; a deleted one is not used again."""
        pointer = self.gold.pointer()
        used = {number(v) for v in (*self.gold.used(), *(pointer.manifests if pointer else ()))}
        if self.log:
            used |= self.log.used_numbers()
        return f"v{max(used, default=0) + 1:04d}"

    def feed(self) -> None:
        """Note in the store that it feeds this gold; before settings of a release are kept there.

        Raises
        ------
        OSError
            The store cannot be written.
        """
        if self.log:
            self.log.feed()

    def abandon(self, golds: Sequence[str]) -> None:
        """Forget other gold that the store feeds, by its name in the log."""
        if self.log and golds:
            self.log.abandon(golds)

    def publish(self, version: str, fill: Fill) -> Release:
        """Let ``fill`` write the files and return the manifest; then publish in one step."""
        manifest = self.gold.add(version, fill)
        self._point_to(version)
        return self.gold.release(version, manifest, self.typed)

    def point(self, pointer: Pointer) -> None:
        """Write the pointer while the right to publish is held, and note it if that can be."""
        self.gold.point(pointer)
        self._note(pointer)

    def retracted(self) -> dict[str, Retraction]:
        """Return the releases that are not to be used."""
        pointer = self.gold.pointer()
        return dict(pointer.retracted) if pointer else {}

    def retract(self, version: str, mark: Retraction) -> None:
        """Mark a release as not to be used; the right to publish is held."""
        if pointer := self.gold.pointer():
            self.point(replace(pointer, retracted={**pointer.retracted, version: mark}))

    def set_pins(self, pins: Mapping[str, Pin]) -> None:
        """Replace the pins; the right to publish is held."""
        if pointer := self.gold.pointer():
            self.point(replace(pointer, pins=pins))

    def redact(self, names_person: Callable[[str], bool]) -> None:
        """Leave out reasons of pins and retractions that name a person, in the log as well."""
        if pointer := self.gold.pointer():
            self.point(pointer_without(pointer, names_person))
        if self.log:
            self.log.redact(names_person)

    def gone(self) -> list[str]:
        """Return published releases whose folders are gone, though nobody pruned them."""
        pointer = self.gold.pointer()
        if pointer is None:
            return []
        versions = {*self.gold.versions(), *pointer.pruned}
        return sorted(pointer.manifests.keys() - versions, key=number)

    def strike_off(self, versions: Sequence[str]) -> None:
        """Know releases that are gone as pruned, pinned or not; the right to publish is held."""
        pointer = self.gold.pointer()
        if pointer and versions:
            pins = {v: pin for v, pin in pointer.pins.items() if v not in versions}
            self.point(replace(pointer, pruned=tuple({*pointer.pruned, *versions}), pins=pins))

    def remove(self, versions: Sequence[str]) -> None:
        """Remove releases while the right to publish is held; the pointer goes on knowing them.

        Killed half way, this leaves each release whole or gone.
        """
        pointer = self.gold.pointer()
        if pointer is None or not versions:
            return
        digests = self._lying(versions) | self._known(pointer)
        pruned = tuple({*pointer.pruned, *versions})
        self.point(replace(pointer, manifests=digests, pruned=pruned))
        self.gold.remove(versions)

    def _read(self, version: str, pointer: Pointer) -> Release:
        manifest = self.gold.manifest(version, self._published_sha256(version, pointer))
        self._check_campaign(manifest)
        return self.gold.release(version, manifest, self.typed)

    def _published_sha256(self, version: str, pointer: Pointer) -> str | None:
        """Return the digest of a manifest as pointer and store's log know it; None: neither does.

        Raises
        ------
        StoreError
            The log knows another.
        """
        known = self.log.newest(pointer, {}) if self.log else None
        if known is None:
            return pointer.manifests.get(version)
        if version in replaced(pointer, known, self._log().highest):
            self._refuse(self._replaced([version]))
        return pointer.manifests.get(version) or known.manifests.get(version)

    def _check_campaign(self, manifest: dict[str, Any]) -> None:
        if self.campaign is None or manifest["campaign"] == self.campaign:
            return
        what = f"they are those of {manifest['campaign']!r}; this campaign is {self.campaign!r}"
        do = (
            "give each campaign a gold folder of its own (gold in campaign.yaml, or --set "
            "gold=FOLDER); a campaign that goes on under another name is another one"
        )
        title = f"{self.gold.location()}: holds releases of another campaign"
        raise StoreError(title, [Problem("", what, do=do)])

    def _point_to(self, version: str) -> None:
        before = self.gold.pointer() or self._logged()  # all of gold may be lost
        sha256 = self.gold.manifest_sha256(version)
        if sha256 is None:  # what was there a moment ago
            raise self._missing(version, before)
        digests = self._known(before) | {version: sha256}
        after = Pointer(version, digests)
        if before:
            after = replace(before, version=version, manifests=digests)
        self.point(after)

    def _restore_pointer(self) -> None:
        """Write a pointer that was lost as the log has it; it names the newest that is there."""
        if self.gold.pointer_bytes() is not None or (known := self._logged()) is None:
            return
        for version in reversed(self.gold.published(known)):
            if self.gold.manifest_sha256(version) == known.manifests[version]:
                self.gold.point(replace(known, version=version))
                return

    def _logged(self) -> Pointer | None:
        """Return the pointer that a lost one is restored from; None where the log has none."""
        if self.log is None:
            return None
        return self.log.newest(None, self._lying(self.gold.versions()))

    def _note(self, pointer: Pointer) -> None:
        """Note the pointer. What is published is published: the next build tries again."""
        if self.log is None:
            return
        try:
            self.log.point(pointer)
            self.is_logged = True
        except OSError:
            self.is_logged = False

    def _known(self, pointer: Pointer | None) -> dict[str, str]:
        """Return digests of all manifests; if the pointer is lost, of those in gold."""
        return dict(pointer.manifests) if pointer else self._lying(self.gold.versions())

    def _lying(self, versions: Sequence[str]) -> dict[str, str]:
        """Return digests of the manifests that lie in gold."""
        return {v: sha256 for v in versions if (sha256 := self.gold.manifest_sha256(v))}

    def _missing(self, version: str, pointer: Pointer | None) -> StoreError:
        """Return the error of a release that is not there: what is, and what to do."""
        versions = self.gold.published(pointer)
        gold = self.gold.location()
        title = f"{gold}: no release {version}"
        near = next((folder for folder in self.gold.near() if (folder / POINTER).exists()), None)
        if self.gold.is_file():
            title, what = f"{gold}: is a file", "this is a file, not a folder of releases"
            do = "name a folder with gold or --set gold=FOLDER"
            do = f"releases are in {near}" if near else do
        elif pointer and version in pointer.pruned:
            what, do = "annot prune or forget removed it", f"name {first_of(versions[::-1])}"
            do = do if versions else f"annot build {self.typed} publishes a new one"
        elif pointer and version in pointer.manifests:
            what = "it was published, but its folder does not exist"
            do = "restore it from a backup; older releases can be named, and builds go on"
        elif versions:
            what, do = f"there are {', '.join(versions[-5:])}", "name one of these"
        elif lying := self.gold.versions():
            what = f"{first_of(lying)} lie there, but {POINTER} does not"
            build = f"annot build {self.typed}"
            do = f"copy {POINTER} too; where a build was killed, {build} writes it"
        elif problem := self.vanished():
            title, what, do = f"{gold}: gold is away", problem.what, problem.do
        elif not near and (self.gold.folder / "manifest.json").exists():
            title, what = f"{gold}: is one release", "this is a copy, not a folder of releases"
            do = "read its tables, as labels.parquet, or name the gold that it was copied from"
        else:
            title = f"{gold}: no release yet"
            what, do = "nothing was published here", f"annot build {self.typed} publishes one"
            do = f"releases are in {near}" if near else do
        return StoreError(title, [Problem("", what, do=do)])
