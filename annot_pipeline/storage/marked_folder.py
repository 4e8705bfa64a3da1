"""Folders that builds delete in: each holds a marker, written when it was new or empty.

A setting may name any folder: a whole disk, or one with somebody's exports. Without the marker
nothing is deleted in it, and a build that would use it is refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.storage.files import make_private

MARKER_PREFIX = ".annot-"
FILE_SYSTEMS_OWN = "lost+found"


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
    """

    setting: str
    purpose: str
    foreign: Callable[[Path], list[str]]

    @property
    def marker(self) -> str:
        """Name of the marker file."""
        return f"{MARKER_PREFIX}{self.setting.rpartition('.')[2]}"


def is_marked(folder: Path, kind: FolderKind) -> bool:
    """Return whether the folder holds the marker of this kind."""
    return (folder / kind.marker).is_file()


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
    (folder / kind.marker).write_text(text, encoding="utf-8")


def refuse_foreign(folder: Path, kind: FolderKind) -> None:
    """Make sure that a folder is new, empty, marked, or holds what builds wrote there alone.

    Raises
    ------
    ConfigError
        It holds other files.
    """
    if not folder.is_dir() or is_marked(folder, kind):
        return
    others = [n for n in sorted(os.listdir(folder)) if n.startswith(MARKER_PREFIX)]
    foreign = [n for n in others if n != kind.marker] or kind.foreign(folder)
    if not foreign:
        return
    name = kind.setting
    what = f"builds delete files in their {name} folder, and did not write what is in this one"
    do = (
        f"set {name} to an empty or new folder, as {folder / 'annot'} (in campaign.yaml, or with "
        f"--set {name}=FOLDER); nothing was deleted"
    )
    title = f"{folder}: cannot be used as {name}"
    raise ConfigError(title, [Problem(name, what, do=do, values=tuple(foreign))])


def visible(folder: Path) -> list[Path]:
    """Return the entries of a folder, without hidden ones and what the file system makes."""
    return sorted(
        entry
        for entry in folder.iterdir()
        if not entry.name.startswith(".") and entry.name != FILE_SYSTEMS_OWN
    )
