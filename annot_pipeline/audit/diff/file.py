"""A diff as Parquet files: the cells, and the judgments."""

from __future__ import annotations

from pathlib import Path

from annot_pipeline.audit.diff.judgments import JUDGMENTS
from annot_pipeline.audit.diff.releases import Diff
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.runtime.read_back import refuse_read_back
from annot_pipeline.storage.files import atomic_write
from annot_pipeline.storage.tables import write_table

ENDING = ".parquet"


def diff_paths(campaign: LoadedCampaign, output: Path, versions: tuple[str, str]) -> list[Path]:
    """Return where a diff goes: the cells to the file that is named; or to a folder, judgments too.

    Raises
    ------
    ConfigError
        It is neither, or its folder is not there; it lies in gold, which is immutable; or the next
        build would read it as an export.
    """
    if not output.is_dir() and output.suffix not in ("", ENDING):
        problem = Problem(
            "-o", f"{output} ends with {output.suffix}", allowed=f"{ENDING}, a folder"
        )
        raise ConfigError("a diff is written as Parquet", [problem])
    if not output.parent.is_dir():
        problem = Problem("-o", f"there is no folder {output.parent}", do="make it first")
        raise ConfigError("a diff cannot be written there", [problem])
    paths = [output]
    if output.suffix != ENDING or output.is_dir():
        names = (f"{what}-{versions[0]}-{versions[1]}{ENDING}" for what in ("diff", "judgments"))
        paths = [output / name for name in names]
    for path in paths:
        if path.resolve().is_relative_to(campaign.gold.resolve()):
            problem = Problem(
                "-o", f"{path} is in the folder of releases", do="name another folder"
            )
            raise ConfigError("a diff cannot be part of a release", [problem])
    refuse_read_back(campaign, paths)
    return paths


def write_diff(diff: Diff, paths: list[Path]) -> None:
    """Write all cells, and all judgments if there is a path for them, each in one step."""
    judgments = JUDGMENTS.empty_table() if diff.judgments is None else diff.judgments
    for path, table in zip(paths, (diff.cells, judgments), strict=False):
        path.parent.mkdir(exist_ok=True)
        with atomic_write(path) as temporary:
            write_table(temporary, table)
