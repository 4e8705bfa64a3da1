"""Where SQL puts what does not fit into memory: a folder for each process, gone when it ends.

Campaigns and machines may share a spill folder. A process deletes its own folder, and those of
processes of its host that died; a lock that the kernel releases tells whether one is alive, also
where process numbers are not comparable (containers). Folders of other hosts stay.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import re
import shutil
import socket
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock

from annot_pipeline.storage.files import make_private
from annot_pipeline.storage.marked_folder import STORE, FolderKind, claim, entries_of, is_marked

HOST = re.sub(r"[^A-Za-z0-9.-]", "_", socket.gethostname()) or "localhost"
OWN_NAME = re.compile(r"annot-spill-(?P<host>.+)-(?P<process>\d+)-(?P<started>\d+)")
DUCKDB_FILE = re.compile(r"duckdb_temp_.+")
LOCK = ".lock"

_held: dict[Path, int] = {}
"""Locks of this process, by folder."""
_opening = Lock()


def own_spill(spill: Path) -> Path:
    """Return the folder of this process within a spill folder; it need not exist."""
    process = os.getpid()
    return spill / f"annot-spill-{HOST}-{process}-{started_at(process)}"


def open_spill(spill: Path) -> Path:
    """Make the folder of this process, and delete those of dead processes of this host.

    A folder that cannot be written is no error here: only queries that need it fail.

    Raises
    ------
    ConfigError
        The spill folder holds files that no build wrote.
    """
    own = own_spill(spill)
    with _opening:
        if own in _held:
            return own
        with suppress(OSError):
            make_private(spill.parent)
            claim(spill, SPILL)
            _held[own] = _create_locked(own)
            _remove_dead(spill)
    return own


@cache
def temporary_spill() -> Path:
    """Make a spill folder for queries of no campaign; it goes when this process ends."""
    folder, process = Path(tempfile.mkdtemp(prefix="annot-")), os.getpid()

    def remove() -> None:
        if os.getpid() == process:  # a forked process does not own its parent's
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder / "spill"


def clean_spill(spill: Path) -> list[Path]:
    """Delete the folder of this process, and those of dead processes of this host.

    Returns
    -------
    list of Path
        Those that stay, since they hold what no query put there.
    """
    if not is_marked(spill, SPILL):
        return []
    own = own_spill(spill)
    stay = [own] if not _close(own) else []
    stay += _remove_dead(spill)
    _remove_if_empty(spill)
    return stay


def _create_locked(own: Path) -> int:
    """Make the folder of this process; it is locked before it has its name."""
    hidden = own.with_name(f".{own.name}")
    hidden.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(hidden / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    with suppress(OSError):  # a file system without locks: process numbers must do
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.rename(hidden, own)
    return descriptor


def _remove_if_empty(spill: Path) -> None:
    """Delete a spill folder that nobody uses and that lies in a store; one of the user's stays."""
    if is_marked(spill.parent, STORE) and os.listdir(spill) == [SPILL.marker]:
        with suppress(OSError):  # another process came meanwhile
            (spill / SPILL.marker).unlink()
            spill.rmdir()


def _remove_dead(spill: Path) -> list[Path]:
    """Delete the folders of dead processes; return those that hold something else."""
    return [f for f in entries_of(spill) if _is_dead(f) and not _remove_folder(f)]


def _remove_folder(folder: Path) -> bool:
    """Delete what queries put into a folder of a process, and it if that was all.

    Returns whether nothing else was there; what else there is stays.
    """
    try:
        entries = list(os.scandir(folder))
    except OSError:  # gone, or of another user
        return True
    ours = [e for e in entries if DUCKDB_FILE.fullmatch(e.name) or e.name == LOCK]
    ours = [e for e in ours if e.is_file(follow_symlinks=False)]
    is_all = len(ours) == len(entries)
    with suppress(OSError):  # another process cleans, too
        for entry in sorted(ours, key=lambda e: e.name == LOCK):
            if is_all or entry.name != LOCK:  # a folder that stays is still locked by its process
                Path(entry).unlink(missing_ok=True)
        if is_all:
            folder.rmdir()
    return is_all


def _is_dead(folder: Path) -> bool:
    """Return whether a process of this host made the folder, and is no more."""
    match = _match(folder)
    if match is None or match["host"] != HOST:
        return False
    process = int(match["process"])
    if _is_alive(process) and int(match["started"]) == started_at(process):
        return False
    return not _is_locked(folder / LOCK)


def _match(folder: Path) -> re.Match[str] | None:
    """Return the match of a process's folder."""
    is_folder = folder.is_dir() and not folder.is_symlink()
    return OWN_NAME.fullmatch(folder.name) if is_folder else None


def _is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def started_at(process: int) -> int:
    """Return when a process started, in ticks since boot; 0 where the system does not say."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[19])  # the name before may hold anything


def _close(own: Path) -> bool:
    """Delete the folder of this process; return whether it held nothing but what queries put."""
    if not _remove_folder(own):
        return False
    descriptor = _held.pop(own, None)
    if descriptor is not None:
        os.close(descriptor)
    return True


def _close_all() -> None:
    for own in [*_held]:
        if own == own_spill(own.parent):  # a forked process does not own its parent's
            _close(own)
            with suppress(OSError):
                _remove_if_empty(own.parent)


atexit.register(_close_all)


def _foreign(spill: Path) -> list[str]:
    return [
        entry.name
        for entry in entries_of(spill)
        if _match(entry) is None and not OWN_NAME.fullmatch(entry.name.removeprefix("."))
    ]


SPILL = FolderKind(
    setting="resources.spill",
    purpose="Room for queries of annot-pipeline that do not fit into memory.",
    foreign=_foreign,
    example="spill",
)
