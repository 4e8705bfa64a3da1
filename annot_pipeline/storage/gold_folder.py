"""Gold as a folder: a folder a release, and the pointer. How releases lie there, not which follow.

Which release follows which, and whether it may be published, is for `releases.Releases`.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from annot_pipeline.storage import files
from annot_pipeline.storage.locks import LOCK, exclusive_lock
from annot_pipeline.storage.manifest import MANIFEST, read_manifest
from annot_pipeline.storage.pointer import (
    POINTER,
    VERSION,
    Pointer,
    number,
    parse_pointer,
    pointer_bytes,
    write_pointer,
)
from annot_pipeline.storage.release import Release

UNFINISHED = re.compile(
    rf"{re.escape(files.TEMPORARY)}({VERSION.pattern}|{re.escape(POINTER)})-\d+(-\w+)?"
)
"""Names of releases and pointers that are being written, or removed."""

Fill = Callable[[Path], dict[str, Any]]
"""Writes the files of a release into a folder, and returns its manifest."""


class GoldFolder:
    """The folder of the releases.

    Parameters
    ----------
    folder
        The folder; it need not be there.
    """

    setting = "gold"
    """The setting that says where the folder is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def location(self, name: str = "") -> str:
        """Return where something is, for messages."""
        return str(self.folder / name)

    def is_file(self) -> bool:
        """Return whether it is no folder at all."""
        return self.folder.exists() and not self.folder.is_dir()

    def pointer_bytes(self) -> bytes | None:
        """Return the bytes of latest.json; None where there is none."""
        return pointer_bytes(self.folder)

    def pointer(self) -> Pointer | None:
        """Return what latest.json says; None where nothing was published.

        Raises
        ------
        StoreError
            It is not as it was written, or cannot be read.
        """
        data = self.pointer_bytes()
        return None if data is None else parse_pointer(data, self.location(POINTER))

    def point(self, pointer: Pointer) -> None:
        """Write latest.json, in one step."""
        write_pointer(self.folder, pointer)

    def versions(self) -> list[str]:
        """Return versions that lie there, oldest first, also what is not published."""
        names = [p.name for p in self.folder.iterdir()] if self.folder.is_dir() else []
        return sorted((n for n in names if VERSION.fullmatch(n)), key=number)

    def published(self, pointer: Pointer | None) -> list[str]:
        """Return versions that lie there and are published, oldest first."""
        return [v for v in self.versions() if pointer.names(v)] if pointer else []

    def may_be_releases(self, pointer: Pointer | None) -> list[str]:
        """Return versions that are published, or newer ones that a build may finish."""
        if pointer is None:
            return self.versions()
        newest = number(pointer.version)
        return [v for v in self.versions() if pointer.names(v) or number(v) > newest]

    def used(self) -> list[str]:
        """Return versions that no new release may get, of those that lie there."""
        return self.versions()

    def manifest(self, version: str, sha256: str | None) -> dict[str, Any]:
        """Return the manifest of a version; see `read_manifest`."""
        return read_manifest(self.folder / version, sha256)

    def manifest_sha256(self, version: str) -> str | None:
        """Return the digest of a version's manifest as it lies there; None where there is none."""
        path = self.folder / version / MANIFEST
        return files.file_sha256(path) if path.is_file() else None

    def release(self, version: str, manifest: dict[str, Any], typed: str) -> Release:
        """Return the release of a manifest."""
        return Release(version, self.folder / version, manifest, typed)

    @contextmanager
    def write_lock(self, waiting: Callable[[], None]) -> Iterator[None]:
        """Hold the right to write; ``waiting`` is called if another process has it.

        Raises
        ------
        StoreError
            Another process has had it for too long.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with exclusive_lock(self.folder / LOCK, waiting):
            yield

    def tidy(self) -> None:
        """Remove what killed builds left; the right to write is held.

        Only what bears exactly such a name: gold may lie in a folder with other things.
        """
        for path in self.folder.glob(f"{files.TEMPORARY}*"):
            if UNFINISHED.fullmatch(path.name):
                files.remove(path)

    def add(self, version: str, fill: Fill) -> dict[str, Any]:
        """Let ``fill`` make a release, which appears whole or not at all; its manifest."""
        with files.atomic_directory(self.folder / version) as folder:
            manifest = fill(folder)
            (folder / MANIFEST).write_bytes(files.canonical_json(manifest))
        return manifest

    def remove(self, versions: Sequence[str]) -> None:
        """Remove releases; killed half way, this leaves each whole or gone."""
        for version in versions:
            gone = self.folder / f"{files.TEMPORARY}{version}-{os.getpid()}"
            os.rename(self.folder / version, gone)
            shutil.rmtree(gone)

    def size(self, version: str) -> int:
        """Return bytes of a release."""
        return sum(path.lstat().st_size for path in (self.folder / version).rglob("*"))

    def strangers(self, pointer: Pointer | None) -> dict[str, str]:
        """Return the names of what is neither a release nor written by builds, and what each is."""
        expected = (POINTER, *self.may_be_releases(pointer))
        return {
            entry.name: "no release, nor anything else that is written here"
            for entry in sorted(self.folder.iterdir())
            if not entry.name.startswith(".")
            and (entry.name not in expected or (entry.name != POINTER and not entry.is_dir()))
        }

    @contextmanager
    def as_stored(self, version: str) -> Iterator[Path]:
        """Yield a folder with the very bytes of a release that readers get."""
        yield self.folder / version

    def near(self) -> list[Path]:
        """Return folders that may have been meant, where nothing is here."""
        if self.is_file():
            return [self.folder.parent.parent, self.folder.parent]
        return [self.folder.parent, self.folder / "gold"]
