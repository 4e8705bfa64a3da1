"""Weights of judgments by the loads of judges, from a fit's variance of what judges make."""

from __future__ import annotations

import numpy as np

from annot_pipeline.methods.rankings.score_effects import load_weights


def weights_of(j, s, fitted):
    """Return weights of scores, ``(n,)``."""
    counts = np.zeros((int(j.max()) + 1, int(s.max()) + 1))
    np.add.at(counts, (j, s), 1)
    return load_weights(counts, fitted.judge_ratio)[j, s]


def weights_of_pairs(j, a, b, fitted):
    """Return weights of comparisons, ``(n,)``: each is as a score of both systems."""
    both = weights_of(np.tile(j, 2), np.concatenate([a, b]), fitted)
    return np.sqrt(both[: j.size] * both[j.size :])
