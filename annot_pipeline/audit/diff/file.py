"""A diff as a Parquet file."""

from __future__ import annotations

from pathlib import Path

from annot_pipeline.audit.diff.releases import Diff
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.read_back import refuse_read_back
from annot_pipeline.storage.files import replacing
from annot_pipeline.storage.tables import write_table

ENDING = ".parquet"


def diff_path(campaign: LoadedCampaign, output: Path, versions: tuple[str, str]) -> Path:
    """Where a diff goes: the file that is named, or one in the folder.

    Raises
    ------
    ConfigError
        It lies in gold, which is immutable, or the next build would read it as an export.
    """
    path = output
    if output.suffix != ENDING or output.is_dir():
        path = output / f"diff-{versions[0]}-{versions[1]}{ENDING}"
    if path.resolve().is_relative_to(campaign.gold.resolve()):
        problem = Problem("-o", f"{path} lies among the releases", do="name another folder")
        raise ConfigError("a diff is no part of a release", [problem])
    refuse_read_back(campaign, [path])
    return path


def write_diff(diff: Diff, path: Path) -> None:
    """Write all cells, in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        write_table(temporary, diff.cells)
