"""manifest.json of a release, read with care: it says which files to open.

A release may come from another machine, half copied, edited, or written by a newer program.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from annot_pipeline.contracts import SCHEMA_VERSION
from annot_pipeline.errors import Problem, StoreError, shorten
from annot_pipeline.storage.files import read_regular
from annot_pipeline.storage.pointer import SHA256, VERSION
from annot_pipeline.storage.tables import StoredTable, TableFile

MANIFEST = "manifest.json"
COPY_AGAIN = "copy the whole folder again, or restore a backup"


def _plain(name: str) -> str:
    if not name or name in (".", "..") or any(c in name for c in "/\\\0"):
        raise ValueError("no plain file name: a release names files of its own folder alone")
    return name


def _of_release(name: str) -> str:
    folder, slash, file = name.partition("/")
    return f"{_plain(folder)}/{_plain(file)}" if slash else _plain(name)


PlainName = Annotated[str, AfterValidator(_plain)]
FileName = Annotated[str, AfterValidator(_of_release)]
"""A file of a release, or one in the folder of a table that lies in several."""
Digest = Annotated[str, Field(pattern=f"^{SHA256.pattern}$")]
Version = Annotated[str, Field(pattern=f"^{VERSION.pattern}$")]
Count = Annotated[int, Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _Parent(_Part):
    version: Version
    manifest_sha256: Digest


class _Export(_Part):
    kind: str
    name: str
    sha256: Digest | None = None  # of schema 3 and before
    source_digest: Digest | None = None
    bytes: Count

    @model_validator(mode="after")
    def _has_a_digest(self) -> Self:
        if not (self.sha256 or self.source_digest):
            raise ValueError("source_digest is missing")
        return self


class _Column(_Part):
    name: str
    type: str
    nullable: bool
    description: str


class _File(_Part):
    file: FileName
    sha256: Digest
    bytes: Count
    rows: Count


class _Table(_Part):
    name: PlainName
    file: PlainName
    files: list[_File] = Field(default_factory=list)
    sha256: Digest
    rows: Count
    columns: list[_Column]

    @model_validator(mode="after")
    def _files_are_in_its_folder(self) -> Self:
        for of in self.files:
            if of.file.partition("/")[0] != self.file:
                raise ValueError(f"a table in several files has them in its folder, {self.file}")
        if self.files and sum(of.rows for of in self.files) != self.rows:
            raise ValueError("its files hold other rows in all than the table")
        if self.files and stored_table(Path(), self.model_dump()).sha256 != self.sha256:
            raise ValueError("its checksum is not that of its files")
        return self


class _Manifest(_Part):
    """What every schema has had; more is allowed."""

    campaign: str
    version: Version
    parent: _Parent | None
    created_at: str
    content_sha256: Digest
    code: dict[str, str]
    packages: dict[str, str]
    settings: dict[str, Any]
    settings_hash: str
    signature: str
    sources: list[_Export]
    tables: list[_Table]
    files: dict[FileName, Digest]
    checks: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    facts: dict[str, Any]
    changes: dict[str, Any] | None

    @model_validator(mode="after")
    def _folders_are_of_tables(self) -> Self:
        listed = {of.file for table in self.tables for of in table.files}
        for name in {*self.files, *listed}:
            if "/" in name and name not in listed:
                raise ValueError(f"{shorten(name)} is in the folder of no table")
        return self


def read_manifest(folder: Path, sha256: str | None = None) -> dict[str, Any]:
    """The manifest of the release in a folder.

    Parameters
    ----------
    folder
        The release's folder, named by its version.
    sha256
        Digest of the manifest, as the pointer knows it; None: unknown.

    Raises
    ------
    StoreError
        It is missing, not as it was published, of another release, or of a newer schema.
    """
    path = folder / MANIFEST
    try:
        data = read_regular(path)
    except FileNotFoundError:
        problem = Problem("", f"{MANIFEST} is missing", do=COPY_AGAIN)
        raise StoreError(f"{folder}: half a release", [problem]) from None
    except OSError as error:
        problem = Problem("", error.strerror or str(error), do="mend access to it")
        raise StoreError(f"{path}: cannot be read", [problem]) from None
    return verified_manifest(data, folder.name, sha256, path)


def verified_manifest(
    data: bytes, version: str, sha256: str | None, path: Path | str
) -> dict[str, Any]:
    """The manifest of a version that some bytes are; parameters and errors of `read_manifest`."""
    if sha256 and hashlib.sha256(data).hexdigest() != sha256:
        what = "the checksum differs from that in latest.json"
        problem = Problem("", what, do="restore the release from a backup")
        raise StoreError(f"{path}: not the bytes that were published", [problem])
    manifest = parse_manifest(data, path)
    if manifest["version"] != version:
        what = f"it is the manifest of {manifest['version']}"
        problem = Problem("", what, do="give the folder its name back, or restore a backup")
        raise StoreError(f"{path}: not this release's", [problem])
    return manifest


def parse_manifest(data: bytes, path: Path | str) -> dict[str, Any]:
    """The manifest that some bytes are; ``path`` says in messages where they stand.

    Raises
    ------
    StoreError
        They are none, or one of a newer schema.
    """
    damaged, do = f"{path}: damaged", "restore the release from a backup"
    try:
        manifest = json.loads(data)
        schema = manifest["schema_version"]
        if not isinstance(schema, int):
            raise TypeError(schema)
    except (ValueError, KeyError, TypeError, RecursionError):
        problem = Problem("", "it is not the JSON of a manifest", do=do)
        raise StoreError(damaged, [problem]) from None
    if schema > SCHEMA_VERSION:
        what = f"it has schema {schema}; this one reads up to {SCHEMA_VERSION}"
        problem = Problem("", what, do="upgrade: pip install --upgrade annot-pipeline")
        raise StoreError(f"{path}: written by a newer annot-pipeline", [problem])
    try:
        _Manifest.model_validate(manifest)
    except ValidationError as error:
        problems = [
            Problem(".".join(map(str, found["loc"])), _words(found), do=do)
            for found in error.errors(include_url=False)[:5]
        ]
        raise StoreError(damaged, problems) from None
    result: dict[str, Any] = manifest
    return result


def _words(found: Any) -> str:
    if found["type"] == "missing":
        return "is missing"
    said: str = found["msg"].removeprefix("Value error, ")
    return said if isinstance(found["input"], dict) else f"{shorten(found['input'])}: {said}"


def files_of(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The files of a table: ``file``, ``sha256``, ``bytes``, ``rows`` of each, in order.

    Parameters
    ----------
    table
        What the manifest says of it; ``files`` where it lies in several.
    """
    one = {name: table[name] for name in ("file", "sha256", "bytes", "rows") if name in table}
    return list(table.get("files") or [one])


def stored_table(folder: Path, table: Mapping[str, Any]) -> StoredTable:
    """A table of the release in a folder."""
    return StoredTable(
        tuple(TableFile(folder / f["file"], f["sha256"], f["rows"]) for f in files_of(table))
    )


def written_in(folder: Path) -> dict[str, Path]:
    """The files of a release in the making, by name; of a table in several, ``table/file``."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in files}


def lying_in(folder: Path, manifest: Mapping[str, Any]) -> set[str]:
    """Names of all that lies in the folder of a release, and in those of tables in several files.

    Parameters
    ----------
    manifest
        Its ``files`` tell which folders are of tables.
    """
    of_tables = {name.partition("/")[0] for name in manifest["files"] if "/" in name}
    found = set()
    for path in folder.iterdir():
        if path.name in of_tables and path.is_dir() and not path.is_symlink():
            found |= {f"{path.name}/{of.name}" for of in path.iterdir()}
        else:
            found.add(path.name)
    return found
