"""Folders that builds delete in, each with a marker, and the names that builds give in a store.

A setting may name any folder: a whole disk, or one with somebody's exports. Without the marker
nothing is deleted in it, and a build that would use it is refused.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from annot_pipeline.config.gold_url import COPIES
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.storage.candidates import CANDIDATES, MARKER
from annot_pipeline.storage.files import make_private, read_json
from annot_pipeline.storage.pointer import VERSION
from annot_pipeline.storage.release_log import LOG, LOG_LOCK

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
    with open(
        folder / kind.marker, "w", encoding="utf-8",
        opener=lambda path, flags: os.open(path, flags | os.O_NOFOLLOW, 0o666),
    ) as marker:  # fmt: skip
        marker.write(text)


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


ALERT = "alert.json"
"""The alert that no successful run has followed."""
KEY = re.compile(r"[0-9a-f]{32}")
RECORD_FILE = re.compile(r"[0-9a-f]{32}\.(parquet|json)")
ARCHIVED = re.compile(r"[0-9a-f]{64}")
_ANY = re.compile(r".+")
_JSON = re.compile(r".+\.json")
_UNFINISHED = re.compile(r"\.tmp-.+-\d+-[0-9a-f]{8}")
"""Names that `files.temp_sibling` gives; killed builds leave them."""

FILES = frozenset({
    ".lock", ALERT, "catalog.duckdb", "export_digests.json", "forgotten.json", "forgotten.lock",
    "judge.key", "key.json", "last_build.json", LOG, LOG_LOCK,
})  # fmt: skip
RESTORED = frozenset({".lock", "judge.key", "key.json"})
"""Files that may lie in a new store alone: a key is restored before the first build."""
NOTES = (ALERT, "export_digests.json", "last_build.json")
WITHOUT_FORGOTTEN = "without_forgotten"
"""Folder of exports without the rows of people who are forgotten."""
FIGURES = "figures"
"""Folder of figures of the last report."""
FOLDERS: dict[str, tuple[re.Pattern[str], ...]] = {
    "archive": (re.compile(r"[0-9a-f]{2}"), ARCHIVED),
    CANDIDATES: (re.compile(r"[0-9a-zA-Z-]+"), re.compile(rf"{VERSION.pattern}|{MARKER}")),
    "checkpoints": (KEY, re.compile(r"[0-9a-f]+\.npz")),
    "digests": (_JSON,),
    WITHOUT_FORGOTTEN: (re.compile(r"[0-9a-f]{32}(\..+)?"),),
    FIGURES: (re.compile(r"[0-9a-f]{64}\.svg"),),
    "records": (RECORD_FILE,),
    COPIES: (re.compile(r"[a-z0-9-]+-[0-9a-f]{8}"),),
    "runs": (_ANY, _JSON),
    "settings": (_JSON,),
    "spill": (_ANY,),
    "stages": (re.compile(r"[a-z_]+(\.lock)?"), KEY),
}
"""Folders of a store, with the names that entries have on each level below."""


def foreign_entries(store: Path) -> list[str]:
    """Return what an unmarked folder holds that no build wrote; empty if it is a store.

    Stores made before there were markers are recognized by the names in their folders. Beside
    these folders anything may lie where the notes of a build prove that it is a store.
    """
    entries = entries_of(store)
    inside = [name for e in entries if e.name in FOLDERS for name in _strangers(e)]
    has_results = any(any(entries_of(e)) for e in entries if e.name in FOLDERS and e.is_dir())
    # notes are those that a sensor, or a build that failed at once, leaves
    ours = FILES if has_results else RESTORED | {n for n in NOTES if _is_note(store / n)}
    foreign = [e.name for e in entries if e.name not in FOLDERS and e.name not in ours]
    if inside or (foreign and not has_notes(store)):
        return [*inside, *foreign]
    return []


STORE = FolderKind(
    setting="store",
    purpose="Working state of a campaign of annot-pipeline (docs/operations.md).",
    foreign=foreign_entries,
    example="store",
)


def _is_note(path: Path) -> bool:
    try:
        return isinstance(read_json(path), dict)
    except (OSError, ValueError):
        return False


def _strangers(folder: Path) -> Iterator[str]:
    """Yield entries below one of the store's folders that have no name of ours."""
    levels = FOLDERS[folder.name]
    if not folder.is_dir():
        yield folder.name
        return
    above = [folder]
    for depth, names in enumerate(levels):
        entries = [
            entry
            for parent in above
            if parent.is_dir()
            for entry in entries_of(parent)
            if not _UNFINISHED.fullmatch(entry.name)
        ]
        for entry in entries:
            is_last = depth == len(levels) - 1
            is_folder_in_place = is_last or entry.is_dir() or entry.suffix == ".lock"
            if not names.fullmatch(entry.name) or not is_folder_in_place:
                yield entry.relative_to(folder.parent).as_posix()
        above = entries


def has_notes(store: Path) -> bool:
    """Return whether notes of a run name a stage result that is there."""
    for path in sorted(store.glob("runs/*/*.json")):
        try:
            note = read_json(path)
            stage, key = note["stage"], note["key"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if stage == path.stem and (store / "stages" / stage / str(key) / "stage.json").is_file():
            return True
    return False
