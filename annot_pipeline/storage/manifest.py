"""manifest.json of a release, read with care: it says which files to open.

A release may come from another machine, half copied, edited, or written by a newer program.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from annot_pipeline.bounded_json import parse_bounded_json
from annot_pipeline.contracts import SCHEMA_VERSION
from annot_pipeline.errors import Problem, StoreError, shorten
from annot_pipeline.storage.files import read_document
from annot_pipeline.storage.manifest_model import ManifestModel, unusable_value
from annot_pipeline.storage.tables import StoredTable, TableFile

MANIFEST = "manifest.json"
COPY_AGAIN = "copy the whole folder again, or restore a backup"


def read_manifest(folder: Path, sha256: str | None = None) -> dict[str, Any]:
    """Return the manifest of the release in a folder.

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
        data = read_document(path)
    except FileNotFoundError:
        problem = Problem("", f"{MANIFEST} is missing", do=COPY_AGAIN)
        raise StoreError(f"{folder}: half a release", [problem]) from None
    except OSError as error:
        problem = Problem("", error.strerror or str(error), do="restore access to it")
        raise StoreError(f"{path}: cannot be read", [problem]) from None
    return verified_manifest(data, folder.name, sha256, path)


def verified_manifest(
    data: bytes, version: str, sha256: str | None, path: Path | str
) -> dict[str, Any]:
    """Return the manifest of a version that some bytes are.

    Parameters and errors of `read_manifest`.
    """
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
    """Parse the bytes of a manifest; ``path`` is named in messages.

    Raises
    ------
    StoreError
        They are none, or one of a newer schema.
    """
    damaged, do = f"{path}: damaged", "restore the release from a backup"
    try:
        manifest = parse_bounded_json(data)
        schema = manifest["schema_version"]
        if not isinstance(schema, int) or isinstance(schema, bool):
            raise TypeError(schema)
    except (ValueError, KeyError, TypeError):
        problem = Problem("", "it is not the JSON of a manifest", do=do)
        raise StoreError(damaged, [problem]) from None
    if schema > SCHEMA_VERSION:
        what = f"it has schema {schema}; this one reads up to {SCHEMA_VERSION}"
        problem = Problem("", what, do="upgrade: pip install --upgrade annot-pipeline")
        raise StoreError(f"{path}: written by a newer annot-pipeline", [problem])
    if unusable := unusable_value(manifest):
        raise StoreError(damaged, [Problem(*unusable, do=do)])
    try:
        ManifestModel.model_validate(manifest)
    except ValidationError as error:
        problems = [
            Problem(".".join(map(str, details["loc"])), _words(details), do=do)
            for details in error.errors(include_url=False)[:5]
        ]
        raise StoreError(damaged, problems) from None
    result: dict[str, Any] = manifest
    return result


def _words(details: Any) -> str:
    if details["type"] == "missing":
        return "is missing"
    message: str = details["msg"].removeprefix("Value error, ")
    return (
        message if isinstance(details["input"], dict) else f"{shorten(details['input'])}: {message}"
    )


def files_of(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the files of a table: ``file``, ``sha256``, ``bytes``, ``rows`` of each, in order.

    Parameters
    ----------
    table
        What the manifest says of it; ``files`` where it lies in several.
    """
    one = {name: table[name] for name in ("file", "sha256", "bytes", "rows") if name in table}
    return list(table.get("files") or [one])


def stored_table(folder: Path, table: Mapping[str, Any]) -> StoredTable:
    """Return a table of the release in a folder."""
    return StoredTable(
        tuple(TableFile(folder / f["file"], f["sha256"], f["rows"]) for f in files_of(table))
    )


def written_in(folder: Path) -> dict[str, Path]:
    """Return the files of a release in the making, by name.

    Of a table in several, ``table/file``.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in files}


def lying_in(folder: Path, manifest: Mapping[str, Any]) -> set[str]:
    """Return the names in the folder of a release, and in those of tables in several files.

    Parameters
    ----------
    manifest
        Its ``files`` tell which folders are of tables.
    """
    of_tables = {name.partition("/")[0] for name in manifest["files"] if "/" in name}
    names = set()
    for path in folder.iterdir():
        if path.name in of_tables and path.is_dir() and not path.is_symlink():
            names |= {f"{path.name}/{entry.name}" for entry in path.iterdir()}
        else:
            names.add(path.name)
    return names
