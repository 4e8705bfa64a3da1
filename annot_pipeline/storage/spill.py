"""Where SQL puts what does not fit into memory: a folder a process, gone when it is done."""

from __future__ import annotations

import os
import shutil
import socket
import time
from pathlib import Path

ABANDONED_AFTER = 86_400.0
"""Seconds after which a folder of another machine, which nobody can ask, is deleted."""


def own_spill(spill: Path) -> Path:
    """The folder of this process; DuckDB makes it when it needs it."""
    return spill / f"{_prefix()}{os.getpid()}"


def clean_spill(spill: Path) -> None:
    """Delete the folder of this process, and those of processes that are no more."""
    if not spill.is_dir():
        return
    for folder in spill.glob("annot-*"):
        if folder == own_spill(spill) or _abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)
    if not any(spill.iterdir()):
        spill.rmdir()


def _abandoned(folder: Path) -> bool:
    host, _, process = folder.name.rpartition("-")
    if f"{host}-" == _prefix() and process.isdigit() and not _lives(int(process)):
        return True
    try:
        return folder.stat().st_mtime < time.time() - ABANDONED_AFTER
    except FileNotFoundError:
        return False


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _prefix() -> str:
    return f"annot-{socket.gethostname()}-"
