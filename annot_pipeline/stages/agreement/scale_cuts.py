"""How scores of a task are cut into categories (Graham et al. 2013, section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.agreement.scale_agreement import (
    bins_of_edges,
    equal_bins,
)
from annot_pipeline.stages.agreement.ratings import Row

CUTS = (5, 4, 2)
MOST_POINTS = 10
"""A scale of at most so many whole points is one of radio buttons: it is not cut."""


@dataclass(frozen=True)
class ScaleCuts:
    """How scores of a task are cut into categories: a declared scale, and z-scores.

    Parameters
    ----------
    low, high, points
        Ends of the scale; its points, if it is one of radio buttons. None: none is declared.
    edges
        By number of bins, the z-scores that bins end with; none if there is no z-score.
    """

    low: float | None
    high: float | None
    points: int | None
    edges: Mapping[int, Floats]

    @property
    def named(self) -> list[tuple[str, int]]:
        """Return the kinds, raw or z, with numbers of bins."""
        raw = (self.points,) if self.points else CUTS
        return [("raw", k) for k in raw if self.low is not None] + [("z", k) for k in CUTS]

    def bins(self, kind: str, k: int, scores: Floats, z: Floats) -> Codes:
        """Return bins ``(n_scores,)``; -1 for a judgment without z."""
        if kind == "raw" and self.low is not None and self.high is not None:
            return equal_bins(scores, self.low, self.high, k)
        codes, has_z = np.full(z.size, -1, np.int64), ~np.isnan(z)
        if k in self.edges:
            codes[has_z] = bins_of_edges(z[has_z], self.edges[k])
        return codes


def n_points(task: Row, *, is_whole: bool) -> int | None:
    """Return the points of a scale of radio buttons; None for a continuous or unknown scale.

    ``is_whole``: whether all scores are whole numbers.
    """
    low, high = task["scale_low"], task["scale_high"]
    if low is None or high - low >= MOST_POINTS or low != int(low) or high != int(high):
        return None
    return int(high - low) + 1 if is_whole else None
