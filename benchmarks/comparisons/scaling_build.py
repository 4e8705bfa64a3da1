"""`annot build`, from nothing, against the number of judgments."""

from __future__ import annotations

from pathlib import Path

from benchmarks.comparison import Comparison, Way
from benchmarks.exports import Shape
from benchmarks.kept_exports import kept_campaign
from benchmarks.processes import annot_build


def draw_campaign(n: int) -> Path:
    """Path of a campaign: of ten judgments five are labels, four scores, one a preference."""
    return kept_campaign(Shape(labels=n // 10 * 5, scores=n // 10 * 4, comparisons=n // 10))


COMPARISON = Comparison(
    "annot build: half labels, two fifths scores, a tenth preferences, ten tasks of each",
    "judgments",
    sizes=(10_000, 100_000, 1_000_000, 3_000_000, 10_000_000),
    quick=(10_000,),
    draw=draw_campaign,
    ways=(Way("annot build", annot_build),),
    exponent_from=1_000_000,
)
