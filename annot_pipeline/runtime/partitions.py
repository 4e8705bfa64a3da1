"""Tables that are made in parts, each made anew only if what it is made of changed.

A part is a file of some whole tasks; where one task is too large for a part, it lies in several
that follow each other, of whole items. What a part is made of gives its name, so that a stage finds
in its latest result (of the same code and settings) which parts it has; those are linked, not made.
Where parts end follows from the names themselves: a task, or item, that grows, comes or goes moves
the ends near it alone.
"""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from annot_pipeline.config.signature import digest
from annot_pipeline.runtime.context import (
    PARTITIONS,
    Document,
    StageContext,
    write_declared,
)
from annot_pipeline.storage.files import regular, remove_unfinished
from annot_pipeline.storage.store import StageResult
from annot_pipeline.storage.tables import (
    StoredTable,
    TableFile,
    damaged,
    is_unharmed,
    placed,
    streamed,
    tasks_in,
)

PART_ROWS = 250_000
"""Rows of a part at most, unless it is one item."""
LEAST_ROWS = 1 << 15
"""Rows from which a part may end."""
ENDS = 4
"""One task or item in so many, by its name, ends a part that may end."""
GOES_ON = "+"
"""Ends the name of a part that goes on with the task of the one before."""

Make: TypeAlias = Callable[[Path, str], tuple[Mapping[str, TableFile], Document]]


@dataclass(frozen=True)
class Part:
    """A part of a stage's tables that can be made by itself.

    Parameters
    ----------
    made_of
        All that its rows and document follow from, but code and settings.
    make
        Given a folder and the part's key, writes the files of `part_path`; returns them by table,
        and a JSON document. Takes nothing of the process that it was made in.
    goes_on
        Whether it is of the same task as the part before.
    """

    made_of: Any
    make: Make
    goes_on: bool = False

    @cached_property
    def key(self) -> str:
        """Its name."""
        return part_key(self.made_of, goes_on=self.goes_on)


def part_key(made_of: Any, *, goes_on: bool) -> str:
    """The name of a `Part`."""
    return digest(made_of)[:32] + GOES_ON * goes_on


@dataclass(frozen=True)
class InputPart:
    """Some tasks of the tables that a stage reads: of each table, files that hold them alone.

    Parameters
    ----------
    files
        By table: one file, or of a task that is too large for one, several.
    tasks
        Those that the tables name, in order.
    goes_on
        Whether it is of the same task as the one before; never of whole tasks.
    """

    files: Mapping[str, StoredTable]
    tasks: Sequence[str]
    goes_on: bool = False

    @property
    def hashes(self) -> list[str]:
        """Of the bytes of all files."""
        return [table.sha256 for table in self.files.values()]

    def slices(self, name: str) -> list[InputPart]:
        """The files of one table, each by itself."""
        return [
            InputPart({name: StoredTable((file,))}, self.tasks, goes_on=n > 0)
            for n, file in enumerate(self.files[name].files)
        ]

    def aligned(self) -> list[InputPart]:
        """Files of all tables side by side, where each has as many: those of the same items."""
        tables = [table.files for table in self.files.values()]
        if len({len(files) for files in tables}) > 1:
            return [self]
        return [
            InputPart(
                {name: StoredTable((file,)) for name, file in zip(self.files, of, strict=True)},
                self.tasks,
                goes_on=n > 0,
            )
            for n, of in enumerate(zip(*tables, strict=True))
        ]


def cut(
    sizes: Mapping[str, int], *, most: int | None = None, least: int | None = None
) -> list[list[str]]:
    """Names of tasks, in order, in parts; at least one part, which may be empty.

    Parameters
    ----------
    sizes
        Rows by task.
    most, least
        As `runs_of` takes them.
    """
    in_order = ((task, sizes[task]) for task in sorted(sizes))
    return list(runs_of(in_order, most=most, least=least)) or [[]]


def runs_of(
    sizes: Iterable[tuple[str, int]], *, most: int | None = None, least: int | None = None
) -> Iterator[list[str]]:
    """Names, in order, in runs.

    Parameters
    ----------
    sizes
        Names in order, and rows of each.
    most, least
        Rows of a run at most, unless it is one name, and from which it may end; `PART_ROWS`
        and `LEAST_ROWS`.
    """
    most, least = most or PART_ROWS, least or LEAST_ROWS
    names: list[str] = []
    rows = 0
    for name, n in sizes:
        if names and rows + n > most:
            yield names
            names, rows = [], 0
        names.append(name)
        rows += n
        if rows >= least and zlib.crc32(name.encode()) % ENDS == 0:
            yield names
            names, rows = [], 0
    if names:
        yield names


def is_large(rows: int) -> bool:
    """Whether a task is more than one part holds."""
    return rows > PART_ROWS


def input_parts(context: StageContext, *names: str) -> list[InputPart]:
    """Whole tasks of tables that were made of the same parts."""
    tables = [_by_tasks(context.inputs[name]) for name in names]
    return [
        InputPart(
            dict(zip(names, of, strict=True)),
            sorted({task for table in of for file in table.files for task in tasks_in(file)}),
        )
        for of in zip(*tables, strict=True)
    ]


def input_slices(context: StageContext, name: str) -> list[InputPart]:
    """All files of a table, each by itself: for what is done row by row, or item by item."""
    return [piece for of in input_parts(context, name) for piece in of.slices(name)]


def _by_tasks(table: StoredTable) -> list[StoredTable]:
    """Files of whole tasks: what goes on with a task comes to the file before."""
    found: list[list[TableFile]] = []
    for file in table.files:
        if file.path.stem.endswith(GOES_ON):
            found[-1].append(file)
        else:
            found.append([file])
    return [StoredTable(tuple(files)) for files in found]


def part_path(folder: Path, table: str, key: str) -> Path:
    """Where a part of a table lies."""
    return folder / f"{table}-{key}.parquet"


def placed_part(
    folder: Path, table: str, key: str, write: Callable[[Path], TableFile]
) -> TableFile:
    """A part that is written, and appears whole: two machines may make the same one."""
    return placed(part_path(folder, table, key), write)


def write_part(
    folder: Path, table: str, key: str, rows: Callable[[], Iterator[pa.Table]]
) -> TableFile:
    """Write a part whose rows come in tables, one after the other, each time anew."""
    return placed_part(
        folder,
        table,
        key,
        lambda path: write_declared(path, table, lambda: nullcontext(streamed(rows()))),
    )


def link_part(folder: Path, table: str, key: str, file: TableFile) -> TableFile:
    """A part that is a file of the store, byte for byte.

    Raises
    ------
    StoreError
        Its bytes are not those that were written.
    """
    path = part_path(folder, table, key)
    linked = TableFile(path, file.sha256, file.rows)
    try:
        os.link(file.path, path)
        return linked
    except FileExistsError:
        if is_unharmed(linked):  # that part was made already
            return linked
    except OSError:  # a disk without links
        pass
    return placed(path, partial(_copied, file))


def _copied(file: TableFile, path: Path) -> TableFile:
    shutil.copyfile(regular(file.path), path)
    copy = TableFile(path, file.sha256, file.rows)
    if not is_unharmed(copy):
        raise damaged(file)
    return copy


@dataclass(frozen=True)
class KnownPart:
    """A part that a result of the stage has: its files by table, and its document."""

    key: str
    files: Mapping[str, TableFile]
    document: Document


def known_parts(result: StageResult | None) -> list[KnownPart]:
    """The parts of a result, if there is one."""
    files: dict[str, dict[str, TableFile]] = {}
    for table, stored in result.tables.items() if result else ():
        for file in stored.files:
            files.setdefault(file.path.stem.rpartition("-")[2], {})[table] = file
    documents = result.document.get(PARTITIONS, {}) if result else {}
    return [
        KnownPart(key, files[key], document) for key, document in documents.items() if key in files
    ]


def is_known(context: StageContext, made_of: Any, *, goes_on: bool = False) -> bool:
    """Whether the latest result of the stage has a part."""
    return part_key(made_of, goes_on=goes_on) in {
        part.key for part in known_parts(context.latest())
    }


def made_before(folder: Path, key: str) -> tuple[Mapping[str, TableFile], Document]:
    """Stands for the work on a part that is known, which is not asked for."""
    raise LookupError(f"{key} is known, so it is not made in {folder}")


def in_parts(
    context: StageContext, parts: Sequence[Part], *, at_once: int | None = None
) -> tuple[dict[str, StoredTable], dict[str, Document]]:
    """Return the tables of a stage that consist of parts, and the documents of parts by key.

    Parameters
    ----------
    parts
        In the order of their rows.
    at_once
        How many are made side by side on one machine; as many as there are workers.
    """
    latest = {part.key: part for part in known_parts(context.latest())}
    known = {part.key: latest[part.key] for part in parts if part.key in latest}
    new = [part for part in parts if part.key not in known]
    jobs = [partial(part.make, context.folder, part.key) for part in new]
    done = dict(zip((part.key for part in new), context.run(jobs, at_once), strict=True))
    remove_unfinished(context.folder)  # of machines that were lost
    for key, part in known.items():
        linked = {
            table: link_part(context.folder, table, key, file) for table, file in part.files.items()
        }
        done[key] = linked, part.document
    in_order = {part.key: done[part.key] for part in parts}
    tables = {
        table: StoredTable(tuple(found[table] for found, _ in in_order.values()))
        for table in in_order[parts[0].key][0]
    }
    return tables, {key: document for key, (_, document) in in_order.items()}
