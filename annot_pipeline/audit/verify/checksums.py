"""The bytes of a release and of the archive against what was published, and what was found.

Of one release: its manifest, its files against the manifest, its tables against both. Of the raw
archive: every file's bytes against its name, every release's exports against both.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from annot_pipeline.config.signature import digest
from annot_pipeline.errors import StoreError, counted, first_of, printable
from annot_pipeline.stages.build import Progress
from annot_pipeline.storage.archive import archived
from annot_pipeline.storage.files import (
    TEMPORARY,
    canonical_json,
    file_sha256,
    read_regular,
    regular,
)
from annot_pipeline.storage.manifest import (
    MANIFEST,
    files_of,
    lying_in,
    parse_manifest,
    stored_table,
)
from annot_pipeline.storage.manifest_changes import source_digest
from annot_pipeline.storage.pointer import POINTER, SHA256, Pointer, number
from annot_pipeline.storage.source_digests import SourceDigests

RESTORE = "restore the release from a backup"
LARGE = 1 << 28
"""Bytes from which reading a file is worth a word."""


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it was published: which file, what, what to do."""

    file: str
    what: str
    do: str = ""


@dataclass
class Checked:
    """Findings, and the files and bytes whose checksums were computed."""

    progress: Progress
    files: int = 0
    bytes: int = 0
    findings: list[Finding] = field(default_factory=list)

    def find(self, path: Path | str, what: str, do: str = RESTORE) -> None:
        """Note what is wrong with a file."""
        self.findings.append(Finding(str(path), what, do))

    def refused(self, path: Path | str, error: StoreError) -> None:
        """Record an error from reading a file."""
        problems = [f"{p.where}: {p.what}" if p.where else p.what for p in error.problems]
        what = error.title.removeprefix(f"{path}: ").removeprefix(f"{os.path.dirname(path)}: ")
        self.find(path, f"{what}: {'; '.join(problems)}", error.problems[0].do)

    def rename(self, folder: Path, location: str) -> None:
        """Replace a folder by its published location in findings, if it was checked elsewhere."""
        self.findings = [
            replace(finding, file=location + finding.file.removeprefix(str(folder)))
            if Path(finding.file).is_relative_to(folder)
            else finding
            for finding in self.findings
        ]

    def is_found(self, location: str) -> bool:
        """Return whether there is a finding at a location, or below it."""
        return any(
            finding.file == location or finding.file.startswith(f"{location}/")
            for finding in self.findings
        )

    def unreadable(self, path: Path, error: OSError) -> None:
        """Note a file whose bytes cannot be had."""
        what = f"cannot be read: {error.strerror or error}"
        self.find(path, what, "restore access, or check the disk")

    def is_file(self, path: Path, missing: str = RESTORE) -> bool:
        """Return whether a file is there, and no link to another; if not, a finding."""
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            self.find(path, "missing", missing)
            return False
        if stat.S_ISREG(mode):
            return True
        what = "a link: its bytes are elsewhere" if stat.S_ISLNK(mode) else "no ordinary file"
        self.find(path, what, missing)
        return False

    def sha256(self, path: Path) -> str | None:
        """Return the digest of a file's bytes, read piece by piece.

        None, with a finding, if unreadable.
        """
        try:
            size = path.stat().st_size
            if size >= LARGE:
                self.progress(f"reading {path}: {size:,} bytes")
            digest = file_sha256(path)
        except OSError as error:
            self.unreadable(path, error)
            return None
        self.files += 1
        self.bytes += size
        return digest

    def document(self) -> dict[str, Any]:
        """Return the JSON document."""
        findings = [asdict(finding) for finding in self.findings]
        return {"files": self.files, "bytes": self.bytes, "findings": findings}


RESTORE_EXPORT = (
    "restore it from a backup; while the export is still in its place, annot build does"
)
UNKNOWN = "verify where the store and its key are, or restore them from a backup"
DELETE = f"delete it, then {RESTORE_EXPORT}"


def verify_archive(
    archive: Path,
    manifests: Mapping[str, dict[str, Any]],
    digests: SourceDigests,
    checked: Checked,
    *,
    whole: bool,
) -> None:
    """Check the archived bytes that releases were made from.

    Parameters
    ----------
    archive
        The archive's folder.
    manifests
        Of the releases checked, by version.
    digests
        Tells which archived bytes a published digest stands for.
    checked
        Takes what is found.
    whole
        Whether to check what no release names too.
    """
    required_files: dict[str, dict[tuple[str, str], int]] = {}
    unknown: dict[str, list[str]] = {}
    for version, manifest in manifests.items():
        for export in manifest["sources"]:
            sha256 = digests.sha256(source_digest(export))
            if sha256 is None:
                unknown.setdefault(version, []).append(export["name"])
                continue
            required_files.setdefault(sha256, {})[version, export["name"]] = export["bytes"]
    for version, names in unknown.items():
        what = (
            f"cannot be checked: {counted(len(names), 'export')} of {version} "
            f"({first_of(sorted(map(printable, names)))}): neither the archive nor the store's "
            "digests know the bytes that their keyed digests stand for"
        )
        checked.find(archive, what, UNKNOWN)
    checked.progress(f"archive: exports that releases need: {len(required_files):,}")
    for sha256, by in required_files.items():
        _verify_export(archived(archive, sha256), by, checked)
    if whole:
        for path in _unnamed_files(archive, required_files):
            name = path.name
            if not SHA256.fullmatch(name) or path != archived(archive, name):
                checked.find(path, "no archived export: its name is no checksum", "move it away")
            elif checked.is_file(path, ""):
                _verify_bytes(path, "; no release needs it", checked)


def _verify_export(path: Path, by: Mapping[tuple[str, str], int], checked: Checked) -> None:
    versions = sorted({version for version, _ in by})
    names = sorted({printable(name) for _, name in by})
    needs = "need" if len(versions) > 1 else "needs"
    who = f"; {first_of(versions)} {needs} it ({first_of(names)})"
    if not os.path.lexists(path):
        checked.find(path, f"missing from the archive{who}", RESTORE_EXPORT)
    elif checked.is_file(path, RESTORE_EXPORT) and _verify_bytes(path, who, checked):
        size = path.stat().st_size
        wrong = sorted({version for (version, _), n_bytes in by.items() if n_bytes != size})
        if wrong:
            checked.find(path, f"{size:,} bytes; {first_of(wrong)} says otherwise", RESTORE_EXPORT)


def _verify_bytes(path: Path, who: str, checked: Checked) -> bool:
    sha256 = checked.sha256(path)
    if sha256 is not None and sha256 != path.name:
        checked.find(path, f"not the bytes that were archived: sha256 {sha256}{who}", DELETE)
    return sha256 == path.name


def _unnamed_files(archive: Path, digests: Iterable[str]) -> list[Path]:
    """Return files of the archive that no release names, except those being written."""
    named = {archived(archive, sha256) for sha256 in digests}
    files = [p for p in archive.rglob("*") if p.is_symlink() or not p.is_dir()]
    return sorted(p for p in files if p not in named and not p.name.startswith(TEMPORARY))


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
        checked.find(folder, "no ordinary folder: a release is one")
        return None
    manifest = _manifest(folder, pointer, checked)
    if manifest is None:
        return None
    good = _verify_files(folder, manifest, checked)
    for table in manifest["tables"]:
        for entry in files_of(table):
            if manifest["files"].get(entry["file"]) != entry["sha256"]:
                what = f"it has another checksum of {entry['file']} among its files, or none"
                checked.find(folder / MANIFEST, what)
            elif entry["file"] in good:
                _verify_table(folder / entry["file"], table | entry, checked)
        if stored_table(folder, table).sha256 != table["sha256"]:
            what = f"it has another checksum of {table['file']} than its files give"
            checked.find(folder / MANIFEST, what)
    shas = {t["name"]: t["sha256"] for t in manifest["tables"] if t["name"] != "lineage"}
    if digest(shas) != manifest["content_sha256"]:
        checked.find(folder / MANIFEST, "content_sha256 is not that of its tables")
    _verify_parent(folder, manifest, pointer, checked)
    return manifest


def _manifest(folder: Path, pointer: Pointer | None, checked: Checked) -> dict[str, Any] | None:
    path = folder / MANIFEST
    if not checked.is_file(path):
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
        checked.find(path, what)
        return None
    try:
        manifest = parse_manifest(data, path)
    except StoreError as error:
        checked.refused(path, error)
        return None
    if canonical_json(manifest) != data:
        checked.find(path, f"changed: not the spelling that was published{unchecked}")
        return None
    if manifest["version"] != folder.name:
        checked.find(path, f"the manifest of {manifest['version']}, not of {folder.name}")
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
        if not checked.is_file(folder / name):
            continue
        actual = checked.sha256(folder / name)
        if actual == sha256:
            good.add(name)
        elif actual:
            what = f"not the bytes that were published: sha256 {actual}, published {sha256}"
            checked.find(folder / name, what)
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
        checked.find(path, f"cannot be read as Parquet: {str(error).splitlines()[0]}")
        return
    if metadata.num_rows != table["rows"]:
        checked.find(path, f"{metadata.num_rows:,} rows; the manifest says {table['rows']:,}")
    expected = [(c["name"], c["type"], c["nullable"], c["description"]) for c in table["columns"]]
    if actual != expected:
        names = sorted({column[0] for column in {*actual} ^ {*expected}})
        what = f"columns are not those of the manifest: {first_of(names) or 'their order'}"
        checked.find(path, what)


def _verify_parent(
    folder: Path, manifest: dict[str, Any], pointer: Pointer | None, checked: Checked
) -> None:
    parent = manifest["parent"]
    if parent is None:
        return
    path = folder / MANIFEST
    version, sha256 = parent["version"], parent["manifest_sha256"]
    if number(version) >= number(folder.name):
        checked.find(path, f"its parent {version} is not older")
        return
    parent_sha256 = pointer.manifests.get(version) if pointer else None
    parent_manifest = folder.parent / version / MANIFEST
    if parent_sha256 is None and parent_manifest.is_file():
        parent_sha256 = hashlib.sha256(read_regular(parent_manifest)).hexdigest()
        if parent_sha256 != sha256:
            what = f"changed since it was published: its child {folder.name} knows other bytes"
            checked.find(parent_manifest, what)
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
