"""One release: its manifest, its files against the manifest, its tables against both."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from annot_pipeline.audit.verify.findings import Checked
from annot_pipeline.config.signature import digest
from annot_pipeline.errors import StoreError, first_of
from annot_pipeline.storage.files import TEMPORARY, canonical_json, read_regular, regular
from annot_pipeline.storage.manifest import (
    MANIFEST,
    files_of,
    lying_in,
    parse_manifest,
    stored_table,
)
from annot_pipeline.storage.pointer import POINTER, Pointer, number

RESTORE = "restore the release from a backup"


def verify_release(
    folder: Path, pointer: Pointer | None, checked: Checked
) -> dict[str, Any] | None:
    """Check the release in a folder.

    Parameters
    ----------
    folder
        Named by the release's version.
    pointer
        What latest.json says, if it is as it was written.
    checked
        Takes what is found.

    Returns
    -------
    dict or None
        The manifest, if it can be believed.
    """
    if folder.is_symlink() or not folder.is_dir():
        checked.find(folder, "no ordinary folder: a release is one", RESTORE)
        return None
    manifest = _manifest(folder, pointer, checked)
    if manifest is None:
        return None
    good = _verify_files(folder, manifest, checked)
    for table in manifest["tables"]:
        for entry in files_of(table):
            if manifest["files"].get(entry["file"]) != entry["sha256"]:
                what = f"it has another checksum of {entry['file']} among its files, or none"
                checked.find(folder / MANIFEST, what, RESTORE)
            elif entry["file"] in good:
                _verify_table(folder / entry["file"], table | entry, checked)
        if stored_table(folder, table).sha256 != table["sha256"]:
            what = f"it has another checksum of {table['file']} than its files give"
            checked.find(folder / MANIFEST, what, RESTORE)
    shas = {t["name"]: t["sha256"] for t in manifest["tables"] if t["name"] != "lineage"}
    if digest(shas) != manifest["content_sha256"]:
        what = "content_sha256 is not that of its tables"
        checked.find(folder / MANIFEST, what, RESTORE)
    _verify_parent(folder, manifest, pointer, checked)
    return manifest


def _manifest(folder: Path, pointer: Pointer | None, checked: Checked) -> dict[str, Any] | None:
    path = folder / MANIFEST
    if not checked.is_file(path, RESTORE):
        return None
    try:
        data = read_regular(path)
    except OSError as error:
        checked.unreadable(path, error)
        return None
    checked.files += 1
    checked.bytes += len(data)
    sha256 = pointer.manifests.get(folder.name) if pointer else None
    unchecked = "; its files cannot be checked against it"
    if sha256 and hashlib.sha256(data).hexdigest() != sha256:
        what = f"changed since it was published: {POINTER} knows other bytes{unchecked}"
        checked.find(path, what, RESTORE)
        return None
    try:
        manifest = parse_manifest(data, path)
    except StoreError as error:
        checked.refused(path, error)
        return None
    if canonical_json(manifest) != data:
        checked.find(path, f"changed: not the spelling that was published{unchecked}", RESTORE)
        return None
    if manifest["version"] != folder.name:
        what = f"the manifest of {manifest['version']}, not of {folder.name}"
        checked.find(path, what, RESTORE)
        return None
    if pointer and sha256 is None:
        what = f"{POINTER} does not know it: it was put here, or a build was killed"
        checked.find(folder, what, "if a build was killed, annot build finishes it; else move it")
    return manifest


def _verify_files(folder: Path, manifest: dict[str, Any], checked: Checked) -> set[str]:
    """Check every file of a release, and return the names of intact ones."""
    listed: dict[str, str] = manifest["files"]
    good = set()
    present_files = lying_in(folder, manifest)
    for name in sorted(present_files - listed.keys() - {MANIFEST}):
        passing = " (a write that was killed left it)" if name.startswith(TEMPORARY) else ""
        checked.find(folder / name, f"not in the manifest{passing}", "move it out of the release")
    for name, sha256 in listed.items():
        if not checked.is_file(folder / name, RESTORE):
            continue
        actual = checked.sha256(folder / name)
        if actual == sha256:
            good.add(name)
        elif actual:
            what = f"not the bytes that were published: sha256 {actual}, published {sha256}"
            checked.find(folder / name, what, RESTORE)
    return good


def _verify_table(path: Path, table: dict[str, Any], checked: Checked) -> None:
    """Check rows and columns of a file whose checksum is right: damage can harm the reader."""
    try:
        metadata = pq.read_metadata(regular(path))
        actual = [
            (f.name, str(f.type), f.nullable, (f.metadata or {}).get(b"description", b"").decode())
            for f in metadata.schema.to_arrow_schema()
        ]
    except MemoryError:  # also Arrow's
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        checked.find(path, f"cannot be read as Parquet: {str(error).splitlines()[0]}", RESTORE)
        return
    if metadata.num_rows != table["rows"]:
        what = f"{metadata.num_rows:,} rows; the manifest says {table['rows']:,}"
        checked.find(path, what, RESTORE)
    expected = [(c["name"], c["type"], c["nullable"], c["description"]) for c in table["columns"]]
    if actual != expected:
        names = sorted({column[0] for column in {*actual} ^ {*expected}})
        what = f"columns are not those of the manifest: {first_of(names) or 'their order'}"
        checked.find(path, what, RESTORE)


def _verify_parent(
    folder: Path, manifest: dict[str, Any], pointer: Pointer | None, checked: Checked
) -> None:
    parent = manifest["parent"]
    if parent is None:
        return
    path = folder / MANIFEST
    version, sha256 = parent["version"], parent["manifest_sha256"]
    if number(version) >= number(folder.name):
        checked.find(path, f"its parent {version} is not older", RESTORE)
        return
    parent_sha256 = pointer.manifests.get(version) if pointer else None
    parent_manifest = folder.parent / version / MANIFEST
    if parent_sha256 is None and parent_manifest.is_file():
        parent_sha256 = hashlib.sha256(read_regular(parent_manifest)).hexdigest()
        if parent_sha256 != sha256:
            what = f"changed since it was published: its child {folder.name} knows other bytes"
            checked.find(parent_manifest, what, RESTORE)
    elif parent_sha256 is None:
        what = f"its parent {version} is not there, and {POINTER} does not know it"
        checked.find(path, what, "restore the parent, or latest.json, from a backup")
    elif parent_sha256 != sha256:
        _find_replaced(parent_manifest, sha256, folder.name, pointer, checked)


def _find_replaced(
    manifest: Path, sha256: str, child: str, pointer: Pointer | None, checked: Checked
) -> None:
    """Note which file contradicts the child, whose manifest is as ``latest.json`` knows it.

    Parameters
    ----------
    manifest
        Of the parent; ``latest.json`` knows other bytes of it than the child.
    sha256
        Digest of it that the child names.
    """
    version, latest = manifest.parent.name, manifest.parent.parent / POINTER
    if pointer and version in pointer.pruned:
        what = f"it has another digest of {version}, which was pruned, than its child {child}"
        checked.find(latest, what, f"restore {POINTER} from a backup")
    elif manifest.is_file() and hashlib.sha256(read_regular(manifest)).hexdigest() == sha256:
        what = f"it has another digest of {version} than its child {child}, which agrees with it"
        checked.find(latest, what, f"restore {POINTER} from a backup")
    else:
        what = f"replaced since its child {child} was published, which knows other bytes"
        checked.find(manifest, what, f"restore {version} and {POINTER} from a backup")
