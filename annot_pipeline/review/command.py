"""The command: refuses what would be lost or wrong first, then writes all files or none."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.review.assignments import DOUBT, Assignment
from annot_pipeline.review.batches import batches_of, check_sources
from annot_pipeline.review.folder import (
    SHEET,
    WRITTEN,
    holds_decisions,
    is_edited,
    private,
    read_written,
)
from annot_pipeline.review.sheet import FIGURES, by_row, found_rows, matching, write_sheet
from annot_pipeline.review.upload import Judges, Upload
from annot_pipeline.runtime.read_back import refuse_read_back
from annot_pipeline.stages.build import Build
from annot_pipeline.stages.last_build import last_build
from annot_pipeline.storage.files import TEMPORARY, atomic_write, file_sha256, write_json
from annot_pipeline.storage.tables import StoredTable, read_verified

FOLDER = "review"
"""Where `annot review` writes beside campaign.yaml unless it is told otherwise."""


def review(
    campaign: LoadedCampaign,
    folder: Path,
    *,
    force: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Write an upload file for every MTurk batch of the last build, and a sheet to look at.

    Parameters
    ----------
    campaign, folder
        What was built, and where to write.
    force
        Whether to write over files that a person has edited.
    progress
        Called with the file that is written.

    Raises
    ------
    ConfigError
        There is no MTurk source; or files would be lost, or be read by the next build.
    StoreError
        The last build is not of these exports and settings.
    """
    check_sources(campaign)
    build = Build(campaign)
    tables = last_build(build, "judges", command="annot review")
    batches = batches_of(build, tables)
    targets = [*(batch.target for batch in batches), SHEET]
    refuse_read_back(campaign, [folder / target for target in targets])
    known_hashes = read_written(folder)
    edited = [t for t in targets if (folder / t).exists() and is_edited(folder / t, known_hashes)]
    if edited and not force:
        raise holds_decisions(folder, edited)
    judges = _judges(tables)
    rows = by_row(found_rows(tables["controlled"], batches))
    quality = campaign.settings.quality
    folder.mkdir(parents=True, exist_ok=True)
    for leftover in folder.glob(f"{TEMPORARY}upload-*"):  # what a killed review left
        leftover.unlink()
    sheet: list[Assignment] = []
    uploads: list[dict[str, Any]] = []
    written: dict[str, list[str]] = {}
    with contextlib.ExitStack() as files:
        for batch in batches:
            progress(f"{batch.target}: {batch.rows:,} rows")
            temporary = files.enter_context(atomic_write(folder / batch.target))
            upload = Upload(batch, matching(rows, len(uploads)), judges, quality)
            with private(temporary, upload.file.encoding) as file:
                sheet += upload.write(file)
            uploads.append({"path": str(folder / batch.target), **upload.counts()})
            written[batch.target] = [file_sha256(temporary), *known_hashes.get(batch.target, [])]
        temporary = files.enter_context(atomic_write(folder / SHEET))
        write_sheet(temporary, sheet)
        written[SHEET] = [file_sha256(temporary), *known_hashes.get(SHEET, [])]
        write_json(folder / WRITTEN, known_hashes | written)  # a kill from here on loses nothing
    for name in known_hashes.keys() - written.keys():  # of batches that are gone
        if (folder / name).exists() and not is_edited(folder / name, known_hashes):
            (folder / name).unlink()
    write_json(folder / WRITTEN, {name: hashes[:1] for name, hashes in written.items()})
    return {
        "campaign": campaign.settings.campaign,
        "folder": str(folder),
        "review": str(folder / SHEET),
        "assignments": len(sheet),
        "uploads": uploads,
        **{name: sum(upload[name] for upload in uploads) for name in DOUBT},
    }


def _judges(tables: Mapping[str, StoredTable]) -> Judges:
    names = ["task", "judge", "verdict", "verdict_reason", "test", "contrast"]
    names += ["p_adjusted", "known_answer_accuracy", *FIGURES]
    rows = read_verified(tables["judges"], names).to_pylist()
    return {(row["task"], row["judge"]): row for row in rows}
