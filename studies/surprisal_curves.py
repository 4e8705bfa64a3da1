"""Figures 2 and 3 of Sakaguchi & Van Durme (2018): how much an outcome changes what is believed.

Nothing is simulated here: the curves are the methods' own functions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Floats
from annot_pipeline.methods.comparisons.bounded_ra import tie_probability, win_probability
from annot_pipeline.methods.comparisons.trueskill import surprisal_of_tie, surprisal_of_win
from studies.params import SurprisalCurves


@dataclass(frozen=True, eq=False)
class Surprisal:
    """Arrays are ``(n_points,)``.

    Parameters
    ----------
    t
        Mean of the first item minus that of the second, divided by c.
    v_win, v_tie, w_win, w_tie
        What means and variances change by (eqs. 5, 6, 9, 10); the first item wins.
    difference
        Score of the first item minus that of the second, -1 to 1.
    win, tie
        1 - p of the bounded variant (eqs. 20, 22).
    """

    t: Floats
    v_win: Floats
    v_tie: Floats
    w_win: Floats
    w_tie: Floats
    difference: Floats
    win: Floats
    tie: Floats


def surprisal_curves(params: SurprisalCurves) -> Surprisal:
    """Return all curves at one epsilon."""
    t = np.linspace(-params.limit, params.limit, params.points)
    v_win, w_win = surprisal_of_win(t, params.epsilon)
    v_tie, w_tie = surprisal_of_tie(t, params.epsilon)
    difference = np.linspace(-1, 1, params.points)
    win, tie = (
        win_probability(difference, params.epsilon),
        tie_probability(difference, params.epsilon),
    )
    return Surprisal(t, v_win, v_tie, w_win, w_tie, difference, 1 - win, 1 - tie)
