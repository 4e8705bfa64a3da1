"""The raw archive: every file's bytes against its name, every release's exports against both."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from annot_pipeline.audit.verify.findings import Checked
from annot_pipeline.errors import counted, first_of, printable
from annot_pipeline.storage.archive import archived
from annot_pipeline.storage.files import TEMPORARY
from annot_pipeline.storage.manifest_changes import source_digest
from annot_pipeline.storage.pointer import SHA256
from annot_pipeline.storage.source_digests import SourceDigests

RESTORE = "restore it from a backup; while the export is still in its place, annot build does"
UNKNOWN = "verify where the store and its key are, or restore them from a backup"
DELETE = f"delete it, then {RESTORE}"


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
        checked.find(path, f"missing from the archive{who}", RESTORE)
    elif checked.is_file(path, RESTORE) and _verify_bytes(path, who, checked):
        size = path.stat().st_size
        wrong = sorted({version for (version, _), n_bytes in by.items() if n_bytes != size})
        if wrong:
            checked.find(path, f"{size:,} bytes; {first_of(wrong)} says otherwise", RESTORE)


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
