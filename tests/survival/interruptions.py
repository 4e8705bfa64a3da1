"""Kills and full disks in this process, at any step on files, and readers at each change of gold.

Steps are what Python's audit events tell of: files opened, renamed, removed, folders made. A killed
command does no further step, also not to tidy up; on a full disk no file can be written until it
ends. What libraries of C write raises no event; `processes` kills real processes.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link")


class Killed(BaseException):
    """Ends a command where it is, as a power cut would."""


@dataclass
class Watch:
    """What a command does in a folder, and what befalls it.

    Parameters
    ----------
    folder
        The folder of the campaign.
    how
        ``kill``, ``full`` or, for nothing, the empty text.
    step
        At which step on files.
    read
        Called before each change of gold.
    """

    folder: Path
    how: str
    step: int
    read: Callable[[], None]
    steps: int = 0
    errors: list[Exception] = field(default_factory=list)
    is_busy: bool = False

    def see(self, event: str, arguments: tuple[object, ...]) -> None:
        path = _path(event, arguments)
        if self.is_busy or path is None or not path.startswith(f"{self.folder}{os.sep}"):
            return
        self.steps += 1
        if event in CHANGES and path.startswith(f"{self.folder / 'gold'}{os.sep}"):
            self.is_busy = True
            try:
                self.read()
            except Exception as error:
                self.errors.append(error)
            self.is_busy = False
        if self.steps < self.step:
            return
        if self.how == "kill":
            raise Killed
        if self.how == "full" and _writes(event, arguments) and not path.endswith("lock"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    @property
    def happened(self) -> bool:
        return bool(self.how) and self.steps >= self.step


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Watch this process, which has one watch at most."""
    if not _watches:
        sys.addaudithook(_hook)  # it cannot be removed
    _watches[:] = [watch]
    try:
        yield
    finally:
        _watches[:] = [None]


_watches: list[Watch | None] = []


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    watch = _watches[0]
    if watch is not None and (event == "open" or event.startswith("os.")):
        watch.see(event, arguments)


def _path(event: str, arguments: tuple[object, ...]) -> str | None:
    """Return the path of a step; None where it has none, or is of an open file."""
    if not arguments or not isinstance(arguments[0], str | os.PathLike):
        return None
    path = os.fspath(arguments[0])
    folder = arguments[-1]
    if event in ("os.remove", "os.rmdir") and isinstance(folder, int) and folder >= 0:
        with suppress(OSError):  # `shutil.rmtree` names files by an open folder
            return os.path.join(os.readlink(f"/proc/self/fd/{folder}"), path)
    return path if isinstance(path, str) else None


def _writes(event: str, arguments: tuple[object, ...]) -> bool:
    if event == "open":
        flags = arguments[2]
        return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    return event in ("os.mkdir", "os.link")
