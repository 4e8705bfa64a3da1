"""A release built again from its archived bytes, compared byte for byte with what was published."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from annot_pipeline.audit.recompute import recomputation, recomputed_tables
from annot_pipeline.audit.verify.difference import Difference, first_difference
from annot_pipeline.audit.verify.findings import Checked
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import AnnotError, first_of, shorten
from annot_pipeline.stages.build import MAKER, stages_for
from annot_pipeline.storage.files import file_sha256
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
