"""What a verification found, and how much it looked at."""

from __future__ import annotations

import os
import stat
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from annot_pipeline.errors import StoreError
from annot_pipeline.stages.build import Progress
from annot_pipeline.storage.files import file_sha256

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

    def find(self, path: Path | str, what: str, do: str = "") -> None:
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

    def is_file(self, path: Path, missing: str) -> bool:
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
