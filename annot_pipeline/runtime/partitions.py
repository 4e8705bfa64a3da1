"""Write tables in partitions, and write a partition again only if its inputs changed.

A partition is a file of some whole tasks. A task that is too large for one partition has several
that follow each other, of whole items. The fingerprint of a partition gives its name, so a stage
finds the partitions that its latest result (of the same code and settings) has already; it links
those (runtime.job_sizes says where partitions end).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    is_intact,
    placed,
    streamed,
    tasks_in,
)

CONTINUES_PREVIOUS = "+"
"""Suffix of the name of a partition that continues the task of the previous one."""

WritePartition: TypeAlias = Callable[[Path, str], tuple[Mapping[str, TableFile], Document]]


@dataclass(frozen=True)
class Partition:
    """Represents a part of a stage's tables that can be made independently of the others.

    Parameters
    ----------
    fingerprint
        All that its rows and document depend on, except code and settings.
    make
        Given a folder and the partition's key, writes the files of `partition_path`; returns them
        by table, and a JSON document. It is pickled for other machines.
    continues_previous
        Whether it belongs to the same task as the previous partition.
    """

    fingerprint: Any
    make: WritePartition
    continues_previous: bool = False

    @cached_property
    def key(self) -> str:
        """Return the name of the partition."""
        return partition_key(self.fingerprint, continues_previous=self.continues_previous)


def partition_key(fingerprint: Any, *, continues_previous: bool) -> str:
    """Return the name of a `Partition`."""
    return digest(fingerprint)[:32] + CONTINUES_PREVIOUS * continues_previous


@dataclass(frozen=True)
class InputPartition:
    """Holds the files of some tasks in the tables that a stage reads; they hold no other task.

    Parameters
    ----------
    files
        By table: one file, or of a task that is too large for one, several.
    tasks
        Those that the tables name, in order.
    continues_previous
        Whether it belongs to the same task as the previous one; never true for whole tasks.
    """

    files: Mapping[str, StoredTable]
    tasks: Sequence[str]
    continues_previous: bool = False

    @property
    def hashes(self) -> list[str]:
        """Return the hash of each table's bytes."""
        return [table.sha256 for table in self.files.values()]

    def partition(self, make: WritePartition, *values: Any) -> Partition:
        """Return the partition that is made of these files and of other values."""
        return Partition([self.hashes, *values], make, self.continues_previous)

    def slices(self, name: str) -> list[InputPartition]:
        """Return each file of one table as an input of its own."""
        return [
            InputPartition({name: StoredTable((file,))}, self.tasks, continues_previous=n > 0)
            for n, file in enumerate(self.files[name].files)
        ]

    def aligned(self) -> list[InputPartition]:
        """Return files of the same items together; all files as one if tables differ in number."""
        tables = [table.files for table in self.files.values()]
        if len({len(files) for files in tables}) > 1:
            return [self]
        return [
            InputPartition(
                {
                    name: StoredTable((file,))
                    for name, file in zip(self.files, files_side_by_side, strict=True)
                },
                self.tasks,
                continues_previous=n > 0,
            )
            for n, files_side_by_side in enumerate(zip(*tables, strict=True))
        ]


def input_partitions(context: StageContext, *names: str) -> list[InputPartition]:
    """Return the files of whole tasks, of tables that have the same partitions."""
    tables = [_group_by_task(context.inputs[name]) for name in names]
    return [
        InputPartition(
            dict(zip(names, tables_side_by_side, strict=True)),
            sorted(
                {
                    task
                    for table in tables_side_by_side
                    for file in table.files
                    for task in tasks_in(file)
                }
            ),
        )
        for tables_side_by_side in zip(*tables, strict=True)
    ]


def input_slices(context: StageContext, name: str) -> list[InputPartition]:
    """Return each file of a table by itself, for work that is done by row or by item."""
    return [piece for inputs in input_partitions(context, name) for piece in inputs.slices(name)]


def _group_by_task(table: StoredTable) -> list[StoredTable]:
    """Group files by whole tasks: a file that continues a task joins the previous file."""
    groups: list[list[TableFile]] = []
    for file in table.files:
        if file.path.stem.endswith(CONTINUES_PREVIOUS):
            groups[-1].append(file)
        else:
            groups.append([file])
    return [StoredTable(tuple(files)) for files in groups]


def partition_path(folder: Path, table: str, key: str) -> Path:
    """Return the path of a partition of a table."""
    return folder / f"{table}-{key}.parquet"


def place_partition(
    folder: Path, table: str, key: str, write: Callable[[Path], TableFile]
) -> TableFile:
    """Write a partition that appears in one step; two machines may write the same one."""
    return placed(partition_path(folder, table, key), write)


def write_partition(
    folder: Path, table: str, key: str, rows: Callable[[], Iterator[pa.Table]]
) -> TableFile:
    """Write a partition from an iterator of tables; ``rows`` may be called again."""
    return place_partition(
        folder,
        table,
        key,
        lambda path: write_declared(path, table, lambda: nullcontext(streamed(rows()))),
    )


def link_partition(folder: Path, table: str, key: str, file: TableFile) -> TableFile:
    """Link, or copy, a file of the store as a partition and return it.

    Raises
    ------
    StoreError
        The bytes of a copy are not those that were written; those of links are checked by readers.
    """
    path = partition_path(folder, table, key)
    linked = TableFile(path, file.sha256, file.rows)
    try:
        os.link(file.path, path)
        return linked
    except FileExistsError:
        if is_intact(linked):  # that partition was made already
            return linked
    except OSError:  # a disk without links
        pass
    return placed(path, partial(_copy, file))


def _copy(file: TableFile, path: Path) -> TableFile:
    shutil.copyfile(regular(file.path), path)
    copy = TableFile(path, file.sha256, file.rows)
    if not is_intact(copy):
        raise damaged(file)
    return copy


@dataclass(frozen=True)
class CachedPartition:
    """Holds a partition of an earlier result: its files by table, and its document."""

    key: str
    files: Mapping[str, TableFile]
    document: Document


def cached_partitions(result: StageResult | None) -> list[CachedPartition]:
    """Return the partitions of a result; none without a result."""
    files: dict[str, dict[str, TableFile]] = {}
    for table, stored in result.tables.items() if result else ():
        for file in stored.files:
            files.setdefault(file.path.stem.rpartition("-")[2], {})[table] = file
    documents = result.document.get(PARTITIONS, {}) if result else {}
    return [
        CachedPartition(key, files[key], document)
        for key, document in documents.items()
        if key in files
    ]


def never_called(folder: Path, key: str) -> tuple[Mapping[str, TableFile], Document]:
    """Stand in for the work on a cached partition; it is never called."""
    raise LookupError(f"{key} is cached: it must not be made in {folder}")


def run_partitions(
    context: StageContext, partitions: Sequence[Partition], *, at_once: int | None = None
) -> tuple[dict[str, StoredTable], dict[str, Document]]:
    """Make the partitions that are not cached; return tables, and documents by partition key.

    Parameters
    ----------
    partitions
        In the order of their rows.
    at_once
        How many are made at once on one machine; by default as many as there are workers.
    """
    latest = {partition.key: partition for partition in cached_partitions(context.latest())}
    cached = {
        partition.key: latest[partition.key] for partition in partitions if partition.key in latest
    }
    new = [partition for partition in partitions if partition.key not in cached]
    jobs = [partial(partition.make, context.folder, partition.key) for partition in new]
    done = dict(zip((partition.key for partition in new), context.run(jobs, at_once), strict=True))
    remove_unfinished(context.folder)  # of machines that were lost
    for key, partition in cached.items():
        linked = {
            table: link_partition(context.folder, table, key, file)
            for table, file in partition.files.items()
        }
        done[key] = linked, partition.document
    in_order = {partition.key: done[partition.key] for partition in partitions}
    tables = {
        table: StoredTable(tuple(files[table] for files, _ in in_order.values()))
        for table in in_order[partitions[0].key][0]
    }
    return tables, {key: document for key, (_, document) in in_order.items()}
