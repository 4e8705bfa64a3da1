"""Simulated direct assessments: what its tests share."""

from pathlib import Path

import numpy as np

from studies.simulators.scores import (
    ORDINARY,
    ScoreRows,
    ScoreSimulation,
)

EXAMPLE = Path(__file__).parents[3] / "examples" / "direct_assessment"


SMALL = ScoreSimulation(n_judges=12, n_hits=24)


KNOWN = ScoreSimulation(location_sd=0, spread_sd=0, noise_sd=0, careless_share=0)
"""Everybody writes down what an output is worth."""


def pairs_of(rows: ScoreRows, kind: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of ordinary outputs, and of their controls of a kind, found by HIT and output."""
    outputs: dict[tuple[int, int, int], int] = {}
    for place in np.flatnonzero(rows.kind == ORDINARY).tolist():
        outputs[int(rows.hit[place]), int(rows.system[place]), int(rows.segment[place])] = place
    controls = np.flatnonzero(rows.kind == kind)
    names = zip(rows.hit[controls], rows.system[controls], rows.segment[controls], strict=True)
    return np.array([outputs[int(h), int(y), int(g)] for h, y, g in names]), controls
