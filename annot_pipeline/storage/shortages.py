"""Errors of memory and disks that do not suffice: for what, in which folder, and what to change.

What does not belong here: limits that exports are held against before (exports).
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from annot_pipeline.errors import InputError, Problem, StoreError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""No room on the disk, none left for this user, or a file larger than may be."""
MORE_MEMORY = (
    "give the process more memory (a larger machine or container, or a higher ulimit -v); set "
    "fewer resources.threads, as tasks are worked on side by side; or map task so that the largest "
    "task becomes several. resources.memory_limit bounds SQL queries only: a higher one leaves "
    "less for the rest"
)
LOWER_LIMIT = (
    "set resources.memory_limit (as 1GB) well below the memory that the process may take, so that "
    "queries use the disk (resources.spill); set fewer resources.threads; or give the process more "
    "memory"
)
INTERRUPTED = "Query interrupted"
"""What DuckDB says where a signal ends a query."""
HIGHER_LIMIT = (
    "raise resources.memory_limit, if the process may take more memory; else set fewer "
    "resources.threads, or give it more memory"
)
SMALLER_EXPORT = (
    "set fewer resources.threads, as exports are read side by side; deliver it in several files; "
    "or take a machine with more memory. Lower limits.document_bytes and limits.row_bytes refuse "
    "such a file before it is read"
)


def how_to_make_room(error: OSError, folder: Path) -> str:
    """Return what to do about a folder that cannot be written to."""
    if error.errno == errno.EFBIG:
        return f"raise the largest size of a file there (ulimit -f, or the file system of {folder})"
    if error.errno == errno.EDQUOT:
        return "free space, or ask for a larger quota"
    return "free space" if error.errno == errno.ENOSPC else f"let this user write to {folder}"


def cannot_write(folder: Path, error: OSError, what: str, task: str = "") -> StoreError:
    """Return the error of a folder that is read-only or full.

    Parameters
    ----------
    what
        The setting that names the folder.
    task
        What was being done, as ``reading exports/a.csv``; empty if nothing tells.
    """
    first = how_to_make_room(error, folder)
    do = f"{first}, or name another folder with --set {what}=FOLDER; the last release is untouched"
    problem = Problem(task, error.strerror or str(error), do=do)
    return StoreError(f"{folder}: cannot write {what}", [problem], may_pass=True)


@contextmanager
def reading_export(name: str, store: Path) -> Iterator[None]:
    """Name the export whose reading needs more memory than there is, or more of the store's disk.

    Raises
    ------
    InputError
        There is not enough memory.
    StoreError
        The store's disk is full.
    """
    try:
        yield
    except MemoryError as error:
        what = f"not enough memory ({str(error).splitlines()[0]})" if str(error) else ""
        problem = Problem("", what or "not enough memory", do=SMALLER_EXPORT)
        raise InputError(f"{name}: cannot be read", [problem], may_pass=True) from None
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise cannot_write(store, error, "store", f"reading {name}") from error


@contextmanager
def running(task: str, do: str = MORE_MEMORY) -> Iterator[None]:
    """Name the work that needs more memory than there is, and say what to do.

    Raises
    ------
    StoreError
        There is not enough memory.
    """
    try:
        yield
    except MemoryError as error:
        what = str(error).partition("\n")[0] or "the system gives no more"
        problem = Problem("", what, do=do)
        raise StoreError(f"not enough memory for {task}", [problem], may_pass=True) from None


@contextmanager
def querying(name: str, spill: Path) -> Iterator[None]:
    """Say of a query that memory, or the disk that it spills to, does not suffice.

    Raises
    ------
    StoreError
        With the setting to change.
    KeyboardInterrupt
        The process was asked to end while the query ran.
    """
    try:
        with running(name, LOWER_LIMIT):
            yield
    except duckdb.OutOfMemoryException as error:
        what = str(error).partition("\n")[0]
        if "offload" in what:  # the limit that DuckDB names is the room on the disk
            raise _spill_is_full(name, spill, what) from None
        is_own_limit = "used)" in what  # else the system gives no more
        problem = Problem("", what, do=HIGHER_LIMIT if is_own_limit else LOWER_LIMIT)
        raise StoreError(f"not enough memory for {name}", [problem]) from None
    except duckdb.IOException as error:
        what = str(error).partition("\n")[0]
        if str(spill) not in what:
            raise
        raise _spill_is_full(name, spill, what) from None
    except RuntimeError as error:  # what DuckDB makes of a signal in the main thread
        if str(error) != INTERRUPTED:
            raise
        raise KeyboardInterrupt from None


def _spill_is_full(name: str, spill: Path, what: str) -> StoreError:
    do = (
        f"free space in {spill}, or set resources.spill to an empty folder on a larger disk; a "
        "higher resources.memory_limit needs less of it"
    )
    title = f"{spill}: no room for what {name} puts aside"
    return StoreError(title, [Problem("", what, do=do)], may_pass=True)
