"""Wilson's interval, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from annot_pipeline.methods.numerics.shares import wilson_interval


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 10), (3, 10), (10, 10), (517, 1000)])
def test_scipy_says_the_same(k, n):
    low, high = wilson_interval(k, n)
    interval = scipy.stats.binomtest(k, n).proportion_ci(method="wilson")
    assert (float(low), float(high)) == pytest.approx((interval.low, interval.high), abs=1e-14)


def test_nothing_is_undefined_and_more_than_all_an_error():
    low, high = wilson_interval([0, 1], [0, 2])
    assert np.isnan([low[0], high[0]]).all()
    assert 0 < low[1] < high[1] < 1
    for n_right in (-1, 3):
        with pytest.raises(ValueError, match="n_right"):
            wilson_interval([n_right], [2])
