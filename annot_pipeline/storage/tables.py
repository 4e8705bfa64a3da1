"""Parquet files: a table in one, or in several of whole tasks; the same bytes for the same rows."""

from __future__ import annotations

import bisect
import hashlib
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.storage.files import file_sha256, regular, temp_sibling

ROW_GROUP = 1 << 17
"""Rows; DuckDB reads groups side by side, and skips those of other tasks."""
FILE_ROWS = 10_000_000
"""Rows of a published file; a table that has more is a folder of files."""
SMALL = 16 << 20
"""Bytes up to which one thread reads: a process that ends while pyarrow starts its first threads
aborts (5 of 120 on a busy machine, pyarrow 26), and a script that reads one table is that quick."""


UNSTEADY_NS = 2_000_000_000
"""Nanoseconds in which a file that changes twice may keep its time of change."""
_digests: dict[tuple[int, int, int, int], str] = {}
"""SHA-256 of files that this process has read, by device, inode, size and time of change."""
UNIQUE = frozenset({"judgment_id", "public_id"})
"""Text columns of which no two rows are alike: to code them takes longer than to hold them."""


@dataclass(frozen=True)
class TableFile:
    """A table on disk, or a part of one: its file, the SHA-256 of its bytes, its size."""

    path: Path
    sha256: str
    rows: int


@dataclass(frozen=True)
class StoredTable:
    """A table in the store: one file or several of whole tasks, whose rows follow each other."""

    files: tuple[TableFile, ...]

    @classmethod
    def from_entries(cls, folder: Path, files: Iterable[Mapping[str, Any]]) -> StoredTable:
        """Return the table whose files in a folder have entries: ``file``, ``sha256``, ``rows``."""
        return cls(tuple(TableFile(folder / f["file"], f["sha256"], f["rows"]) for f in files))

    @property
    def sha256(self) -> str:
        """Return its data version: the hash of its file, or of the hashes of its files."""
        if len(self.files) == 1:
            return self.files[0].sha256
        return hashlib.sha256("\n".join(file.sha256 for file in self.files).encode()).hexdigest()

    @property
    def rows(self) -> int:
        """Return the rows of all files."""
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        """Return the bytes of all files."""
        return sum(path.stat().st_size for path in self.paths)

    @property
    def paths(self) -> list[Path]:
        """Return the paths of all files."""
        return [file.path for file in self.files]


Source: TypeAlias = Path | StoredTable


def write_table(
    path: Path,
    rows: pa.Table | pa.RecordBatchReader,
    *,
    published: bool = False,
    group_rows: int | None = None,
) -> TableFile:
    """Write Parquet (zstd). The bytes depend on the rows, their order and codes of encoded names.

    Parameters
    ----------
    published
        Whether strangers will look for rows: least and greatest values of all columns are kept
        then, by row group, which is nearly half of the work; else of the column ``task`` alone.
    group_rows
        Rows of a row group; None: `ROW_GROUP`.
    """
    batches = rows.to_batches() if isinstance(rows, pa.Table) else _ahead(rows)
    n_rows, group_rows = 0, group_rows or ROW_GROUP
    statistics: bool | list[str] = published or list({"task"} & set(rows.schema.names))
    with pq.ParquetWriter(
        path, rows.schema, compression="zstd", write_statistics=statistics or False
    ) as writer:
        for group in _regrouped(batches, group_rows):
            # pages end where chunks end: one chunk, however the rows came
            writer.write_table(group.combine_chunks(), row_group_size=group_rows)
            n_rows += group.num_rows
    return TableFile(path, file_sha256(path), n_rows)


def placed(path: Path, write: Callable[[Path], TableFile]) -> TableFile:
    """Write a file that appears whole under its name: two machines may write it at once.

    Parameters
    ----------
    write
        Writes it under another name beside it, which is given.
    """
    temporary = temp_sibling(path)
    file = write(temporary)
    os.replace(temporary, path)
    return TableFile(path, file.sha256, file.rows)


def _ahead(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the same; while one is written, another thread makes the next."""
    source = iter(batches)
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, source, None)
        while (batch := coming.result()) is not None:
            coming = pool.submit(next, source, None)
            yield batch


def _regrouped(batches: Iterable[pa.RecordBatch], group_rows: int) -> Iterable[pa.Table]:
    """Yield the row groups of one size, however the rows came in batches."""
    buffer: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        while size + batch.num_rows >= group_rows:
            take = group_rows - size
            yield pa.Table.from_batches([*buffer, batch.slice(0, take)])
            batch, buffer, size = batch.slice(take), [], 0
        if batch.num_rows:
            buffer.append(batch)
            size += batch.num_rows
    if buffer:
        yield pa.Table.from_batches(buffer)


def as_published(
    table: StoredTable, path: Path, *, group_rows: int | None = None
) -> list[tuple[Path, Callable[[], TableFile]]]:
    """Return the paths of a published table's files, each with a function that provides the file.

    One file, or of more than `FILE_ROWS` rows a folder of files with so many each. Where they end,
    and so their bytes, hangs on the rows alone, not on the files of the store.

    Parameters
    ----------
    path
        Of the file or the folder.
    group_rows
        Rows of a row group of files that are written; None: `ROW_GROUP`.
    """
    if len(table.files) == 1 and table.rows <= FILE_ROWS:
        return [(path, partial(table.files.__getitem__, 0))]
    write = partial(_write_rows, table, group_rows=group_rows)
    if table.rows <= FILE_ROWS:
        return [(path, partial(write, 0, path))]
    paths = [path / f"part-{n:05d}.parquet" for n in range(-(-table.rows // FILE_ROWS))]
    return [(file, partial(write, n * FILE_ROWS, file)) for n, file in enumerate(paths)]


def _write_rows(table: StoredTable, first: int, path: Path, *, group_rows: int | None) -> TableFile:
    """Write `FILE_ROWS` rows of a table from the first of them.

    Raises
    ------
    StoreError
        The bytes of a file are not those that were written.
    """
    path.parent.mkdir(exist_ok=True)
    rows = streamed(_rows(table, first, first + FILE_ROWS))
    return placed(path, partial(write_table, rows=rows, published=True, group_rows=group_rows))


def _rows(table: StoredTable, first: int, end: int) -> Iterator[pa.Table]:
    """Yield some rows of a table; where there are none, one table without any tells the columns."""
    at = 0
    for file in table.files:
        if not table.rows or (at < end and at + file.rows > first):
            some = verify_table(StoredTable((file,)))
            yield from read_groups(some, plain=True, rows=(first - at, end - at))
        at += file.rows


def read_table(
    source: Source, columns: Sequence[str] | None = None, tasks: Collection[str] | None = None
) -> pa.Table:
    """Read Parquet, names and labels dictionary-encoded as they lie in the file.

    Parameters
    ----------
    columns
        Those wanted; all.
    tasks
        Read no row groups that hold none of these tasks; rows of others may come along.
    """
    paths = [source] if isinstance(source, Path) else source.paths
    tables = [_read_file(path, columns, tasks) for path in paths]
    # each row group has a dictionary of its own, and Arrow groups by no column of several
    return pa.concat_tables(tables).unify_dictionaries()


def _read_file(
    path: Path, columns: Sequence[str] | None, tasks: Collection[str] | None
) -> pa.Table:
    with pq.ParquetFile(regular(path)) as file:
        metadata, schema = file.metadata, file.schema_arrow
    column_names = schema.names if columns is None else list(columns)
    groups = None if tasks is None else _groups_of(metadata, tasks)
    size = path.stat().st_size
    return _read(path, size, metadata, _encoded(schema), column_names, groups).select(column_names)


@lru_cache(1 << 14)
def tasks_in(file: TableFile) -> tuple[str, ...]:
    """Return the tasks that rows of a file of the store name, in order.

    Raises
    ------
    StoreError
        The bytes are not those that were written.
    """
    named = read_verified(StoredTable((file,)), ["task"])["task"]
    return tuple(sorted(name for name in pc.unique(named).to_pylist() if name is not None))


def _groups_of(metadata: pq.FileMetaData, tasks: Collection[str]) -> list[int]:
    """Return the row groups that may hold rows of some tasks, by their least and greatest task."""
    column = metadata.schema.names.index("task")
    ordered = sorted(tasks)
    groups = []
    for group in range(metadata.num_row_groups):
        statistics = metadata.row_group(group).column(column).statistics
        if statistics and statistics.has_min_max:
            first = bisect.bisect_left(ordered, statistics.min)
            if first == len(ordered) or ordered[first] > statistics.max:
                continue
        groups.append(group)
    return groups


def parse_table(data: bytes) -> pa.Table:
    """Read Parquet that is in memory, plain."""
    return _read(pa.BufferReader(data), len(data)).unify_dictionaries()


def _read(
    source: Path | pa.BufferReader,
    size: int,
    metadata: pq.FileMetaData | None = None,
    texts: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    groups: Sequence[int] | None = None,
) -> pa.Table:
    threads = size > SMALL
    if isinstance(source, Path):
        regular(source)
    with pq.ParquetFile(
        source, metadata=metadata, read_dictionary=texts, pre_buffer=threads
    ) as file:
        if groups is None:
            return file.read(columns, use_threads=threads)
        return file.read_row_groups(groups, columns, use_threads=threads)


def read_groups(
    source: Source,
    columns: Sequence[str] | None = None,
    *,
    plain: bool = False,
    rows: tuple[int, int] | None = None,
) -> Iterator[pa.Table]:
    """Read some columns of Parquet, or all, row group by row group; texts encoded, or plain.

    Where there are no rows, one table without any tells the columns. Of each file those rows alone
    that lie from the first of ``rows`` to before the second.
    """
    for path in [source] if isinstance(source, Path) else source.paths:
        with pq.ParquetFile(regular(path)) as file:
            texts, metadata = [] if plain else _encoded(file.schema_arrow), file.metadata
        with pq.ParquetFile(regular(path), metadata=metadata, read_dictionary=texts) as file:
            if not file.num_row_groups:
                yield file.read(columns)
            at = 0
            for group in range(file.num_row_groups):
                n = file.metadata.row_group(group).num_rows
                start, end = (0, n) if rows is None else (max(rows[0] - at, 0), rows[1] - at)
                if start < min(end, n):
                    yield file.read_row_group(group, columns).slice(start, end - start)
                at += n


def _encoded(schema: pa.Schema) -> list[str]:
    """Return columns of text to read dictionary-encoded."""
    return [f.name for f in schema if pa.types.is_string(f.type) and f.name not in UNIQUE]


def streamed(parts: Iterator[pa.Table]) -> pa.RecordBatchReader:
    """Return rows that come in parts, at least one, all with the columns of the first."""
    first = next(parts)
    batches = (batch for part in chain([first], parts) for batch in part.to_batches())
    return pa.RecordBatchReader.from_batches(first.schema, batches)


class StoredTasks:
    """Rows of a table of the store, read task by task as they are asked for.

    Parameters
    ----------
    table
        ``task`` and more.
    columns
        Those wanted, ``task`` among them; all.
    """

    def __init__(self, table: StoredTable, columns: Sequence[str] = ()) -> None:
        self._table, self._columns = table, columns or None

    def __getitem__(self, task: str) -> pa.Table:
        """Return rows of a task, in their order; none if the table does not know it."""
        rows = read_table(self._table, self._columns, [task])
        return rows.filter(pc.equal(rows["task"].cast(pa.string()), task))


def verify_table(table: StoredTable) -> StoredTable:
    """Return a table of the store whose files all hold the bytes that were written.

    Raises
    ------
    StoreError
        The bytes are not those that were written.
    """
    for file in table.files:
        if not is_intact(file):
            raise damaged(file)
    return table


def read_verified(
    table: StoredTable, columns: Sequence[str] = (), tasks: Collection[str] | None = None
) -> pa.Table:
    """Read a table of the store; some columns, or all; see `read_table`.

    Raises
    ------
    StoreError
        The bytes are not those that were written.
    """
    return read_table(verify_table(table), columns or None, tasks)


def read_as_written(file: TableFile) -> pa.Table:
    """Read a file of the store, its columns of the types that were written.

    Raises
    ------
    StoreError
        The bytes are not those that were written.
    """
    return pa.concat_tables(read_groups(verify_table(StoredTable((file,))), plain=True))


def read_verified_groups(table: StoredTable, columns: Sequence[str] = ()) -> Iterator[pa.Table]:
    """Read a table of the store row group by row group; see `read_groups`.

    Raises
    ------
    StoreError
        The bytes are not those that were written.
    """
    yield from read_groups(verify_table(table), columns or None)


def is_intact(file: TableFile) -> bool:
    """Return whether the bytes are those that were written; a process reads them once.

    Links of a file are one. A file that was written just now is read again: a disk may give the
    next change the same time.
    """
    status = os.stat(file.path)
    version = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    if (digest := _digests.get(version)) is None:
        digest = file_sha256(file.path)
        if time.time_ns() - status.st_mtime_ns > UNSTEADY_NS:
            _digests[version] = digest
    return digest == file.sha256


def damaged(file: TableFile) -> StoreError:
    """Return the error of a table whose bytes have changed."""
    do = f"delete {file.path.parent} and build again"
    return StoreError(
        f"{file.path}: not the bytes that were written",
        [Problem("", "the store is damaged", do=do)],
    )
