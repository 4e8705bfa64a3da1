"""Exports are regular files within the folder that a source names.

Whoever may write into the folder of exports need not be trusted with more: a link there must not
make a build read, archive and publish the key in the store, another user's files, or what a device
or the kernel makes up. Links that stay inside are allowed: Kubernetes mounts files that way.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from annot_pipeline.errors import InputError, Problem
from annot_pipeline.storage.marked_folder import FILES, FOLDERS
from annot_pipeline.storage.pointer import POINTER, VERSION

KERNEL_FOLDERS = ("/proc", "/sys", "/dev")
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - a file system in memory, with files as any other
DO = "fix, rename or remove it, or correct the glob"
KEY_FILE = "judge.key"
KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(frozen=True)
class MatchedExport:
    """A file that a glob matched.

    Parameters
    ----------
    relative
        Its path relative to the campaign.
    path
        Where it is, by that name.
    real
        The regular file that is read: ``path``, or what a link leads to.
    """

    relative: str
    path: Path
    real: Path


class OwnFolders:
    """Folders of a campaign that builds write, by name, with the inodes of what they wrote there.

    Inodes are looked at only where a file has several names; the folders are read once then.
    """

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self.folders = {name: folder.resolve() for name, folder in folders.items()}

    def holder(self, real: Path, status: os.stat_result) -> str | None:
        """Return the name of the folder that a file lies in, by this or another name."""
        for name, folder in self.folders.items():
            if is_written_by_builds(real, folder) or _is_key(status, folder):
                return name
        if status.st_nlink > 1:
            return self._inodes.get((status.st_dev, status.st_ino))
        return None

    @cached_property
    def _inodes(self) -> dict[tuple[int, int], str]:
        return {
            (status.st_dev, status.st_ino): name
            for name, folder in self.folders.items()
            for status in _statuses(folder)
        }


def _statuses(folder: Path) -> Iterator[os.stat_result]:
    """Yield the status of each regular file in a folder that builds wrote."""
    for root, names, files in os.walk(folder):
        if Path(root) == folder:  # other folders and files may lie beside
            names[:] = [n for n in names if is_written_by_builds(folder / n, folder)]
            files = [n for n in files if is_written_by_builds(folder / n, folder)]
        for file in files:
            with suppress(OSError):  # builds delete
                status = os.lstat(os.path.join(root, file))
                if stat.S_ISREG(status.st_mode):
                    yield status


def checked_export(path: Path, relative: str, fixed: Path, own: OwnFolders) -> MatchedExport:
    """Return a file that a glob matched, where it may be read as an export.

    Parameters
    ----------
    fixed
        The folder that the glob names: the file lies in it, also behind links.
    own
        The campaign's own folders: the file lies in none of them, nor is a hard link to one there.

    Raises
    ------
    InputError
        It may not; opens nothing.
    """
    if relative != os.fsencode(relative).decode(errors="replace"):
        raise _refused(relative, "its name is not UTF-8", DO)
    real, status = _regular_file(path, relative, "exports are regular files", DO)
    if name := own.holder(real, status):
        what = f"it is in the {name} folder of this campaign: nothing there is an export"
        if not is_written_by_builds(real, own.folders[name]):
            what = f"a hard link to a file that {what.removeprefix('it ')}"
        raise _refused(relative, what, "remove the link or file, or correct the glob")
    if not real.is_relative_to(fixed.resolve()):
        do = "put the file itself there, or name the folder that it is in as path of a source"
        what = f"a link that leads out of {fixed}: only files within it are exports"
        raise _refused(relative, what, do)
    return MatchedExport(relative, path, real)


def refuse_special_file(path: Path) -> None:
    """Make sure that a file of the user is regular, by itself or behind links; opens nothing.

    Raises
    ------
    InputError
        It is a pipe, socket, device, or made up by the kernel, or cannot be found.
    """
    _regular_file(path, str(path), "only regular files are read", "give the path of a regular file")


def _regular_file(path: Path, relative: str, rule: str, do: str) -> tuple[Path, os.stat_result]:
    """Return the regular file that a path leads to, and its status."""
    try:
        real = path.resolve(strict=True)
        status = os.stat(real)
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead to each other
        what = "a link that leads to itself"
        if isinstance(error, OSError):
            what = error.strerror or str(error)
            if path.is_symlink() and isinstance(error, FileNotFoundError):
                what = f"a link to {os.readlink(path)}, which does not exist"
        # what a link leads to may come back
        raise _refused(relative, what, do, may_pass=isinstance(error, OSError)) from None
    if not stat.S_ISREG(status.st_mode):
        what = KINDS.get(stat.S_IFMT(status.st_mode), "neither a file nor a folder")
        raise _refused(relative, f"{what}: {rule}", do)
    if _is_of_the_kernel(real, status):
        raise _refused(relative, f"it is made up by the system, as all in /proc: {rule}", do)
    return real, status


def _is_of_the_kernel(real: Path, status: os.stat_result) -> bool:
    if any(real.is_relative_to(folder) for folder in KERNEL_FOLDERS):
        return not real.is_relative_to(SHARED_MEMORY)
    for folder in ("/proc", "/sys"):
        with suppress(OSError):
            if os.stat(folder).st_dev == status.st_dev and os.path.ismount(folder):
                return True
    return False


def is_written_by_builds(real: Path, folder: Path) -> bool:
    """Return whether a file is of a store or gold; exports may lie beside, as in ``store: .``"""
    if not real.is_relative_to(folder):
        return False
    name = real.relative_to(folder).parts[0]
    of_store = name in FOLDERS or name in FILES
    return of_store or name == POINTER or name.startswith(".") or bool(VERSION.fullmatch(name))


def _is_key(status: os.stat_result, folder: Path) -> bool:
    """Return whether a file is the key in the store, under another name."""
    try:
        return os.path.samestat(status, os.stat(folder / KEY_FILE))
    except OSError:
        return False


def _refused(relative: str, what: str, do: str, *, may_pass: bool = False) -> InputError:
    problem = Problem("", what, do=do)
    return InputError(f"{relative}: cannot be read", [problem], may_pass=may_pass)
