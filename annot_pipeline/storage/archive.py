"""Raw bytes of exports, kept by SHA-256 before anything else looks at them."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from annot_pipeline.errors import ConfigError, InputError, Problem, first_of
from annot_pipeline.storage.checked_export import MatchedExport, OwnFolders, checked_export
from annot_pipeline.storage.files import (
    atomic_write,
    file_sha256,
    make_private,
    open_regular,
    read_json,
    write_json,
)

MAGIC = "*?["
NOTHING: Mapping[str, Path] = {}
COPIED_AT_ONCE = 1 << 20


def find_exports(
    folder: Path,
    pattern: str,
    *,
    where: str,
    own: Mapping[str, Path] = NOTHING,
) -> list[MatchedExport]:
    """Return the files that a glob matches, in natural order (2 before 10); folders are left out.

    Parameters
    ----------
    own
        The campaign's own folders by name, as store and gold: nothing in them is an export.

    Raises
    ------
    ConfigError
        No file matches; the message names what lies there instead.
    InputError
        What matches is no regular file, a link that leads out of its folder, in a folder of
        ``own``, or has a name that is not text.
    """
    fixed, paths = glob_exports(folder, pattern, where)
    own_folders = OwnFolders(own)
    exports = [
        checked_export(path, Path(os.path.relpath(path, folder)).as_posix(), fixed, own_folders)
        for path in paths
        if not path.is_dir()
    ]
    if not exports:
        what = f"only folders match {pattern}" if paths else f"no file matches {pattern}"
        do = f"check the path; it starts at {folder}" + _nearby(folder, pattern)
        raise ConfigError("an export is missing", [Problem(where, what, do=do)], may_pass=True)
    exports.sort(key=lambda export: natural_key(export.relative))
    return exports


def is_glob(pattern: str) -> bool:
    """Return whether a path stands for all files that it matches, in the folder it starts with."""
    return any(c in pattern for c in MAGIC)


def matching_folders(folder: Path, pattern: str) -> list[str]:
    """Return the folders that a glob matches, relative to the campaign; they are no exports."""
    folders = [path for path in glob_exports(folder, pattern)[1] if path.is_dir()]
    names = (Path(os.path.relpath(path, folder)).as_posix() for path in folders)
    return sorted(names, key=natural_key)


def natural_key(name: str) -> tuple[list[tuple[int, int, str]], str]:
    """Return a sort key by which digits are numbers; the name breaks ties (a1 and a01)."""
    parts = re.findall(r"\d+|\D+", name)
    return [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts], name


def archive_file(
    path: Path,
    archive: Path,
    check: Callable[[Path], None] = lambda _: None,
    on_damaged: Callable[[], None] = lambda: None,
) -> tuple[str, int]:
    """Archive a file's bytes, and return their SHA-256 and their number.

    They are those of one moment: what changes meanwhile is refused, for half of a row, or of an
    archive, would be taken for the whole. ``check`` sees new bytes before they are kept, and may
    refuse them. Bytes that are kept already, but damaged, are kept anew; ``on_damaged`` is called.

    Raises
    ------
    InputError
        The file cannot be read, or is still being written.
    """
    with readable(path):
        before = stamp(path)
        digest = file_sha256(path)
    archived_path = archived(archive, digest)
    was_archived = archived_path.exists()
    if not (was_archived and file_sha256(archived_path) == digest):
        archived_path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(archived_path) as temporary:
            _copy(path, temporary)
            if file_sha256(temporary) != digest:
                raise _changing(path)
            check(temporary)
        if was_archived:
            on_damaged()
    with readable(path):
        after = stamp(path)
    if after != before:
        raise _changing(path)
    return digest, before.size


class Stamp(NamedTuple):
    """What differs if a file was written to, or another took its place."""

    size: int
    written_ns: int
    changed_ns: int
    inode: int


def stamp(path: Path) -> Stamp:
    """Return a file's size, inode, and times of modification and change.

    Programs can set the time of modification back, but not that of change.
    """
    status = path.stat()
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def _copy(path: Path, target: Path) -> None:
    """Copy bytes; an error names the side, source or target, where it occurred."""
    with target.open("wb") as copy, contextlib.ExitStack() as stack:
        with readable(path):
            file = stack.enter_context(open_regular(path, follow=False))
        while True:
            with readable(path):
                block = file.read(COPIED_AT_ONCE)
            if not block:
                break
            copy.write(block)


def _changing(path: Path) -> InputError:
    problem = Problem("", "the export is still being written", do="build again later")
    return InputError(f"{path}: changed while it was read", [problem], may_pass=True)


def export_sha256(path: Path) -> str:
    """Return SHA-256 of an export; this process reads it again if size, a time or inode is new.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    with readable(path):
        return _stamped_sha256(path, stamp(path))


@lru_cache(maxsize=100_000)
def _stamped_sha256(path: Path, _: Stamp) -> str:
    return file_sha256(path)


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """Say of an export that is gone, or forbidden, which it is and what to do."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read",
            [Problem("", error.strerror or str(error), do="check the file and who may read it")],
            may_pass=True,
        ) from None


def archived(archive: Path, sha256: str) -> Path:
    """Return where the bytes with this digest are kept."""
    return archive / sha256[:2] / sha256


def glob_exports(folder: Path, pattern: str, where: str = "") -> tuple[Path, list[Path]]:
    """Return the folder that a glob (which may start with ``..`` or ``/``) names, and matches.

    Raises
    ------
    ConfigError
        It is no glob; ``where`` is the setting.
    """
    if any("**" in part and part != "**" for part in Path(pattern).parts):
        do = "write ** alone between slashes, as in exports/**/*.csv, or a single *"
        raise ConfigError(f"{pattern} is no glob", [Problem(where, "** beside letters", do=do)])
    parts = Path(pattern).parts
    fixed = 0
    while fixed < len(parts) and not any(c in parts[fixed] for c in MAGIC):
        fixed += 1
    start = folder.joinpath(*parts[:fixed])
    if fixed == len(parts):
        return start.parent, [start] if start.exists() else []
    return start, list(start.glob(str(Path(*parts[fixed:])))) if start.is_dir() else []


def _nearby(folder: Path, pattern: str) -> str:
    """Return what lies where the glob leads, as far as there is such a folder."""
    lowest, parts = folder, Path(pattern).parts
    if folder.parent.name == "examples" and "build" in parts:
        return "; make build writes the exports of the examples"
    for part in parts:
        if not (lowest / part).is_dir():
            break
        lowest /= part
    names = sorted((path.name for path in lowest.iterdir()), key=natural_key)
    return f"; {lowest} holds {first_of(names)}" if names else f"; {lowest} is empty"


N_FIGURES = len(Stamp._fields)


class NotReadYetError(InputError):
    """There was no time to read all; what was read is kept."""


@contextlib.contextmanager
def known_digests(file: Path, seconds: float) -> Iterator[Callable[[Path], str]]:
    """Yield a function that returns the SHA-256 of a file.

    It reads a file only if its size, a time or its inode is new, and, after ``seconds``, no further
    one. What is not asked for any more is forgotten.

    Raises
    ------
    NotReadYetError
        Time is over; the next call goes on from there.
    """
    stored, entries = _read(file), dict[str, list[object]]()
    read: list[Path] = []
    end = time.monotonic() + seconds

    def sha256(path: Path) -> str:
        with readable(path):
            figures = list(stamp(path))
        entry = stored.get(str(path))
        if not entry or entry[:-1] != figures:
            if read and time.monotonic() >= end:
                raise NotReadYetError("not all exports are read; more is read at the next look")
            entry = [*figures, export_sha256(path)]
            read.append(path)
        entries[str(path)] = entry
        return str(entry[-1])

    whole = False
    try:
        yield sha256
        whole = True
    finally:
        if read:
            with contextlib.suppress(OSError):  # they are read again then
                make_private(file.parent)
                write_json(file, entries if whole else stored | entries)


def _read(file: Path) -> dict[str, list[object]]:
    try:
        document = read_json(file)
        return {path: entry for path, entry in document.items() if len(entry) == N_FIGURES + 1}
    except (OSError, ValueError, AttributeError, TypeError):  # none, or damaged
        return {}
