"""`annot build` against a script of pandas, scipy and crowd-kit that makes the same tables.

All are whole processes, imports and all. One script takes what libraries have, and for that can
afford no interval of alphas of scores, and intervals of 3 rounds of other agreement. The other has
as many rounds as we have: what libraries are too slow for is written in numpy. What both leave out
stands in `benchmarks.users_script`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.comparison import Comparison, Way, Work
from benchmarks.exports import Shape
from benchmarks.kept_exports import kept_campaign
from benchmarks.processes import annot_build, command


def draw_exports(n: int) -> Path:
    """Path of a campaign of ``n`` labels and ``n`` scores, in ten tasks each."""
    return kept_campaign(Shape(labels=n, scores=n, comparisons=0))


def by_script(*options: str) -> Callable[[Path], Work]:
    """The user's script with options; its work gives the folder that it wrote."""
    return lambda campaign: _script(campaign, options)


def _script(campaign: Path, options: Sequence[str]) -> Work:
    folder = Path(tempfile.mkdtemp(prefix="bench-"))

    def work() -> Path:
        command("benchmarks.users_script", str(campaign.parent / "exports"), str(folder), *options)
        return folder

    return work


COMPARISON = Comparison(
    "From exports to gold, ten tasks of labels and ten of scores; everything on. Agreement has "
    "200 bootstrap rounds unless it says 3, systems have 1,000",
    "labels, and as many scores",
    sizes=(100_000, 1_000_000),
    quick=(50_000,),
    draw=draw_exports,
    ways=(
        Way("annot build", annot_build),
        Way(
            "pandas, crowd-kit, krippendorff; 3 rounds",
            by_script("--by-library", "--rounds=3"),
            needs="crowdkit",
        ),
        Way("pandas, crowd-kit, numpy", by_script(), needs="crowdkit"),
    ),
)
