"""Dense ranks against scipy's, group by group."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from annot_pipeline.methods.numerics.ranks import dense_ranks


def test_by_hand():
    ranks = dense_ranks(np.array([0, 1, 0, 0, 1]), np.array([4, -1, 1, 4, 2.5]))
    assert ranks.tolist() == [1, 2, 2, 1, 1]


def test_equals_scipy_in_every_group():
    rng = np.random.default_rng(3)
    group, values = rng.integers(0, 20, 300), rng.integers(-4, 5, 300)
    actual = dense_ranks(group, values)
    for code in range(20):
        of = group == code
        assert (actual[of] == rankdata(-values[of], method="dense")).all()


def test_nothing():
    assert dense_ranks(np.zeros(0, np.int64), np.zeros(0)).size == 0
