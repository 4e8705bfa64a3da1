"""How scores are adjusted for judges and segments, and the inverse of normal equations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from annot_pipeline.arrays import Codes, Floats


@dataclass(frozen=True)
class ScoreParams:
    """How scores are adjusted.

    Parameters
    ----------
    judges
        ``fixed``, or ``random`` where judges were assigned to systems at random.
    segments
        ``random``, or ``fixed`` where systems had segments of other difficulty.
    is_scaled
        Whether deviations are divided by the judge's spread.
    """

    judges: Literal["fixed", "random"] = "fixed"
    segments: Literal["random", "fixed"] = "random"
    is_scaled: bool = False


def centred_inverse(matrix: Floats, totals: Floats, component: Codes) -> Floats:
    """Return the inverse of the normal equations, centred within components: differences alone.

    The equations say nothing of the level of a component: it is fixed, then taken away.
    """
    level = max(float(np.trace(matrix)), 1e-6 * float(totals.sum())) / len(matrix)
    components = [np.flatnonzero(component == code) for code in np.unique(component)]
    with_levels = matrix.T.copy()
    for members in components:
        with_levels[np.ix_(members, members)] += level / members.size
    inverse = np.linalg.inv(with_levels)
    for members in components:
        inverse[members] -= inverse[members].mean(axis=0)
    return np.asarray(inverse)
