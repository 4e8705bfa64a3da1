"""Locks on files that only those open who may write beside them.

A lock on a file that anybody can read can be held by anybody, for ever. The kernel gives back what
a process held that died; the file stays: who waits for one that is deleted would hold nothing.
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from annot_pipeline.errors import Problem, StoreError, first_of

LOCK = ".annot-lock"
LONGEST_WAIT = 1800.0
"""Seconds after which a lock that is held for a moment or for a publication is an error."""
LONGEST_STAGE = 86_400.0
"""Seconds after which a lock that is held while a stage runs is an error; stages may take hours."""
SAID_AGAIN = 60.0
"""Seconds after which somebody who waits is told again that he does, and for whom."""
PAUSE = 0.2
PROC_LOCKS = Path("/proc/locks")


def open_lock(path: Path) -> int:
    """Open a file to be locked, for those who may write to its folder alone.

    On NFS all machines see a lock on a file that is open for writing; of a folder they do not.
    """
    folder = os.stat(path.parent).st_mode
    mode = 0o600 | (0o060 if folder & stat.S_IWGRP else 0) | (0o006 if folder & stat.S_IWOTH else 0)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:  # the umask
        with suppress(OSError):  # of another owner
            os.fchmod(descriptor, mode)
    return descriptor


@contextmanager
def exclusive_lock(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold a lock of a file; ``waiting`` is called each minute while another process has it.

    Raises
    ------
    StoreError
        Another process has held it for too long.
    """
    descriptor = open_lock(path)
    try:
        take(descriptor, fcntl.LOCK_EX, path, waiting, LONGEST_WAIT)
        yield
    finally:
        os.close(descriptor)


def take(
    descriptor: int, kind: int, path: Path, waiting: Callable[[], None], longest: float
) -> None:
    """Take a lock of an open file, shared or exclusive, and wait for those who hold it.

    Parameters
    ----------
    descriptor, path
        The file; its place, for messages.
    waiting
        Called at first and each minute while another process holds the lock.
    longest
        Seconds to wait.

    Raises
    ------
    StoreError
        Another process has held it for longer, with those of this machine that do.
    BlockingIOError
        It is held, and ``kind`` says not to wait.
    """
    if kind & fcntl.LOCK_NB:
        fcntl.flock(descriptor, kind)
        return
    end, reported_at = time.monotonic() + longest, -SAID_AGAIN
    while not _try_lock(descriptor, kind):
        now = time.monotonic()
        if now - reported_at >= SAID_AGAIN:
            waiting()
            reported_at = now
        if now >= end:
            raise _timeout_error(descriptor, path, longest)
        time.sleep(PAUSE)


def _try_lock(descriptor: int, kind: int) -> bool:
    """Take the lock if nobody prevents it; return whether it was taken."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _timeout_error(descriptor: int, path: Path, longest: float) -> StoreError:
    minutes = longest / 60
    duration = f"{minutes:,.0f} minutes" if minutes < 120 else f"{minutes / 60:,.0f} hours"
    what = f"another process has held its lock for {duration}{holders(os.fstat(descriptor))}"
    do = f"see which one does (lsof {path}), end it or let it end, then build again"
    title = f"{path.parent}: cannot be written now"
    return StoreError(title, [Problem("", what, do=do)], may_pass=True)


def holders(file: os.stat_result) -> str:
    """Return the processes of this machine that hold a lock of a file, as messages add them.

    The kernel lists them. It knows none of another machine that shares the folder, nor those of
    another container.
    """
    inode = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
    try:
        lines = PROC_LOCKS.read_text().splitlines()
    except OSError:
        return ""
    locks = [line.split() for line in lines if "->" not in line]  # those who wait
    processes = {fields[4] for fields in locks if len(fields) > 5 and fields[5] == inode}
    pids = sorted((name for name in processes if name.isdecimal() and name != "0"), key=int)
    if not pids:
        return ""
    return f" (process {first_of(pids)} on {socket.gethostname()})"
