"""A diff as people get it: line numbers beside rows of exports, and Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from annot_pipeline.audit.diff.releases import Diff
from annot_pipeline.audit.diff.sides import JUDGMENTS
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.stages.ingest.archived_lines import MOST_BYTES, Place, released_lines
from annot_pipeline.storage.files import atomic_write
from annot_pipeline.storage.manifest_changes import source_digest
from annot_pipeline.storage.releases import Release
from annot_pipeline.storage.tables import write_table

Row = dict[str, Any]
ENDING = ".parquet"


def diff_paths(output: Path, versions: tuple[str, str]) -> list[Path]:
    """Return where the cells go: to the file that is named; or to a folder, judgments too."""
    if output.suffix == ENDING and not output.is_dir():
        return [output]
    names = (f"{what}-{versions[0]}-{versions[1]}{ENDING}" for what in ("diff", "judgments"))
    return [output / name for name in names]


def write_diff(diff: Diff, paths: list[Path]) -> None:
    """Write all cells, and all judgments if there is a path for them, each in one step."""
    judgments = JUDGMENTS.empty_table() if diff.judgments is None else diff.judgments
    for path, table in zip(paths, (diff.cells, judgments), strict=False):
        path.parent.mkdir(exist_ok=True)
        with atomic_write(path) as temporary:
            write_table(temporary, table)


def add_lines(
    campaign: LoadedCampaign, releases: tuple[Release, Release], judgments: Sequence[Row]
) -> None:
    """Add ``old_line`` and ``new_line`` to rows that have ``old_row`` and ``new_row``.

    Left out, as all nulls of a diff, where the archive lost the bytes or the export has no lines.
    """
    for age, release in zip(("old", "new"), releases, strict=True):
        digests: dict[str | None, set[str]] = {}
        for export in release.manifest["sources"]:
            digests.setdefault(export["name"], set()).add(source_digest(export))

        rows = [row for row in judgments if len(digests.get(row.get(f"{age}_file"), ())) == 1]
        places: list[Place] = [
            (row[f"{age}_file"], *digests[row[f"{age}_file"]], row[f"{age}_row"]) for row in rows
        ]
        lines = released_lines(campaign, release.manifest, MOST_BYTES)(places)
        for row, position in zip(rows, places, strict=True):
            if position in lines:
                row[f"{age}_line"] = lines[position]
