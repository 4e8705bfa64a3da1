"""Crowds of known truth, and what is asked of probabilities."""

from __future__ import annotations

import numpy as np

from studies.crowds import CrowdParams, draw_crowd


def crowd(kind, seed, **sizes):
    """Labels of a task and the true classes."""
    return draw_crowd(CrowdParams(kind, **sizes), np.random.default_rng(seed))


def log_loss(posterior, truth):
    """Mean over items, with probabilities of 1e-9 at least."""
    return -np.log(np.maximum(posterior[np.arange(truth.size), truth], 1e-9)).mean()
