"""Weights under which both orders of two systems count as much."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.agreement.rating_counts import order_weights


def test_by_hand():
    # systems 0 and 1: three times 0 first, once 1 first (turned, or the other way round); 1 and 2:
    # one order only; 2 and 2: no pair of systems
    first = np.array([0, 0, 1, 0, 1, 2])
    second = np.array([1, 1, 0, 1, 2, 2])
    is_turned = np.array([False, False, True, True, False, True])
    weights = order_weights(first, second, is_turned)
    assert weights == pytest.approx([1 / 4, 1 / 4, 1 / 4, 3 / 4, 0, 0])


def test_no_comparisons():
    nothing = np.empty(0, np.int64)
    assert order_weights(nothing, nothing, np.empty(0, np.bool_)).size == 0


@pytest.mark.parametrize("seed", range(5))
def test_both_orders_weigh_the_same(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(5, size=(2, 80))
    is_turned = rng.random(80) < 0.3
    weights = order_weights(first, second, is_turned)
    low_first = (first < second) ^ is_turned
    for a in range(5):
        for b in range(a + 1, 5):
            pair = (np.minimum(first, second) == a) & (np.maximum(first, second) == b)
            n = [(pair & (low_first == side)).sum() for side in (True, False)]
            totals = [weights[pair & (low_first == side)].sum() for side in (True, False)]
            expected = n[0] * n[1] / max(sum(n), 1)
            assert totals == pytest.approx([expected, expected])
