"""Scores of items as a file: what people review first stands on top."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.runtime.read_back import refuse_read_back
from annot_pipeline.storage.files import atomic_write
from annot_pipeline.storage.tables import write_table

ENDINGS = (".csv", ".parquet")


def items_path(campaign: LoadedCampaign, output: Path) -> Path:
    """Return where the file goes.

    Raises
    ------
    ConfigError
        Its name does not show the format, its folder does not exist, it is in the folder of
        releases, or the next build would read it as an export.
    """
    title = "scores of items cannot be written there"
    if output.suffix not in ENDINGS:
        problem = Problem("-o", f"{output} ends with {output.suffix}", ", ".join(ENDINGS))
        raise ConfigError(title, [problem])
    if not output.parent.is_dir():
        problem = Problem("-o", f"there is no folder {output.parent}", do="create it first")
        raise ConfigError(title, [problem])
    if output.resolve().is_relative_to(campaign.gold.resolve()):
        problem = Problem("-o", f"{output} is in the folder of releases", do="name another folder")
        raise ConfigError(title, [problem])
    refuse_read_back(campaign, [output])
    return output


def write_items(items: pa.Table, path: Path) -> None:
    """Write one row per item, in one step."""
    with atomic_write(path) as temporary:
        if path.suffix == ".csv":
            pa_csv.write_csv(items, temporary)
        else:
            write_table(temporary, items)
