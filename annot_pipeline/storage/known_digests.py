"""SHA-256 of exports, kept from look to look: bytes that did not change are not read again."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from annot_pipeline.errors import InputError
from annot_pipeline.storage.archive import Stamp, export_sha256, readable, stamp
from annot_pipeline.storage.files import make_private, read_json, write_json

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
