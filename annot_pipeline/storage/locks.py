"""Locks on files that only those open who may write beside them.

A lock on a file that anybody can read can be held by anybody, for ever. The kernel gives back what
a process held that died; the file stays: who waits for one that is deleted would hold nothing.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from annot_pipeline.errors import Problem, StoreError

LOCK = ".annot-lock"
LONGEST_WAIT = 1800.0
"""Seconds after which a lock that somebody holds is an error."""
PAUSE = 0.2


def open_lock(path: Path) -> int:
    """Open a file to be locked, for those who may write to its folder alone.

    On NFS all machines see a lock on a file that is open for writing; of a folder they do not.
    """
    folder = os.stat(path.parent).st_mode
    mode = 0o600 | (0o060 if folder & stat.S_IWGRP else 0) | (0o006 if folder & stat.S_IWOTH else 0)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:  # an earlier version, or the umask
        with suppress(OSError):  # of another owner
            os.fchmod(descriptor, mode)
    return descriptor


@contextmanager
def exclusive_lock(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold a lock of a file; ``waiting`` is called if another process has it.

    Raises
    ------
    StoreError
        Another process has held it for too long.
    """
    descriptor = open_lock(path)
    try:
        if not _locked(descriptor):
            waiting()
            _wait(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _wait(descriptor: int, path: Path) -> None:
    end = time.monotonic() + LONGEST_WAIT
    while not _locked(descriptor):
        if time.monotonic() > end:
            what = f"another process has held its lock for {LONGEST_WAIT / 60:.0f} minutes"
            do = f"see which one does (lsof {path}), end it or let it end, then build again"
            title = f"{path.parent}: cannot be written now"
            raise StoreError(title, [Problem("", what, do=do)], may_pass=True)
        time.sleep(PAUSE)


def _locked(descriptor: int) -> bool:
    """Take the lock if nobody has it; return whether it was taken."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
