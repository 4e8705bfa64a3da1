"""One published release: its tables are read here alone, their checksums verified."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.storage.files import file_sha256
from annot_pipeline.storage.manifest import COPY_AGAIN, MANIFEST
from annot_pipeline.storage.tables import parse_table


@dataclass(frozen=True)
class Release:
    """A published release: its version, folder, and manifest; the campaign as commands take it."""

    version: str
    folder: Path
    manifest: dict[str, Any]
    campaign: str = "CAMPAIGN"

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
        path, sha256 = self._file(name)
        with self._reading(path):
            data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != sha256:
            raise self._changed(path)
        try:
            return parse_table(data)
        except (pa.ArrowException, OSError) as error:
            problem = Problem("", str(error).split("\n")[0], do=COPY_AGAIN)
            raise StoreError(f"{path}: cannot be read as Parquet", [problem]) from None

    def path(self, name: str) -> Path:
        """The file of a table, its checksum verified; for those who read it in parts.

        Raises
        ------
        StoreError
            As `table` does.
        """
        path, sha256 = self._file(name)
        with self._reading(path):
            found = file_sha256(path)
        if found != sha256:
            raise self._changed(path)
        return path

    @property
    def tables(self) -> dict[str, dict[str, Any]]:
        """What the manifest says of each table."""
        return {table["name"]: table for table in self.manifest["tables"]}

    def damaged(self) -> list[str]:
        """Files that are missing or not the bytes that were published; reads all, 1 GB a second."""
        return [
            name
            for name, sha256 in self.manifest["files"].items()
            if not _has_digest(self.folder / name, sha256)
        ]

    def check(self) -> None:
        """Make sure that all files are as they were published.

        Raises
        ------
        StoreError
            Which are not.
        """
        found = self.damaged()
        if found:
            raise self._changed(self.folder, tuple(found))

    def _file(self, name: str) -> tuple[Path, str]:
        """Where a table should be, and its digest."""
        if name not in self.tables:
            raise StoreError(
                f"{self.folder}: no table {name}",
                [Problem("", "not in this release", allowed=", ".join(self.tables))],
            )
        return self.folder / self.tables[name]["file"], self.tables[name]["sha256"]

    @contextmanager
    def _reading(self, path: Path) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            problem = Problem("", f"{path.name} is missing", do=COPY_AGAIN)
            raise StoreError(f"{self.folder}: half a release", [problem]) from None
        except OSError as error:
            problem = Problem("", error.strerror or str(error), do="mend access to it")
            raise StoreError(f"{path}: cannot be read", [problem]) from None

    def _changed(self, path: Path, names: tuple[str, ...] = ()) -> StoreError:
        do = (
            f"annot verify {self.campaign}; restore {self.version} from a backup, or move its "
            "folder away and build again"
        )
        what = "the checksum differs from the manifest's"
        title = f"{path}: not the bytes that were published"
        return StoreError(title, [Problem("", what, do=do, values=names)])


def _has_digest(path: Path, sha256: str) -> bool:
    try:
        return file_sha256(path) == sha256
    except OSError:
        return False
