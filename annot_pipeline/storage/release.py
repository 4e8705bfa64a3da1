"""One published release: its tables are read here alone, their checksums verified."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from annot_pipeline.errors import Problem, StoreError, first_of
from annot_pipeline.storage.files import file_sha256, read_regular, regular
from annot_pipeline.storage.manifest import COPY_AGAIN, MANIFEST, files_of, lying_in
from annot_pipeline.storage.tables import StoredTable, TableFile, parse_table


class DamagedError(StoreError):
    """Files of a release are missing, or not those that were published."""


@dataclass(frozen=True)
class Release:
    """A published release: its version, folder, and manifest; the campaign as commands take it."""

    version: str
    folder: Path
    manifest: dict[str, Any]
    campaign: str = "CAMPAIGN"

    @property
    def manifest_sha256(self) -> str:
        """Return the digest of the manifest's bytes, which a child release names."""
        return file_sha256(self.folder / MANIFEST)

    @property
    def location(self) -> str:
        """Return where it is, for messages."""
        return str(self.folder)

    def file(self, name: str) -> Path:
        """Return where a file of the release can be read.

        Its checksum is for the reader to verify.
        """
        return self.folder / name

    def table(self, name: str) -> pa.Table:
        """Return a table; its checksum is verified.

        Raises
        ------
        StoreError
            There is no such table, or its bytes are not those that were published.
        """
        parts = [self._read(entry) for entry in self._files(name)]
        for entry, part in zip(self._files(name), parts, strict=True):
            self._check_columns(entry["file"], part.schema, parts[0].schema)
        return pa.concat_tables(parts)

    def _read(self, entry: Mapping[str, Any]) -> pa.Table:
        file = entry["file"]
        with self._reading(file):
            data = read_regular(self.file(file))
        if hashlib.sha256(data).hexdigest() != entry["sha256"]:
            raise self._changed(f"{self.location}/{file}")
        try:
            return parse_table(data)
        except pa.ArrowMemoryError:
            raise
        except (pa.ArrowException, OSError) as error:
            problem = Problem("", str(error).split("\n")[0], do=COPY_AGAIN)
            raise StoreError(
                f"{self.location}/{file}: cannot be read as Parquet", [problem]
            ) from None

    def stored(self, name: str) -> StoredTable:
        """Return the files of a table, their checksums verified, to read it in parts.

        Raises
        ------
        StoreError
            As `table` does.
        """
        files = []
        for entry in self._files(name):
            with self._reading(entry["file"]):
                path = self.file(entry["file"])
                digest = file_sha256(path)
            if digest != entry["sha256"]:
                raise self._changed(f"{self.location}/{entry['file']}")
            files.append(TableFile(path, digest, entry["rows"]))
        if len(files) > 1:
            schemas = [pq.read_schema(regular(file.path)) for file in files]
            for entry, schema in zip(self._files(name), schemas, strict=True):
                self._check_columns(entry["file"], schema, schemas[0])
        return StoredTable(tuple(files))

    def _check_columns(self, file: str, schema: pa.Schema, first: pa.Schema) -> None:
        """Make sure that files of one table have the same columns."""
        if not schema.equals(first):
            what = "its columns are not those of the table's first file"
            problem = Problem("", what, do=COPY_AGAIN)
            raise StoreError(f"{self.location}/{file}: not of this table", [problem])

    @property
    def tables(self) -> dict[str, dict[str, Any]]:
        """Return what the manifest says of each table."""
        return {table["name"]: table for table in self.manifest["tables"]}

    def damaged(self) -> list[str]:
        """Return files that are missing or not the bytes that were published.

        Reads all, 1 GB a second.
        """
        return [
            name
            for name, sha256 in self.manifest["files"].items()
            if not has_digest(self.folder / name, sha256)
        ]

    def check(self) -> None:
        """Make sure that all files are as they were published.

        Raises
        ------
        StoreError
            Which are not.
        """
        damaged = self.damaged()
        missing = [name for name in damaged if not self._is_there(name)]
        if missing:
            raise self._half(first_of(missing))
        if damaged:
            raise self._changed(self.location, tuple(damaged))
        if self.strangers():
            do = f"move it elsewhere; annot verify {self.campaign} checks the rest"
            problem = Problem("", "not of this release", do=do, values=tuple(self.strangers()))
            raise DamagedError(f"{self.location}: holds what was not published", [problem])

    def strangers(self) -> list[str]:
        """Return what lies there and is not of the release.

        Names that begin with a dot, as desktops leave them, stop no build; `annot verify` names
        them too.
        """
        names = self._lying() - {MANIFEST, *self.manifest["files"]}
        return sorted(name for name in names if not name.rpartition("/")[2].startswith("."))

    def _is_there(self, name: str) -> bool:
        return (self.folder / name).exists()

    def _lying(self) -> set[str]:
        return lying_in(self.folder, self.manifest)

    def _files(self, name: str) -> list[dict[str, Any]]:
        """Return what the manifest says of the files of a table."""
        if name not in self.tables:
            raise StoreError(
                f"{self.location}: no table {name}",
                [Problem("", "not in this release", allowed=", ".join(self.tables))],
            )
        return files_of(self.tables[name])

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise self._half(name) from None
        except OSError as error:
            problem = Problem("", error.strerror or str(error), do="restore access to it")
            raise StoreError(f"{self.folder / name}: cannot be read", [problem]) from None

    def _half(self, name: str) -> DamagedError:
        problem = Problem("", f"{name} is missing", do=f"read the newest release, or {COPY_AGAIN}")
        return DamagedError(f"{self.location}: half a release", [problem])

    def _changed(self, location: str, names: tuple[str, ...] = ()) -> DamagedError:
        do = (
            f"annot verify {self.campaign}; restore {self.version} from a backup, or move its "
            "folder away and build again"
        )
        what = "the checksum differs from the manifest's"
        title = f"{location}: not the bytes that were published"
        return DamagedError(title, [Problem("", what, do=do, values=names)])


def has_digest(path: Path, sha256: str) -> bool:
    """Return whether a file is there, and has this SHA-256."""
    try:
        return file_sha256(path) == sha256
    except OSError:
        return False
