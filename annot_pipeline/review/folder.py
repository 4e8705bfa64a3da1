"""What the folder of a review holds: files that a person may have edited, names of workers."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.storage.files import file_sha256, read_json

WRITTEN = ".written.json"
"""SHA-256 of what was written here, by file: what differs was edited by a person."""


def read_written(folder: Path) -> dict[str, list[str]]:
    """What annot review wrote there, as in ``WRITTEN``; empty where it wrote nothing."""
    try:
        written: dict[str, list[str]] = read_json(folder / WRITTEN)
    except (OSError, ValueError):
        return {}
    return written


def is_edited(path: Path, known: Mapping[str, list[str]]) -> bool:
    """Whether a file is not as annot review wrote it, or not its work."""
    return file_sha256(path) not in known.get(path.name, [])


def holds_decisions(folder: Path, names: Sequence[str]) -> ConfigError:
    """What to say where files would be lost that a person has edited."""
    what = "was edited since annot review wrote it, or is not its work"
    do = "upload it first, give another folder with -o, or --force to lose it"
    problems = [Problem(str(folder / name), what, do=do) for name in names]
    return ConfigError(f"{folder} holds decisions", problems)


@contextlib.contextmanager
def private(path: Path, encoding: str, errors: str = "surrogateescape") -> Iterator[IO[str]]:
    """A new text file that its owner alone may read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding=encoding, errors=errors, newline="") as file:
        yield file
