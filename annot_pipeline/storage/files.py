"""Files that are whole or not there: temporary names, one rename, fsync."""

from __future__ import annotations

import contextlib
import errno
import gzip
import hashlib
import json
import os
import shutil
import stat
import uuid
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

from annot_pipeline.bounded_json import parse_bounded_json

TEMPORARY = ".tmp-"
"""Prefix of what is not finished; safe to delete when no build runs."""
LARGEST_JSON = 1 << 28
"""Bytes: the manifest of a release of 100,000 exports has a fifth."""


NOT_A_FILE = "not a regular file: a folder, pipe, socket or device"


def open_regular(path: Path, *, follow: bool = True) -> BufferedReader:
    """Open a regular file for reading; a pipe or device is refused, and never waited for.

    Parameters
    ----------
    follow
        Whether the path itself may be a link.

    Raises
    ------
    OSError
        It cannot be opened, or is no regular file.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(regular(path), flags)  # to open some devices does something
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, NOT_A_FILE, str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: Path) -> bytes:
    """Return the bytes of a regular file; see `open_regular`."""
    with open_regular(path) as file:
        return file.read()


def regular(path: Path) -> Path:
    """Return the path of a regular file, for libraries that open a file by its path.

    Raises
    ------
    OSError
        It is missing, or no regular file: opening a pipe would wait for ever.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(errno.EINVAL, NOT_A_FILE, str(path))
    return path


def first_bytes(path: Path, n_bytes: int) -> bytes:
    """Return the first bytes of a regular file; unpacked where its name ends in .gz.

    Raises
    ------
    OSError, EOFError, zlib.error
        It cannot be read or unpacked.
    """
    with open_regular(path) as file:
        if path.name.lower().endswith(".gz"):
            with gzip.open(file, "rb") as unpacked:
                return unpacked.read(n_bytes)
        return file.read(n_bytes)


def file_sha256(path: Path) -> str:
    """Return the digest of a regular file's bytes."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def atomic_write(target: Path, *, keep: bool = False) -> Iterator[Path]:
    """Yield a temporary file that replaces ``target`` if the block ends without an error.

    With ``keep``, a target that appeared meanwhile stays instead.
    """
    temporary = temp_sibling(target)
    try:
        with _named(target):
            yield temporary
            _sync(temporary)
            if keep:
                _appear(temporary, target)
            else:
                os.replace(temporary, target)
            _sync(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_directory(target: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes ``target`` in one step; an existing target stays."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = temp_sibling(target)
    temporary.mkdir()
    try:
        with _named(target):
            yield temporary
            for path in temporary.rglob("*"):
                _sync(path)
            _sync(temporary)
            try:
                os.rename(temporary, target)
            except OSError:
                if not target.is_dir():
                    raise
            _sync(target.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def make_private(folder: Path) -> None:
    """Make a folder that only its owner may open; one that is there keeps its mode."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def remove_unfinished(folder: Path, *, name: str = "") -> None:
    """Delete the unfinished files of killed processes: all of them, or those of one name."""
    for path in folder.glob(f"{TEMPORARY}{name}*") if folder.is_dir() else ():
        remove(path)


def remove(path: Path) -> None:
    """Delete a file, a link, or a folder with all that it holds; what is gone is no error."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def write_json(path: Path, document: Any) -> None:
    """Write canonical JSON in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as temporary:
        temporary.write_bytes(canonical_json(document))


def read_json(path: Path) -> Any:
    """Return a JSON document.

    Raises
    ------
    OSError
        It cannot be opened.
    JsonError
        It is not JSON, or beyond the bounds of `parse_bounded_json`; a ValueError.
    """
    return parse_bounded_json(read_document(path))


def read_document(path: Path) -> bytes:
    """Return the bytes of a JSON file of the store or gold; OSError if they are too many."""
    with open_regular(path) as file:
        data = file.read(LARGEST_JSON + 1)
    if len(data) > LARGEST_JSON:
        raise OSError(errno.EFBIG, f"more than {LARGEST_JSON:,} bytes", str(path))
    return data


def canonical_json(document: Any) -> bytes:
    """Return one spelling: sorted keys, UTF-8, two blanks, a newline at the end."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, indent=2, allow_nan=False)
    return (text + "\n").encode()


@contextlib.contextmanager
def _named(target: Path) -> Iterator[None]:
    """Name the file in the error of a write that fails: a full disk itself does not."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(target)) from error


def _appear(temporary: Path, target: Path) -> None:
    """Give a file its name, unless another has it."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        pass
    except OSError:  # file systems without hard links
        if not target.exists():
            os.replace(temporary, target)


def temp_sibling(target: Path) -> Path:
    """Return a unique temporary path in the folder of a target."""
    return target.parent / f"{TEMPORARY}{target.name}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
