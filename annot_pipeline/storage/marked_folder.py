"""Folders that builds delete in: each holds a marker, written when it was new or empty.

A setting may name any folder: a whole disk, or one with somebody's exports. Without the marker
nothing is deleted in it, and a build that would use it is refused.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.storage.files import make_private

MARKER_PREFIX = ".annot-"
FILE_SYSTEM_ENTRIES = frozenset({"lost+found", ".snapshot", ".DS_Store"})
"""Entries that file systems make by themselves, also in an empty folder."""


@dataclass(frozen=True)
class FolderKind:
    """What a folder is for, and how one without a marker is recognized.

    Parameters
    ----------
    setting
        The setting of campaign.yaml that names the folder.
    purpose
        One line for people who open the marker.
    foreign
        Gives the entries of an unmarked folder that builds did not write; empty if all is theirs.
    example
        Name of a folder, beside campaign.yaml, that messages advise.
    """

    setting: str
    purpose: str
    foreign: Callable[[Path], list[str]]
    example: str

    @property
    def marker(self) -> str:
        """Return the name of the marker file."""
        return f"{MARKER_PREFIX}{self.setting.rpartition('.')[2]}"


def is_marked(folder: Path, kind: FolderKind) -> bool:
    """Return whether the folder holds the marker of this kind."""
    try:  # a link is no marker: it may lead to any file
        return stat.S_ISREG(os.lstat(folder / kind.marker).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def claim(folder: Path, kind: FolderKind) -> None:
    """Make the folder if there is none, and mark it as one that builds delete in.

    Raises
    ------
    ConfigError
        It holds files that no build wrote.
    OSError
        It cannot be written.
    """
    make_private(folder)
    if is_marked(folder, kind):
        return
    refuse_foreign(folder, kind)
    text = f"{kind.purpose}\nannot-pipeline deletes files in folders with this marker.\n"
    with open(folder / kind.marker, "w", encoding="utf-8", opener=_open_no_link) as marker:
        marker.write(text)


def _open_no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def refuse_foreign(folder: Path, kind: FolderKind, campaign_folder: Path | None = None) -> None:
    """Make sure that a folder is new, empty, marked, or holds what builds wrote there alone.

    Parameters
    ----------
    campaign_folder
        Folder of campaign.yaml, where the message advises a folder; None: it names none.

    Raises
    ------
    ConfigError
        It holds other files.
    """
    if not folder.is_dir() or is_marked(folder, kind):
        return
    # a marker of another kind, or what has this one's name and is no regular file
    markers = [n for n in sorted(os.listdir(folder)) if n.startswith(MARKER_PREFIX)]
    if is_marked(folder, kind):  # another process came meanwhile
        return
    foreign = markers or kind.foreign(folder)
    if not foreign:
        return
    name = kind.setting
    what = (
        f"builds delete files in their {name} folder, and did not write what is in this one; "
        "nothing was deleted"
    )
    advised = campaign_folder and campaign_folder / kind.example
    example = f", as {advised}" if advised and not advised.exists() else ""
    do = (
        f"set {name} to an empty or new folder of its own{example} (in campaign.yaml, or with "
        f"--set {name}=FOLDER)"
    )
    title = f"{folder}: cannot be used as {name}"
    raise ConfigError(title, [Problem(name, what, do=do, values=tuple(foreign))])


def entries_of(folder: Path) -> list[Path]:
    """Return the entries of a folder, also hidden ones, without what the file system makes."""
    return sorted(entry for entry in folder.iterdir() if entry.name not in FILE_SYSTEM_ENTRIES)
