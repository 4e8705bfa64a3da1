"""Line numbers beside the row numbers of judgments that differ between two releases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.stages.ingest.archived_lines import MOST_BYTES, Place, released_lines
from annot_pipeline.storage.manifest_changes import source_digest
from annot_pipeline.storage.releases import Release

Row = dict[str, Any]


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
