"""Releases on disk: immutable folders, one pointer, published in one step.

A reader sees the old release or the new one, never a mixture: a release is written under a
temporary name, synced, renamed, and only then named by ``latest.json``. A build that was
killed between rename and pointer left a whole release; the next build points to it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.storage.files import (
    appearing,
    canonical_json,
    file_sha256,
    read_json,
    remove_unfinished,
    write_json,
)

POINTER = "latest.json"
MANIFEST = "manifest.json"
VERSION = re.compile(r"v(\d{4,})")


@dataclass(frozen=True)
class Release:
    """A published release: its version, folder, and manifest."""

    version: str
    folder: Path
    manifest: dict[str, Any]

    @property
    def manifest_sha256(self) -> str:
        """Digest of the manifest's bytes, which a child release names."""
        return file_sha256(self.folder / MANIFEST)

    def table(self, name: str) -> pa.Table:
        """A table, its checksum verified.

        Raises
        ------
        StoreError
            There is no such table, or its bytes are not those that were published.
        """
        tables = {table["name"]: table for table in self.manifest["tables"]}
        if name not in tables:
            raise StoreError(
                f"{self.folder}: no table {name}",
                [Problem("", "not in this release", allowed=", ".join(tables))],
            )
        path = self.folder / tables[name]["file"]
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != tables[name]["sha256"]:
            raise StoreError(
                f"{path}: not the bytes that were published",
                [
                    Problem(
                        "", "the checksum differs from the manifest's", do="annot verify CAMPAIGN"
                    )
                ],
            )
        return pq.read_table(pa.BufferReader(data))


class Releases:
    """The releases of one campaign."""

    def __init__(self, gold: Path) -> None:
        self.gold = gold

    def versions(self) -> list[str]:
        """Published versions, oldest first; one that nothing points to yet is not listed."""
        latest = self._pointed()
        if latest is None:
            return []
        return [v for v in self._folders() if _number(v) <= _number(latest)]

    def get(self, version: str = "latest") -> Release:
        """A release by version.

        Raises
        ------
        StoreError
            There is none, with those that there are.
        """
        versions = self.versions()
        wanted = (versions[-1] if versions else None) if version == "latest" else version
        if wanted is None or wanted not in versions:
            there = f"there are {', '.join(versions[-5:])}" if versions else "there is none yet"
            do = "annot build CAMPAIGN publishes one" if not versions else "name one of these"
            for other in (self.gold.parent, self.gold / "gold"):
                if not versions and (other / POINTER).exists():
                    do = f"releases lie in {other}"
            raise StoreError(f"{self.gold}: no release {version}", [Problem("", there, do=do)])
        folder = self.gold / wanted
        return Release(wanted, folder, read_json(folder / MANIFEST))

    def latest(self) -> Release | None:
        """The newest release, if any."""
        return self.get() if self.versions() else None

    @contextmanager
    def publishing(self, waiting: Callable[[], None]) -> Iterator[None]:
        """Hold the right to publish; ``waiting`` is called if another build has it.

        The kernel gives the right back when a process dies, so there are no stale locks.
        """
        self.gold.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.gold, os.O_RDONLY)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            remove_unfinished(self.gold)
            self._finish_interrupted()
            yield
        finally:
            os.close(descriptor)

    def next_version(self) -> str:
        """The version that the next release gets."""
        used = [*self._folders(), self._pointed() or ""]  # a deleted version is not used again
        return f"v{max(map(_number, used)) + 1:04d}"

    def publish(self, version: str, fill: Callable[[Path], dict[str, Any]]) -> Release:
        """Let ``fill`` write the files and return the manifest; then publish in one step."""
        target = self.gold / version
        with appearing(target) as folder:
            manifest = fill(folder)
            (folder / MANIFEST).write_bytes(canonical_json(manifest))
        self._point_to(version)
        return Release(version, target, manifest)

    def _point_to(self, version: str) -> None:
        sha256 = file_sha256(self.gold / version / MANIFEST)
        write_json(self.gold / POINTER, {"version": version, "manifest_sha256": sha256})

    def _finish_interrupted(self) -> None:
        pointed = self._pointed()
        for version in self._folders():
            newer = pointed is None or _number(version) > _number(pointed)
            if newer and (self.gold / version / MANIFEST).exists():
                self._point_to(version)
                pointed = version

    def _pointed(self) -> str | None:
        try:
            version: str = read_json(self.gold / POINTER)["version"]
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            raise StoreError(
                f"{self.gold / POINTER}: damaged",
                [Problem("", "it does not name a release", do="delete it, and build again")],
            ) from None
        return version

    def _folders(self) -> list[str]:
        names = [p.name for p in self.gold.iterdir()] if self.gold.is_dir() else []
        return sorted((n for n in names if VERSION.fullmatch(n)), key=_number)


def _number(version: str) -> int:
    match = VERSION.fullmatch(version)
    return int(match[1]) if match else 0
