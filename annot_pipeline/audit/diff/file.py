"""A diff as Parquet files: the cells, and the judgments."""

from __future__ import annotations

from pathlib import Path

from annot_pipeline.audit.diff.judgments import JUDGMENTS
from annot_pipeline.audit.diff.releases import Diff
from annot_pipeline.storage.files import atomic_write
from annot_pipeline.storage.tables import write_table

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
