"""A release built again from its archived bytes, compared byte for byte with what was published.

Where two files of one table differ, the first row and column are reported with both values.
"""

from __future__ import annotations

import platform
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from annot_pipeline.audit.recompute import recomputation, recomputed_tables
from annot_pipeline.audit.verify.checksums import Checked
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import AnnotError, first_of, shorten
from annot_pipeline.stages.build import MAKER, stages_for
from annot_pipeline.storage.files import file_sha256, regular
from annot_pipeline.storage.manifest import files_of
from annot_pipeline.storage.queries import sql_digest
from annot_pipeline.storage.releases import Release
from annot_pipeline.storage.tables import as_published
from annot_pipeline.version import __version__, numeric_packages


def verify_rebuild(campaign: LoadedCampaign, release: Release, checked: Checked) -> dict[str, Any]:
    """Build a release again, and compare its tables byte for byte.

    Parameters
    ----------
    campaign
        Whose archive, settings and key.
    release
        What to compare with.
    checked
        Takes what is found.

    Returns
    -------
    dict
        ``version``; ``tables`` compared and how many are ``equal``; ``other_code``: packages,
        schema and code that are not those of then; ``differences``, the first of each table;
        ``error``: why it could not be built, else null.
    """
    other = other_code(release)
    tables = {t["name"]: t for t in release.manifest["tables"] if t["name"] in MAKER}
    result: dict[str, Any] = {"version": release.version, "tables": 0, "equal": 0}
    result |= {"other_code": other, "differences": [], "error": None}
    checked.progress(f"{release.version}: building {len(tables)} tables again")
    try:
        with recomputation(campaign, release, checked.progress) as build:
            tables_made = recomputed_tables(build, tables)
            rebuilt_tables = build.write_tables({
                name: as_published(tables_made[name], build.store.root / f"{name}.parquet")
                for name in tables
            })  # fmt: skip
            for name, table in tables.items():
                result["tables"] += 1
                rebuilt = rebuilt_tables[name]
                if rebuilt.sha256 == table["sha256"]:
                    result["equal"] += 1
                    continue
                difference = _compare(_released(release, table), rebuilt.paths, table)
                result["differences"].append({"table": name, **asdict(difference)})
                location = f"{release.location}/{table['file']}"
                checked.find(location, _words(name, difference), _cause(release, table, other))
    except AnnotError as error:
        details = "; ".join(f"{p.where}: {p.what}" if p.where else p.what for p in error.problems)
        do = error.problems[0].do if error.problems else ""
        result["error"] = f"{error.title}{': ' if details else ''}{details}"
        by = f" (made by other code: {first_of(other)})" if other else ""
        what = f"cannot be built again: {result['error']}{by}"
        checked.find(release.location, what, do)
    return result


def other_code(release: Release) -> list[str]:
    """Return what has changed since the release was made, such as ``numpy 2.4.6, now 2.5.0``."""
    manifest = release.manifest
    packages = numeric_packages()
    now = packages | {"python": platform.python_version(), "annot-pipeline": __version__}
    then = manifest["packages"] | {"annot-pipeline": manifest["code"].get("annot-pipeline")}
    other = [name for name in sorted(now) if then.get(name) not in (None, now[name])]
    changes = [f"{name} {then[name]}, now {now[name]}" for name in other]
    if manifest["code"].get("sql") not in (None, sql_digest()):
        changes.append("other queries (sql)")
    runs = {run["stage"]: run["code_version"] for run in manifest["runs"]}
    for stage in stages_for(name for t in manifest["tables"] if (name := t["name"]) in MAKER):
        before = runs.get(stage.name)
        if before is None:
            changes.append(f"stage {stage.name} is new")
        elif before != stage.code_version:
            changes.append(f"stage {stage.name} {before}, now {stage.code_version}")
    return changes


def _released(release: Release, table: dict[str, Any]) -> list[Path]:
    return [release.file(file["file"]) for file in files_of(table)]


def _compare(
    released: Sequence[Path], rebuilt: Sequence[Path], table: dict[str, Any]
) -> Difference:
    try:
        return first_difference(released, rebuilt, table.get("key", ()))
    except MemoryError:  # also Arrow's
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        return Difference(None, None, {}, f"cannot be read: {error}", "readable")


def _words(name: str, difference: Difference) -> str:
    key = ", ".join(f"{column} {shorten(value)}" for column, value in difference.key.items())
    row = "" if difference.row is None else f"row {difference.row:,}{f' ({key})' if key else ''}"
    column = "" if difference.column is None else f"column {difference.column}"
    cell = ", ".join(filter(None, (row, column))) or "the file"
    values = f"released {_short(difference.released)}, rebuilt {_short(difference.rebuilt)}"
    return f"{name} is not what its exports give: first in {cell}: {values}"


def _short(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _cause(release: Release, table: dict[str, Any], other: list[str]) -> str:
    upstream = tuple(f"stage {stage.name} " for stage in stages_for([table["name"]]))
    near = [what for what in other if not what.startswith("stage ") or what.startswith(upstream)]
    if near:
        return f"made by other code: {first_of(near)}; rebuild with the code and packages of then"
    files = zip(_released(release, table), files_of(table), strict=True)
    if all(path.is_file() and file_sha256(path) == file["sha256"] for path, file in files):
        return (
            f"the files match the manifest of {release.version}: the store was damaged when it was "
            "built, or files and checksums were changed together; annot build publishes what the "
            "exports give, and annot diff names the cells that differ"
        )
    return f"the same code made it from the same bytes: {release.version} was changed; restore it"


ROWS = 1 << 16
"""Rows held at a time of each file."""

NO_ROW = "no such row"


@dataclass(frozen=True)
class Difference:
    """The first difference of two files.

    Parameters
    ----------
    row
        1-based; None where columns differ, or the files but no value.
    column
        None where a file ends, or no value differs.
    key
        Values of the key columns of the released row, by column.
    released, rebuilt
        Both values, as Python writes them.
    """

    row: int | None
    column: str | None
    key: dict[str, Any]
    released: str
    rebuilt: str


def first_difference(
    released: Sequence[Path], rebuilt: Sequence[Path], key: Sequence[str]
) -> Difference:
    """Return the first row, and in it the first column, in which files of two tables differ.

    Raises
    ------
    pyarrow.ArrowException
        A file is no Parquet.
    """
    old, new = (pq.read_schema(regular(paths[0])) for paths in (released, rebuilt))
    if not old.equals(new, check_metadata=True):
        return _of_schemas(old, new)
    n_before = 0
    for a, b in _aligned_rows(released, rebuilt):
        difference = _of_rows(a, b, key, n_before)
        if difference:
            return difference
        n_before += a.num_rows
    what = "every value is the same: the files differ in how they are written"
    return Difference(None, None, {}, what, what)


def _of_schemas(old: pa.Schema, new: pa.Schema) -> Difference:
    for name in [*old.names, *new.names]:
        texts = [_field_text(s.field(name) if name in s.names else None) for s in (old, new)]
        if texts[0] != texts[1]:
            return Difference(None, name, {}, *texts)
    if old.names != new.names:
        return Difference(None, None, {}, *(", ".join(s.names) for s in (old, new)))
    return Difference(None, None, {}, *(str(s.metadata) for s in (old, new)))


def _field_text(field: pa.Field | None) -> str:
    if field is None:
        return "no such column"
    about = (field.metadata or {}).get(b"description", b"").decode(errors="replace")
    return f"{field.type}{'' if field.nullable else ' not null'}, {about!r}"


def _aligned_rows(*tables: Sequence[Path]) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Return rows of both tables in steps of one size; the shorter one ends with no rows."""
    pairs = zip(*map(_steps, tables), strict=False)  # without end
    return takewhile(lambda pair: any(rows.num_rows for rows in pair), pairs)


def _steps(paths: Sequence[Path]) -> Iterator[pa.Table]:
    """Yield rows in steps of one size, whatever files and row groups; for ever empty at the end."""
    schema = pq.read_schema(regular(paths[0]))
    buffer = schema.empty_table()
    for path in paths:
        with pq.ParquetFile(regular(path)) as file:
            for batch in file.iter_batches(ROWS):
                buffer = pa.concat_tables([buffer, pa.Table.from_batches([batch], schema)])
                while buffer.num_rows >= ROWS:
                    yield buffer.slice(0, ROWS)
                    buffer = buffer.slice(ROWS)
    yield buffer
    while True:
        yield schema.empty_table()


def _of_rows(
    released: pa.Table, rebuilt: pa.Table, key: Sequence[str], n_before: int
) -> Difference | None:
    n_rows = min(released.num_rows, rebuilt.num_rows)
    firsts = {
        name: row
        for name in released.column_names
        if (row := _first(released[name].slice(0, n_rows), rebuilt[name].slice(0, n_rows)))
        is not None
    }
    if firsts:
        column = min(firsts, key=lambda name: firsts[name])  # of equal rows the first column
        row = firsts[column]
        values = [repr(t[column][row].as_py()) for t in (released, rebuilt)]
        return Difference(n_before + row + 1, column, _key(released, key, row), *values)
    if released.num_rows == rebuilt.num_rows:
        return None
    longer = released if released.num_rows > n_rows else rebuilt
    row_text = repr(longer.slice(n_rows, 1).to_pylist()[0])
    texts = (row_text, NO_ROW) if longer is released else (NO_ROW, row_text)
    return Difference(n_before + n_rows + 1, None, _key(longer, key, n_rows), *texts)


def _first(a: pa.ChunkedArray, b: pa.ChunkedArray) -> int | None:
    """Return the row of the first difference of two columns of one length.

    Numbers are compared by their bits.
    """
    if pa.types.is_float64(a.type):
        a, b = (column.combine_chunks().view(pa.int64()) for column in (a, b))
    if a.equals(b):
        return None
    return bisect_left(
        range(len(a)), True, key=lambda row: not a.slice(0, row + 1).equals(b.slice(0, row + 1))
    )


def _key(table: pa.Table, key: Sequence[str], row: int) -> dict[str, Any]:
    return {name: table[name][row].as_py() for name in key if name in table.column_names}
