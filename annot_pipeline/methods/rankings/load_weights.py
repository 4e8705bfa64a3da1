"""Weights of judgments by how many of them one judge gave of one system.

A judge makes something of a system, and another judgment of the system does not average that out.
Where judges gave unequal numbers, generalized least squares weigh the mean of n judgments by
1 / (v_JS + v_e / n), with the variances of what judges make of systems and of judgments: no judge
counts for more than a judge is worth. v_JS is that under which the weighted squares of residuals
of the means are as large as their degrees of freedom (Paule & Mandel 1982), by Newton's method.

Degenerate input: without repeated judgments, or with no more means than judges and systems, v_JS
is taken as 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.additive import Additive
from annot_pipeline.methods.rankings.cluster_variance import LEAST
from annot_pipeline.methods.rankings.score_params import centred_inverse

MAX_ITERATIONS, TOLERANCE = 30, 1e-6


@dataclass(frozen=True)
class JudgeLoads(Additive):
    """Sums of residuals and judgments ``(n_judges, K)``, and squares of all residuals."""

    sums: Floats
    counts: Floats
    squares: float

    def ratio(self, component: Codes, *, has_levels: bool) -> float:
        """Return the variance of what judges make of systems, as a share of that of judgments.

        Parameters
        ----------
        component
            ``(K,)`` codes: systems of one are connected by judges.
        has_levels
            Whether judges have levels, which take a degree of freedom each.
        """
        counts, has_cell = self.counts, self.counts > 0
        means, is_system = self.sums / np.maximum(counts, 1), has_cell.any(axis=0)
        within = self.squares - float((self.sums * means).sum())
        n_within = float(counts.sum()) - float(has_cell.sum())
        n_parameters = int(is_system.sum()) - np.unique(component[is_system]).size
        n_parameters += has_levels * int(has_cell.any(axis=1).sum())
        freedom = float(has_cell.sum()) - n_parameters
        if freedom < 1 or n_within < 1 or not within > 0:
            return 0.0
        ratio, noise = 0.0, within / n_within
        for _ in range(MAX_ITERATIONS):
            weights = counts / (1 + ratio * counts)
            share = has_levels * weights / np.maximum(weights.sum(axis=1), LEAST)[:, None]
            totals = weights.sum(axis=0)
            inverse = centred_inverse(np.diag(totals) - weights.T @ share, totals, component)
            residuals = means - (share * means).sum(axis=1, keepdims=True)
            systems = inverse @ (weights * residuals).sum(axis=0)
            terms = weights * (residuals - systems + share @ systems[:, None]) ** 2 / noise
            step = (float(terms.sum()) - freedom) / max(float((weights * terms).sum()), LEAST)
            ratio += step
            if step <= TOLERANCE * ratio:
                break
        return max(ratio, 0.0)


def load_weights(counts: Floats, ratio: float) -> Floats:
    """Return the weight of a judgment by judge and system; inverse weights are 1 in the mean.

    Parameters
    ----------
    counts
        ``(n_judges, K)`` judgments.
    ratio
        Variance of what judges make of systems, as a share of that of judgments.
    """
    effect = 1 + ratio * counts
    mean = (counts * effect).sum() / max(float(counts.sum()), 1.0)
    return np.where(counts > 0, mean / effect, 1.0)
