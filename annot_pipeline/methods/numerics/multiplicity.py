"""Correction of p-values of many tests: Holm, Benjamini & Hochberg, Benjamini & Yekutieli."""

from __future__ import annotations

from typing import Literal

import numpy as np

from annot_pipeline.arrays import Floats

Correction = Literal["none", "holm", "benjamini_hochberg"]


def adjust(p_values: Floats, method: Correction | Literal["benjamini_yekutieli"]) -> Floats:
    """Return adjusted p-values ``(n,)``; undefined ones (NaN) are no tests and stay.

    Benjamini & Yekutieli's holds however tests depend on each other, as those that share answers.
    """
    adjusted = np.array(p_values, dtype=np.float64)
    defined = np.flatnonzero(~np.isnan(adjusted))
    if method == "none" or not defined.size:
        return adjusted
    order = defined[np.argsort(adjusted[defined], kind="stable")]
    p, m = adjusted[order], order.size
    if method == "holm":
        stepped = np.maximum.accumulate(p * (m - np.arange(m)))
    else:
        rank = np.arange(1, m + 1)
        factor = (1 / rank).sum() if method == "benjamini_yekutieli" else 1.0
        stepped = np.minimum.accumulate((factor * p * m / rank)[::-1])[::-1]
    adjusted[order] = np.minimum(stepped, 1)
    return adjusted


def thresholds(p_values: Floats, method: Correction, alpha: float) -> Floats:
    """Return what each p has to fall below to be significant while the others stay, ``(n,)``.

    For an undefined p (NaN) this is what it would have to fall below as one test more. For tests
    that are significant already it is the threshold that the largest significant p fell below.
    """
    p_values = np.asarray(p_values, np.float64)
    defined = np.flatnonzero(~np.isnan(p_values))
    order = defined[np.argsort(p_values[defined], kind="stable")]
    limits = np.full(p_values.size, _next_threshold(p_values[order], method, alpha))
    if method == "none" or not order.size:
        return limits
    p, m = p_values[order], order.size
    rank = np.arange(1, m + 1)
    if method == "holm":
        passed = int(np.logical_and.accumulate(p * (m + 1 - rank) < alpha).sum())
        limits[order] = alpha / (m - np.minimum(passed, m - 1))
        limits[order[:passed]] = alpha / (m + 1 - max(passed, 1))
    else:
        # one more significant test raises the threshold of those before it
        before = np.append(0.0, p[:-1])
        steps = np.where(before * m / rank < alpha, rank, 1)
        passing = np.flatnonzero(p * m / rank < alpha)
        passed = int(passing[-1]) + 1 if passing.size else 0
        limits[order] = alpha * np.maximum.accumulate(steps) / m
        limits[order[:passed]] = alpha * max(passed, 1) / m
    return limits


def _next_threshold(p: Floats, method: Correction, alpha: float) -> float:
    """Return what another test would have to fall below, beside tests with these p in order."""
    m = p.size + 1
    rank = np.arange(1, m + 1)
    if method == "holm":
        passed = int(np.logical_and.accumulate(p * (m + 1 - rank[:-1]) < alpha).sum())
        return alpha / (m - passed)
    if method == "benjamini_hochberg":
        return float(alpha * rank[np.append(0.0, p) * m / rank < alpha][-1] / m)
    return alpha
