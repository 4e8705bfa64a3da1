"""``catalog.duckdb``: the tables of all releases as views, for people.

The Parquet files are the truth: the catalog holds no rows, can be deleted, and is written again
with the next release. What does not belong here: queries of the pipeline (queries).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb

from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.storage.files import atomic_write, make_private, regular
from annot_pipeline.storage.manifest import files_of
from annot_pipeline.storage.queries import no_glob, parquet_scan, text_literal
from annot_pipeline.storage.releases import Release, Releases

CATALOG = "catalog.duckdb"
READ_BY = "v1.5.0"
"""The oldest DuckDB that reads the file."""


def write_catalog(store: Path, releases: Releases) -> Path:
    """Write views of every release: the newest in the schema ``main``, each in its own schema.

    A reader who has the file open goes on with the catalog that it opened. A release that cannot
    be read is left out, `annot verify` says what it lacks, and so is one that was retracted. Of an
    object store, views read the copies: a release of which some tables have not been copied is left
    out too.

    Parameters
    ----------
    store
        Folder of the working state, where the file goes.
    releases
        What to show. Views name their files by absolute paths.

    Returns
    -------
    pathlib.Path
        The catalog.

    Raises
    ------
    StoreError
        It cannot be written, or the newest release cannot be read; the old catalog stays.
    """
    target = store / CATALOG
    newest = releases.get()
    try:
        make_private(store)
        with atomic_write(target) as temporary, _attached(temporary) as connection:
            _add_release(connection, newest, "main", columns=True)
            for version in [v for v in releases.versions() if v not in releases.retracted()]:
                with suppress(StoreError, duckdb.Error):
                    _add_release(connection, releases.get(version), version)
    except (OSError, duckdb.Error) as error:
        what = str(error).split("\n")[0]
        do = "free space, or restore access; the releases themselves are untouched"
        raise StoreError(f"{target}: cannot be written", [Problem("", what, do=do)]) from error
    return target


def is_catalog_of(store: Path, release: Release) -> bool:
    """Return whether the catalog's views read this release; those of a copied folder do not."""
    table = next(iter(release.manifest["tables"]), None)
    if table is None:
        return True
    try:
        catalog = regular(store / CATALOG)
        with closing(duckdb.connect(str(catalog), read_only=True)) as connection:
            row = connection.execute(
                "SELECT sql FROM duckdb_views() WHERE schema_name = 'main' AND view_name = ?",
                [table["name"]],
            ).fetchone()
    except (duckdb.Error, OSError):
        return False
    first = text_literal(os.path.abspath(release.folder / files_of(table)[0]["file"]))
    return row is not None and no_glob(first) in row[0]


@contextmanager
def _attached(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    extensions = ("autoinstall_known_extensions", "autoload_known_extensions")
    config: dict[str, Any] = dict.fromkeys(extensions, False)
    connection = duckdb.connect(":memory:", config=config)
    try:
        connection.execute(
            f"ATTACH {text_literal(str(path))} AS catalog (STORAGE_VERSION {text_literal(READ_BY)})"
        )
        connection.execute("USE catalog")
        yield connection
        connection.execute("USE memory")
        connection.execute("DETACH catalog")  # folds the log into the file
    finally:
        connection.close()


def _add_release(
    connection: duckdb.DuckDBPyConnection, release: Release, schema: str, *, columns: bool = False
) -> None:
    """Add the views of one release, all or none, described as in its manifest.

    What ``columns`` hold is said where asked for: of hundreds of releases it would take minutes.
    """
    statements = [f"CREATE SCHEMA IF NOT EXISTS {_name(schema)}"]
    for table in release.manifest["tables"]:
        view = f"{_name(schema)}.{_name(table['name'])}"
        about = text_literal(f"{release.version}: one row per {table['row']}")
        paths = (os.path.abspath(release.folder / file["file"]) for file in files_of(table))
        statements.append(f"CREATE VIEW {view} AS FROM {parquet_scan(paths)}")
        statements.append(f"COMMENT ON VIEW {view} IS {about}")
        for column in table["columns"] if columns else ():
            name, text = _name(column["name"]), text_literal(column["description"])
            statements.append(f"COMMENT ON COLUMN {view}.{name} IS {text}")
    connection.execute("BEGIN")
    try:
        connection.execute("; ".join(statements))
    except duckdb.Error:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
