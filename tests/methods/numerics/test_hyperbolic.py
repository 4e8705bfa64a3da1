"""The hyperbolic tangent is numpy's but for the last digits."""

from __future__ import annotations

import numpy as np

from annot_pipeline.methods.numerics.hyperbolic import tanh


def test_it_is_the_hyperbolic_tangent():
    values = np.array([-np.inf, -800.0, -3.0, -1e-3, 0.0, 0.5, 2.0, 40.0, np.inf])
    np.testing.assert_allclose(tanh(values), np.tanh(values), atol=2e-16, rtol=1e-13)
    assert np.isnan(tanh(np.array([np.nan]))).all()
    assert tanh(0.5) == float(tanh(np.array([0.5]))[0])
