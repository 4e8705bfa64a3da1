"""Raw bytes of exports, kept by SHA-256 before anything else looks at them."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from annot_pipeline.errors import ConfigError, InputError, Problem
from annot_pipeline.storage.files import file_sha256, replacing

MAGIC = "*?["


@dataclass(frozen=True)
class FoundExport:
    """A file that a glob matched: relative to the campaign, and where it is."""

    relative: str
    path: Path


def find_exports(folder: Path, pattern: str, *, latest: bool, where: str) -> list[FoundExport]:
    """Files that a glob matches, in natural order (2 before 10).

    Raises
    ------
    ConfigError
        Nothing matches; the message names what lies there instead.
    """
    paths = [path for path in _glob(folder, pattern) if path.is_file()]
    if not paths:
        raise ConfigError(
            "an export is missing",
            [
                Problem(
                    where,
                    f"no file matches {pattern}",
                    do=f"check the path; it starts at {folder}" + _nearby(folder, pattern),
                )
            ],
        )
    found = [FoundExport(Path(os.path.relpath(path, folder)).as_posix(), path) for path in paths]
    found.sort(key=lambda export: natural_key(export.relative))
    return found[-1:] if latest else found


def natural_key(name: str) -> tuple[list[tuple[int, int, str]], str]:
    """Sorts digits as numbers; the name itself breaks ties (a1 and a01)."""
    parts = re.findall(r"\d+|\D+", name)
    return [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts], name


def archive_file(path: Path, archive: Path) -> tuple[str, int]:
    """Keep a file's bytes; returns their SHA-256 and their number.

    The digest is that of the bytes kept, also when the file changes meanwhile.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    try:
        digest = file_sha256(path)
        kept = archived(archive, digest)
        if kept.exists():
            return digest, kept.stat().st_size
        kept.parent.mkdir(parents=True, exist_ok=True)
        with replacing(kept) as temporary:
            shutil.copyfile(path, temporary)
            copied = file_sha256(temporary)
            if copied != digest:
                raise InputError(
                    f"{path}: changed while it was read",
                    [Problem("", "the export is still being written", do="build again later")],
                )
        return digest, kept.stat().st_size
    except PermissionError as error:
        if error.filename == str(path):
            raise InputError(
                f"{path}: cannot be read",
                [Problem("", "permission denied", do="let this user read the file")],
            ) from None
        raise


def archived(archive: Path, sha256: str) -> Path:
    """Where the bytes with this digest are kept."""
    return archive / sha256[:2] / sha256


def _glob(folder: Path, pattern: str) -> list[Path]:
    """Matches of a glob that may start with ``..`` or ``/``."""
    parts = Path(pattern).parts
    fixed = 0
    while fixed < len(parts) and not any(c in parts[fixed] for c in MAGIC):
        fixed += 1
    start = folder.joinpath(*parts[:fixed])
    if fixed == len(parts):
        return [start] if start.exists() else []
    return list(start.glob(str(Path(*parts[fixed:])))) if start.is_dir() else []


def _nearby(folder: Path, pattern: str) -> str:
    parent = (folder / pattern).parent
    if any(c in str(parent) for c in MAGIC) or not parent.is_dir():
        return ""
    names = sorted(path.name for path in parent.iterdir())[:5]
    return f"; {parent} holds {', '.join(names)}" if names else f"; {parent} is empty"
