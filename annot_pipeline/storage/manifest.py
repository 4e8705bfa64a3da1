"""manifest.json of a release, read with care: it says which files to open.

A release may come from another machine, half copied, edited, or written by a newer program.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from annot_pipeline.contracts import SCHEMA_VERSION
from annot_pipeline.errors import Problem, StoreError, shorten
from annot_pipeline.storage.pointer import SHA256, VERSION

MANIFEST = "manifest.json"
COPY_AGAIN = "copy the whole folder again, or restore a backup"


def _plain(name: str) -> str:
    if not name or name in (".", "..") or any(c in name for c in "/\\\0"):
        raise ValueError("no plain file name: a release names files of its own folder alone")
    return name


PlainName = Annotated[str, AfterValidator(_plain)]
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
    sha256: Digest
    bytes: Count


class _Column(_Part):
    name: str
    type: str
    nullable: bool
    description: str


class _Table(_Part):
    name: PlainName
    file: PlainName
    sha256: Digest
    rows: Count
    columns: list[_Column]


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
    files: dict[PlainName, Digest]
    checks: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    facts: dict[str, Any]
    changes: dict[str, Any] | None


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
        data = path.read_bytes()
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
    return f"{shorten(found['input'])}: {found['msg'].removeprefix('Value error, ')}"
