"""SQL files over Parquet and Arrow: DuckDB in memory, nothing fetched, bound parameters."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import duckdb
import pyarrow as pa

from annot_pipeline.config import Resources
from annot_pipeline.storage.shortages import querying
from annot_pipeline.storage.spill import clean_spill, open_spill
from annot_pipeline.storage.tables import Source, StoredTable

BATCH_ROWS = 250_000


def no_glob(path: Path | str) -> str:
    """Return a path that means itself where DuckDB takes a glob."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def parquet_scan(paths: Iterable[Path | str], *, by_name: bool = False) -> str:
    """Return the SQL table function that reads Parquet files: their own columns, nothing else.

    DuckDB takes a path for a glob, and a folder named ``label=yes`` for a partition whose value
    replaces the column ``label``; both are turned off here, so all our SQL reads files by this
    function.

    Parameters
    ----------
    by_name
        Whether files may have different columns: these are matched by name, and a column
        ``filename`` holds the path.
    """
    files = ", ".join(text_literal(no_glob(path)) for path in paths)
    options = ", union_by_name = true, filename = true" if by_name else ""
    return f"read_parquet([{files}], hive_partitioning = false{options})"


def sql_text(name: str) -> str:
    """Return a query of ``sql/``: in the wheel inside the package, in a checkout beside it."""
    return (sql_folder() / f"{name}.sql").read_text(encoding="utf-8")


def sql_folder() -> Path:
    """Return the folder of all queries."""
    inside = Path(str(files("annot_pipeline"))) / "sql"
    return inside if inside.is_dir() else inside.parent.parent / "sql"


@cache
def sql_digest() -> str:
    """Return SHA-256 over all queries, which count as code."""
    texts = [path.read_bytes() for path in sorted(sql_folder().rglob("*.sql"))]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


Files: TypeAlias = Source | Sequence[Path]


@dataclass(frozen=True)
class NameRange:
    """A range of names, in their order.

    Parameters
    ----------
    after, last
        The one before the first, and the last; None: there is none before, or behind.
    """

    after: str | None
    last: str | None

    def between(self, column: str) -> str:
        """Return a SQL condition on a column: after one name, and up to another."""
        behind = [] if self.after is None else [f"{column} > {text_literal(self.after)}"]
        up_to = [] if self.last is None else [f"{column} <= {text_literal(self.last)}"]
        return " AND ".join([*behind, *up_to]) or "true"


class Items(NameRange):
    """Some items of a task that follow each other; of a pair the name is ``item_a | item_b``.

    Rows that name no item stand behind all.
    """

    def condition(self, columns: Collection[str]) -> str:
        """Return a SQL condition on a table that has some columns of records."""
        item = ["item"] if "item" in columns else []
        pair = ["item_a || ' | ' || item_b"] if {"item_a", "item_b"} <= {*columns} else []
        name = f"coalesce({', '.join([*item, *pair, 'NULL'])})"
        both = self.between(name)
        return f"({both})" if self.last is not None else f"({both} OR {name} IS NULL)"


T = TypeVar("T")


@dataclass(frozen=True)
class Tasks:
    """Some tasks that follow each other in the order of names, or only some of them.

    Parameters
    ----------
    first, last
        Those at both ends.
    none
        Whether rows that name no task go with them.
    items, judges
        Of the one task, where it is not all of it.
    among
        Names, where not all between the ends are meant.
    """

    first: str
    last: str
    none: bool
    items: Items | None = None
    judges: NameRange | None = None
    among: Sequence[str] = ()

    @classmethod
    def from_names(cls, names: Sequence[str], *, none: bool) -> Tasks:
        """Return the range of sorted names; of no name, an empty one."""
        return cls(names[0], names[-1], none) if names else cls("", "", none)

    def condition(self, columns: Collection[str]) -> str:
        """Return the condition in SQL, by some columns; row groups of other tasks are not read."""
        named = f"task BETWEEN {text_literal(self.first)} AND {text_literal(self.last)}"
        if self.among:
            named += f" AND task IN ({', '.join(map(text_literal, self.among))})"
        if self.items:
            named = f"({named} AND {self.items.condition(columns)})"
        if self.judges:
            named = f"({named} AND {self.judges.between('judge')})"
        return named + " OR task IS NULL" * self.none


def text_literal(name: str) -> str:
    """Return a text of SQL."""
    return "'" + name.replace("'", "''") + "'"


class Queries:
    """Runs the queries of ``sql/`` over named inputs."""

    def __init__(self, resources: Resources, spill: Path) -> None:
        self.resources = resources
        self.spill = spill

    @contextmanager
    def run(
        self,
        name: str,
        inputs: Mapping[str, pa.Table | Files],
        parameters: Mapping[str, Any] | None = None,
        *,
        temp_tables: Mapping[str, str] | None = None,
        tasks: Tasks | None = None,
        filtered: Collection[str] = (),
    ) -> Iterator[pa.RecordBatchReader]:
        """Stream the rows of one SELECT.

        Parameters
        ----------
        name
            File under ``sql/`` without its ending.
        inputs
            Names in the query to Arrow tables, Parquet files, or tables of the store; a list of
            files is read as one table by column name, with the file's path in ``filename``.
        parameters
            Values of ``$name`` in the query.
        temp_tables
            Names in the query to queries that are run before it, over the same inputs.
        tasks, filtered
            The tasks to read, and the inputs that are restricted to them; default: all rows.
        """
        texts = [sql_text(query) for query in (name, *(temp_tables or {}).values())]
        words = {word for text in texts for word in re.findall(r"\w+", text)}
        with self._connection() as connection, querying(name, self.spill):
            for view, source in inputs.items():
                if isinstance(source, pa.Table):
                    connection.register(view, source)
                elif view in words:  # to open a file takes as long as a small query
                    files = _files(source)
                    if tasks and view in filtered:
                        columns = connection.sql(files).columns
                        files += f" WHERE {tasks.condition(columns)}"
                    connection.execute(f'CREATE TEMP VIEW "{view}" AS {files}')
            for table, text in zip(temp_tables or {}, texts[1:], strict=True):
                connection.execute(f'CREATE TEMP TABLE "{table}" AS {text}')
            relation = connection.sql(texts[0], params=dict(parameters or {}) or None)
            yield _interruptibly(connection, partial(relation.to_arrow_reader, BATCH_ROWS))

    def table(
        self,
        name: str,
        inputs: Mapping[str, pa.Table | Files],
        parameters: Mapping[str, Any] | None = None,
        *,
        tasks: Tasks | None = None,
        filtered: Collection[str] = (),
    ) -> pa.Table:
        """Return the rows of one SELECT as a table; see `run`."""
        with self.run(name, inputs, parameters, tasks=tasks, filtered=filtered) as reader:
            return reader.read_all()

    @contextmanager
    def _connection(self) -> Iterator[duckdb.DuckDBPyConnection]:
        settings = {
            "memory_limit": self.resources.memory_limit,
            "threads": self.resources.threads,
            "temp_directory": str(open_spill(self.spill)),
        }
        config = tuple((name, value) for name, value in settings.items() if value)
        connection = _database(config).cursor()  # sees no view of another one
        try:
            yield connection
        finally:
            connection.close()


def _interruptibly(connection: duckdb.DuckDBPyConnection, work: Callable[[], T]) -> T:
    """Return the result of a query, which a signal in the main thread ends.

    DuckDB misses most signals while a query runs in the main thread: it is run in another one.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(work)
        try:
            return running.result()
        except BaseException:
            while not running.done():  # an interruption that comes too early is not heard
                connection.interrupt()
                wait([running], timeout=0.1)
            raise


@lru_cache(maxsize=1)
def _database(config: tuple[tuple[str, Any], ...]) -> duckdb.DuckDBPyConnection:
    """Return the database of a process.

    To start one takes 20 ms, a third of a small build if for each.

    A forked process, which lacks its parent's threads, spills elsewhere and so gets its own.
    """
    fixed = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "enable_external_file_cache": False,  # a file may be replaced by another of its name
    }
    database = duckdb.connect(":memory:", config=fixed | dict(config))
    database.execute("SET GLOBAL TimeZone = 'UTC'")
    database.execute((sql_folder() / "answer_text.sql").read_text(encoding="utf-8"))
    return database


def give_back_memory() -> None:
    """Let go of what DuckDB and Arrow keep for later: a gigabyte after a large stage."""
    _database.cache_clear()
    pa.default_memory_pool().release_unused()


def clear_spill(spill: Path) -> list[Path]:
    """Delete what queries put aside; none runs. Returns folders that hold something else."""
    _database.cache_clear()
    return clean_spill(spill)


def _files(source: Files) -> str:
    """Return the statement that reads files; views take no parameters."""
    if isinstance(source, Path):
        return f"SELECT * FROM {parquet_scan([source])}"  # noqa: S608
    if isinstance(source, StoredTable):
        return f"SELECT * FROM {parquet_scan(source.paths)}"  # noqa: S608
    return f"SELECT * FROM {parquet_scan(source, by_name=True)}"  # noqa: S608
