"""Campaigns of exports, written once and read by every process that measures."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from benchmarks.exports import Shape, write_campaign

FOLDER = Path("build/bench/exports")


def kept_campaign(shape: Shape) -> Path:
    """Path of the campaign.yaml of a shape; written if it is not there."""
    folder = FOLDER / "-".join(f"{value:g}" for value in vars(shape).values())
    if not folder.exists():
        half = folder.with_suffix(".half")
        write_campaign(half, shape)
        half.rename(folder)
    return folder / "campaign.yaml"


def copied(campaign: Path) -> Path:
    """Path of the campaign.yaml of a copy of the whole folder, to be built in."""
    folder = Path(tempfile.mkdtemp(prefix="bench-")) / "campaign"
    shutil.copytree(campaign.parent, folder)
    return folder / campaign.name
