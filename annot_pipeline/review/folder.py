"""What the folder of a review holds: files that a person may have edited, names of workers."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from annot_pipeline.errors import ConfigError, Problem, shorten
from annot_pipeline.storage.files import file_sha256, read_json

WRITTEN = ".written.json"
"""SHA-256 of what was written here, by file: what differs was edited by a person."""

SHEET = "review.csv"


def read_written(folder: Path) -> dict[str, list[str]]:
    """Return what annot review wrote there, as in ``WRITTEN``; empty where it wrote nothing.

    Raises
    ------
    ConfigError
        It names what annot review never writes: files by these names would be replaced or deleted.
    """
    try:
        written = read_json(folder / WRITTEN)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise _not_ours(folder, f"cannot be read: {str(error)[:200]}") from None
    if not isinstance(written, dict):
        raise _not_ours(folder, "holds no names of files")
    for name, hashes in written.items():
        if not _is_plain(name):
            raise _not_ours(folder, f"names {shorten(name)}, which is no file of this folder")
        if not isinstance(hashes, list) or not all(isinstance(value, str) for value in hashes):
            raise _not_ours(folder, f"holds no checksums of {shorten(name)}")
        if (folder / name).is_symlink():
            raise _not_ours(folder, f"names {shorten(name)}, which is a link")
    return written


def _is_plain(name: str) -> bool:
    """Return whether annot review writes files of such a name, in the folder itself."""
    is_upload = name.startswith("upload-") and name.endswith(".csv")
    return (is_upload or name == SHEET) and not any(c in "/\0" for c in name)


def _not_ours(folder: Path, what: str) -> ConfigError:
    do = "nothing was written or deleted; delete it, or give another folder with -o"
    problem = Problem("", what, do=do)
    return ConfigError(f"{folder / WRITTEN}: not as annot review wrote it", [problem])


def is_edited(path: Path, known_hashes: Mapping[str, list[str]]) -> bool:
    """Return whether a file differs from what annot review wrote, or was not written by it."""
    return file_sha256(path) not in known_hashes.get(path.name, [])


def holds_decisions(folder: Path, names: Sequence[str]) -> ConfigError:
    """Return what to say where files would be lost that a person has edited."""
    what = "was edited since annot review wrote it, or is not its work"
    do = "upload it first, give another folder with -o, or --force to lose it"
    problems = [Problem(str(folder / name), what, do=do) for name in names]
    return ConfigError(f"{folder} holds decisions", problems)


@contextlib.contextmanager
def private(path: Path, encoding: str, errors: str = "surrogateescape") -> Iterator[IO[str]]:
    """Yield a new text file that its owner alone may read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding=encoding, errors=errors, newline="") as file:
        yield file
