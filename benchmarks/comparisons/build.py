"""`annot build` against a script of pandas, crowd-kit and krippendorff: exports to Parquet.

Both are whole processes, imports and all. What the script does, and what it leaves out, stands
in `benchmarks.users_script`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.comparison import Comparison, Way, Work
from benchmarks.exports import Shape
from benchmarks.kept_exports import kept_campaign
from benchmarks.processes import annot_build, command


def draw_exports(n: int) -> Path:
    """Path of a campaign of ``n`` labels and ``n`` scores, in ten tasks each."""
    return kept_campaign(Shape(labels=n, scores=n, comparisons=0))


def by_script(campaign: Path) -> Work:
    """Folder of what the script wrote."""
    folder = Path(tempfile.mkdtemp(prefix="bench-"))

    def work() -> Path:
        command("benchmarks.users_script", str(campaign.parent / "exports"), str(folder))
        return folder

    return work


COMPARISON = Comparison(
    "From exports to gold, ten tasks of labels and ten of scores; everything on",
    "labels, and as many scores",
    sizes=(100_000, 1_000_000),
    quick=(50_000,),
    draw=draw_exports,
    ways=(
        Way("annot build", annot_build),
        Way("pandas, crowd-kit, krippendorff", by_script, needs="crowdkit"),
    ),
)
