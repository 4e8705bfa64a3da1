"""Fences beyond which a score decides a mean."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.scores.outlying_scores import fences


def test_fences_by_hand():
    """Quantiles of 0 to 100 in steps of 1: 5 and 95 about a median of 50."""
    assert fences(np.arange(101.0)) == (50 - 900, 50 + 900)
    # a narrow middle far from 0: ten medians
    assert fences(np.full(20, 100.0)) == (100 - 1000, 100 + 1000)


@pytest.mark.parametrize("scores", [np.arange(9.0), np.zeros(50)])
def test_without_a_width_or_enough_scores_nothing_is_outlying(scores):
    assert fences(scores) == (-np.inf, np.inf)


def test_fences_move_with_the_scale():
    scores = np.random.default_rng(1).normal(0, 1, 400)
    low, high = fences(scores)
    assert fences(scores * 8) == pytest.approx((8 * low, 8 * high))


def test_usual_scores_are_not_outlying():
    rng = np.random.default_rng(2)
    for scores in (
        rng.normal(60, 25, 100_000),
        rng.integers(1, 6, 100_000).astype(float),
        rng.beta(0.2, 0.05, 100_000) * 100,
        rng.exponential(1, 100_000),
    ):
        low, high = fences(scores)
        assert not np.any((scores < low) | (scores > high))
